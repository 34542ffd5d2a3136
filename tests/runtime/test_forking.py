import json

import pytest

from agentcli.errors import LogError, UsageError
from agentcli.ledger import event as ev
from agentcli.ledger.message import UserMsg
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.catalogue import session_story
from agentcli.runtime.command import Compact, SetTitle
from agentcli.runtime.forking import RUNNING, fork_session
from agentcli.session.disk import DiskIO
from agentcli.session.log import SessionLog
from tests.fakes.agent import call, types

OVER = [{"text": "over"}]
ASK = [{"text": "May I?"}, call("c1", "Write", file_path="made.txt", content="x\n")]
SUMMARY = [{"text": "<summary>## The request\na story</summary>"}, {"usage": {"input_tokens": 900, "output_tokens": 9}}]


def header(home, session):
    return json.loads(home.log(session).read_bytes().splitlines()[0])


async def said(conversation):
    async for _ in conversation.stream(UserMsg(content="go")):
        pass
    return conversation.status.session_id


async def test_a_fork_has_the_messages_and_names_its_parent(home):
    session, _ = await home.play(OVER, say="first words", mode=PermissionMode.ACCEPT_EDITS)
    before = home.bytes()
    fork = await fork_session(session[:8])
    parent, child = session_story(session), session_story(fork.id)
    assert child.messages == parent.messages
    assert (header(home, fork.id)["parent"], fork.parent) == (session, session)
    assert child.row.model_copy(update={"id": "", "created_at": "", "updated_at": ""}) == parent.row.model_copy(
        update={"id": "", "created_at": "", "updated_at": ""}
    )
    assert before.items() <= home.bytes().items()


async def test_what_waits_stays_with_the_parent(home):
    session, _ = await home.play(ASK)
    fork = await fork_session(session)
    result = session_story(fork.id).messages[-1].result("c1")
    assert (result.text, result.state) == ("never started (the question stays with the parent).", "error")
    assert [row.waiting for row in (session_story(session).row, session_story(fork.id).row)] == [1, 0]
    conversation = await home.open(OVER, resume=fork.id)
    events = [event async for event in conversation.stream(UserMsg(content="another way"))]
    await conversation.close()
    assert types(events)[-1] == "REPLY_END"


async def test_a_call_that_runs_in_the_parent_has_unknown_effects_in_the_fork(home):
    conversation = await home.open([call("c1", "Bash", command="touch made.txt")], OVER, mode=PermissionMode.BYPASS)
    fork = None
    async for event in conversation.stream(UserMsg(content="go")):
        if isinstance(event, ev.ToolResultStartEvent):
            fork = await fork_session(conversation.status.session_id)
    await conversation.close()
    result = session_story(fork.id).messages[-1].result("c1")
    assert (result.text, result.state) == (RUNNING, "interrupted")


async def test_a_title_and_a_summary_go_with_the_messages_and_a_rule_does_not(home):
    conversation = await home.open([{"text": "a story " * 3000}], SUMMARY, OVER)
    session = await said(conversation)
    await conversation.do(Compact())
    await conversation.do(SetTitle("one"))
    report, used = conversation.context(), conversation.status.input_tokens
    await conversation.close()
    log, _ = home.store.open(session)
    await log.record("rule", {"tool_name": "Bash", "behavior": "allow", "source": "session"})
    log.close()
    fork = await fork_session(session)
    assert "rule" not in [record["type"] for record in home.store.read(fork.id).records]
    again = await home.open(OVER, resume=fork.id)
    assert (again.status.title, session_story(fork.id).row.title) == ("one", "one")
    assert (again.context().summary_text, again.context().covered) == (report.summary_text, report.covered)
    assert (again.status.input_tokens, bool(used)) == (used, True)
    await again.close()


@pytest.mark.parametrize("way", ["by the command", "by the flag"])
async def test_both_ways_to_fork_write_the_same_and_sync_once(home, way, monkeypatch):
    conversation = await home.open(*[[{"text": "over"}]] * 4, ASK)
    for _ in range(5):
        session = await said(conversation)
    await conversation.close()
    syncs = []
    monkeypatch.setattr(DiskIO, "fsync", lambda self, fd: syncs.append(fd))
    monkeypatch.setattr(DiskIO, "fdatasync", lambda self, fd: syncs.append(fd))
    if way == "by the command":
        fork = (await fork_session(session)).id
    else:
        forked = await home.open(OVER, resume=session, fork=True)
        assert forked.status.waiting == ()
        fork = forked.status.session_id
        await forked.close()
    assert len(syncs) == 2  # the first line that makes the session, and the last that makes all of it durable
    kinds = [json.loads(line)["type"] for line in home.log(fork).read_bytes().splitlines()]
    assert kinds == ["session", *["msg"] * 10, "forked"]
    assert session_story(fork).messages[-1].result("c1").text == "never started (the question stays with the parent)."


async def test_a_damaged_parent_gives_what_can_be_read_and_says_what_cannot(home):
    session, _ = await home.play(OVER)
    home.log(session).write_bytes(home.log(session).read_bytes()[:-9])
    fork = await fork_session(session)
    assert len(fork.lost) == 1
    assert home.store.read(fork.id).lost == []


async def test_a_fork_that_cannot_be_written_leaves_nothing(home, monkeypatch):
    session, _ = await home.play(OVER)

    class FakeFullLog(SessionLog):
        async def kept(self, msg, *, durable=True):
            raise LogError("the disk is full")

    monkeypatch.setattr("agentcli.session.store.SessionLog", FakeFullLog)
    with pytest.raises(LogError):
        await fork_session(session)
    assert [path.name for path in home.store.folder.iterdir()] == [f"{session}.jsonl"]


async def test_an_unknown_id_is_a_usage_error(home):
    with pytest.raises(UsageError, match="no session starts with 'zzz'"):
        await fork_session("zzz")
