import io
import json
import subprocess
import sys

import pytest

from agentcli.cli.main import main
from agentcli.config.rules import RulesFile
from agentcli.ledger.block import ToolCallBlock
from agentcli.ledger.message import Msg, UserMsg
from agentcli.ledger.rule import PermissionBehavior, PermissionRule
from agentcli.session.store import SessionStore


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """A project of its own, with no settings and no sessions."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("AGENTCLI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENTCLI_DATA_DIR", str(tmp_path / "data"))
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_MODEL",
        "AGENTCLI_MODEL",
        "AGENTCLI_API",
        "AGENTCLI_MODE",
        "AGENTCLI_THEME",
    ):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


async def saved(place):
    log = SessionStore(place / "data").create("a" * 16, {"cwd": str(place), "mode": "default", "model": "m"})
    await log.said(UserMsg(content="look\x1b[2J"))
    call = ToolCallBlock(id="c1", name="Bash", input='{"command": "ls"}')
    await log.kept(Msg(name="agent", role="assistant", content=[call]))
    log.close()


def rows(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_no_sessions_are_an_empty_list(capsys):
    assert main(["sessions", "list", "--json"]) == 0
    assert capsys.readouterr().out == ""


async def test_sessions_list_has_the_promised_fields(place, capsys):
    await saved(place)
    assert main(["sessions", "list", "--json"]) == 0
    row = rows(capsys)[0]
    assert {"id", "title", "cwd", "created_at", "updated_at", "messages", "mode", "model", "waiting"} <= set(row)
    assert row["id"] == "a" * 16


async def test_sessions_show_finds_a_prefix_and_shows_nothing_harmful(place, capsys):
    await saved(place)
    assert main(["sessions", "show", "aaa"]) == 0
    shown = capsys.readouterr().out
    assert "look" in shown
    assert "Bash ls" in shown
    assert "\x1b" not in shown


async def test_sessions_show_gives_the_folded_messages(place, capsys):
    await saved(place)
    assert main(["sessions", "show", "aaa", "--json"]) == 0
    assert [row["role"] for row in rows(capsys)] == ["user", "assistant"]


def test_an_unknown_session_is_exit_code_2(capsys):
    assert main(["sessions", "show", "zzz"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_rules_list_names_the_source_and_rm_takes_one_away(place, capsys):
    kept = RulesFile(place / "config")
    kept.add([PermissionRule.parse("Read(**)", PermissionBehavior.ALLOW)], str(place / "project"))
    assert main(["rules", "list", "--json"]) == 0
    assert rows(capsys) == [{"rule": "Read(**)", "behavior": "allow", "source": "project", "last": None}]
    assert main(["rules", "rm", "Read(**)", "--everywhere"]) == 2
    assert main(["rules", "rm", "Read(**)"]) == 0
    assert kept.load(str(place / "project")) == []


def test_rules_test_gives_a_line_for_each_line_in_order(monkeypatch, capsys):
    class FakeStdin:
        buffer = io.BytesIO(b'{"tool": "Write", "input": {"file_path": "a", "content": ""}, "mode": "explore"}\n{\n')

    monkeypatch.setattr("sys.stdin", FakeStdin())
    assert main(["rules", "test"]) == 0
    assert [(row["behavior"], row["mode"]) for row in rows(capsys)] == [("deny", "explore"), ("deny", "default")]


def test_the_shipped_themes_are_found(capsys):
    assert main(["themes", "--json"]) == 0
    assert {"agentcli-dark", "agentcli-light"} <= {row["name"] for row in rows(capsys)}


def test_models_and_doctor_answer_with_nothing_configured(capsys):
    assert main(["models"]) == 0
    assert "demo" in capsys.readouterr().out
    assert main(["doctor"]) == 0
    assert "EXPLORE: no shell" in capsys.readouterr().out


def test_run_with_nothing_configured_names_the_variables(capsys):
    assert main(["run", "go"]) == 2
    said = capsys.readouterr()
    assert (said.out, "OPENAI_API_KEY" in said.err) == ("", True)


def test_chat_without_a_terminal_is_one_line_and_exit_code_2():
    done = subprocess.run([sys.executable, "-m", "agentcli"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)


def test_a_reader_of_a_list_may_leave_early():
    lines = b'{"tool": "Bash", "input": {"command": "ls"}}\n' * 3000
    test = f"{sys.executable} -m agentcli rules test | head -n 1"
    done = subprocess.run(["sh", "-c", test], input=lines, capture_output=True, timeout=60)
    assert (done.stdout.count(b"\n"), done.stderr) == (1, b"")
