import json
import os
import re
import signal

import pytest

from tests.frontend.tui.terminal import Terminal

CHAT = ["-m", "agentcli", "chat"]
BROKEN = """
import sys
from agentcli.frontend.tui import chat_app
def break_(self): raise RuntimeError("a fault [/x] \\x1b[2J")
chat_app.ChatApp.on_ready = break_
from agentcli.cli.main import main
sys.exit(main(["chat", *sys.argv[1:]]))
"""


@pytest.fixture
def place(tmp_path):
    (tmp_path / "shop").mkdir()
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [[{"text": "The word is marigold."}]]}))
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI", "AGENTCLI"))}
    env = {
        **kept,
        "HOME": str(tmp_path),
        "AGENTCLI_DATA_DIR": str(tmp_path / "data"),
        "AGENTCLI_CONFIG_DIR": str(tmp_path / "config"),
    }
    return {"env": env, "cwd": str(tmp_path / "shop")}, ["--model", f"script:{script}"]


def test_keys_that_are_typed_before_the_screen_stands_are_not_lost(place):
    where, model = place
    with Terminal(*CHAT, *model, **where) as terminal:
        terminal.wait("›")
        terminal.type("say the word\r")
        terminal.wait("marigold")
        terminal.type("\x04")
        assert terminal.code() == 0
        assert terminal.leftovers() == []
        assert re.search(rb"\x1b\[\?25h.*agentcli chat --resume [a-z2-7]{16}\r\n\Z", terminal.output, re.DOTALL)


def test_without_a_message_no_session_is_named(place):
    where, model = place
    with Terminal(*CHAT, *model, **where) as terminal:
        terminal.wait("/help")
        terminal.type("\x04")
        assert (terminal.code(), b"--resume" in terminal.output) == (0, False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("when", ["›", "/help"])
def test_a_signal_restores_the_terminal(place, number, when):
    where, model = place
    with Terminal(*CHAT, *model, **where) as terminal:
        terminal.wait(when)
        terminal.process.send_signal(number)
        assert terminal.code() == 128 + number
        assert terminal.leftovers() == []
        assert b"Traceback" not in terminal.output


def test_a_terminal_that_goes_away_ends_the_program(place):
    where, model = place
    with Terminal(*CHAT, *model, **where) as terminal:
        terminal.wait("/help")
        terminal.hang_up()
        terminal.process.send_signal(signal.SIGHUP)
        assert terminal.process.wait(10) == 128 + signal.SIGHUP


def test_what_cannot_be_opened_is_one_line_on_a_restored_terminal(place):
    where, model = place
    with Terminal(*CHAT, *model, "--resume", "nosuch", **where) as terminal:
        assert terminal.code() == 2
        assert terminal.leftovers() == []
        assert len(terminal.output.rpartition(b"\x1b[?25h")[2].strip().splitlines()) == 1


def test_a_fault_of_ours_restores_the_terminal_and_is_told_cleaned(place):
    where, model = place
    with Terminal("-c", BROKEN, *model, **where) as terminal:
        assert terminal.code() == 1
        assert terminal.leftovers() == []
        told = terminal.output.rpartition(b"\x1b[?25h")[2].decode()
        assert "RuntimeError: a fault [/x] ␛[2J" in told
        assert "\x1b" not in told
