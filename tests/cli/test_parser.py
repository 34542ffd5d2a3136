import pytest

from agentcli.cli.parser import APIS, COMMANDS, MODES, parse
from agentcli.ledger.rule import PermissionMode

FLAGS = {
    "resume": None, "continue_": False, "fork": False, "explore": False, "mode": None, "model": None, "api": None, "cwd": None,
    "add_dir": [], "max_iters": None, "max_cost": None, "max_tokens": None, "external_tools": None, "theme": None,
}  # fmt: skip
CHAT = {"command": "chat", "prompt": None, "pick": False, **FLAGS}
RUN = {
    "command": "run",
    "prompt": None,
    **FLAGS,
    "output": "text",
    "input": None,
    "on_ask": "stop",
    "answer": None,
    "dry_run": False,
    "read_stdin": False,
}


def test_modes_are_those_of_the_ledger():
    assert tuple(PermissionMode) == MODES
    assert APIS == ("chat", "responses")


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ([], CHAT),
        (["chat"], CHAT),
        (["--explore"], {**CHAT, "explore": True, "mode": "explore"}),
        (["chat", "fix it", "--model", "demo"], {**CHAT, "prompt": "fix it", "model": "demo"}),
        (["chat", "--resume", "abc"], {**CHAT, "resume": "abc"}),
        (["chat", "--resume=abc"], {**CHAT, "resume": "abc"}),
        (["chat", "--resume", "abc", "go"], {**CHAT, "resume": "abc", "prompt": "go"}),
        (["chat", "go", "--resume", "abc"], {**CHAT, "resume": "abc", "prompt": "go"}),
        (["chat", "--resume", "abc", "fix the bug"], {**CHAT, "resume": "abc", "prompt": "fix the bug"}),
        (["chat", "--resume"], {**CHAT, "pick": True}),
        (["--resume"], {**CHAT, "pick": True}),
        (["chat", "--resume", ""], {**CHAT, "pick": True}),
        (["chat", "--resume", "--explore"], {**CHAT, "pick": True, "explore": True, "mode": "explore"}),
        (["chat", "--resume", "--fork"], {**CHAT, "pick": True, "fork": True}),
        (["chat", "--resume", "fix the bug"], {**CHAT, "pick": True, "prompt": "fix the bug"}),
        (["chat", "fix", "--resume"], {**CHAT, "pick": True, "prompt": "fix"}),
        (["chat", "--resume", "--", "-x"], {**CHAT, "pick": True, "prompt": "-x"}),
        (["run", "go"], {**RUN, "prompt": "go"}),
        (["run"], {**RUN, "read_stdin": True}),
        (["run", "-"], {**RUN, "read_stdin": True}),
        (["run", "go", "--output", "json", "-"], {**RUN, "prompt": "go", "output": "json", "read_stdin": True}),
        (["run", "--resume", "abc"], {**RUN, "resume": "abc"}),
        (["run", "--resume", "abc", "-"], {**RUN, "resume": "abc", "read_stdin": True}),
        (["run", "--continue", "--answer", "deny"], {**RUN, "continue_": True, "answer": "deny"}),
        (["run", "--input", "events"], {**RUN, "input": "events"}),
        (["run", "--explore", "--mode", "explore", "go"], {**RUN, "explore": True, "mode": "explore", "prompt": "go"}),
        (
            ["run", "--add-dir", "a", "--add-dir", "b", "--max-iters", "3", "go"],
            {**RUN, "add_dir": ["a", "b"], "max_iters": 3, "prompt": "go"},
        ),
        (["run", "--max-cost", "0.5", "--max-tokens", "9", "go"], {**RUN, "max_cost": 0.5, "max_tokens": 9, "prompt": "go"}),
        (["chat", "--max-cost", "2"], {**CHAT, "max_cost": 2.0}),
        (["run", "--dry-run"], {**RUN, "dry_run": True}),
        (["run", "--dry-run", "go"], {**RUN, "dry_run": True, "prompt": "go"}),
        (["run", "--dry-run", "-"], {**RUN, "dry_run": True, "read_stdin": True}),
        (["run", "--", "-x"], {**RUN, "prompt": "-x"}),
        (["sessions", "list", "--json"], {"command": "sessions", "action": "list", "json": True}),
        (["sessions", "show", "abc"], {"command": "sessions", "action": "show", "id": "abc", "json": False}),
        (["sessions", "search", "a b", "--json"], {"command": "sessions", "action": "search", "text": "a b", "json": True}),
        (
            ["sessions", "export", "abc", "--output", "x.html"],
            {"command": "sessions", "action": "export", "id": "abc", "format": None, "output": "x.html"},
        ),
        (["sessions", "fork", "abc"], {"command": "sessions", "action": "fork", "id": "abc", "json": False}),
        (["sessions", "verify"], {"command": "sessions", "action": "verify", "id": None, "json": False}),
        (["sessions", "verify", "abc"], {"command": "sessions", "action": "verify", "id": "abc", "json": False}),
        (["sessions", "rm", "--yes", "abc"], {"command": "sessions", "action": "rm", "id": "abc", "yes": True}),
        (["inbox", "--json"], {"command": "inbox", "json": True}),
        (["rules", "test", "--cwd", "d"], {"command": "rules", "action": "test", "cwd": "d", "add_dir": []}),
        (["themes"], {"command": "themes", "json": False}),
    ],
)
def test_a_command_line_as_data(words, chosen):
    assert vars(parse(words)) == chosen


@pytest.mark.parametrize(
    "words",
    [
        ["frobnicate"],
        ["inbox", "more"],
        ["go"],
        ["--frobnicate"],
        ["chat", "one", "two"],
        ["chat", "--plain"],
        ["run", "--frobnicate", "go"],
        ["run", "--mode", "yolo", "go"],
        ["run", "--mod", "explore", "go"],
        ["run", "--explore", "--mode", "bypass", "go"],
        ["run", "--api", "grpc", "go"],
        ["run", "--on-ask", "maybe", "go"],
        ["run", "--output", "xml", "go"],
        ["run", "--input", "text"],
        ["run", "--input", "events", "-"],
        ["run", "--max-iters", "0", "go"],
        ["run", "--max-iters", "many", "go"],
        ["run", "--max-cost", "0", "go"],
        ["run", "--max-cost", "nan", "go"],
        ["run", "--max-cost", "inf", "go"],
        ["run", "--max-tokens", "0.5", "go"],
        ["run", "--dry-run", "--input", "events"],
        ["run", "--dry-run", "--resume", "a", "--answer", "deny"],
        ["chat", "--dry-run"],
        ["run", "--answer", "allow", "go"],
        ["run", "--resume", "a", "--continue"],
        ["run", "--fork", "go"],
        ["run", "one", "two"],
        ["run", "-", "-"],
        ["run", "--resume"],
        ["run", "--resume", ""],
        ["run", "--resume", "--explore", "go"],
        ["chat", "--resume", "--continue"],
        ["chat", "--resume", "fix the bug", "and that"],
        ["sessions"],
        ["sessions", "rm"],
        ["sessions", "rm", "a", "b"],
        ["sessions", "rm", "a", "--json"],
        ["sessions", "search"],
        ["sessions", "fork"],
        ["sessions", "export", "a", "--format", "pdf"],
        ["sessions", "verify", "a", "b"],
        ["sessions", "show"],
        ["rules", "test", "--jsno"],
        ["doctor", "more"],
        ["chat", "--mode", "\x1b[2Jx\ny"],
    ],
)
def test_what_is_wrong_is_one_line_and_exit_code_2(words, capsys):
    with pytest.raises(SystemExit) as caught:
        parse(words)
    said = capsys.readouterr()
    assert (caught.value.code, said.out, said.err.count("\n"), "\x1b" in said.err) == (2, "", 1, False)


def test_help_lists_exactly_the_commands_there_are(capsys):
    with pytest.raises(SystemExit) as caught:
        parse(["--help"])
    listed = capsys.readouterr().out.partition("commands:\n")[2].partition("\n\n")[0]
    assert (caught.value.code, [line.split()[0] for line in listed.splitlines()]) == (0, list(COMMANDS))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_its_help(command, capsys):
    with pytest.raises(SystemExit) as caught:
        parse([command, "--help"])
    assert caught.value.code == 0
    assert f"agentcli {command}" in capsys.readouterr().out
