import json
import sys

import pytest

from agentcli.cli.main import main
from agentcli.session.store import SessionStore

ASK = [
    {"text": "May I?"},
    {"tool_call": {"id": "c1", "name": "Bash", "input": {"command": "sh -c 'echo one > one.txt'"}}},
    {"tool_call": {"id": "c2", "name": "Write", "input": {"file_path": "made.txt", "content": "x\u202e\n"}}},
]
OVER = [{"text": "all is over"}]
terminal = pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")


def script(place, *turns):
    path = place / f"script-{len(list(place.glob('script-*')))}.json"
    path.write_text(json.dumps({"turns": turns}))
    return f"script:{path}"


@pytest.fixture
def parked(place):
    """The id of a session with two open questions."""
    assert main(["run", "--model", script(place, ASK), "go"]) == 10
    return SessionStore(place / "data").ids()[0]


@pytest.fixture
def screen(place, monkeypatch):
    from tests.fakes.terminal import FakeTerminal

    monkeypatch.setenv("AGENTCLI_MODEL", script(place, OVER))
    return FakeTerminal


def test_an_empty_inbox_says_so_and_is_empty_as_json(place, capsys):
    assert main(["inbox", "--json"]) == 0
    assert capsys.readouterr().out == ""
    assert main(["inbox"]) == 0
    assert capsys.readouterr().out == "nothing waits for an answer\n"


def test_the_list_shows_what_waits_and_how_to_answer(parked, place, capsys):
    assert main(["inbox"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{parked}  go  {place / 'project'}",
        "        now  Bash  sh -c 'echo one > one.txt'",
        "        now  Write  made.txt",
        f"   agentcli run --resume {parked} --answer allow|deny, or agentcli chat --resume {parked}",
    ]


def test_one_json_object_a_line(parked, capsys):
    assert main(["inbox", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["session_id"], row["call_id"]) for row in rows] == [(parked, "c1"), (parked, "c2")]


def test_who_holds_a_session_is_named(parked, place, capsys):
    log, _ = SessionStore(place / "data").open(parked)
    assert main(["inbox"]) == 0
    assert "answer it there" in (out := capsys.readouterr().out) and "--resume" not in out
    log.close()


@terminal
def test_questions_are_answered_at_a_terminal_one_after_the_other(parked, place, screen):
    person = screen("inbox")
    person.wait("Allow Bash?")
    person.wait("quit: ")
    person.type("y\n")
    person.wait("Allow Write?")
    person.wait("quit: ")
    person.type("n\n")
    assert person.end() == 0
    assert "all is over" in person.shown
    assert ("x<U+202E>" in person.shown, "\u202e" in person.shown) == (True, False)
    assert (place / "project/one.txt").read_text() == "one\n"
    assert not (place / "project/made.txt").exists()
    results = [
        block
        for msg in SessionStore(place / "data").read(parked).messages
        for block in msg.content
        if block.type == "tool_result"
    ]
    assert {result.id: result.state for result in results} == {"c1": "success", "c2": "denied"}


@terminal
def test_what_is_left_waits_on_and_nothing_is_written(parked, place, screen):
    log = place / f"data/sessions/{parked}.jsonl"
    before = log.read_bytes()
    person = screen("inbox")
    person.wait("quit: ")
    person.type("s\n")
    person.wait("Allow Write?")
    person.wait("quit: ")
    person.type("what?\n")
    person.wait("quit: ")
    person.type("q\n")
    assert person.end() == 0
    assert log.read_bytes() == before


@terminal
def test_what_is_typed_before_the_question_is_no_answer(parked, place, screen):
    person = screen("inbox")
    person.type("y\ny\n")
    person.wait("quit: ")
    person.type("q\n")
    assert person.end() == 0
    assert not (place / "project/one.txt").exists()


@terminal
def test_rm_asks_at_a_terminal(parked, place, screen):
    for answer, code, left in (("n", 1, [parked]), ("y", 0, [])):
        person = screen("sessions", "rm", parked[:6])
        person.wait("[y/N]")
        assert "2 open questions" in person.shown
        person.type(f"{answer}\n")
        assert person.end() == code
        assert SessionStore(place / "data").ids() == left
