"""Recorded answers of many providers, which are not part of this repository: AGENTCLI_SHARED says where they are."""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentcli.errors import ModelError
from agentcli.ledger.message import UserMsg
from agentcli.model.base import CallPiece, Finish, ModelRequest, Piece, TextPiece, ThinkingPiece, ToolSchema, UsagePiece
from agentcli.model.openai_chat.stream import ChatFold, usage_of
from agentcli.model.openai_wire.failure import of_answer
from agentcli.model.registry import ModelSpec, make_model

SHARED = Path(os.environ.get("AGENTCLI_SHARED") or Path(__file__).parents[4] / "shared")
MANIFEST = SHARED / "provider-streams" / "MANIFEST.jsonl"


def rows(kind: str) -> list[Any]:
    if not MANIFEST.is_file():
        return [pytest.param(None, marks=pytest.mark.skip(reason=f"no recordings in {MANIFEST.parent}"))]
    every = [json.loads(line) for line in MANIFEST.read_text(encoding="utf-8").splitlines() if line]
    return [pytest.param(row, id=row["file"]) for row in every if row["api"] == "chat" and row["kind"] == kind]


def body_of(row: dict[str, Any]) -> bytes:
    return (MANIFEST.parent / row["file"]).read_bytes()


def cuts(body: bytes) -> Iterator[tuple[str, list[bytes]]]:
    yield "whole", [body]
    if len(body) < 20_000:
        yield "byte by byte", [body[at : at + 1] for at in range(len(body))]
    chance, chunks, at = random.Random(len(body)), [], 0
    while at < len(body):
        size = chance.choice((1, 2, 3, 40, 700, 5000))
        chunks.append(body[at : at + size])
        at += size
    yield "random cuts", chunks


def fold(chunks: list[bytes]) -> tuple[list[Piece], ModelError | None]:
    answer, pieces = ChatFold(), list[Piece]()
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
    finish = expected["finish_reason"] or ("stop" if expected["done"] else None)
    return {
        "text": expected["text"] or expected["refusal"],
        "thinking": expected["thinking"],
        "calls": [{name: call[name] for name in ("id", "name", "arguments")} for call in expected["tool_calls"]],
        "usage": usage_of(expected["usage"] or {}),
        "finish": {"tool_calls": "stop", "function_call": "stop"}.get(finish, finish),
    }


@pytest.mark.parametrize("row", rows("stream"))
def test_law_10_a_recorded_answer_is_read_right_however_it_is_cut(row: dict[str, Any]):
    expected = wanted(row["expected"])
    for how, chunks in cuts(body_of(row)):
        pieces, error = fold(chunks)
        assert summary(pieces) == expected, how
        assert (error is None) == (expected["finish"] is not None), how


@pytest.mark.parametrize("row", rows("stream"))
def test_law_10_a_recorded_answer_cut_anywhere_is_never_taken_for_a_whole_one(row: dict[str, Any]):
    body, whole = body_of(row), wanted(row["expected"])
    chance = random.Random(len(body))
    for at in sorted(chance.sample(range(len(body)), min(25, len(body)))):
        pieces, error = fold([body[:at]])
        seen = summary(pieces)
        assert whole["text"].startswith(seen["text"]) and whole["thinking"].startswith(seen["thinking"])
        assert error is not None or (seen["text"], seen["calls"]) == (whole["text"], whole["calls"])


@pytest.mark.parametrize("row", rows("error"))
def test_a_recorded_error_is_classified(row: dict[str, Any]):
    status, body = row["expected"]["status"], body_of(row).decode()
    error = of_answer(status, body, {})
    usual = {401: {"auth"}, 404: {"not_found"}, 429: {"rate_limit"}}
    kinds = usual.get(status) or {"context_length" if "context" in row["file"] else "bad_request", "unsupported"}
    assert error.status == status and error.kind in kinds and error.message


@pytest.mark.skipif(not (SHARED / "checks" / "blackbox.py").is_file(), reason=f"no checks in {SHARED}")
async def test_answers_of_the_shared_server_are_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(SHARED / "checks"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    from blackbox import ModelServer

    call = {"id": "c1", "name": "Read", "args": {"file_path": "a"}}
    answer = {"thinking": "hm", "text": "hello", "calls": [call], "usage": {"input_tokens": 3, "output_tokens": 4}}
    request = ModelRequest("", [UserMsg(content="hi")], [ToolSchema("Read", "", {"type": "object"})])
    with ModelServer([answer, {"text": "cut", "cut": "end"}, {"text": "late", "cut": "before"}]) as server:
        model = make_model(ModelSpec(name=server.models[0], base_url=server.url))
        seen = summary([piece async for piece in model.stream(request)])
        assert (seen["text"], seen["thinking"], seen["usage"], seen["finish"]) == ("hello", "hm", UsagePiece(3, 4), "stop")
        assert [(c["id"], c["name"], json.loads(c["arguments"])) for c in seen["calls"]] == [("c1", "Read", {"file_path": "a"})]
        for kind in ("cut_stream", "connection"):
            with pytest.raises(ModelError) as caught:
                [piece async for piece in model.stream(request)]
            assert caught.value.kind == kind
        await model.close()
        assert server.history_faults() == []
