from __future__ import annotations

import json
import time
from typing import Any

import pytest

from agentcli.errors import ModelError
from agentcli.model.base import CallPiece, Finish, Piece, TextPiece, ThinkingPiece, UsagePiece
from agentcli.model.openai_responses.stream import ResponseFold, usage_of
from tests.fakes.endpoint import said as chat_said
from tests.fakes.endpoint import sse

STOP = Finish("stop")
ORIGIN = {"origin": "url|model"}
Event = dict[str, Any]


def read(*chunks: bytes, names: dict[str, str] | None = None) -> tuple[list[Piece], ModelError | None]:
    fold, pieces = ResponseFold(names, "url|model", "sk-secret-key"), list[Piece]()
    try:
        for chunk in chunks:
            for piece in fold.feed(chunk):
                pieces.append(piece)
        for piece in fold.end():
            pieces.append(piece)
    except ModelError as error:
        return pieces, error
    return pieces, None


def whole(*events: Any, names: dict[str, str] | None = None) -> list[Piece]:
    pieces, error = read(sse(*events), names=names)
    assert error is None
    return pieces


def broken(*events: Any) -> tuple[list[Piece], str, bool]:
    pieces, error = read(sse(*events))
    assert error is not None
    return pieces, error.kind, error.retryable


def event(kind: str, **fields: Any) -> Event:
    return {"type": kind if kind == "error" else f"response.{kind}", **fields}


def message(*texts: str, **fields: Any) -> Event:
    parts = [{"type": "output_text", "text": text} for text in texts]
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": parts, **fields}


def call(arguments: str = "{}", name: str = "f", call_id: str = "c1", **fields: Any) -> Event:
    return {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": name, "arguments": arguments, **fields}


def reasoning(*summary: str, **fields: Any) -> Event:
    return {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": text} for text in summary], **fields}


def added(item: Event, index: int | None = None) -> Event:
    return event("output_item.added", item=item, **({} if index is None else {"output_index": index}))


def done(item: Event, index: int | None = None) -> Event:
    return event("output_item.done", item=item, **({} if index is None else {"output_index": index}))


def text(delta: str, **place: Any) -> Event:
    return event("output_text.delta", delta=delta, **place)


def completed(*output: Event, **fields: Any) -> Event:
    return event("completed", response={"object": "response", "status": "completed", "output": list(output), **fields})


def item_piece(key: str, item: Event, **more: Any) -> ThinkingPiece:
    return ThinkingPiece("", key, {**ORIGIN, "item": item, **more})


def call_pieces(arguments: str = "{}", key: str = "0", name: str = "f", call_id: str = "c1") -> list[Piece]:
    return [CallPiece(key, name, call_id), *([CallPiece(key, arguments=arguments)] if arguments else [])]


def test_neighbouring_texts_of_one_read_are_one_piece():
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    first = sse(event("created", response={}), added(message()), text("a", **place), text("b", **place))
    assert read(first, sse(text("c", **place), completed())) == ([TextPiece("ab", "0"), TextPiece("c", "0"), STOP], None)


def test_thinking_text_and_calls_keep_their_order():
    thought, said, called = reasoning("hm", encrypted_content="E"), message("a"), call('{"x": 1}')
    assert whole(
        added(reasoning(), 0),
        event("reasoning_summary_text.delta", item_id="rs_1", output_index=0, summary_index=0, delta="hm"),
        done(thought, 0),
        added(message(), 1),
        text("a", item_id="msg_1", output_index=1, content_index=0),
        done(said, 1),
        added(call(""), 2),
        event("function_call_arguments.delta", item_id="fc_1", output_index=2, delta='{"x":'),
        event("function_call_arguments.delta", item_id="fc_1", output_index=2, delta=" 1}"),
        done(called, 2),
        completed(thought, said, called),
    ) == [
        ThinkingPiece("hm", "0", {**ORIGIN, "item": thought}),
        TextPiece("a", "1"),
        *call_pieces('{"x": 1}', "2"),
        STOP,
    ]


def test_the_same_text_in_every_kind_of_event_is_shown_once():
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    part = {"type": "output_text", "text": "hello"}
    events = [
        added(message(), 0),
        event("content_part.added", part={"type": "output_text", "text": ""}, **place),
        text("he", **place),
        text("llo", **place),
        event("output_text.done", text="hello", **place),
        event("content_part.done", part=part, **place),
        done(message("hello"), 0),
        completed(message("hello")),
    ]
    assert whole(*events) == [TextPiece("hello", "0"), STOP]
    for left_out in (0, 1, 3, 4, 5, 6):
        kept = [one for at, one in enumerate(events) if at != left_out]
        assert "".join(piece.text for piece in whole(*kept) if isinstance(piece, TextPiece)) == "hello"


@pytest.mark.parametrize("kind", ["output_text.done", "content_part.done", "output_item.done", "completed"])
def test_a_text_that_comes_in_one_event_only_is_shown(kind: str):
    events = {
        "output_text.done": event("output_text.done", text="hello", item_id="msg_1"),
        "content_part.done": event("content_part.done", part={"type": "output_text", "text": "hello"}),
        "output_item.done": done(message("hello")),
    }
    last = completed(message("hello")) if kind == "completed" else completed()
    assert whole(*([events[kind]] if kind in events else []), last) == [TextPiece("hello", "0"), STOP]


def test_deltas_that_were_left_out_are_made_up_for_by_the_whole():
    assert whole(text("he"), event("output_text.done", text="hello"), completed()) == [TextPiece("hello", "0"), STOP]
    assert whole(text("he"), completed(message("hel", "lo"))) == [TextPiece("hello", "0"), STOP]


def test_a_whole_that_contradicts_what_was_shown_changes_nothing():
    assert whole(text("hello"), done(message("other")), completed(message("third"))) == [TextPiece("hello", "0"), STOP]


def test_an_event_that_comes_twice_counts_once():
    events = [event("created", response={}), added(message(), 0), text("ha", output_index=0), text("ha", output_index=0)]
    numbered = [{**one, "sequence_number": number} for number, one in enumerate(events)]
    twice = [one for one in numbered for _ in range(2)]
    assert whole(*twice, completed()) == [TextPiece("haha", "0"), STOP]


def test_numbers_that_do_not_count_hide_no_text():
    same = [{**text("ha"), "sequence_number": 0}] * 2
    assert whole(*same, completed()) == [TextPiece("haha", "0"), STOP]


def test_events_without_place_and_id_belong_to_what_is_open():
    assert whole(
        added({**call("", call_id="c1"), "id": None}),
        event("function_call_arguments.delta", delta='{"a": 1}'),
        done({**call('{"a": 1}', call_id="c1"), "id": None}),
        added({**call("", call_id="c2"), "id": None}),
        event("function_call_arguments.delta", delta='{"a": 2}'),
        done({**call('{"a": 2}', call_id="c2"), "id": None}),
        completed(call('{"a": 1}', call_id="c1"), call('{"a": 2}', call_id="c2")),
    ) == [*call_pieces('{"a": 1}'), *call_pieces('{"a": 2}', "1", call_id="c2"), STOP]


def test_ids_that_change_with_every_event_do_no_harm():
    assert whole(
        added(call("", id="x1"), 0),
        event("function_call_arguments.delta", item_id="x2", output_index=0, delta="{}"),
        event("function_call_arguments.done", item_id="x3", output_index=0, arguments="{}"),
        done(call(id="x4"), 0),
        added(message(id="y1"), 1),
        text("a", item_id="y2", output_index=1),
        done(message("a", id="y3"), 1),
        completed(call(id="x5"), message("a", id="y5")),
    ) == [*call_pieces(), TextPiece("a", "1"), STOP]


def test_calls_that_come_interleaved_are_told_apart():
    deltas = [("fc_a", 0, '{"a"'), ("fc_b", 1, '{"b"'), ("fc_a", 0, ": 1}"), ("fc_b", 1, ": 2}")]
    pieces = whole(
        added(call("", call_id="c1", id="fc_a"), 0),
        added(call("", call_id="c2", id="fc_b", name="g"), 1),
        *(event("function_call_arguments.delta", item_id=key, output_index=at, delta=part) for key, at, part in deltas),
        completed(),
    )
    assert pieces == [*call_pieces('{"a": 1}'), *call_pieces('{"b": 2}', "1", "g", "c2"), STOP]


@pytest.mark.parametrize(
    "events",
    [
        [added(call(""), 0), event("function_call_arguments.done", item_id="fc_1", output_index=0, arguments="{}"), completed()],
        [added(call(""), 0), done(call(), 0), completed()],
        [done(call(), 0), completed()],
        [completed(call())],
        [added(call(""), 0), completed(call())],
        [added(call(), 0), completed()],
        [added(call(), 0), done(call(""), 0), completed()],
        [added(call(""), 0), done(call({}), 0), completed()],  # pyright: ignore[reportArgumentType]
    ],
)
def test_arguments_are_found_wherever_they_are_and_only_once(events: list[Event]):
    assert whole(*events) == [*call_pieces(), STOP]


def test_arguments_written_in_two_ways_are_the_first_and_contradicting_ones_never_run():
    delta = event("function_call_arguments.delta", delta='{"a": 1}')
    assert whole(added(call("")), delta, done(call('{"a":1}')), completed()) == [*call_pieces('{"a": 1}'), STOP]
    pieces, kind, _ = broken(added(call("")), delta, done(call('{"a": 2}')), completed())
    assert (pieces, kind) == (call_pieces('{"a": 1}'), "malformed_stream")


def test_arguments_that_were_cut_are_no_contradiction():
    delta = event("function_call_arguments.delta", delta='{"a": 1')
    last = event("incomplete", response={"output": [call('{"a', status="incomplete")]})
    assert whole(added(call("")), delta, last) == [*call_pieces('{"a": 1'), Finish("length")]


def test_a_call_of_the_last_event_gives_its_arguments_to_no_other_call():
    pieces = whole(added(call("", call_id="c1", id="")), completed(call('{"x": 1}', call_id="c2", id="")))
    assert pieces == [CallPiece("0", "f", "c1"), *call_pieces('{"x": 1}', "1", call_id="c2"), STOP]


def test_a_call_without_an_id_or_a_name_stays_visible():
    assert whole(done({"type": "function_call", "name": "f", "arguments": "{}"}), completed()) == [*call_pieces(call_id=""), STOP]
    assert whole(done(call(name="")), completed()) == [*call_pieces(name="unnamed"), STOP]


def test_names_are_restored():
    assert whole(done(call(name="mcp_a")), completed(), names={"mcp_a": "mcp.a"}) == [*call_pieces(name="mcp.a"), STOP]


def test_a_refusal_is_text():
    refusal = {"type": "message", "id": "msg_1", "content": [{"type": "refusal", "refusal": "I will not."}]}
    events = [event("refusal.delta", delta="I will"), event("refusal.done", refusal="I will not."), done(refusal)]
    assert whole(*events, completed(refusal)) == [TextPiece("I will not.", "0"), STOP]
    assert whole(completed(refusal)) == [TextPiece("I will not.", "0"), STOP]


def test_parts_of_a_summary_are_paragraphs():
    thought = reasoning("one", "two", encrypted_content="E")
    streamed = [
        added(reasoning(), 0),
        event("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="one"),
        event("reasoning_summary_text.done", output_index=0, summary_index=0, text="one"),
        event("reasoning_summary_part.done", output_index=0, summary_index=0, part={"type": "summary_text", "text": "one"}),
        event("reasoning_summary_text.delta", output_index=0, summary_index=1, delta="tw"),
        event("reasoning_summary_part.done", output_index=0, summary_index=1, part={"type": "summary_text", "text": "two"}),
        done(thought, 0),
    ]
    pieces = [ThinkingPiece("one\n\ntwo", "0", {**ORIGIN, "item": thought}), STOP]
    assert whole(*streamed, completed(thought)) == pieces
    assert whole(done(thought, 0), completed(thought)) == pieces
    assert whole(completed(thought)) == pieces


def test_reasoning_in_full_is_thinking_and_its_summary_says_nothing_more():
    content = [{"type": "reasoning_text", "text": "I think."}]
    thought = reasoning("short", content=content)
    assert whole(
        added(reasoning(), 0),
        event("reasoning_text.delta", output_index=0, content_index=0, delta="I thi"),
        event("reasoning_text.done", output_index=0, content_index=0, text="I think."),
        event("content_part.done", output_index=0, content_index=0, part=content[0]),
        event("reasoning_summary_text.delta", output_index=0, summary_index=0, delta="short"),
        done(thought, 0),
        completed(thought),
    ) == [ThinkingPiece("I think.", "0", {**ORIGIN, "item": thought}), STOP]


def test_reasoning_without_a_word_is_carried_and_shown_as_soon_as_it_begins():
    thought = reasoning(encrypted_content="E")
    pieces, _ = read(sse(added(reasoning(encrypted_content="half"), 0)), sse(done(thought, 0), completed(thought)))
    assert pieces == [ThinkingPiece("", "0", ORIGIN), item_piece("0", thought), STOP]


def test_what_is_empty_in_an_item_is_not_carried_and_what_is_not_finished_neither():
    thought = reasoning(encrypted_content="E")
    assert whole(done({**thought, "status": None}), completed()) == [item_piece("0", thought), STOP]
    assert whole(done({**thought, "status": "incomplete"}), completed()) == [STOP]


@pytest.mark.parametrize("value", ["[" * 100 + "]" * 100, "NaN", "-Infinity", "[1e999]"])
def test_an_item_that_could_not_be_stored_or_sent_is_not_carried(value: str):
    strange = json.dumps(done({"type": "strange", "x": "here"})).replace('"here"', value)
    assert whole(strange, text("a"), completed()) == [TextPiece("a", "1"), STOP]


def test_reasoning_that_is_known_only_at_the_end_says_that_it_is_late():
    thought = reasoning(encrypted_content="E")
    assert whole(added(reasoning(), 0), text("a", output_index=1), completed(thought, message("a"))) == [
        ThinkingPiece("", "0", ORIGIN),
        TextPiece("a", "1"),
        item_piece("0+", thought, late=True),
        STOP,
    ]


def test_two_reasoning_items_are_two_blocks():
    first, second = reasoning("one", id="rs_1", encrypted_content="E1"), reasoning("two", id="rs_2", encrypted_content="E2")
    assert whole(done(first, 0), done(second, 1), done(call(), 2), completed(first, second, call())) == [
        ThinkingPiece("one", "0", {**ORIGIN, "item": first}),
        ThinkingPiece("two", "1", {**ORIGIN, "item": second}),
        *call_pieces(key="2"),
        STOP,
    ]


def test_unknown_items_are_carried_in_their_place():
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"query": "x"}}
    events = [added({**search, "status": "in_progress"}, 0), event("web_search_call.searching", output_index=0), done(search, 0)]
    assert whole(*events, done(message("a"), 1), completed(search, message("a"))) == [
        item_piece("0", search),
        TextPiece("a", "1"),
        STOP,
    ]
    assert whole(done(message("a")), completed(search, message("a"))) == [
        TextPiece("a", "0"),
        item_piece("1+", search, late=True),
        STOP,
    ]


def test_the_place_of_a_message_in_the_answer_is_kept():
    first, last = message("a", id="m1", phase="commentary"), message("b", id="m2", phase="final_answer")
    pieces = whole(added(first, 0), text("a", output_index=0), done(first, 0), done(last, 1), completed(first, last))
    assert pieces == [
        TextPiece("a", "0", {**ORIGIN, "phase": "commentary"}),
        TextPiece("b", "1", {**ORIGIN, "phase": "final_answer"}),
        STOP,
    ]


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (event("incomplete", response={"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}), "length"),
        (event("incomplete", response={"incomplete_details": {"reason": "content_filter"}}), "content_filter"),
        (event("incomplete", response={}), "length"),
        (event("completed", response={"status": "incomplete", "incomplete_details": None}), "length"),
    ],
)
def test_an_incomplete_answer_says_why(last: Event, reason: str):
    assert whole(text("half"), last)[-1] == Finish(reason)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("last", "kind"),
    [
        (event("failed", response={"error": {"code": "server_error", "message": "oh"}}), "server"),
        (event("failed", response={"status": "failed", "error": None}), "server"),
        (event("completed", response={"status": "failed", "error": {"code": "rate_limit_exceeded"}}), "rate_limit"),
        (event("cancelled", response={}), "server"),
        (event("error", error={"type": "insufficient_quota", "message": "no quota"}), "quota"),
        (event("error", code="context_length_exceeded", message="too long"), "context_length"),
        ({"error": {"message": "bad", "code": 400}}, "bad_request"),
    ],
)
def test_every_form_of_an_error_is_raised_after_what_came_before(last: Event, kind: str):
    pieces, seen, _ = broken(text("half"), added(call('{"a'), 1), last, completed())
    assert (pieces, seen) == ([TextPiece("half", "0"), *call_pieces("", "1")], kind)


def test_a_key_in_an_error_is_not_shown():
    _, error = read(sse(event("error", message="wrong key sk-secret-key")))
    assert error is not None and "wrong key ***" in error.message


@pytest.mark.parametrize("last", [None, event("in_progress", response={"status": "in_progress"}), event("queued", response={})])
def test_an_answer_without_its_end_is_cut(last: Event | None):
    events = [text("half"), added(call(""), 1), event("function_call_arguments.delta", output_index=1, delta="{}")]
    pieces, kind, again = broken(*events, *([last] if last else []))
    assert (pieces, kind, again) == ([TextPiece("half", "0"), *call_pieces(key="1")], "cut_stream", True)


@pytest.mark.parametrize("body", [b"", b"\n\n", b": comment\n\n", sse({"type": "keepalive"})])
def test_nothing_at_all_is_a_failed_connection(body: bytes):
    pieces, error = read(body)
    assert pieces == [] and error is not None and (error.kind, error.retryable) == ("connection", True)


def test_done_without_the_last_event_completes_whole_arguments_only():
    assert whole(text("a"), "[DONE]") == [TextPiece("a", "0"), STOP]
    assert whole(done(call()), "[DONE]") == [*call_pieces(), STOP]
    half = [added(call("")), event("function_call_arguments.delta", delta='{"a')]
    assert broken(*half, "[DONE]")[1] == "cut_stream"


def test_after_its_end_an_answer_says_nothing_more():
    assert whole(text("a"), completed(), text("b"), event("error", message="late"), "[DONE]") == [TextPiece("a", "0"), STOP]


def test_law_10_a_corrupted_line_ends_the_answer_after_what_came_before():
    pieces, kind, _ = broken(text("a"), '{"type": "resp', completed())
    assert (pieces, kind) == ([TextPiece("a", "0")], "malformed_stream")


def test_a_whole_response_is_read_like_a_stream():
    body = completed(reasoning("hm", encrypted_content="E"), message("hi"), call(), usage={"input_tokens": 3})["response"]
    pieces, error = read(json.dumps(body).encode())
    assert error is None
    assert pieces == [
        ThinkingPiece("hm", "0", {**ORIGIN, "item": reasoning("hm", encrypted_content="E")}),
        TextPiece("hi", "1"),
        *call_pieces(key="2"),
        UsagePiece(3),
        STOP,
    ]


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"<!doctype html><p>Sign in</p>", "malformed_stream", "check the base URL"),
        (b'{"output": [', "malformed_stream", "begins with"),
        (b'{"status": "ok"}', "malformed_stream", "begins with"),
        (b'{"error": {"message": "no such model", "type": "not_found_error"}}', "not_found", "no such model"),
        (b'{"object": "response", "status": "failed", "error": {"message": "oh", "code": "server_error"}}', "server", "oh"),
        (b'{"object": "response", "status": "queued", "output": []}', "cut_stream", "broke off"),
        (b'{"choices": [{"message": {"content": "hi"}}]}', "malformed_stream", "use --api chat"),
    ],
)
def test_a_body_that_is_no_stream_is_explained(body: bytes, kind: str, words: str):
    pieces, error = read(body)
    assert pieces == [] and error is not None and error.kind == kind and words in error.message


def test_an_answer_of_the_other_wire_is_named():
    pieces, error = read(sse(chat_said("hello"), chat_said(finish="stop"), "[DONE]"))
    assert pieces == [] and error is not None
    assert (error.kind, error.retryable) == ("malformed_stream", False) and "use --api chat" in error.message


@pytest.mark.parametrize("strange", [None, 7, "x", [], [7], {}, {"type": 7}, True])
def test_law_10_no_strange_value_ends_the_fold(strange: Any):
    kinds = ["output_item.added", "output_item.done", "output_text.delta", "output_text.done", "content_part.done"]
    kinds += ["reasoning_summary_text.delta", "reasoning_summary_part.done", "reasoning_text.delta", "refusal.done"]
    kinds += ["function_call_arguments.delta", "function_call_arguments.done"]
    names = ["item", "part", "delta", "text", "output_index", "item_id", "content_index", "summary_index", "sequence_number"]
    events = [event(kind, **dict.fromkeys(names, strange)) for kind in kinds]
    deep = [done({"type": kind, "content": strange, "summary": strange, "id": strange}) for kind in ("message", "reasoning", "x")]
    pieces, error = read(sse(*events, *deep, completed(output=strange, usage=strange)))
    assert error is None or error.kind == "malformed_stream"
    assert error is not None or pieces[-1] == STOP


@pytest.mark.parametrize(
    ("usage", "piece"),
    [
        ({"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}, UsagePiece(5, 2)),
        ({"input_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}, UsagePiece(5, 0, 4)),
        ({"output_tokens": 9, "output_tokens_details": {"reasoning_tokens": 8}}, UsagePiece(0, 9, 0, 8)),
        ({"input_tokens": None, "output_tokens": "many", "input_tokens_details": None}, UsagePiece()),
    ],
)
def test_usage_is_counted(usage: dict[str, Any], piece: UsagePiece):
    assert usage_of(usage) == piece


def test_usage_counts_for_an_answer_that_failed_too():
    failed = event("failed", response={"usage": {"input_tokens": 4}, "error": {"message": "oh"}})
    assert broken(failed)[0] == [UsagePiece(4)]


def test_text_can_always_be_stored():
    pieces = whole(text("a\ud83d"), text("\ude00b"), text("c\ud83d"), completed())
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextPiece)) == "a😀bc\ufffd"
    item = reasoning("\ud83d", encrypted_content="E")
    thoughts = [piece for piece in whole(done(item), completed()) if isinstance(piece, ThinkingPiece)]
    assert json.dumps([[piece.text, dict(piece.extra)] for piece in thoughts], ensure_ascii=False).encode()


def test_a_fast_stream_is_cheap():
    place = {"item_id": "msg_0123456789", "output_index": 0, "content_index": 0, "logprobs": [], "obfuscation": "0123456789"}
    deltas = [{**text("abc", **place), "sequence_number": number} for number in range(33_400)]
    stream = sse(added(message(), 0), *deltas, completed())
    spent = []
    for _ in range(3):
        start = time.process_time()
        pieces, _ = read(*(stream[at : at + 65536] for at in range(0, len(stream), 65536)))
        spent.append(time.process_time() - start)
    assert sum(len(piece.text) for piece in pieces if isinstance(piece, TextPiece)) == 100_200
    assert len(pieces) < 250 and min(spent) < 0.5
