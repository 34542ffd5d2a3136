import json

import pytest

from agentcli.errors import UsageError
from agentcli.ledger.message import UserMsg
from agentcli.runtime.inbox import Answer, Answered, previews_of, waiting_questions
from tests.fakes.agent import call, types

TWO = [
    {"text": "May I?"},
    call("c1", "Bash", command="sh -c 'echo one > one.txt'"),
    call("c2", "Write", file_path="made.txt", content="x\n"),
]
OVER = [{"text": "over"}]


async def test_every_open_question_of_every_session_and_nothing_else(home):
    await home.play(OVER, say="nothing to ask")
    first, events = await home.play(TWO, OVER)
    second, _ = await home.play([call("c3", "Write", file_path="b.txt", content="b")])
    found = await waiting_questions()
    assert {(one.session.id, one.call.id, one.call.name, one.target, one.shown_target) for one in found} == {
        (second, "c3", "Write", str(home.project / "b.txt"), "b.txt"),
        (first, "c1", "Bash", "sh", "sh -c 'echo one > one.txt'"),
        (first, "c2", "Write", str(home.project / "made.txt"), "made.txt"),
    }
    row = next(one for one in found if one.call.id == "c1").to_json()
    asked = [json.loads(line) for line in home.log(first).read_bytes().splitlines() if b'"asked"' in line]
    assert row == {
        "session_id": first,
        "reply_id": events[-1].reply_id,
        "call_id": "c1",
        "tool": "Bash",
        "target": "sh",
        "asked_at": asked[0]["asked_at"],
        "cwd": str(home.project),
    }


async def test_listing_and_previews_write_nothing_and_take_no_lock(home):
    session, _ = await home.play(TWO)
    log = home.log(session)
    log.write_bytes(log.read_bytes() + b'{"torn')
    before = home.bytes()
    held, _ = home.store.open(session)  # by us: its tag names this process
    assert [one.session.held_by is not None for one in await waiting_questions()] == [True, True]
    held.close()
    log.write_bytes(before[f"sessions/{session}.jsonl"])
    (log.with_suffix(".torn")).unlink()
    assert len(await waiting_questions()) == 2
    assert set(await previews_of(session)) == {"c1", "c2"}
    assert home.bytes() == before


async def test_an_answered_question_is_gone(home):
    session, _ = await home.play(TWO)
    conversation = await home.open(OVER, resume=session)
    async for _ in Answered(conversation, [Answer("c1", False, None), Answer("c2", False, None)]).stream(None):
        pass
    await conversation.close()
    assert await waiting_questions() == []


async def test_a_preview_is_of_now_and_says_what_changed(home):
    session, _ = await home.play([call("c2", "Write", file_path="made.txt", content="x\n")])
    assert (await previews_of(session))["c2"].notes == []
    (home.project / "made.txt").write_text("somebody else's\n")
    preview = (await previews_of(session))["c2"]
    assert any("changed" in note for note in preview.notes)


async def test_an_answer_that_was_given_and_not_started_waits_again(home):
    session, _ = await home.play([call("c2", "Write", file_path="made.txt", content="x\n")])
    conversation = await home.open(OVER, resume=session)
    async for event in Answered(conversation, [Answer("c2", True, None)]).stream(None):
        if event.type == "USER_CONFIRM_RESULT":
            break
    await conversation.close()
    assert not (home.project / "made.txt").exists()
    found = await waiting_questions()
    assert [one.call.id for one in found] == ["c2"]
    assert any("llowed before the restart" in note for note in (await previews_of(session))["c2"].notes)


async def test_what_a_living_process_has_allowed_waits_no_more(home):
    session, _ = await home.play([call("c2", "Write", file_path="made.txt", content="x\n")])
    conversation = await home.open(OVER, resume=session)
    async for event in Answered(conversation, [Answer("c2", True, None)]).stream(None):
        if event.type == "USER_CONFIRM_RESULT":
            assert await waiting_questions() == []
    await conversation.close()


async def test_a_session_whose_folder_is_gone_still_waits_and_says_why_it_has_no_preview(home, monkeypatch):
    session, _ = await home.play(TWO)
    monkeypatch.chdir(home.path)
    home.project.rename(home.path / "moved")
    assert [one.call.id for one in await waiting_questions()] == ["c1", "c2"]
    with pytest.raises(UsageError, match="its folder is gone"):
        await previews_of(session)


async def test_the_inbox_needs_no_folder_to_stand_in(home, monkeypatch):
    await home.play(TWO)
    gone = home.path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert len(await waiting_questions()) == 2


async def test_a_question_whose_record_is_lost_is_still_told(home):
    session, _ = await home.play(TWO)
    log = home.log(session)
    lines = [line for line in log.read_bytes().splitlines(keepends=True) if b'"type":"asked"' not in line]
    log.write_bytes(b"".join(lines))
    assert [(one.call.id, one.target) for one in await waiting_questions()] == [
        ("c1", "sh -c 'echo one > one.txt'"),
        ("c2", "made.txt"),
    ]
    assert all(one.asked_at for one in await waiting_questions())


async def test_answers_reach_only_the_calls_they_are_for(home):
    session, _ = await home.play(TWO)
    digest = (await previews_of(session))["c2"].digest
    conversation = await home.open(OVER, resume=session)
    answers = [Answer("c2", True, digest), Answer("foreign", True, None)]
    events = [event async for event in Answered(conversation, answers).stream(None)]
    await conversation.close()
    assert types(events)[-1] == "REPLY_PAUSED"
    assert (home.project / "made.txt").read_text() == "x\n"
    assert not (home.project / "one.txt").exists()
    assert [one.call.id for one in await waiting_questions()] == ["c1"]


async def test_a_message_is_passed_on_as_it_is(home):
    conversation = await home.open(OVER)
    events = [event async for event in Answered(conversation, []).stream(UserMsg(content="hi"))]
    await conversation.close()
    assert types(events)[-1] == "REPLY_END"
