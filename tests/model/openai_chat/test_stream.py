from __future__ import annotations

import base64
import json
import time
import wave
from io import BytesIO
from typing import Any

import pytest

from agentcli.errors import ModelError
from agentcli.model.base import CallPiece, DataPiece, Finish, Piece, TextPiece, ThinkingPiece, UsagePiece
from agentcli.model.openai_chat.stream import ChatFold, usage_of
from tests.fakes.endpoint import said, sse

STOP = Finish("stop")
USED = {"prompt_tokens": 3, "completion_tokens": 4}
ORIGIN = {"origin": "url|model"}
CONTENT = {**ORIGIN, "field": "reasoning_content"}
REASONING = {**ORIGIN, "field": "reasoning"}


def read(*chunks: bytes, names: dict[str, str] | None = None) -> tuple[list[Piece], ModelError | None]:
    fold, pieces = ChatFold(names, "url|model", "sk-secret-key"), list[Piece]()
    try:
        for chunk in chunks:
            for piece in fold.feed(chunk):
                pieces.append(piece)
        for piece in fold.end():
            pieces.append(piece)
    except ModelError as error:
        return pieces, error
    return pieces, None


def whole(*payloads: Any, names: dict[str, str] | None = None) -> list[Piece]:
    pieces, error = read(sse(*payloads, "[DONE]"), names=names)
    assert error is None
    return pieces


def broken(*payloads: Any) -> tuple[list[Piece], str, bool]:
    pieces, error = read(sse(*payloads))
    assert error is not None
    return pieces, error.kind, error.retryable


def call(arguments: str | None = None, **fields: Any) -> dict[str, Any]:
    """A chunk with one fragment of a call; `name` belongs to its function."""
    function = {"name": fields.pop("name")} if "name" in fields else {}
    if arguments is not None:
        function["arguments"] = arguments
    return said(tool_calls=[{**fields, "function": function}])


def calls_of(pieces: list[Piece]) -> list[tuple[str, str, str, str]]:
    """(key, id, name, arguments) of each call."""
    calls: dict[str, list[str]] = {}
    for piece in pieces:
        if isinstance(piece, CallPiece):
            known = calls.setdefault(piece.key, [piece.call_id, piece.name, ""])
            known[2] += piece.arguments
    return [(key, *rest) for key, rest in calls.items()]


def test_neighbouring_texts_of_one_read_are_one_piece():
    first, second = sse(said("a"), said("b", role="assistant"), said("c")), sse(said("d"), said(finish="stop"))
    assert read(first, second) == ([TextPiece("abc"), TextPiece("d"), STOP], None)


def test_thinking_text_and_calls_keep_their_order():
    pieces = whole(
        said(reasoning_content="hm"),
        said("a"),
        call("{}", index=0, id="c1", name="f"),
        said("b"),
        said(reasoning="more"),
        said("c", "tool_calls"),
    )
    assert pieces == [
        ThinkingPiece("hm", "1", CONTENT),
        TextPiece("a"),
        CallPiece("0", "f", "c1"),
        CallPiece("0", arguments="{}"),
        TextPiece("b"),
        ThinkingPiece("more", "2", REASONING),
        TextPiece("c"),
        STOP,
    ]


@pytest.mark.parametrize(
    ("delta", "piece"),
    [
        ({"reasoning_content": "t", "reasoning": "t"}, ThinkingPiece("t", "1", CONTENT)),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "t"}]}]}, ThinkingPiece("t", "1", ORIGIN)),
        ({"content": [{"type": "text", "text": "x"}, "y"]}, TextPiece("xy")),
        ({"content": None, "refusal": "I cannot"}, TextPiece("I cannot")),
    ],
)
def test_every_form_of_text_is_read_once(delta: dict[str, Any], piece: Piece):
    assert whole({"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]}) == [piece, STOP]


@pytest.mark.parametrize(
    ("delta", "extra", "detail"),
    [
        ({"reasoning": "t"}, REASONING, {"type": "reasoning.text", "text": "t", "signature": "S"}),
        ({}, ORIGIN, {"type": "reasoning.summary", "summary": "t"}),
    ],
)
def test_details_of_reasoning_are_shown_once_and_carried_whole(
    delta: dict[str, Any], extra: dict[str, Any], detail: dict[str, Any]
):
    pieces = whole(said(**delta, reasoning_details=[detail]), said(finish="stop"))
    assert pieces == [ThinkingPiece("t", "1", extra), ThinkingPiece("", "back", {**ORIGIN, "details": [detail]}), STOP]


def test_fragments_of_one_detail_are_joined_and_another_begins_at_another_index():
    parts = [
        {"type": "reasoning.text", "index": 0, "text": "a", "signature": None},
        {"type": "reasoning.text", "index": 0, "text": "b", "format": "f"},
        {"type": "reasoning.text", "index": 0, "text": None, "signature": "S"},
        {"type": "reasoning.encrypted", "index": 1, "data": "X"},
    ]
    pieces = whole(*[said(reasoning_details=[part]) for part in parts], call("{}", index=0, id="c", name="f"))
    first = {"type": "reasoning.text", "index": 0, "text": "ab", "signature": "S", "format": "f"}
    assert pieces[-2] == ThinkingPiece("", "back", {**ORIGIN, "details": [first, parts[3]]})


def test_what_a_provider_adds_to_a_call_is_carried_with_its_place():
    signature = {"google": {"thought_signature": "S"}}
    pieces = whole(
        call("{}", index=0, id="a", name="f"), call("{}", index=1, id="b", name="f", extra_content=signature), said(finish="stop")
    )
    assert pieces[-2:] == [ThinkingPiece("", "back", {**ORIGIN, "calls": {"1": signature}}), STOP]


def test_nothing_is_carried_of_an_answer_that_was_cut():
    pieces, error = read(sse(said(reasoning_details=[{"type": "reasoning.encrypted", "data": "X"}])))
    assert pieces == [] and error is not None and error.kind == "cut_stream"


def test_a_spoken_answer_is_its_words_and_one_sound():
    sound = bytes(range(200))
    text = base64.b64encode(sound).decode()
    parts = [{"id": "x", "transcript": "he"}, {"data": text[:7]}, {"transcript": "llo", "data": text[7:]}, {"expires_at": 1}]
    pieces = whole(*[said(audio=part) for part in parts], said(finish="stop"))
    assert pieces[0] == TextPiece("hello") and pieces[2] == STOP and isinstance(pieces[1], DataPiece)
    with wave.open(BytesIO(base64.b64decode(pieces[1].data))) as file:
        assert file.getparams()[:4] == (1, 2, 24_000, 100) and file.readframes(100) == sound
    assert pieces[1].media_type == "audio/wav"


@pytest.mark.parametrize(("head", "kind"), [(b"RIFF1234WAVE", "audio/wav"), (b"ID3x", "audio/mpeg")])
def test_a_sound_that_is_a_file_stays_as_it_is(head: bytes, kind: str):
    data = base64.b64encode(head).decode()
    answer = {"choices": [{"message": {"audio": {"data": data, "transcript": "hi"}}, "finish_reason": "stop"}]}
    assert read(json.dumps(answer).encode()) == ([TextPiece("hi"), DataPiece(kind, data, "audio"), STOP], None)


def test_a_sound_that_is_no_base64_is_left_out():
    assert whole(said(audio={"data": "!!!!", "transcript": 3}), said(audio=[1]), said("a", "stop")) == [TextPiece("a"), STOP]


@pytest.mark.parametrize(
    "place",
    [
        [said("a", "stop") | {"usage": USED}],
        [said("a", "stop"), {"choices": [], "usage": USED}],
        [said("a", "stop"), {"usage": USED}],
        [{"usage": USED, "choices": []}, said("a", "stop")],
        [{"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": "stop", "usage": USED}]}],
        [said("a", "stop") | {"x_groq": {"usage": USED}}],
        [said("a") | {"usage": {"prompt_tokens": 1, "completion_tokens": 0}}, said(finish="stop") | {"usage": USED}],
    ],
)
def test_usage_is_found_in_any_place_and_the_last_one_counts(place: list[Any]):
    pieces = whole(*place)
    assert [piece for piece in pieces if isinstance(piece, UsagePiece)][-1] == UsagePiece(3, 4)
    assert [piece for piece in pieces if not isinstance(piece, UsagePiece)] == [TextPiece("a"), STOP]


def test_what_is_not_known_is_ignored():
    odd = [
        {"choices": None},
        {"choices": []},
        {"choices": [None, {"index": 0, "delta": None, "finish_reason": None}]},
        {"object": "ping"},
        "null",
        "3",
        said(audio={"id": "x"}, annotations=[1], content=[{"type": "audio", "text": "no"}]),
        {"choices": [{"index": 1, "delta": {"content": "another answer"}}]},
    ]
    assert whole(*odd, said("a"), said(finish="stop")) == [TextPiece("a"), STOP]


@pytest.mark.parametrize(
    ("fragments", "calls"),
    [
        pytest.param(
            [call("", index=0, id="a", name="f"), call('{"x":', index=0), call("1}", index=0, id="")],
            [("0", "a", "f", '{"x":1}')],
            id="fragments",
        ),
        pytest.param(
            [call("{", index=0, id="a", name="f"), call("{", index=1, id="b", name="g"), call("}", index=0), call("}", index=1)],
            [("0", "a", "f", "{}"), ("1", "b", "g", "{}")],
            id="interleaved",
        ),
        pytest.param(
            [call("{}", id="a", name="f"), call("{}", id="b", name="f")],
            [("0", "a", "f", "{}"), ("1", "b", "f", "{}")],
            id="no index",
        ),
        pytest.param(
            [said(tool_calls=[{"function": {"name": "f", "arguments": "{}"}, "id": ""}] * 2)],
            [("0", "", "f", "{}"), ("1", "", "f", "{}")],
            id="no index, no id, one delta",
        ),
        pytest.param(
            [call("{}", name="f"), call("{}", name="f", id=None)],
            [("0", "", "f", "{}"), ("1", "", "f", "{}")],
            id="no index, no id, two deltas",
        ),
        pytest.param(
            [call('{"x":', name="f"), call("1}")],
            [("0", "", "f", '{"x":1}')],
            id="no index, no id, fragments",
        ),
        pytest.param(
            [call("{", index=0, id="a", name="f"), call("}", index=0, id="a", name="f"), call("", index=0, id="a", name="f")],
            [("0", "a", "f", "{}")],
            id="repeated id and name",
        ),
        pytest.param(
            [call("{}", index=0, id="a", name="f"), call("{}", index=0, id="b", name="g")],
            [("0", "a", "f", "{}"), ("1", "b", "g", "{}")],
            id="one index for two calls",
        ),
        pytest.param(
            [call("{}", index=0, name="f"), call("{}", index=0, name="f")],
            [("0", "", "f", "{}"), ("1", "", "f", "{}")],
            id="one index for two calls without ids",
        ),
        pytest.param(
            [call("{}", index=0, id="a", name="f"), call("{}", index=1, id="a", name="g")],
            [("0", "a", "f", "{}"), ("1", "a", "g", "{}")],
            id="one id for two calls",
        ),
        pytest.param(
            [call("{}", id="a", name="f"), call("{}", id="a", name="g")],
            [("0", "a", "f", "{}"), ("1", "a", "g", "{}")],
            id="one id for two calls without index",
        ),
        pytest.param(
            [call("{", index=0), call("}", index=0, id="a"), call(index=0, name="f")],
            [("0", "a", "f", "{}")],
            id="late name",
        ),
        pytest.param([call(index=0, name="f"), call("{}", index=0, id="a")], [("0", "a", "f", "{}")], id="late id"),
        pytest.param([call("{}", index=0, id="a")], [("0", "a", "unnamed", "{}")], id="no name at all"),
        pytest.param([call(index=0, name="f")], [("0", "", "f", "")], id="no arguments at all"),
        pytest.param(
            [said(tool_calls=[{"index": 0, "id": 7, "function": {"name": "f", "arguments": {"x": 1}}}])],
            [("0", "7", "f", '{"x": 1}')],
            id="arguments as an object",
        ),
        pytest.param([said(function_call={"name": "f", "arguments": "{}"})], [("0", "", "f", "{}")], id="legacy"),
        pytest.param([said(tool_calls=[None, {"function": None, "index": 0}])], [("0", "", "unnamed", "")], id="nulls"),
    ],
)
def test_calls_are_put_together_whatever_is_missing(fragments: list[Any], calls: list[tuple[str, ...]]):
    pieces = whole(*fragments, said(finish="tool_calls"))
    assert calls_of(pieces) == calls
    assert pieces[-1] == STOP


def test_names_are_restored():
    pieces = whole(call("{}", index=0, id="a", name="mcp_x"), said(finish="stop"), names={"mcp_x": "mcp.x"})
    assert calls_of(pieces) == [("0", "a", "mcp.x", "{}")]


@pytest.mark.parametrize(
    ("finish", "reason"),
    [
        ("stop", "stop"),
        ("tool_calls", "stop"),
        ("function_call", "stop"),
        ("end_turn", "stop"),
        ("eos", "stop"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("model_length", "length"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
    ],
)
def test_finish_reasons_are_mapped(finish: str, reason: str):
    assert whole(said("a", finish))[-1] == Finish(reason)


def test_a_cut_that_a_router_calls_complete_is_a_cut():
    chunk = said("a", "tool_calls")
    chunk["choices"][0]["native_finish_reason"] = "max_tokens"
    assert whole(chunk)[-1] == Finish("length")


def test_a_finish_reason_that_means_failure_is_an_error():
    assert broken(said("a"), said(finish="error")) == ([TextPiece("a")], "server", True)


def test_a_finish_is_enough_without_done():
    assert read(sse(said("a", "stop"))) == ([TextPiece("a"), STOP], None)


@pytest.mark.parametrize(
    "payloads", [[said("a")], [call("{}", index=0, id="c", name="f")], [said("a"), call('{"x":[1]}', index=0, id="c", name="f")]]
)
def test_done_without_a_finish_is_complete_if_nothing_is_half_said(payloads: list[Any]):
    assert whole(*payloads)[-1] == STOP


@pytest.mark.parametrize(
    "payloads",
    [
        [said("a"), call('{"x":', index=0, id="c", name="f"), "[DONE]"],
        [call("", index=0, id="c", name="f"), "[DONE]"],
        [call("[]", index=0, id="c", name="f"), "[DONE]"],
        [said(reasoning="only thought"), "[DONE]"],
        [said("a")],
        [call("{}", index=0, id="c", name="f")],
        [said("", role="assistant")],
    ],
)
def test_a_stream_without_its_end_is_cut(payloads: list[Any]):
    assert broken(*payloads)[1:] == ("cut_stream", True)


@pytest.mark.parametrize("body", [b"", b"\n", b": keep-alive\n\n", b"event: x\n\n", b"data: [DONE]\n\n"])
def test_no_answer_at_all_is_a_failed_connection(body: bytes):
    pieces, error = read(body)
    assert pieces == [] and error is not None and (error.kind, error.retryable) == ("connection", True)


def test_a_call_that_was_cut_at_its_start_stays_visible():
    assert broken(call(index=0, name="f"))[0] == [CallPiece("0", "f")]


def test_a_tail_that_is_no_whole_line_is_a_cut_and_not_a_fault():
    pieces, error = read(sse(said("a")) + b'data: {"choices": [{"del')
    assert pieces == [TextPiece("a")] and error is not None and error.kind == "cut_stream"


def test_a_last_line_without_a_line_end_counts():
    assert read(sse(said("a"), said(finish="stop")).rstrip()) == ([TextPiece("a"), STOP], None)


def test_law_10_a_corrupted_line_ends_the_answer_after_what_came_before():
    pieces, kind, _ = broken(said("a"), '{"choices": [', said("b", "stop"))
    assert (pieces, kind) == ([TextPiece("a")], "malformed_stream")


def test_an_error_in_the_stream_is_raised_after_what_came_before():
    limit = {"error": {"message": "too fast, sk-secret-key", "type": "rate_limit_error"}}
    pieces, error = read(sse(said("a"), limit, said("b", "stop")))
    assert pieces == [TextPiece("a")] and error is not None
    assert (error.kind, error.retryable) == ("rate_limit", True)
    assert "too fast, ***" in error.message


@pytest.mark.parametrize(
    "chunk",
    [
        {"error": "the model crashed"},
        {"object": "error", "message": "the model crashed", "code": 500},
        {
            "choices": [
                {"index": 0, "delta": {"content": ""}, "finish_reason": "error", "error": {"message": "the model crashed"}}
            ]
        },
    ],
)
def test_every_form_of_an_error_is_seen(chunk: dict[str, Any]):
    pieces, error = read(sse(chunk))
    assert pieces == [] and error is not None and error.kind == "server" and "the model crashed" in error.message


def test_a_whole_completion_is_read_like_a_stream():
    message = {"role": "assistant", "content": "hi", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}
    answer = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": {"prompt_tokens": 3}}
    pieces, error = read(json.dumps(answer).encode())
    assert error is None
    assert pieces == [
        TextPiece("hi"),
        CallPiece("0", "f", "c"),
        CallPiece("0", arguments="{}"),
        UsagePiece(input_tokens=3),
        STOP,
    ]


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"<!doctype html><p>Sign in</p>", "malformed_stream", "check the base URL"),
        (b'{"choices": [{"mess', "malformed_stream", "begins with"),
        (b'{"status": "ok"}', "malformed_stream", "begins with"),
        (b'{"error": {"message": "no such model", "type": "not_found_error"}}', "not_found", "no such model"),
        (b'{"detail": "Invalid API Key", "code": 401}', "auth", "Invalid API Key"),
    ],
)
def test_a_body_that_is_no_stream_is_explained(body: bytes, kind: str, words: str):
    pieces, error = read(body)
    assert pieces == [] and error is not None and error.kind == kind and words in error.message


@pytest.mark.parametrize(
    ("usage", "piece"),
    [
        ({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}, UsagePiece(5, 2)),
        ({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 20}, UsagePiece(5, 15)),
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}, UsagePiece(5, 0, 4)),
        ({"prompt_tokens": 5, "prompt_cache_hit_tokens": 3, "prompt_tokens_details": None}, UsagePiece(5, 0, 3)),
        ({"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 8}}, UsagePiece(0, 9, 0, 8)),
        ({"prompt_tokens": None, "completion_tokens": "many"}, UsagePiece()),
    ],
)
def test_usage_is_counted(usage: dict[str, Any], piece: UsagePiece):
    assert usage_of(usage) == piece


def test_usage_comes_from_wherever_it_is_and_the_last_one_stands():
    in_choice = said("a")
    in_choice["choices"][0]["usage"] = {"prompt_tokens": 1}
    late = {"choices": [], "usage": {"prompt_tokens": 2}}
    groq = {"choices": [], "x_groq": {"usage": {"prompt_tokens": 3}}}
    assert whole(in_choice, said(finish="stop"), late, groq) == [TextPiece("a"), UsagePiece(3), STOP]


def test_an_answer_of_the_other_wire_is_named():
    for chunk in ({"type": "response.created", "response": {}}, {"object": "response", "output": []}):
        for body in (sse(chunk), json.dumps(chunk).encode()):
            pieces, error = read(body)
            assert pieces == [] and error is not None and not error.retryable and "use --api responses" in error.message


def test_text_can_always_be_stored():
    halves = [said("a\ud83d"), said("\ude00b"), said("\ud83dc"), said("d\ud83d", "stop")]
    assert "".join(piece.text for piece in whole(*halves) if isinstance(piece, TextPiece)) == "a😀b\ufffdcd\ufffd"
    arguments = [call('{"x": "\ud83d', index=0, id="c", name="f"), call('\ude00"}', index=0), said(finish="stop")]
    [(_, _, _, sent)] = calls_of(whole(*arguments))
    assert json.loads(sent.encode().decode()) == {"x": "😀"}


@pytest.mark.parametrize("text", ["plain", 'a "quote"', "back\\slash", "line\nend", "é€😀", "", " ", "]}", '","content":"x'])
def test_the_short_cut_through_alike_chunks_reads_what_the_parser_reads(text: str):
    chunks = [said("one"), said("two"), said(text), said("three")]
    shuffled = [{"id": "x", **chunk, "created": 1} for chunk in chunks]
    stream = sse(*shuffled, said(finish="stop"))
    pieces, error = read(*(stream[at : at + 40] for at in range(0, len(stream), 40)))
    assert error is None
    assert "".join(piece.text for piece in pieces if isinstance(piece, TextPiece)) == f"onetwo{text}three"


def test_a_fast_stream_is_cheap():
    chunk = {"id": "chatcmpl-0123456789", "object": "chat.completion.chunk", "created": 1700000000, "model": "m", **said("abc")}
    stream = sse(*[chunk] * 33_400, said(finish="stop"))
    spent = []
    for _ in range(3):
        start = time.process_time()
        pieces, _ = read(*(stream[at : at + 65536] for at in range(0, len(stream), 65536)))
        spent.append(time.process_time() - start)
    assert sum(len(piece.text) for piece in pieces if isinstance(piece, TextPiece)) == 100_200
    assert len(pieces) < 200 and min(spent) < 0.15
