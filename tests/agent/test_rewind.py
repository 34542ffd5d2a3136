import asyncio
from contextlib import aclosing

import pytest

from agentcli.agent.context import model_request
from agentcli.errors import AgentcliError, LogError
from agentcli.ledger.message import UserMsg
from agentcli.ledger.state import Compression, Mark, Task, ToolMemory
from tests.fakes.agent import FakeTool, Stand, call, results_of, until
from tests.fakes.world import check_request

OVER = [{"text": "over"}]


def said(stand, text):
    return next(msg.id for msg in stand.state.context if msg.get_text_content() == text)


def texts(msgs):
    return [msg.get_text_content() for msg in msgs]


async def test_the_message_and_all_behind_it_leave_the_context_and_come_back_as_what_was_taken():
    stand = Stand([OVER, OVER, OVER])
    for text in ("one", "two", "three"):
        await stand.run(text)
    gone = await stand.agent.rewind(said(stand, "two"))
    assert (texts(stand.state.context), texts(gone)) == (["one", "over"], ["two", "over", "three", "over"])
    assert stand.state.reply_id == stand.state.context[-1].id
    assert stand.journal.kinds[-1] == "rewind"


async def test_the_first_message_leaves_nothing():
    stand = Stand([OVER, OVER])
    await stand.run("one")
    await stand.agent.rewind(said(stand, "one"))
    assert (stand.state.context, stand.state.reply_id) == ([], "")
    await stand.run("another")
    assert texts(stand.model.requests[-1].messages) == ["another"]


@pytest.mark.parametrize("other", ["", "no such id", "of the agent"])
async def test_what_is_no_standing_message_of_the_user_is_refused_and_changes_nothing(other):
    stand = Stand([OVER])
    await stand.run("one")
    msg_id = stand.state.context[-1].id if other == "of the agent" else other
    before = stand.state.model_dump_json()
    with pytest.raises(AgentcliError, match="not in the context"):
        await stand.agent.rewind(msg_id)
    assert (stand.state.model_dump_json(), "rewind" in stand.journal.kinds) == (before, False)


async def test_a_message_cannot_be_taken_twice():
    stand = Stand([OVER])
    await stand.run("one")
    msg_id = said(stand, "one")
    await stand.agent.rewind(msg_id)
    with pytest.raises(AgentcliError, match="not in the context"):
        await stand.agent.rewind(msg_id)


async def test_a_running_reply_refuses():
    gate = asyncio.Event()
    stand = Stand([[call("c1", value="a")], OVER], FakeTool(gate=gate), mode="bypass")
    task = asyncio.create_task(stand.run("one"))
    await until(lambda: stand.tools["Act"].effects)
    with pytest.raises(AgentcliError, match="A reply runs"):
        await stand.agent.rewind(said(stand, "one"))
    gate.set()
    await task
    assert texts(stand.state.context)[0] == "one"


async def test_an_open_question_is_interrupted_before_it_leaves():
    stand = Stand([[call("c1", value="a"), call("c2", value="b")]], FakeTool())
    await stand.run("one")
    assert len(stand.agent.waiting) == 2
    gone = await stand.agent.rewind(said(stand, "one"))
    assert gone[-1].finished_reason == "interrupted"
    assert {state for state, _ in results_of(gone[-1]).values()} == {"interrupted"}
    assert stand.journal.kinds[-2:] == ["kept", "rewind"]
    assert (stand.agent.waiting, stand.agent.unfinished, stand.state.questions) == ([], False, {})
    assert stand.tools["Act"].effects == []


async def test_a_reply_that_was_cut_off_gets_an_honest_end_before_it_leaves():
    stand = Stand([[call("c1", value="a")], OVER], FakeTool(gate=asyncio.Event()), mode="bypass")
    async with aclosing(stand.agent.reply_stream(UserMsg(content="one"))) as events:
        async for event in events:
            if event.type == "TOOL_CALL_END":
                break
    assert stand.agent.unfinished
    gone = await stand.agent.rewind(said(stand, "one"))
    assert {words.split(":")[0] for _, words in results_of(gone[-1]).values()} == {"never started"}
    assert (stand.agent.unfinished, stand.state.started) == (False, {})


async def test_what_the_disk_refuses_did_not_happen():
    stand = Stand([OVER])
    await stand.run("one")
    before = stand.state.model_dump_json()
    stand.journal.breaks_at = "rewind"
    with pytest.raises(LogError):
        await stand.agent.rewind(said(stand, "one"))
    assert stand.state.model_dump_json() == before


async def test_what_was_queued_stays_queued_and_tokens_stay_counted():
    stand = Stand([[{"text": "over"}, {"usage": {"input_tokens": 70, "output_tokens": 5}}]])
    await stand.run("one")
    stand.agent.steer("and this")
    await stand.agent.rewind(said(stand, "one"))
    assert stand.state.steering == ["and this"]
    assert (stand.state.apart.input_tokens, stand.state.apart.output_tokens) == (70, 5)


async def test_a_call_id_that_was_taken_out_is_not_given_again():
    stand = Stand([[call("c1", value="a")], OVER, [call("c1", value="b")], OVER], FakeTool(), mode="bypass")
    await stand.run("one")
    await stand.agent.rewind(said(stand, "one"))
    await stand.run("another")
    assert [one.id == "c1" for one in stand.state.context[-1].calls] == [False]
    later = stand.again([[call("c1", value="c")], OVER])
    await later.run("more")
    assert "c1" not in {one.id for msg in later.state.context for one in msg.calls}


async def test_tools_remember_only_what_stands():
    stand = Stand([[call("c1", value="a")], OVER, [call("c2", value="b")], OVER], FakeTool(), mode="bypass")
    for text, key, seen in (("one", "c1", {"/a": "1"}), ("two", "c2", {"/a": "2", "/b": "3"})):
        await stand.run(text)
        tasks = [{"title": text, "state": "pending"}]
        stand.state.context[-1].result(key).metadata.update(seen=seen, tasks=tasks)
    await stand.agent.rewind(said(stand, "two"))
    tasks = [Task(title="one", state="pending")]
    assert stand.state.tool_context == ToolMemory(read_files={"/a": "1"}, tasks=tasks)


@pytest.mark.parametrize(("back_to", "stays"), [("three", True), ("two", False), ("one", False)])
async def test_a_summary_stays_only_as_long_as_its_place(back_to, stays):
    stand = Stand([OVER, OVER, OVER, OVER])
    for text in ("one", "two", "three"):
        await stand.run(text)
    covers = Mark(msg_id=stand.state.context[3].id)
    stand.state.summary, stand.state.compressed = "in short", Compression(covers=covers)
    await stand.agent.rewind(said(stand, back_to))
    assert (stand.state.summary is not None, stand.state.compressed is not None) == (stays, stays)
    await stand.run("on")
    request = stand.model.requests[-1]
    check_request(request)
    assert any("in short" in (msg.get_text_content() or "") for msg in request.messages) == stays
    check_request(model_request(stand.agent._work))
