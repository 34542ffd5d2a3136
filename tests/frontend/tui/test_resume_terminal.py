import json
import os
import subprocess
import sys

import pytest

from tests.frontend.tui.terminal import Terminal

CHAT = ["-m", "agentcli", "chat"]


@pytest.fixture
def place(tmp_path):
    """Two folders, a session in each; the environment, and how to answer."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI", "AGENTCLI"))}
    env = {
        **kept,
        "HOME": str(tmp_path),
        "AGENTCLI_DATA_DIR": str(tmp_path / "data"),
        "AGENTCLI_CONFIG_DIR": str(tmp_path / "config"),
    }
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [[{"text": "The word is marigold."}]]}))
    for name in ("shop", "other"):
        (tmp_path / name).mkdir()
        words = [sys.executable, "-m", "agentcli", "run", f"about the {name}", "--model", f"script:{script}"]
        subprocess.run(words, cwd=tmp_path / name, env=env, check=True, capture_output=True, timeout=60)
    return {"env": env, "cwd": str(tmp_path / "shop")}, ["--model", f"script:{script}"]


def test_a_session_is_picked_gone_on_with_and_named_at_the_end(place):
    where, model = place
    with Terminal(*CHAT, "--resume", *model, **where) as terminal:
        terminal.wait("about the other")
        terminal.type("other\r")
        terminal.wait("marigold")
        terminal.type("\x04")
        assert (terminal.code(), terminal.leftovers()) == (0, [])
        last = terminal.output.rpartition(b"\x1b[?25h")[2].strip().decode()
    assert last.startswith("agentcli chat --resume ")
    listed = subprocess.run(
        [sys.executable, "-m", "agentcli", "sessions", "list", "--json"], env=where["env"], capture_output=True, timeout=60
    )
    titles = {row["id"]: row["title"] for row in map(json.loads, listed.stdout.splitlines())}
    assert titles[last.split()[-1]] == "about the other"


def test_the_picker_is_left_without_a_trace(place):
    where, model = place
    with Terminal(*CHAT, "--resume", *model, **where) as terminal:
        terminal.wait("about the shop")
        terminal.type("\x1b")
        assert (terminal.code(), terminal.leftovers(), b"chat --resume" in terminal.output) == (0, [], False)


def test_a_folder_that_is_none_is_one_line(place):
    where, model = place
    with Terminal(*CHAT, "--resume", "--cwd", "nosuch", *model, **where) as terminal:
        assert (terminal.code(), terminal.leftovers()) == (2, [])
        assert len(terminal.output.rpartition(b"\x1b[?25h")[2].strip().splitlines()) == 1


def test_esc_esc_takes_the_last_message_back_and_a_resume_knows_it(place):
    where, model = place
    with Terminal(*CHAT, *model, **where) as terminal:
        terminal.wait("/help")
        terminal.type("say the wrod\r")
        terminal.wait("marigold")
        terminal.code(0.3)
        terminal.type("\x1b\x1b")
        terminal.wait("Go back to before a message")
        terminal.code(0.2)
        terminal.type("\r")
        terminal.wait("Connected to")
        terminal.code(0.3)
        terminal.type("!\x04")
        terminal.code(0.3)
        terminal.type("\x15\x04")
        assert (terminal.code(), terminal.leftovers()) == (0, [])
        session = terminal.output.rpartition(b"--resume ")[2].strip().decode()
    with Terminal(*CHAT, "--resume", session, *model, **where) as terminal:
        terminal.wait("/help")
        terminal.code(0.5)
        assert b"marigold" not in terminal.output
        terminal.type("\x04")
        assert terminal.code() == 0
