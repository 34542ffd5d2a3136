import json

import pytest

from agentcli.cli.main import main
from agentcli.errors import UsageError
from agentcli.ledger import event as ev
from agentcli.ledger.message import UserMsg
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.why import why

WRITE = [{"tool_call": {"id": "w1", "name": "Write", "input": {"file_path": "a.txt", "content": "1\n"}}}]
LS = [{"tool_call": {"id": "b1", "name": "Bash", "input": {"command": "touch b.txt"}}}]
END = [{"text": "done"}]


def told(found):
    return [(step.what, step.words) for step in found.steps]


def digest_of(events):
    return next(event.previews["w1"].digest for event in events if isinstance(event, ev.RequireUserConfirmEvent))


async def answer(home, session, *turns, confirmed, call="w1", **more):
    conversation = await home.open(*turns, resume=session)
    waiting = conversation.status.waiting
    results = [ev.ConfirmResult(confirmed=confirmed, tool_call=one, **more) for one in waiting if one.id == call]
    event = ev.UserConfirmResultEvent(reply_id=conversation.status.reply_id, confirm_results=results)
    events = [event async for event in conversation.stream(event)]
    await conversation.close()
    return events


async def test_an_answered_call_tells_who_allowed_it_and_what_was_shown(home):
    session, events = await home.play(WRITE)
    await answer(home, session, END, confirmed=True)
    path = str(home.project / "a.txt")
    assert told(why("w1")) == [
        ("asked", f"shown as {digest_of(events)[:12]}"),
        ("allowed", "by the user"),
        ("ran", "as it was answered, in mode default: it changes files of the project"),
        ("started", path),
        ("success", ""),
    ]


async def test_a_denied_call_tells_the_words_of_the_denial(home):
    session, _ = await home.play(WRITE)
    await answer(home, session, END, confirmed=False, reason="not here")
    assert told(why("w1"))[1:] == [("denied", "by the user; with the words: not here"), ("denied", "")]


async def test_a_call_that_a_rule_allows_names_the_rule_and_its_source(home):
    (home.path / "config" / "config.toml").write_text('[permissions]\nallow = ["Bash(touch:*)"]\n')
    await home.play(LS, END)
    assert told(why("b1"))[0] == ("ran", "in mode default: the rule Bash(touch:*) allows it (from user)")


async def test_a_call_that_a_rule_denies_names_it_too(home):
    (home.path / "config" / "config.toml").write_text('[permissions]\ndeny = ["Bash(touch:*)"]\n')
    await home.play(LS, END)
    assert told(why("b1")) == [
        ("denied", "in mode default: the rule Bash(touch:*) denies it (from user)"),
        ("denied", ""),
    ]


async def test_a_call_that_the_mode_lets_through_says_so(home):
    await home.play(WRITE, END, mode=PermissionMode.ACCEPT_EDITS)
    assert told(why(""))[0] == ("ran", "in mode accept_edits: it changes files of the project")


async def test_rules_list_tells_what_a_rule_last_decided(home, capsys):
    (home.path / "config" / "config.toml").write_text('[permissions]\nallow = ["Bash(touch:*)", "Bash(true)"]\n')
    session, _ = await home.play(LS, END)
    assert main(["rules", "list", "--json"]) == 0
    used, unused = map(json.loads, capsys.readouterr().out.splitlines())
    known = {"tool": "Bash", "target": "touch b.txt", "session": session, "call_id": "b1"}
    assert (used["last"] | {"at": ""}, unused["last"]) == ({**known, "at": ""}, None)
    assert main(["rules", "list"]) == 0
    assert "last just now: Bash touch b.txt" in capsys.readouterr().out


async def test_why_on_the_command_line(home, capsys):
    session, _ = await home.play(WRITE, END, mode=PermissionMode.ACCEPT_EDITS)
    assert main(["why", "w"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (lines[0], lines[-1]) == ("Write  a.txt", f"  call w1 of session {session}")
    assert main(["why", "--session", session, "--json"]) == 0
    row = json.loads(capsys.readouterr().out)
    assert (row["call"]["id"], [step["what"] for step in row["steps"]]) == ("w1", ["ran", "started", "success"])


async def test_a_call_that_is_nowhere_is_said_to_be(home, capsys):
    with pytest.raises(UsageError, match="there is no call 'x9' in any session"):
        why("x9")
    assert main(["why"]) == 2


async def test_who_answered_from_a_flag_is_named(home):
    from agentcli.frontend.headless.stream import Request, run_headless

    conversation = await home.open(WRITE, END)
    await run_headless(conversation, Request(prompt="go", on_ask="allow"))
    assert ("allowed", "by --on-ask allow") in told(why("w1"))


async def test_a_broken_note_of_uses_loses_nothing_else(home, capsys):
    (home.data / "rules-used.json").write_text("[1")
    (home.path / "config" / "config.toml").write_text('[permissions]\nallow = ["Bash(touch:*)"]\n')
    await home.play(LS, END)
    assert [event async for event in (await home.open(END)).stream(UserMsg(content="x"))]
    assert main(["rules", "list"]) == 0
    assert "last just now" in capsys.readouterr().out
