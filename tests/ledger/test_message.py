import base64
import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.ledger import event as ev
from agentcli.ledger.block import (
    DataBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    ToolResultState,
)
from agentcli.ledger.event import EVENTS, KNOWN_EVENTS
from agentcli.ledger.message import AssistantMsg, Msg, SystemMsg, Usage, UserMsg
from agentcli.ledger.unfold import unfold

R = {"reply_id": "r"}
NOTHING = {
    "TOOL_CALL_END",
    "MODEL_CALL_START",
    "REPLY_PAUSED",
    "TOOL_PROGRESS",
    "EXCEED_MAX_ITERS",
    "CONTEXT_COMPRESSED",
    "EXTERNAL_EXECUTION_RESULT",
    "USER_INTERRUPT",
    "CUSTOM",
}


def fold(events, msg=None):
    msg = msg or AssistantMsg(id="r", created_at="2026-01-01T00:00:00+00:00")
    for event in events:
        msg.append_event(event)
    return msg


def through_json(msg):
    return Msg.model_validate_json(msg.model_dump_json())


def text(key, *deltas):
    ids = {**R, "block_id": key}
    return [
        ev.TextBlockStartEvent(**ids),
        *[ev.TextBlockDeltaEvent(**ids, delta=d) for d in deltas],
        ev.TextBlockEndEvent(**ids),
    ]


def thinking(key, *deltas):
    ids = {**R, "block_id": key}
    return [
        ev.ThinkingBlockStartEvent(**ids, metadata={"origin": "here|m"}),
        *[ev.ThinkingBlockDeltaEvent(**ids, delta=d) for d in deltas],
        ev.ThinkingBlockEndEvent(**ids, metadata={"signature": "s"}),
    ]


def data(key, *pieces):
    ids = {**R, "block_id": key, "media_type": "image/png"}
    deltas = [ev.DataBlockDeltaEvent(**ids, data=base64.b64encode(p).decode()) for p in pieces]
    return [ev.DataBlockStartEvent(**ids), *deltas, ev.DataBlockEndEvent(**R, block_id=key)]


def call(key, *deltas, name="Read"):
    ids = {**R, "tool_call_id": key}
    return [
        ev.ToolCallStartEvent(**ids, tool_call_name=name),
        *[ev.ToolCallDeltaEvent(**ids, delta=d) for d in deltas],
        ev.ToolCallEndEvent(**ids),
    ]


def result(key, *deltas, name="Read", state=ToolResultState.SUCCESS):
    ids = {**R, "tool_call_id": key}
    return [
        ev.ToolResultStartEvent(**ids, tool_call_name=name),
        *[ev.ToolResultTextDeltaEvent(**ids, delta=d) for d in deltas],
        ev.ToolResultEndEvent(**ids, state=state, metadata={"summary": "1 line"}),
    ]


pieces = st.lists(st.text(max_size=8), max_size=6)


@st.composite
def streams(draw):
    events = [ev.ReplyStartEvent(**R, session_id="s", name="agent", created_at="2026-01-02T00:00:00+00:00")]
    for number in range(draw(st.integers(0, 4))):
        events.append(ev.ModelCallStartEvent(**R, model_name="m"))
        kinds = draw(st.lists(st.sampled_from(["text", "thinking", "data", "call"]), max_size=4))
        calls = []
        for place, kind in enumerate(kinds):
            key = f"{kind}{number}.{place}"
            if kind == "data":
                events += data(key, *draw(st.lists(st.binary(max_size=7), max_size=4)))
            elif kind == "call":
                calls.append(key)
                events += call(key, *draw(pieces))
            else:
                events += {"text": text, "thinking": thinking}[kind](key, *draw(pieces))
        events.append(ev.ModelCallEndEvent(**R, input_tokens=draw(st.integers(0, 9)), output_tokens=2, cached_tokens=1))
        for key in draw(st.permutations(calls)):
            events += result(key, *draw(pieces), state=draw(st.sampled_from([s for s in ToolResultState if s != "running"])))
    if draw(st.booleans()):
        events.append(
            ev.ReplyEndEvent(
                **R, session_id="s", finished_reason=draw(st.sampled_from(ev.ReplyEndReason)), metadata={"notice": "n"}
            )
        )
    return events


@settings(max_examples=60, deadline=None)
@given(streams(), st.data())
def test_law_1_any_legal_stream_folds_to_the_same_message_whole_cut_or_through_json(events, draws):
    whole = fold(events)
    cut = draws.draw(st.integers(0, len(events)))
    first = fold(events[:cut])
    assert fold(events[cut:], through_json(first)) == whole
    assert fold([EVENTS.validate_json(EVENTS.dump_json(event)) for event in events]) == whole
    one_by_one = AssistantMsg(id="r", created_at="2026-01-01T00:00:00+00:00")
    for event in events:
        one_by_one.append_event(event)
        json.loads(one_by_one.model_dump_json())
    assert one_by_one == whole
    assert through_json(whole) == whole


@settings(max_examples=40, deadline=None)
@given(streams())
def test_law_1_duplicate_starts_make_no_twins_and_unknown_and_foreign_events_change_nothing(events):
    noise = [
        ev.TextBlockDeltaEvent(**R, block_id="nobody", delta="x"),
        ev.ToolResultEndEvent(**R, tool_call_id="nobody", state=ToolResultState.SUCCESS),
        ev.TextBlockStartEvent(reply_id="another", block_id="b"),
        ev.CustomEvent(name="state_updated", value={"mode": "explore"}),
        EVENTS.validate_python({"type": "FROM_THE_FUTURE", "reply_id": "r", "x": 1}),
        ev.ToolProgressEvent(**R, tool_call_id="call0.0", delta="live"),
    ]
    noisy = []
    for event in events:
        noisy += [event, event] if event.type.endswith("_START") else [event]
        noisy += noise
    assert fold(noisy) == fold(events)


@settings(max_examples=40, deadline=None)
@given(streams())
def test_a_message_unfolds_to_events_that_give_it_again(events):
    msg = fold(events)
    again = fold(unfold(msg, "s"))
    assert again.content == msg.content
    assert (again.name, again.created_at, again.finished_at, again.finished_reason) == (
        msg.name,
        msg.created_at,
        msg.finished_at,
        msg.finished_reason,
    )


def test_block_ids_in_the_ledger_are_those_of_the_stream():
    msg = fold([*text("t1", "a"), *thinking("h1", "b"), *call("c1", "{}"), *result("c1", "out")])
    assert [block.id for block in msg.content] == ["t1", "h1", "c1", "c1"]
    assert msg.result("c1").output[0].id == "c1/0"


def test_extra_fields_of_thinking_belong_to_its_provider_and_are_kept():
    block = through_json(fold(thinking("h", "hm"))).content[0]
    assert isinstance(block, ThinkingBlock)
    assert block.model_extra == {"origin": "here|m", "signature": "s"}


def test_data_deltas_join_their_bytes():
    block = fold(data("d", b"a", b"b")).content[0]
    assert isinstance(block, DataBlock)
    assert block.source.data == "YWI="


def test_usage_is_the_sum_over_the_calls():
    end = ev.ModelCallEndEvent(**R, input_tokens=10, output_tokens=5, reasoning_tokens=2)
    assert fold([end, end]).usage == Usage(input_tokens=20, output_tokens=10, reasoning_tokens=4)


def test_reply_end_gives_reason_error_time_and_notice():
    error = ev.ErrorInfo(kind="server", message="down", retryable=True, status=503)
    end = ev.ReplyEndEvent(**R, session_id="s", finished_reason=ev.ReplyEndReason.ERROR, error=error, metadata={"notice": "n"})
    msg = fold([end])
    assert (msg.finished_at, msg.finished_reason, msg.error, msg.metadata) == (end.created_at, "error", error, {"notice": "n"})


def asking():
    block = ToolCallBlock(id="c1", name="Bash", input='{"command": "a"}', state=ToolCallState.ASKING)
    return [*call("c1", '{"command": "a"}', name="Bash"), ev.RequireUserConfirmEvent(**R, tool_calls=[block])]


def answer(confirmed, **more):
    block = ToolCallBlock(id="c1", name="Bash", input='{"command": "b"}')
    return ev.UserConfirmResultEvent(**R, confirm_results=[ev.ConfirmResult(confirmed=confirmed, tool_call=block, **more)])


def test_a_confirmation_allows_the_call_and_replaces_its_arguments():
    msg = fold([*asking(), answer(True)])
    assert (msg.call("c1").state, msg.call("c1").input) == (ToolCallState.ALLOWED, '{"command": "b"}')


def test_a_denial_leaves_the_call_for_its_denied_result():
    msg = fold([*asking(), answer(False)])
    assert (msg.call("c1").state, msg.call("c1").input) == (ToolCallState.ASKING, '{"command": "a"}')
    fold(result("c1", "Denied", state=ToolResultState.DENIED), msg)
    assert msg.call("c1").state == ToolCallState.FINISHED


def test_a_confirmation_of_a_call_that_is_not_asked_changes_nothing():
    done = [*call("c1", "{}", name="Bash"), *result("c1", "out")]
    assert fold([*done, answer(True)]) == fold(done)


def test_a_retry_withdraws_exactly_the_named_thinking():
    error = ev.ErrorInfo(kind="connection", message="cut")
    retry = ev.ModelCallRetryEvent(**R, attempt=2, delay_s=0, error=error, model_name="m", withdrawn=["h1"])
    msg = fold([*thinking("h0", "kept"), *thinking("h1", "gone"), retry, *thinking("h2", "new")])
    assert [block.id for block in msg.content] == ["h0", "h2"]


def test_an_external_call_is_submitted_until_its_result_ends():
    block = ToolCallBlock(id="c1", name="x", input="{}")
    start = ev.ToolResultStartEvent(**R, tool_call_id="c1", tool_call_name="x")
    msg = fold([*call("c1", "{}", name="x"), start, ev.RequireExternalExecutionEvent(**R, tool_calls=[block])])
    assert msg.call("c1").state == ToolCallState.SUBMITTED


def test_every_known_event_is_folded_or_known_to_fold_to_nothing():
    assert set(Msg.FOLD) | NOTHING == KNOWN_EVENTS
    assert not set(Msg.FOLD) & NOTHING


def test_unknown_blocks_and_fields_survive():
    raw = {"id": "m", "name": "a", "role": "assistant", "content": [{"type": "hologram", "id": "h", "rays": [1]}], "mood": "calm"}
    again = json.loads(Msg.model_validate(raw).model_dump_json())
    assert again["content"][0]["rays"] == [1]
    assert again["mood"] == "calm"


def test_a_malformed_event_of_a_known_type_is_an_error():
    with pytest.raises(ValueError, match="malformed event"):
        EVENTS.validate_python({"type": "REPLY_END"})


@pytest.mark.parametrize("make", [UserMsg, SystemMsg])
def test_messages_of_users_and_the_system_are_whole_and_hold_only_their_blocks(make):
    msg = make("me", "hello")
    assert (msg.get_text_content(), msg.finished_at) == ("hello", msg.created_at)
    with pytest.raises(ValueError, match="cannot hold"):
        make("me", [ToolResultBlock(id="c", name="x", output="")])


def test_text_content_is_none_without_text():
    assert AssistantMsg().get_text_content() is None


def test_take_changes_gives_each_changed_block_once():
    msg = fold(text("t", "a"))
    assert [block.id for block in msg.take_changes()] == ["t"]
    assert msg.take_changes() == []
    fold(result("c1"), fold(call("c1", "{}"), msg))
    assert [block.type for block in msg.take_changes()] == ["tool_call", "tool_result"]


def grown(kind, size):
    start, delta, end = {
        "text": lambda: text("t", "abc"),
        "thinking": lambda: thinking("h", "abc"),
        "input": lambda: call("c", "abc"),
        "result": lambda: result("c", "abc"),
        "data": lambda: data("d", b"abc"),
    }[kind]()
    return [start, *[delta] * (size // 3), end]


@pytest.mark.parametrize("kind", ["text", "thinking", "input", "result", "data"])
def test_law_1_the_fold_costs_time_in_proportion_to_what_it_folds(kind):
    def seconds_per_byte(size):
        events = grown(kind, size)
        best = float("inf")
        for _ in range(3):
            began = time.process_time()
            fold(events).model_dump_json()
            best = min(best, time.process_time() - began)
        return best / size

    assert seconds_per_byte(1_000_000) <= 3 * seconds_per_byte(100_000)


def test_a_growing_field_reads_as_a_plain_one():
    block = TextBlock(id="t", text="a")
    block.grow("b")
    assert (block.text, block.model_dump()["text"], block) == ("ab", "ab", TextBlock(id="t", text="ab"))
