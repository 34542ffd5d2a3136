import json
import os
import re
import signal

import pytest

from tests.fakes.model_server import FakeModelServer
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


SLEEPS = {"turns": [[{"tool_call": {"id": "c1", "name": "Bash", "input": {"command": "trap '' TERM; echo up; sleep 40"}}}]]}
WAYS = [("\x04", 0), ("\x03\x03", 0), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)]


@pytest.mark.parametrize(("way", "code"), WAYS)
def test_leaving_while_a_command_runs_stops_it_and_the_last_line_is_how_to_resume(place, tmp_path, way, code):
    where, model = place
    (tmp_path / "script.json").write_text(json.dumps(SLEEPS))
    with Terminal(*CHAT, *model, "--mode", "bypass", **where) as terminal:
        terminal.wait("/help")
        terminal.type("go\r")
        terminal.wait("sleep 40")
        terminal.wait("◐")
        if isinstance(way, str):
            for key in way:
                terminal.type(key)
                terminal.read(0.2)
        else:
            terminal.process.send_signal(way)
        assert terminal.code() == code
        assert terminal.leftovers() == []
        told = re.fullmatch(rb"\s*agentcli chat --resume ([a-z2-7]{16})\r\n", terminal.output.rpartition(b"\x1b[?25h")[2])
        assert told, terminal.output[-500:]
    log = (tmp_path / "data" / "sessions" / f"{told[1].decode()}.jsonl").read_text()
    last = [json.loads(line)["msg"] for line in log.splitlines() if '"type":"msg"' in line]
    blocks = {(block["type"], block["id"]): block for msg in last for block in msg["content"]}
    assert (blocks["tool_call", "c1"]["state"], blocks["tool_result", "c1"]["state"]) == ("finished", "interrupted")
    assert last[-1]["finished_reason"] == "interrupted"


def test_leaving_from_the_dialog_stops_the_answered_call_that_runs(place, tmp_path):
    where, model = place
    calls = [{"tool_call": {"id": f"c{n}", "name": "Bash", "input": {"command": f"touch x{n}; sleep {n}0"}}} for n in (3, 4)]
    (tmp_path / "script.json").write_text(json.dumps({"turns": [calls]}))
    with Terminal(*CHAT, *model, **where) as terminal:
        terminal.wait("/help")
        terminal.type("go\r")
        terminal.wait("other call")
        terminal.code(0.8)
        terminal.type("y")
        terminal.wait("runs; the next answer")
        for _ in range(2):
            terminal.type("\x03")
            terminal.code(0.3)
        assert terminal.code() == 0
        last = terminal.output.rpartition(b"\x1b[?25h")[2]
        assert re.fullmatch(rb"\s*agentcli chat --resume [a-z2-7]{16}\r\n", last), last


def test_a_first_start_connects_a_pasted_key_and_leaves_it_nowhere(place, tmp_path):
    where, _ = place
    key = "sk-pasted-0123456789"
    with FakeModelServer("tiny", "large") as fake, Terminal(*CHAT, **where) as terminal:
        terminal.wait("No model is connected yet")
        terminal.code(0.3)
        assert fake.lines == []
        terminal.type("\r")
        terminal.wait("Connect a model")
        terminal.code(0.3)
        terminal.type("another\r")
        terminal.wait("Only this address")
        terminal.code(0.3)
        terminal.type(f"{fake.url}\t")
        terminal.type(f"\x1b[200~{key}\n\x1b[201~\r")
        terminal.wait("tiny")
        terminal.code(0.3)
        terminal.type("tiny\r")
        terminal.wait("export OPENAI_MODEL=tiny")
        assert (fake.lines, fake.heads[0]["Authorization"]) == (["GET /v1/models HTTP/1.1"], f"Bearer {key}")
        terminal.type("\x04")
        assert (terminal.code(), terminal.leftovers(), key.encode() in terminal.output) == (0, [], False)
    assert [file for file in tmp_path.rglob("*") if file.is_file() and key.encode() in file.read_bytes()] == []
