import json

import pytest

from agentcli.errors import UsageError
from agentcli.ledger.message import UserMsg
from agentcli.runtime.catalogue import session_rows
from agentcli.runtime.forking import fork_session
from agentcli.runtime.inbox import waiting_questions
from tests.fakes.agent import answer, call, types

OVER = [{"text": "over"}]
ASK = [call("c1", "Write", file_path="made.txt", content="x\n")]


async def heard(conversation, inputs=None):
    return [event async for event in conversation.stream(inputs)]


def moves(home, session):
    found = [json.loads(line) for line in home.log(session).read_bytes().splitlines()]
    return [(record["cwd"], record["root"]) for record in found if record["type"] == "cwd"]


@pytest.fixture
def other(home):
    (home.path / "other/.git").mkdir(parents=True)
    (home.path / "other/below").mkdir()
    return home.path / "other"


async def test_another_folder_is_told_kept_and_used_from_then_on(home, other):
    session, _ = await home.play(OVER)
    conversation = await home.open(OVER, resume=session, cwd=str(other / "below"))
    assert conversation.status.notices == (
        f"This session was in {home.project}; it belongs to {other / 'below'} from now on. --cwd says another one.",
    )
    await conversation.close()
    assert moves(home, session) == [(str(other / "below"), str(other))]
    assert session_rows()[0].cwd == str(other / "below")
    again = await home.open(OVER, resume=session)
    assert (again.status.cwd, again.status.root, again.status.notices) == (str(other / "below"), str(other), ())
    await again.close()
    assert len(moves(home, session)) == 1


async def test_continue_finds_a_session_in_its_new_folder_and_no_more_in_the_old_one(home, other, monkeypatch):
    session, _ = await home.play(OVER)
    await (await home.open(OVER, resume=session, cwd=str(other))).close()
    with pytest.raises(UsageError, match="no session of this folder"):
        await home.open(OVER, continue_=True)
    monkeypatch.chdir(other)
    conversation = await home.open(OVER, continue_=True)
    assert conversation.status.session_id == session
    await conversation.close()


async def test_a_session_whose_folder_is_gone_goes_on_here_and_says_so(home, other, monkeypatch):
    session, _ = await home.play(OVER)
    monkeypatch.chdir(other)
    home.project.rename(home.path / "moved")
    conversation = await home.open(OVER, resume=session)
    assert conversation.status.notices == (
        f"This session was in {home.project}, which is gone; it belongs to {other} from now on. --cwd says another one.",
    )
    assert conversation.status.cwd == str(other)
    await conversation.close()
    assert moves(home, session) == [(str(other), str(other))]


async def test_a_session_that_stays_writes_no_folder(home):
    session, _ = await home.play(OVER)
    conversation = await home.open(OVER, resume=session)
    await conversation.close()
    assert (conversation.status.notices, moves(home, session)) == ((), [])


async def test_the_model_is_told_the_folder_of_now(home, other):
    session, _ = await home.play(OVER)
    conversation = await home.open(OVER, resume=session, cwd=str(other))
    await heard(conversation, UserMsg(content="go on"))
    assert f"Working folder: {other}" in conversation._agent.model.requests[-1].system
    await conversation.close()


async def test_a_question_asked_in_the_old_folder_is_asked_anew_and_says_that_it_leads_elsewhere(home, other):
    session, first = await home.play(ASK)
    conversation = await home.open(OVER, resume=session, cwd=str(other))
    assert [one.session.cwd for one in await waiting_questions()] == [str(other)]
    again = await heard(conversation, answer(first))
    assert types(again)[-2:] == ["REQUIRE_USER_CONFIRM", "REPLY_PAUSED"]
    assert any("has changed since the first question" in note for note in again[-2].previews["c1"].notes)
    assert not (other / "made.txt").exists()
    await heard(conversation, answer(again, digest=again[-2].previews["c1"].digest))
    await conversation.close()
    assert ((other / "made.txt").read_text(), (home.project / "made.txt").exists()) == ("x\n", False)


async def test_a_fork_in_another_folder_leaves_the_parent_where_it_is(home, other):
    session, _ = await home.play(OVER)
    fork = await home.open(OVER, resume=session, fork=True, cwd=str(other))
    assert (fork.status.cwd, fork.status.notices) == (str(other), ())
    await fork.close()
    assert {row.id: row.cwd for row in session_rows()} == {session: str(home.project), fork.status.session_id: str(other)}


async def test_a_fork_of_a_moved_session_is_in_the_folder_of_now(home, other):
    session, _ = await home.play(OVER)
    await (await home.open(OVER, resume=session, cwd=str(other / "below"))).close()
    fork = await fork_session(session)
    header = json.loads(home.log(fork.id).read_bytes().splitlines()[0])
    assert (header["cwd"], header["root"]) == (str(other / "below"), str(other))
