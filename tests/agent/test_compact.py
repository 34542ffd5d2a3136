import json
import time
from contextlib import aclosing
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentcli.agent.context import BEGINNING, LEFT_OUT, kept, place_of, sent
from agentcli.agent.cuts import cuts
from agentcli.agent.estimate import Sizes, measure, tokens_of
from agentcli.ledger import event as ev
from agentcli.ledger.block import HintBlock, TextBlock, ToolCallBlock, ToolResultBlock
from agentcli.ledger.message import AssistantMsg, UserMsg
from agentcli.ledger.state import AgentState, Compression, Mark
from agentcli.model.base import CallPiece, Finish, ModelCard, ModelRequest, TextPiece, UsagePiece
from agentcli.model.openai_chat.format import wire_request
from agentcli.model.scripted import ScriptedModel
from agentcli.session.store import SessionStore, new_session_id
from tests.fakes.agent import FakeTool, Stand, call, refold, types

LONG = "word " * 140  # 200 tokens
SUMMARY = {"text": "## The request\nto act"}


def windowed(turns, size):
    model = ScriptedModel(turns)
    model.card = replace(model.card, context_size=size)
    return model


def acts(*keys):
    return [call(key, value=f"{key} {LONG}") for key in keys]


def turns_of(count, *rest):
    return [*(acts(f"c{n}") for n in range(count)), *rest]


def seen(request):
    """What a model is given, as words: a letter for each block."""
    letters = {"text": "t", "tool_call": "c", "tool_result": "r", "hint": "h", "thinking": "k"}
    return [msg.role[0] + ":" + "".join(letters[block.type] for block in msg.content) for msg in request.messages]


def words(msg):
    return msg.role, [block.model_dump(exclude={"id"}) for block in msg.content]


def whole(messages):
    """Each call is answered exactly once, behind it and before the next turn; on the wire too."""
    ids = [block.id for msg in messages for block in msg.content if block.type == "tool_call"]
    assert len(ids) == len(set(ids))
    for msg in messages:
        waiting, answered = [], []
        for block in msg.content:
            if block.type == "tool_call":
                waiting.append(block.id)
            elif block.type == "tool_result":
                assert block.id in waiting
                assert block.id not in answered
                answered.append(block.id)
        assert sorted(waiting) == sorted(answered)
        assert msg.content
    wire = wire_request(ModelRequest(system="", messages=messages)).messages
    at = 0
    while at < len(wire):
        wanted = [one["id"] for one in wire[at].get("tool_calls", [])]
        assert [one.get("tool_call_id") for one in wire[at + 1 : at + 1 + len(wanted)]] == wanted
        at += 1 + len(wanted)
        assert at >= len(wire) or wire[at]["role"] != "tool"


# -- before the window is full -------------------------------------------------------------------


async def test_before_the_window_is_full_the_older_part_is_summarised_and_the_ledger_keeps_all():
    counted = {"usage": {"input_tokens": 7000, "output_tokens": 30}}
    model = windowed(turns_of(8, [SUMMARY, counted], [{"text": "over"}]), 4000)
    stand = Stand(model, FakeTool(), mode="bypass")
    events = await stand.run()
    assert events[-1].finished_reason == "completed"
    calls = [block.id for block in stand.state.context[-1].calls]
    assert calls == [f"c{n}" for n in range(8)]
    assert refold(events) == stand.state.context[-1]
    for request in model.requests:
        whole(request.messages)
    asked, after = model.requests[8:]
    assert asked.messages[-1].get_text_content().startswith("The conversation above")
    assert asked.tools == after.tools
    assert seen(asked) == ["u:t", "a:" + "cr" * 7, "u:t"]
    assert seen(after) == ["u:t", "a:cr"]
    assert SUMMARY["text"] in after.messages[0].get_text_content()


async def test_a_summary_is_a_model_call_without_blocks_whose_tokens_are_counted():
    counted = {"usage": {"input_tokens": 70, "output_tokens": 3}}
    stand = Stand(windowed(turns_of(8, [SUMMARY, counted], [{"text": "over"}]), 4000), FakeTool(), mode="bypass")
    events = await stand.run()
    at = types(events).index("CONTEXT_COMPRESSED")
    assert types(events)[at - 2 : at + 2] == ["MODEL_CALL_START", "MODEL_CALL_END", "CONTEXT_COMPRESSED", "MODEL_CALL_START"]
    assert [event.metadata for event in events[at - 2 : at]] == [{"purpose": "compression"}] * 2
    assert (events[at].summary, events[at].tokens_after < events[at].tokens_before / 2) == (SUMMARY["text"], True)
    usage = stand.state.context[-1].usage
    assert (usage.input_tokens, usage.output_tokens) == (70, 3)


async def test_a_summary_is_on_disk_before_it_is_told():
    stand = Stand(windowed(turns_of(8, [SUMMARY], [{"text": "over"}]), 4000), FakeTool(), mode="bypass")
    async with aclosing(stand.agent.reply_stream(UserMsg("user", "go"))) as events:
        async for event in events:
            if event.type == "CONTEXT_COMPRESSED":
                break
    kind, body = stand.journal.lines[-1]
    assert (kind, body["summary"]) == ("summary", stand.state.summary)
    assert Compression.model_validate({name: body[name] for name in Compression.model_fields}) == stand.state.compressed


async def test_the_state_through_json_sends_the_same_context():
    stand = Stand(windowed(turns_of(8, [SUMMARY], [{"text": "over"}]), 4000), FakeTool(), mode="bypass")
    await stand.run()
    other = stand.again([])
    assert [words(msg) for msg in sent(other.state)] == [words(msg) for msg in sent(stand.state)]
    assert [len(msg.content) for msg in sent(other.state)] == [1, 3]


async def test_the_users_last_message_stays_word_for_word():
    stand = Stand(windowed(turns_of(8, [SUMMARY], [{"text": "over"}]), 4000), FakeTool(), mode="bypass")
    await stand.run("do exactly this")
    assert "do exactly this" in stand.model.requests[-1].messages[0].get_text_content()


async def test_what_the_user_says_now_is_never_summarised():
    turns = [[{"text": LONG * 3}], [SUMMARY], [{"text": "over"}]]
    stand = Stand(windowed(turns, 1600), mode="bypass")
    await stand.run("first")
    await stand.run("now " + LONG * 4)
    assert seen(stand.model.requests[-1])[1:] == ["u:t"]
    assert stand.model.requests[-1].messages[-1].get_text_content() == "now " + LONG * 4


async def test_a_message_that_fills_the_window_alone_is_sent_and_the_provider_decides():
    stand = Stand(windowed([[{"error": "context_length"}]], 1000))
    events = await stand.run(LONG * 5)
    assert (events[-1].finished_reason, events[-1].error.kind) == ("error", "context_length")
    assert len(stand.model.requests) == 1


# -- failure -------------------------------------------------------------------------------------


async def test_where_no_summary_can_be_had_old_results_are_left_out_and_calls_keep_theirs():
    stand = Stand(windowed(turns_of(8, [{"error": "auth"}], [{"text": "over"}]), 4000), FakeTool(), mode="bypass")
    events = await stand.run()
    assert events[-1].finished_reason == "completed"
    told = next(event for event in events if event.type == "CONTEXT_COMPRESSED")
    assert "The scripted provider refused the key" in told.summary
    last = stand.model.requests[-1]
    whole(last.messages)
    results = [block for msg in last.messages for block in msg.content if block.type == "tool_result"]
    assert results[0].text == LEFT_OUT.format(state="success", count=len(f"did c0 {LONG}"))
    assert stand.state.context[-1].result("c0").text.endswith(LONG)


async def test_a_summary_that_is_too_long_itself_is_asked_once_more_without_the_results():
    turns = turns_of(8, [{"error": "context_length"}], [SUMMARY], [{"text": "over"}])
    stand = Stand(windowed(turns, 4000), FakeTool(), mode="bypass")
    events = await stand.run()
    assert events[-1].finished_reason == "completed"
    assert types(events).count("MODEL_CALL_RETRY") == 1
    results = [b.text for msg in stand.model.requests[-2].messages for b in msg.content if b.type == "tool_result"]
    assert results
    assert all(text.startswith("[This result") for text in results)


async def test_a_broken_connection_is_tried_again():
    turns = turns_of(8, [{"error": "connection"}], [SUMMARY], [{"text": "over"}])
    stand = Stand(windowed(turns, 4000), FakeTool(), mode="bypass")
    events = await stand.run()
    assert types(events).count("MODEL_CALL_RETRY") == 1
    assert stand.state.summary.startswith(SUMMARY["text"])


async def test_a_pass_without_gain_ends_the_reply_with_a_clear_sentence():
    turns = [[{"text": LONG * 4}], [{"text": LONG * 4}], [{"text": "never"}]]
    stand = Stand(windowed(turns, 1000))
    await stand.run()
    events = await stand.run("on")
    end = events[-1]
    assert (end.finished_reason, end.error.kind) == ("error", "context_length")
    assert "neither a summary" in end.error.message
    assert len(stand.model.requests) == 2
    assert stand.state.compressed is None


async def test_a_call_in_the_answer_to_a_summary_is_not_run():
    turns = turns_of(8, acts("evil"), [{"text": "over"}])
    tool = FakeTool()
    stand = Stand(windowed(turns, 4000), tool, mode="bypass")
    events = await stand.run()
    assert events[-1].finished_reason == "completed"
    assert len(tool.effects) == 8
    assert "No summary could be made" in next(e.summary for e in events if e.type == "CONTEXT_COMPRESSED")


async def test_an_interrupt_during_a_summary_ends_the_reply_and_changes_no_context():
    stand = Stand(windowed(turns_of(8, [{"delay": 30}, SUMMARY]), 4000), FakeTool(), mode="bypass")
    events = []
    async for event in stand.agent.reply_stream(UserMsg("user", "go")):
        events.append(event)
        if event.metadata.get("purpose"):
            stand.agent.interrupt()
    assert events[-1].finished_reason == "interrupted"
    assert stand.state.compressed is None
    assert refold(events) == stand.state.context[-1]


async def test_row_24_a_kill_during_compression_leaves_the_context_as_it_was():
    stand = Stand(windowed(turns_of(8, [SUMMARY, {"delay": 30}]), 4000), FakeTool(), mode="bypass")
    async with aclosing(stand.agent.reply_stream(UserMsg("user", "go"))) as events:
        async for event in events:
            if event.metadata.get("purpose"):
                break
    again = stand.again([[{"text": "over"}]])
    assert again.state.compressed is None
    await again.run(None)
    request = again.model.requests[0]
    whole(request.messages)
    assert [block.id for block in request.messages[-1].content if block.type == "tool_call"] == [f"c{n}" for n in range(8)]


async def test_a_full_disk_stops_the_reply_and_forgets_the_summary():
    stand = Stand(windowed(turns_of(8, [SUMMARY], [{"text": "next"}]), 4000), FakeTool(), mode="bypass")
    stand.journal.breaks_at = "summary"
    events = await stand.run()
    assert (events[-1].finished_reason, events[-1].error.message) == ("error", "the disk is full")
    assert (stand.state.summary, stand.state.compressed) == (None, None)


# -- an unknown window -----------------------------------------------------------------------------


async def test_an_unknown_window_is_compressed_once_after_the_provider_refused():
    turns = turns_of(8, [{"error": "context_length"}], [SUMMARY], [{"text": "over"}])
    stand = Stand(turns, FakeTool(), mode="bypass")
    events = await stand.run()
    assert events[-1].finished_reason == "completed"
    assert types(events).count("CONTEXT_COMPRESSED") == 1
    whole(stand.model.requests[-1].messages)


async def test_a_second_refusal_ends_the_reply():
    turns = turns_of(8, [{"error": "context_length"}], [SUMMARY], [{"error": "context_length"}], [{"text": "never"}])
    stand = Stand(turns, FakeTool(), mode="bypass")
    events = await stand.run()
    assert (events[-1].finished_reason, events[-1].error.kind) == ("error", "context_length")
    assert types(events).count("CONTEXT_COMPRESSED") == 1


async def test_an_unknown_window_is_never_compressed_by_itself():
    stand = Stand(turns_of(40, [{"text": "over"}]), FakeTool(), mode="bypass")
    assert "CONTEXT_COMPRESSED" not in types(await stand.run())


async def test_a_second_summary_is_made_of_the_first_and_what_came_since():
    second = {"text": "## The request\nto act more"}
    turns = turns_of(8, [SUMMARY], *(acts(f"d{n}") for n in range(7)), [second], [{"text": "over"}])
    stand = Stand(windowed(turns, 4000), FakeTool(), mode="bypass")
    events = await stand.run()
    assert types(events).count("CONTEXT_COMPRESSED") == 2
    asked = next(request for request in reversed(stand.model.requests) if len(request.messages) > 1 and "above" in last(request))
    assert SUMMARY["text"] in asked.messages[0].get_text_content()
    assert second["text"] in stand.model.requests[-1].messages[0].get_text_content()


def last(request):
    return request.messages[-1].get_text_content() or ""


# -- on demand -------------------------------------------------------------------------------------


async def test_on_demand_a_small_context_is_compressed_and_counted_apart():
    counted = {"usage": {"input_tokens": 9, "output_tokens": 4}}
    stand = Stand([[{"text": LONG * 2}], [SUMMARY, counted]])
    await stand.run()
    done = await stand.agent.window.compress("the tests")
    assert isinstance(done, ev.ContextCompressedEvent)
    assert "attention to this: the tests" in last(stand.model.requests[-1])
    assert stand.state.apart.input_tokens == 9
    assert [msg.role for msg in stand.state.context] == ["user", "assistant"]
    assert seen(ModelRequest(system="", messages=sent(stand.state))) == ["u:t"]


async def test_on_demand_too_little_is_said():
    stand = Stand([[{"text": "ok"}]])
    await stand.run()
    assert await stand.agent.window.compress() == "There is too little in the context to compress."


async def test_on_demand_a_parked_call_stays_with_its_question():
    stand = Stand([[{"text": LONG * 4}], acts("c1"), [SUMMARY], [{"text": "over"}]], FakeTool())
    await stand.run()
    paused = await stand.run("on")
    assert isinstance(await stand.agent.window.compress(), ev.ContextCompressedEvent)
    assert [block.id for block in stand.agent.waiting] == ["c1"]
    event = ev.UserConfirmResultEvent(
        reply_id=paused[-1].reply_id,
        confirm_results=[ev.ConfirmResult(confirmed=True, tool_call=block) for block in paused[-1].waiting],
    )
    assert (await stand.run(event))[-1].finished_reason == "completed"
    whole(stand.model.requests[-1].messages)


# -- any history, any cut --------------------------------------------------------------------------


@st.composite
def replies(draw, number):
    """An assistant message of turns: text, parallel calls whose results come in any order, words of the user between."""
    content, count = [], 0
    for _ in range(draw(st.integers(0, 3))):
        if draw(st.booleans()):
            content.append(TextBlock(text=draw(st.sampled_from(["so", "long " * 60]))))
        ids = [f"m{number}c{count + at}" for at in range(draw(st.integers(1, 3)))]
        count += len(ids)
        content += [ToolCallBlock(id=key, name="Act", input="{}", state="finished") for key in ids]
        for key in draw(st.permutations(ids)):
            output = [TextBlock(text=draw(st.sampled_from(["ok", "much " * 80])))]
            content.append(ToolResultBlock(id=key, name="Act", output=output, state="success"))
        if draw(st.booleans()):
            content.append(HintBlock(hint="and this", source="user"))
    if draw(st.booleans()) or not content:
        content.append(TextBlock(text="over"))
    return AssistantMsg(id=f"m{number}", content=content, finished_at="2026-01-01T00:00:00+00:00")


@st.composite
def histories(draw):
    context = []
    for number in range(draw(st.integers(1, 4))):
        context.append(UserMsg(id=f"u{number}", content=draw(st.sampled_from(["go", "please " * 50]))))
        context.append(draw(replies(number)))
    match draw(st.sampled_from(["ended", "running", "parked", "said"])):
        case "running":
            context[-1].finished_at = None
        case "parked":
            context[-1].finished_at = None
            context[-1].content.append(ToolCallBlock(id="open", name="Act", input="{}", state="asking"))
        case "said":
            context += [UserMsg(content="now"), AssistantMsg()]
        case _:
            pass
    return context


def without_open(messages):
    """What is sent once the parked call has been answered."""
    for msg in messages:
        content = [block for block in msg.content if block.id != "open"]
        if content:
            yield msg.model_copy(update={"content": content, "_known": None})


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), st.data())
def test_law_2_for_any_history_and_any_cut_every_call_that_is_sent_is_answered_exactly_once(context, data):
    found = [cut.mark for cut in cuts(context, BEGINNING, BEGINNING)]
    before = [msg.model_dump() for msg in context]
    mark = data.draw(st.sampled_from(found)) if found else None
    later = [cut.mark for cut in cuts(context, place_of(context, mark) if mark else BEGINNING, BEGINNING)]
    trims = data.draw(st.sampled_from([None, *later]))
    state = AgentState(context=context, summary="so far", compressed=Compression(covers=mark, trims=trims))
    messages = sent(state)
    whole(list(without_open(messages)))
    assert messages[0].role == "user"
    assert [msg.model_dump() for msg in context] == before
    place = place_of(context, mark) if mark else BEGINNING
    there = [(b.type, b.id) for m in kept(context, BEGINNING, place, BEGINNING) for b in m.content]
    rest = [(b.type, b.id) for m in messages[1:] for b in m.content]
    assert there + rest == [(b.type, b.id) for m in context for b in m.content]
    assert not any(block == ("tool_call", "open") for block in there)
    if context[-1].content == [] and mark is not None:
        assert messages[-1].get_text_content() == "now"


def test_the_cut_of_parallel_calls_takes_their_results_along():
    content = [ToolCallBlock(id=key, name="Act", input="{}", state="finished") for key in ("c1", "c2")]
    content += [ToolResultBlock(id=key, name="Act", output="ok", state="success") for key in ("c2", "c1")]
    context = [UserMsg(id="u", content="go"), AssistantMsg(id="m", content=[*content, TextBlock(id="t", text="over")])]
    marks = [cut.mark for cut in cuts(context, BEGINNING, BEGINNING)]
    assert marks == [Mark(msg_id="u"), Mark(msg_id="m", block=("tool_result", "c1"))]


def test_a_mark_that_is_not_there_any_more_sends_the_whole_context_without_the_summary():
    context = [UserMsg(content="go"), AssistantMsg(content="ok")]
    state = AgentState(context=context, summary="so far", compressed=Compression(covers=Mark(msg_id="gone")))
    assert sent(state) == context


# -- the estimate ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "tokens"), [("a" * 35, 10), ("漢字" * 5, 10), ("ж" * 35, 22.5), ("", 0), ("\ud800", 1)])
def test_the_estimate_counts_ascii_by_three_and_a_half_and_cjk_by_one(text, tokens):
    assert tokens_of(text) == pytest.approx(tokens, abs=0.01)


def test_a_request_is_measured_by_what_its_parts_are_for():
    content = [
        TextBlock(text="a" * 35),
        ToolCallBlock(id="c", name="", input="b" * 7),
        ToolResultBlock(id="c", name="Act", output="c" * 70, state="success"),
        HintBlock(hint="d" * 14, source="user"),
    ]
    sizes = measure("s" * 7, [], UserMsg(content="e" * 7), [UserMsg(content="f" * 7), AssistantMsg(content=content)])
    assert sizes == Sizes(system=2, tools=0, summary=6, user=6 + 8, assistant=4 + 10 + 10, results=24)


async def test_the_estimate_is_corrected_by_what_the_provider_reports():
    stand = Stand([[{"text": "ok"}, {"usage": {"input_tokens": 2000, "output_tokens": 1}}]])
    await stand.run("x" * 3500)
    assert stand.state.token_ratio == pytest.approx(2000 / 1008, rel=0.02)


async def test_what_is_reported_decides_when_room_is_made():
    usage = {"usage": {"input_tokens": 500, "output_tokens": 1}}
    turns = [[*acts("c0"), usage], acts("c1"), [SUMMARY], [{"text": "over"}]]
    stand = Stand(windowed(turns, 2400), FakeTool(), mode="bypass")
    events = await stand.run(LONG)
    assert types(events).count("TOOL_RESULT_END") == 2
    assert types(events).count("CONTEXT_COMPRESSED") == 1


# -- long replies ----------------------------------------------------------------------------------


class FakeLongModel:
    """Calls a tool again and again and keeps no request."""

    def __init__(self, calls):
        self.card, self.left = ModelCard(name="long"), calls

    async def stream(self, request):
        self.left -= 1
        if self.left < 0:
            yield TextPiece("over")
        else:
            yield CallPiece("k", name="Act", call_id=f"c{self.left:04}", arguments=json.dumps({"value": f"{self.left:04} " * 40}))
        yield UsagePiece(10, 5)
        yield Finish("stop")

    async def warm(self): ...

    async def close(self): ...


async def long_reply(folder, calls):
    """Bytes of the log and seconds of a reply with so many model calls."""
    store = SessionStore(folder)
    session = new_session_id()
    log = store.create(session, {})
    stand = Stand([], FakeTool(), mode="bypass", max_iters=calls + 1, journal=Granting(log))
    stand.agent.model = FakeLongModel(calls)
    begun = time.process_time()
    events = await stand.run()
    spent = time.process_time() - begun
    log.close()
    assert events[-1].finished_reason == "completed"
    return (folder / "sessions" / f"{session}.jsonl").stat().st_size, spent


class Granting:
    """A session log as a journal; nobody is asked, so no rule is ever granted."""

    def __init__(self, log):
        self.said, self.kept, self.record = log.said, log.kept, log.record

    async def granted(self, rules):
        raise AssertionError("nobody was asked")


async def test_a_reply_of_300_iterations_costs_linear_log_bytes_and_roughly_linear_time(tmp_path):
    await long_reply(tmp_path, 5)
    small, quick = await long_reply(tmp_path, 75)
    large, slow = await long_reply(tmp_path, 300)
    assert large < 4.1 * small
    assert slow < 4 * 2.5 * max(quick, 0.05), (quick, slow)
