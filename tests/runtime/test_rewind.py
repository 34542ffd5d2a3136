import json

import pytest

from agentcli.errors import AgentcliError
from agentcli.ledger.message import UserMsg
from agentcli.ledger.rule import PermissionContext
from agentcli.runtime.catalogue import search_sessions, session_rows, session_story
from agentcli.runtime.command import Compact, Rewind
from agentcli.runtime.conversation import Earlier
from agentcli.runtime.forking import fork_session
from agentcli.runtime.inbox import waiting_questions
from agentcli.runtime.restore import restore
from tests.fakes.agent import call, types
from tests.fakes.world import check_request

OVER = [{"text": "over"}, {"usage": {"input_tokens": 70, "output_tokens": 5}}]
ASK = [{"text": "May I?"}, call("c1", "Write", file_path="made.txt", content="x\n")]


async def say(conversation, text):
    return [event async for event in conversation.stream(UserMsg(content=text))]


async def talk(home, *texts, turns=None, **options):
    conversation = await home.open(*(turns or [OVER] * (len(texts) + 3)), **options)
    for text in texts:
        await say(conversation, text)
    return conversation


def texts(msgs):
    return [msg.get_text_content() for msg in msgs]


def saved_texts(session):
    return texts(session_story(session).messages)


def records(home, session):
    return [json.loads(line) for line in home.log(session).read_bytes().splitlines()]


async def back_to(conversation, text):
    return await conversation.do(Rewind(next(one.msg_id for one in conversation.earlier() if one.text == text)))


def summarised(report):
    return report.summary_text, report.messages, report.covered


async def test_earlier_messages_are_those_of_the_user_that_stand_newest_first(home):
    conversation = await talk(home, "one", "two")
    msgs = session_story(conversation.status.session_id).messages
    wanted = [Earlier(msg.id, msg.get_text_content(), msg.created_at) for msg in (msgs[2], msgs[0])]
    assert conversation.earlier() == wanted
    await back_to(conversation, "two")
    assert conversation.earlier() == wanted[1:]
    await conversation.close()


async def test_the_sentence_says_how_much_left_and_that_files_stay(home):
    conversation = await talk(home, "one", "two")
    assert await back_to(conversation, "two") == (
        "Back before this message: 2 messages left the context, files stay as they are. The session keeps all of it."
    )
    await conversation.close()


async def test_a_resume_finds_what_stands_and_goes_on_from_there(home):
    conversation = await talk(home, "one", "two")
    await back_to(conversation, "two")
    await say(conversation, "other")
    session = conversation.status.session_id
    await conversation.close()
    again = await home.open(OVER, resume=session)
    assert [one.text for one in again.earlier()] == ["other", "one"]
    await say(again, "more")
    await again.close()
    assert saved_texts(session) == ["one", "over", "other", "over", "more", "over"]


async def test_nothing_is_deleted_and_search_finds_all_that_was_said(home):
    conversation = await talk(home, "the needle")
    session = conversation.status.session_id
    before = home.log(session).read_bytes()
    await back_to(conversation, "the needle")
    await conversation.close()
    assert home.log(session).read_bytes().startswith(before)
    assert [hit.found.text for hit in search_sessions("needle")] == ["the needle"]
    assert saved_texts(session) == []


async def test_an_open_question_is_open_nowhere_any_more(home):
    conversation = await talk(home, "one", turns=[ASK, OVER])
    session = conversation.status.session_id
    assert [row.waiting for row in session_rows()] == [1]
    await back_to(conversation, "one")
    assert conversation.status.waiting == ()
    assert ([row.waiting for row in session_rows()], await waiting_questions()) == ([0], [])
    await conversation.close()
    again = await home.open(OVER, resume=session)
    assert (again.status.waiting, again.status.unfinished) == ((), False)
    with pytest.raises(AgentcliError, match="Nothing waits"):
        [event async for event in again.stream(None)]
    await again.close()
    assert not (home.project / "made.txt").exists()


async def test_a_crash_between_the_end_of_the_question_and_the_record_leaves_an_interrupted_reply(home):
    conversation = await talk(home, "one", turns=[ASK])
    session = conversation.status.session_id
    await back_to(conversation, "one")
    await conversation.close()
    lines = home.log(session).read_bytes().splitlines(keepends=True)
    assert json.loads(lines[-1])["type"] == "rewind"
    home.log(session).write_bytes(b"".join(lines[:-1]))
    again = await home.open(OVER, resume=session)
    assert (again.status.waiting, again.status.unfinished, [one.text for one in again.earlier()]) == ((), False, ["one"])
    assert types(await say(again, "two"))[-1] == "REPLY_END"
    await again.close()


async def test_a_message_that_no_reply_followed_can_be_taken_back_after_a_crash(home):
    conversation = await talk(home, "one")
    session = conversation.status.session_id
    await conversation.close()
    log, _ = home.store.open(session)
    await log.said(UserMsg(content="two"))
    log.close()
    again = await home.open(OVER, resume=session)
    await back_to(again, "two")
    assert not again.status.unfinished
    await again.close()
    third = await home.open(OVER, resume=session)
    assert (third.status.unfinished, [one.text for one in third.earlier()]) == (False, ["one"])
    await third.close()


async def test_tokens_that_were_spent_stay_counted(home):
    conversation = await talk(home, "one", "two")
    before = (conversation.status.input_tokens, conversation.status.output_tokens)
    await back_to(conversation, "one")
    session = conversation.status.session_id
    assert (conversation.status.input_tokens, conversation.status.output_tokens) == before == (140, 10)
    await conversation.close()
    again = await home.open(OVER, resume=session)
    assert (again.status.input_tokens, again.status.output_tokens) == before
    await again.close()


async def test_the_context_meter_shows_what_is_left(home):
    conversation = await talk(home, "one " * 2000, "two")
    await back_to(conversation, "one " * 2000)
    assert conversation.context().user == 0
    assert conversation.status.context_tokens == conversation.context().total
    await conversation.close()


@pytest.mark.parametrize(("back", "stands"), [("after", True), ("one", False)])
async def test_a_summary_is_sent_as_long_as_its_place_stands_here_and_after_a_resume(home, back, stands):
    long = [{"text": "a story " * 3000}]
    summary = [{"text": "<summary>## The request\na story</summary>"}]
    conversation = await talk(home, "one", "two", turns=[long, long, summary, OVER, OVER])
    await conversation.do(Compact())
    await say(conversation, "after")
    assert "a story" in conversation.context().summary_text
    await back_to(conversation, back)
    assert ("a story" in conversation.context().summary_text) == stands
    session, report = conversation.status.session_id, conversation.context()
    await conversation.close()
    again = await home.open(OVER, resume=session)
    assert summarised(again.context()) == summarised(report)
    await again.close()


async def test_the_first_words_of_what_stands_are_the_title(home):
    conversation = await talk(home, "one")
    await back_to(conversation, "one")
    assert [(row.title, row.messages) for row in session_rows()] == [("", 0)]
    await say(conversation, "two")
    await conversation.close()
    assert [(row.title, row.messages) for row in session_rows()] == [("two", 2)]


async def test_a_fork_has_what_stands_only_and_the_same_state_in_memory_and_on_disk(home):
    conversation = await talk(home, "one", "two")
    await back_to(conversation, "two")
    session = conversation.status.session_id
    await conversation.close()
    fork = await fork_session(session)
    assert saved_texts(fork.id) == ["one", "over"]
    assert not any(b"two" in line for line in home.log(fork.id).read_bytes().splitlines())
    forked = await home.open(OVER, resume=session, fork=True)
    state = forked._agent.state
    loaded = restore(home.store.read(state.session_id), state.session_id, PermissionContext())
    assert loaded.model_dump(exclude={"permission_context", "cur_iter"}) == state.model_dump(
        exclude={"permission_context", "cur_iter"}
    )
    await forked.close()


async def test_a_broken_rewind_line_brings_the_messages_back_and_is_told(home):
    conversation = await talk(home, "one", "two")
    await back_to(conversation, "two")
    await say(conversation, "three")
    session = conversation.status.session_id
    await conversation.close()
    lines = home.log(session).read_bytes().splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if b'"type":"rewind"' in line)
    lines[at] = b"{" + lines[at]
    home.log(session).write_bytes(b"".join(lines))
    again = await home.open(OVER, resume=session)
    assert [f"line {at + 1} " in notice for notice in again.status.notices] == [True]
    assert types(await say(again, "four"))[-1] == "REPLY_END"
    await again.close()
    assert saved_texts(session)[::2] == ["one", "two", "three", "four"]


async def test_any_cut_of_a_log_with_rewinds_loads_and_its_next_request_is_accepted(home):
    conversation = await talk(home, "one", "two", turns=[OVER, ASK, OVER, ASK])
    await back_to(conversation, "two")
    await say(conversation, "three")
    await say(conversation, "four")
    await back_to(conversation, "three")
    session = conversation.status.session_id
    await conversation.close()
    raw, path = home.log(session).read_bytes(), home.log(session)
    ends = [at + 1 for at, byte in enumerate(raw) if byte == 10]
    for end in [at for line in ends for at in (line, line + 40) if at <= len(raw)]:
        path.write_bytes(raw[:end])
        again = await home.open(OVER, resume=session)
        agent = again._agent
        if agent.waiting:
            await agent.rewind(agent.state.context[-2].id)
        await say(again, "on")
        check_request(agent.model.requests[-1])
        await again.close()
    assert saved_texts(session) == ["one", "over", "on", "over"]
