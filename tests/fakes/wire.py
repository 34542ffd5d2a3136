"""Two providers that look at a history as strictly as the strictest do, and an agent that makes messages of pieces."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from agentcli.ledger.block import TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock, ToolResultState
from agentcli.ledger.message import AssistantMsg, Msg, UserMsg
from agentcli.model.base import CallPiece, Piece, TextPiece, ThinkingPiece


def messages_of(pieces: Iterable[Piece]) -> list[Msg]:
    """An answer in the ledger, its calls answered, and one more word of the user."""
    blocks: list[Any] = []
    places: dict[tuple[str, str], Any] = {}
    last: tuple[str, str] | None = None
    for piece in pieces:
        match piece:
            case TextPiece(text, key, extra):
                kind, block = ("text", key), TextBlock(text="", **extra)
            case ThinkingPiece(text, key, extra):
                kind, block = ("thinking", key), ThinkingBlock(thinking="", **extra)
            case CallPiece(key, name, call_id):
                kind, block = ("call", key), ToolCallBlock(id=call_id or f"made_{key}", name=name, input="")
                text, extra = piece.arguments, {}
            case _:
                continue
        known = kind == last or (kind in places and kind[0] == "call")
        if not known:
            places[kind] = block
            blocks.append(block)
        places[kind].grow(text)
        for name, value in extra.items():
            setattr(places[kind], name, value)
        last = kind
    calls = [block for block in blocks if isinstance(block, ToolCallBlock)]
    results = [ToolResultBlock(id=call.id, name=call.name, output="ok", state=ToolResultState.SUCCESS) for call in calls]
    return [UserMsg(content="go"), AssistantMsg(content=[*blocks, *results]), UserMsg(content="on")]


def response_faults(items: list[dict[str, Any]]) -> list[str]:
    """What a Responses endpoint would refuse."""
    faults: list[str] = []
    asked: dict[str, bool] = {}
    answering = False
    for at, item in enumerate(items):
        kind = item["type"]
        if kind == "function_call_output":
            answering = True
            if asked.get(item["call_id"]) is not False:
                faults.append(f"{at}: an output without its call")
            asked[item["call_id"]] = True
            continue
        if answering or item.get("role") == "user":
            faults += [f"{at}: {call} has no output" for call, done in asked.items() if not done]
            asked, answering = {}, False
        if kind == "function_call":
            if item["call_id"] in asked or not item["call_id"] or not item["name"]:
                faults.append(f"{at}: a call without an id or name of its own")
            if not isinstance(json.loads(item["arguments"]), dict):
                faults.append(f"{at}: arguments that are no object")
            asked[item["call_id"]] = False
        elif kind == "message" and not any(part.get("text") or part.get("image_url") for part in item["content"]):
            faults.append(f"{at}: an empty message")
        elif kind == "reasoning":
            follower = items[at + 1] if at + 1 < len(items) else {}
            if follower.get("type") not in ("function_call", "reasoning") and follower.get("role") != "assistant":
                faults.append(f"{at}: reasoning without its follower")
    return faults + [f"{call} has no output" for call, done in asked.items() if not done]


def chat_faults(messages: list[dict[str, Any]]) -> list[str]:
    """What a Chat Completions endpoint would refuse."""
    faults: list[str] = []
    asked: list[str] = []
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            if message["tool_call_id"] in asked:
                asked.remove(message["tool_call_id"])
            else:
                faults.append(f"{at}: a result without its call")
            continue
        faults += [f"{at}: {call} has no result" for call in asked]
        calls = message.get("tool_calls") or []
        asked = [call["id"] for call in calls]
        faults += [f"{at}: no object" for call in calls if not isinstance(json.loads(call["function"]["arguments"]), dict)]
        if not message.get("content") and not calls:
            faults.append(f"{at}: an empty message")
    return faults + [f"{call} has no result" for call in asked]
