import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "agentcli"
BASE = {"errors", "ledger"}
LOW = BASE | {"paths"}
SECOND = LOW | {"permission", "workspace", "model", "skill", "view"}
THIRD = SECOND | {"config", "tool", "session"}
DOOR = {"runtime", "ledger", "view", "errors"}
MAY_IMPORT = {
    "errors": set(),
    "version": set(),
    "ledger": set(),
    "paths": {"errors"},
    **dict.fromkeys(("permission", "workspace", "model", "skill", "view"), LOW),
    **dict.fromkeys(("config", "tool", "session"), SECOND),
    **dict.fromkeys(("mcp", "agent"), THIRD - {"config", "session"}),
    "runtime": THIRD | {"mcp", "agent", "version"},
    **{f"frontend/{name}": DOOR for name in ("tui", "plain", "headless", "service", "acp")},
    "cli": {
        "runtime",
        "view",
        "paths",
        "errors",
        "version",
        *(f"frontend/{name}" for name in ("tui", "plain", "headless", "service", "acp")),
    },
    "__init__": set(),
    "__main__": {"cli"},
}
PROVIDERS = ("agentcli.model.openai_",)
MODULES = {
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}


def room(module):
    parts = module.split(".")[1:] or ["__init__"]
    return "/".join(parts[:2]) if parts[0] == "frontend" and len(parts) > 1 else parts[0]


def imports(module):
    """Every module of ours that a module imports, wherever the statement stands, TYPE_CHECKING included."""
    for node in ast.walk(ast.parse(MODULES[module].read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: a relative import"
            names = [name if (name := f"{node.module}.{alias.name}") in MODULES else node.module for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "agentcli")


def test_imports_run_downwards_only():
    wrong = []
    for module in MODULES:
        mine = room(module)
        for name in imports(module):
            theirs = room(name)
            if theirs != mine and theirs not in MAY_IMPORT[mine]:
                wrong.append(f"{module} imports {name}")
            if mine in ("mcp", "agent") and name.startswith(PROVIDERS):
                wrong.append(f"{module} imports a provider: {name}")
    assert wrong == []


def test_no_import_closes_a_circle():
    try:
        TopologicalSorter({module: set(imports(module)) - {module} for module in MODULES}).prepare()
    except CycleError as error:
        raise AssertionError(f"a circle: {' -> '.join(error.args[1])}") from None


def test_every_room_stands_in_the_table():
    assert {room(module) for module in MODULES} <= {*MAY_IMPORT, "frontend"}
