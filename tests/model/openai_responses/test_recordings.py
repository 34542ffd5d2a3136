"""Recorded answers of many providers, which are not part of this repository: AGENTCLI_SHARED says where they are."""

from __future__ import annotations

import json
import os
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcli.errors import ModelError
from agentcli.ledger.block import ToolCallBlock
from agentcli.ledger.message import AssistantMsg, UserMsg
from agentcli.model.base import CallPiece, Finish, ModelRequest, Piece, TextPiece, ThinkingPiece, ToolSchema, UsagePiece
from agentcli.model.openai_chat.format import wire_request as chat_request
from agentcli.model.openai_responses.format import wire_request
from agentcli.model.openai_responses.stream import ResponseFold, usage_of
from agentcli.model.openai_wire.failure import of_answer
from agentcli.model.registry import ModelSpec, make_model
from tests.fakes.wire import chat_faults, messages_of, response_faults

SHARED = Path(os.environ.get("AGENTCLI_SHARED") or Path(__file__).parents[4] / "shared")
MANIFEST = SHARED / "provider-streams" / "MANIFEST.jsonl"
ORIGIN = "url|model"


def rows(kind: str) -> list[Any]:
    if not MANIFEST.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no recordings in {MANIFEST.parent}"))]
    every = [json.loads(line) for line in MANIFEST.read_text(encoding="utf-8").splitlines() if line]
    return [pytest.param(row, id=row["file"]) for row in every if row["api"] == "responses" and row["kind"] == kind]


def body_of(row: dict[str, Any]) -> bytes:
    return (MANIFEST.parent / row["file"]).read_bytes()


def cuts(body: bytes) -> Iterator[tuple[str, list[bytes]]]:
    yield "whole", [body]
    if len(body) < 9_000:
        yield "byte by byte", [body[at : at + 1] for at in range(len(body))]
    chance, chunks, at = random.Random(len(body)), [], 0
    while at < len(body):
        size = chance.choice((1, 2, 3, 40, 700, 5000))
        chunks.append(body[at : at + size])
        at += size
    yield "random cuts", chunks


def fold(chunks: list[bytes]) -> tuple[list[Piece], ModelError | None]:
    answer, pieces = ResponseFold({}, ORIGIN), list[Piece]()
    try:
        for chunk in chunks:
            for piece in answer.feed(chunk):
                pieces.append(piece)
            if answer.done:
                break
        for piece in answer.end():
            pieces.append(piece)
    except ModelError as error:
        return pieces, error
    return pieces, None


def summary(pieces: list[Piece]) -> dict[str, Any]:
    calls: dict[str, dict[str, Any]] = {}
    for piece in pieces:
        if isinstance(piece, CallPiece):
            call = calls.setdefault(piece.key, {"id": piece.call_id or None, "name": piece.name, "arguments": ""})
            call["arguments"] += piece.arguments
    usages = [piece for piece in pieces if isinstance(piece, UsagePiece)]
    return {
        "text": "".join(piece.text for piece in pieces if isinstance(piece, TextPiece)),
        "thinking": "".join(piece.text for piece in pieces if isinstance(piece, ThinkingPiece)),
        "calls": list(calls.values()),
        "usage": usages[-1] if usages else UsagePiece(),
        "finish": next((piece.reason for piece in pieces if isinstance(piece, Finish)), None),
    }


def wanted(expected: dict[str, Any]) -> dict[str, Any]:
    finish = {"completed": "stop", "incomplete": "length", "failed": None}.get(expected["finish_reason"])
    plain = [call for call in expected["tool_calls"] if not call.get("custom")]
    return {
        "text": expected["text"] or expected["refusal"],
        "thinking": expected["thinking"],
        "calls": [{name: call[name] for name in ("id", "name", "arguments")} for call in plain],
        "usage": usage_of(expected["usage"] or {}),
        "finish": finish,
    }


def carried(pieces: list[Piece]) -> list[str]:
    """The types of the items that are carried, reasoning left aside."""
    items = [piece.extra["item"]["type"] for piece in pieces if isinstance(piece, ThinkingPiece) and "item" in piece.extra]
    return sorted(kind for kind in items if kind != "reasoning")


def check_histories(pieces: list[Piece]) -> None:
    messages = messages_of(pieces)
    request = ModelRequest("be good", messages)
    for origin in (ORIGIN, "another|model"):
        items = wire_request(request, origin).items
        assert response_faults(items) == []
        assert origin == ORIGIN or "encrypted_content" not in json.dumps(items)
    assert chat_faults(chat_request(request).messages) == []


@pytest.mark.parametrize("row", rows("stream"))
def test_law_10_a_recorded_answer_is_read_right_however_it_is_cut(row: dict[str, Any]):
    expected = wanted(row["expected"])
    others = sorted(set(row["expected"].get("output_item_types") or []) - {"message", "reasoning", "function_call"})
    for how, chunks in cuts(body_of(row)):
        pieces, error = fold(chunks)
        assert summary(pieces) == expected, how
        assert (error is None) == (expected["finish"] is not None), how
        assert sorted(set(carried(pieces))) == others, how
        check_histories(pieces)


@pytest.mark.parametrize("row", rows("stream"))
def test_law_10_an_answer_cut_anywhere_is_never_taken_for_a_whole_one(row: dict[str, Any]):
    body, whole = body_of(row), wanted(row["expected"])
    chance = random.Random(len(body))
    borders = [match.end() for match in re.finditer(rb"\n\n", body)]
    for at in sorted({*borders, *chance.sample(range(len(body)), 25)}):
        pieces, error = fold([body[:at]])
        seen = summary(pieces)
        assert whole["text"].startswith(seen["text"]) and whole["thinking"].startswith(seen["thinking"]), at
        assert error is not None or (seen["text"], seen["calls"]) == (whole["text"], whole["calls"]), at
        assert error is None or "finish" not in seen or seen["finish"] is None
        check_histories(pieces)


@pytest.mark.parametrize("row", rows("stream"))
def test_whole_reasoning_goes_back_to_its_origin_before_what_it_led_to(row: dict[str, Any]):
    output = last_response(body_of(row)).get("output") or []
    kinds = [item["type"] for item in output]
    pieces, error = fold([body_of(row)])
    if error is not None or not set(kinds) <= {"message", "reasoning", "function_call"}:
        return
    items = wire_request(ModelRequest("", messages_of(pieces)), ORIGIN).items
    answer = [item for item in items if item.get("role") != "user" and item["type"] != "function_call_output"]
    says = ("encrypted_content", "summary", "content")
    silent = [item for item in output if item["type"] == "reasoning" and not any(item.get(name) for name in says)]
    assert [item["type"] for item in answer] == [item["type"] for item in output if item not in silent]


def last_response(body: bytes) -> dict[str, Any]:
    events = [json.loads(line[5:]) for line in body.decode().splitlines() if line.startswith("data:") and "{" in line]
    return next((event["response"] for event in reversed(events) if "response" in event), {})


@pytest.mark.parametrize("row", rows("error"))
def test_a_recorded_error_is_classified(row: dict[str, Any]):
    status, body = row["expected"]["status"], body_of(row).decode()
    error = of_answer(status, body, {})
    usual = {401: {"auth"}, 404: {"not_found"}, 429: {"rate_limit"}}
    kinds = usual.get(status) or ({"context_length"} if "context" in row["file"] else {"bad_request", "unsupported", "auth"})
    assert error.status == status and error.kind in kinds and error.message


@pytest.mark.skipif(not (SHARED / "checks" / "blackbox.py").is_file(), reason=f"no checks in {SHARED}")
async def test_answers_of_the_shared_server_are_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(SHARED / "checks"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    from blackbox import ModelServer

    call = {"id": "c1", "name": "Read", "args": {"file_path": "a"}}
    answer = {"thinking": "hm", "text": "hello", "calls": [call], "usage": {"input_tokens": 3, "output_tokens": 4}}
    request = ModelRequest("", [UserMsg(content="hi")], [ToolSchema("Read", "", {"type": "object"})])
    with ModelServer([answer, {"text": "bye"}, {"text": "cut", "cut": "end"}, {"text": "late", "cut": "before"}]) as server:
        model = make_model(ModelSpec(name=server.models[0], api="responses", base_url=server.url))
        pieces = [piece async for piece in model.stream(request)]
        seen = summary(pieces)
        assert (seen["text"], seen["thinking"], seen["usage"], seen["finish"]) == ("hello", "hm", UsagePiece(3, 4), "stop")
        assert [(c["id"], c["name"], json.loads(c["arguments"])) for c in seen["calls"]] == [("c1", "Read", {"file_path": "a"})]
        again = ModelRequest("", messages_of(pieces), request.tools)
        assert summary([piece async for piece in model.stream(again)])["text"] == "bye"
        sent = [item["type"] for item in server.turns[1].history]
        assert sent == ["message", "reasoning", "message", "function_call", "function_call_output", "message"]
        for kind in ("cut_stream", "connection"):
            with pytest.raises(ModelError) as caught:
                [piece async for piece in model.stream(request)]
            assert caught.value.kind == kind
        await model.close()
        assert server.history_faults() == []


def test_what_is_not_whole_is_no_reason_to_send_a_broken_history():
    call = ToolCallBlock(id="c", name="Read", input='{"a": ')
    request = ModelRequest("", [AssistantMsg(content=[call])])
    assert response_faults(wire_request(request, ORIGIN).items) == []
