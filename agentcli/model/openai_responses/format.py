"""A history as Responses items: pure, no I/O. What comes in is repaired already; what goes out is valid in any case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, cast

from agentcli.ledger.block import DataBlock, HintBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from agentcli.ledger.message import Msg
from agentcli.model.base import ModelRequest
from agentcli.model.openai_wire.foreign import fields_of, is_object
from agentcli.model.openai_wire.lesson import AUDIO
from agentcli.model.openai_wire.names import Names
from agentcli.model.openai_wire.part import Part, Wire, data_after, not_sent_back, parts_of, result_of

REASONING, CALL, MESSAGE = "reasoning", "function_call", "message"
LONGEST_ID = 64
ASKING = {"mcp_approval_request"}
"""Items that want an answer and are no calls."""


@dataclass(slots=True, frozen=True)
class WireRequest:
    """What is sent, and how the names in the answer are to be read."""

    items: list[Wire]
    tools: list[Wire]
    names: Mapping[str, str]
    """Name on the wire -> name of the tool, where they differ."""
    replays: bool = False
    """Some items are the provider's own, given back."""
    holds: frozenset[str] = frozenset()
    """The kinds of data in it."""


def wire_request(request: ModelRequest, origin: str = "", without: Collection[str] = ()) -> WireRequest:
    """The request as this wire takes it.

    Args:
        origin: the stamp of what is given back to its provider; all else of the kind is left out.
        without: kinds of data that the model does not take; they are named instead.
    """
    names = Names(request.tools)
    history = History(names, origin, request.messages, {*without, AUDIO})  # this wire has no sound
    # Not as `instructions`: some endpoints refuse the field, and all of them know a system message.
    system = [_message("system", [Part(request.system)])] if request.system else []
    tools = [
        {
            "type": "function",
            "name": names.legal(tool.name),
            "description": tool.description,
            "parameters": dict(tool.parameters),
            "strict": False,  # the default of this wire would make every optional parameter a required one
        }
        for tool in request.tools
    ]
    return WireRequest([*system, *history.items], tools, names.differing, history.replays, frozenset(history.holds))


@dataclass(slots=True)
class Turn:
    """One answer of the model with the results of its calls."""

    items: list[Wire] = field(default_factory=list[Wire])
    late: list[Wire] = field(default_factory=list[Wire])
    """What belongs before the others and was known only after them."""
    calls: dict[str, ToolCallBlock] = field(default_factory=dict[str, ToolCallBlock])
    answered: bool = False


class History:
    """Messages of the ledger, put on the wire one after the other."""

    def __init__(self, names: Names, origin: str, msgs: Iterable[Msg], without: Collection[str]) -> None:
        self.items: list[Wire] = []
        self.holds: set[str] = set()
        self._without = without
        self.replays = False
        self._names, self._origin = names, origin
        self._turn = Turn()
        self._results: dict[str, ToolResultBlock] = {}
        for msg in msgs:
            if msg.role == "assistant":
                self._answer(msg)
            else:
                self._say(msg.role, cast(list[Any], msg.content))

    def _say(self, role: str, blocks: Iterable[Any]) -> None:
        if parts := parts_of(blocks, self._without):
            self._show(role, parts)

    def _show(self, role: str, parts: list[Part]) -> None:
        self.holds.update(part.kind for part in parts if part.kind)
        self.items.append(_message(role, parts))

    def _answer(self, msg: Msg) -> None:
        """A reply holds several turns: what comes after a result is the next one."""
        self._results = {block.id: block for block in reversed(msg.content) if isinstance(block, ToolResultBlock)}
        for block in msg.content:
            match block:
                case TextBlock():
                    self._text(block.text, block)
                case ThinkingBlock():
                    self._give_back(block)
                case ToolCallBlock():
                    self._call(block)
                case ToolResultBlock():
                    self._turn.answered = True
                case HintBlock():
                    self._flush()
                    self._say("user", [TextBlock(text=block.hint)] if isinstance(block.hint, str) else block.hint)
                case DataBlock():
                    self._text(not_sent_back(block), block)
                case _:  # what only a later version can read
                    pass
        self._flush()

    def _next(self) -> Turn:
        if self._turn.answered:
            self._flush()
        return self._turn

    def _text(self, text: str, block: TextBlock | DataBlock) -> None:
        if not text.strip():
            return
        item: Wire = {
            "type": MESSAGE,
            "id": wire_id("msg", block.id),  # id and status are told because strict endpoints take no answer without them
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        }
        extra = block.model_extra or {}
        if extra.get("phase") and self._is_own(extra):
            item["phase"] = extra["phase"]
        self._next().items.append(item)

    def _give_back(self, block: ThinkingBlock) -> None:
        """An item of the provider goes back to it alone, if it says something and wants no answer of ours."""
        extra = block.model_extra or {}
        item = fields_of(extra.get("item"))
        if not item or not self._is_own(extra) or _wants_answer(item) or not _says_something(item):
            return
        turn = self._next()
        (turn.late if extra.get("late") else turn.items).append(item)

    def _is_own(self, extra: Mapping[str, Any]) -> bool:
        return bool(self._origin) and extra.get("origin") == self._origin

    def _call(self, call: ToolCallBlock) -> None:
        turn = self._next()
        if call.id in turn.calls:
            return
        turn.calls[call.id] = call
        arguments = call.input if is_object(call.input) else "{}"
        turn.items.append({"type": CALL, "call_id": call_id(call), "name": self._names.legal(call.name), "arguments": arguments})

    def _flush(self) -> None:
        turn, self._turn = self._turn, Turn()
        items = in_order([*turn.late, *turn.items])
        self.replays = self.replays or any(item["type"] not in (CALL, MESSAGE) or "phase" in item for item in items)
        self.items += items
        seen: list[tuple[str, list[Part]]] = []
        for call in turn.calls.values():
            output, data = result_of(self._results.get(call.id), self._without)
            self.items.append({"type": "function_call_output", "call_id": call_id(call), "output": output})
            seen.append((f"{self._names.legal(call.name)} ({call.id})", data))
        if parts := data_after(seen):
            self._show("user", parts)


def in_order(items: Iterable[Wire]) -> list[Wire]:
    """The items of a turn as every endpoint takes them: reasoning before what it led to, the calls last.

    Reasoning whose follower cannot go back is refused, and so is what a tool of the provider did without the reasoning
    that led to it; such a chain is left out. Endpoints with a Chat model behind them want no text between calls.
    """
    said: list[Wire] = []
    called: list[Wire] = []
    led: list[Wire] = []
    unled = False
    for item in items:
        if item["type"] == REASONING:
            led.append(item)
        elif item["type"] in (CALL, MESSAGE):
            (called if item["type"] == CALL else said).extend([*led, item])
            led, unled = [], False
        elif led or unled:
            led, unled = [], True
        else:
            said.append(item)
    return [*said, *called]


def wire_id(prefix: str, block_id: str) -> str:
    """An id as this wire takes it, the same each time; other providers give longer ones."""
    fits = len(block_id) < LONGEST_ID - len(prefix) and block_id.isascii() and block_id.isalnum()
    return f"{prefix}_{block_id if fits else sha256(block_id.encode()).hexdigest()[:32]}"


def call_id(call: ToolCallBlock) -> str:
    """The id of a call: the provider's own where this wire takes it."""
    return call.id if len(call.id) <= LONGEST_ID else wire_id("call", call.id)


def _wants_answer(item: Wire) -> bool:
    return bool(item.get("call_id")) or item.get("type") in ASKING or not isinstance(item.get("type"), str)


def _says_something(item: Wire) -> bool:
    return item["type"] != REASONING or any(item.get(name) for name in ("encrypted_content", "content", "summary"))


def _message(role: str, parts: Iterable[Part]) -> Wire:
    return {"type": MESSAGE, "role": role, "content": [_wire_part(part) for part in parts]}


def _wire_part(part: Part) -> Wire:
    if part.image:
        return {"type": "input_image", "image_url": part.image, "detail": "auto"}
    if part.file:
        return {"type": "input_file", "filename": part.name, "file_data": part.file}
    return {"type": "input_text", "text": part.text}
