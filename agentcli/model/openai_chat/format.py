"""A history as Chat Completions messages: pure, no I/O. What comes in is repaired already; what goes out is valid in any case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from agentcli.ledger.block import DataBlock, HintBlock, TextBlock, ThinkingBlock, ToolCallBlock, ToolResultBlock
from agentcli.ledger.message import Msg
from agentcli.model.base import ModelRequest
from agentcli.model.openai_wire.foreign import fields_of, is_object, rows_of
from agentcli.model.openai_wire.names import Names
from agentcli.model.openai_wire.part import Part, Wire, data_after, not_sent_back, parts_of, result_of

REASONING = "reasoning"
"""The reasoning of earlier calls, on its way back."""
UNREASONED = "unreasoned"
"""A call without the reasoning that led to it."""
SIGNED = "signed"
"""What a provider added to its calls, on its way back."""
CONTENT, DETAILS = "reasoning_content", "reasoning_details"
FIELDS = (CONTENT, "reasoning")
"""Fields for the text of reasoning."""


@dataclass(slots=True, frozen=True)
class WireRequest:
    """What is sent, and how the names in the answer are to be read."""

    messages: list[Wire]
    tools: list[Wire]
    names: Mapping[str, str]
    """Name on the wire -> name of the tool, where they differ."""
    holds: frozenset[str] = frozenset()
    """What of it an endpoint may refuse, or miss: kinds of data, `REASONING`, `UNREASONED`, `SIGNED`."""


@dataclass(slots=True, frozen=True)
class Manner:
    """What an endpoint takes back, and what it does not take."""

    origin: str = ""
    """The stamp of what its own models made; all other is left out."""
    reasoning: bool = False
    """The reasoning goes back with the calls it led to."""
    fill: bool = False
    """Calls of another model get an empty reasoning: the endpoint takes no call without one."""
    without: Collection[str] = ()
    """Kinds of data that are named instead; `SIGNED`."""


PLAIN = Manner()


def wire_request(request: ModelRequest, manner: Manner = PLAIN) -> WireRequest:
    """The request as this wire takes it."""
    names = Names(request.tools)
    history = History(names, request.messages, manner)
    system = [{"role": "system", "content": request.system}] if request.system else []
    tools = [
        {
            "type": "function",
            "function": {
                "name": names.legal(tool.name),
                "description": tool.description,
                "parameters": dict(tool.parameters),
            },
        }
        for tool in request.tools
    ]
    return WireRequest([*system, *history.messages], tools, names.differing, frozenset(history.holds))


@dataclass(slots=True)
class Turn:
    """One answer of the model with the results of its calls."""

    texts: list[str] = field(default_factory=list[str])
    calls: dict[str, ToolCallBlock] = field(default_factory=dict[str, ToolCallBlock])
    thoughts: list[ThinkingBlock] = field(default_factory=list[ThinkingBlock])
    """Of this endpoint and model."""
    answered: bool = False


class History:
    """Messages of the ledger, put on the wire one after the other."""

    def __init__(self, names: Names, msgs: Iterable[Msg], manner: Manner = PLAIN) -> None:
        self.messages: list[Wire] = []
        self.holds: set[str] = set()
        self._names, self._manner = names, manner
        self._turn = Turn()
        self._results: dict[str, ToolResultBlock] = {}
        for msg in msgs:
            if msg.role == "assistant":
                self._answer(msg)
            else:
                self._say(msg.role, cast(list[Any], msg.content))

    def _say(self, role: str, blocks: Iterable[Any]) -> None:
        parts = parts_of(blocks, self._manner.without)
        if any(part.kind for part in parts):
            self._show(role, parts)
        elif text := "\n".join(part.text for part in parts):
            self.messages.append({"role": role, "content": text})

    def _show(self, role: str, parts: Iterable[Part]) -> None:
        self.holds.update(part.kind for part in parts if part.kind)
        self.messages.append({"role": role, "content": [_wire_part(part) for part in parts]})

    def _answer(self, msg: Msg) -> None:
        """A reply holds several turns: what comes after a result is the next one."""
        self._results = {block.id: block for block in reversed(msg.content) if isinstance(block, ToolResultBlock)}
        for block in msg.content:
            match block:
                case TextBlock():
                    self._next().texts.append(block.text)
                case ToolCallBlock():
                    self._next().calls.setdefault(block.id, block)
                case ToolResultBlock():
                    self._turn.answered = True
                case HintBlock():
                    self._flush()
                    self._say("user", [TextBlock(text=block.hint)] if isinstance(block.hint, str) else block.hint)
                case ThinkingBlock():
                    if self._manner.origin and (block.model_extra or {}).get("origin") == self._manner.origin:
                        self._next().thoughts.append(block)
                case DataBlock():
                    self._next().texts.append(not_sent_back(block))
                case _:  # what only a later version can read
                    pass
        self._flush()

    def _next(self) -> Turn:
        if self._turn.answered:
            self._flush()
        return self._turn

    def _flush(self) -> None:
        turn, self._turn = self._turn, Turn()
        text = _joined(turn.texts)
        if turn.calls:
            calls = [self._call(call) for call in turn.calls.values()]
            self._sign(calls, turn.thoughts)
            back = self._given_back(turn.thoughts)
            self.messages.append({"role": "assistant", "content": text or None, **back, "tool_calls": calls})
            self._give_results(turn.calls.values())
        elif text.strip():
            self.messages.append({"role": "assistant", "content": text})

    def _given_back(self, thoughts: Iterable[ThinkingBlock]) -> Wire:
        """The reasoning that led to calls, in the field it came in; no endpoint misses that of a mere text."""
        back: Wire = {}
        for block in thoughts if self._manner.reasoning else ():
            extra = block.model_extra or {}
            if details := rows_of(extra.get("details")):
                back[DETAILS] = [*back.get(DETAILS, []), *details]
            if (name := extra.get("field")) in FIELDS and block.thinking:
                back[name] = back.get(name, "") + block.thinking
        if DETAILS in back:
            back = {DETAILS: back[DETAILS]}  # they hold the text too
        if not back and self._manner.fill:
            back = {CONTENT: ""}
        self.holds.add(REASONING if back else UNREASONED)
        return back

    def _sign(self, calls: list[Wire], thoughts: Iterable[ThinkingBlock]) -> None:
        """Give each call back what its provider added to it."""
        for block in thoughts if SIGNED not in self._manner.without else ():
            for place, added in fields_of((block.model_extra or {}).get("calls")).items():
                if place.isdecimal() and int(place) < len(calls) and (fields := fields_of(added)):
                    calls[int(place)]["extra_content"] = fields
                    self.holds.add(SIGNED)

    def _call(self, call: ToolCallBlock) -> Wire:
        arguments = call.input if is_object(call.input) else "{}"
        return {"id": call.id, "type": "function", "function": {"name": self._names.legal(call.name), "arguments": arguments}}

    def _give_results(self, calls: Iterable[ToolCallBlock]) -> None:
        """Nothing stands between results on this wire: their data follows after the last, in one message."""
        seen: list[tuple[str, list[Part]]] = []
        for call in calls:
            content, data = result_of(self._results.get(call.id), self._manner.without)
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
            seen.append((f"{self._names.legal(call.name)} ({call.id})", data))
        if parts := data_after(seen):
            self._show("user", parts)


def _wire_part(part: Part) -> Wire:
    if part.image:
        return {"type": "image_url", "image_url": {"url": part.image}}
    if part.audio:
        return {"type": "input_audio", "input_audio": {"data": part.audio, "format": part.form}}
    if part.file:
        return {"type": "file", "file": {"filename": part.name, "file_data": part.file}}
    return {"type": "text", "text": part.text}


def _joined(texts: list[str]) -> str:
    """Blocks of one turn as one text, with a blank line where nothing separates them."""
    whole = ""
    for text in filter(None, texts):
        apart = not whole or whole[-1].isspace() or text[0].isspace()
        whole += text if apart else f"\n\n{text}"
    return whole
