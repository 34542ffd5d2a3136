import ast
from pathlib import Path

import agentcli.frontend.tui as room

FILES = sorted(Path(room.__file__).parent.rglob("*.py"))
READERS_OF_MARKUP = {"Static", "Label", "Markdown", "OptionList", "SelectionList", "RichLog", "notify"}
MARKUP = {"from_markup", "render_markup"}


def faults(tree):
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        plain = any(
            word.arg == "markup" and isinstance(word.value, ast.Constant) and word.value.value is False for word in node.keywords
        )
        if name in READERS_OF_MARKUP and not plain:
            yield f"{name} without markup=False in line {node.lineno}"
        if name in MARKUP:
            yield f"{name} in line {node.lineno}"


def test_law_9_no_text_is_read_as_markup():
    assert FILES
    found = [f"{path.name}: {fault}" for path in FILES for fault in faults(ast.parse(path.read_text()))]
    assert found == []


def test_the_lint_finds_what_it_looks_for():
    bad = "Static(text)\nself.notify(f'[b]{x}')\nText.from_markup(x)\nLabel(x, markup=False)"
    assert len(list(faults(ast.parse(bad)))) == 3
