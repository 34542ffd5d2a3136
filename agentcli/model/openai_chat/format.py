"""A history as Chat Completions messages: pure, no I/O. What comes in is repaired already; what goes out is valid in any case."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from agentcli.ledger.block import DataBlock, HintBlock, TextBlock, ToolCallBlock, ToolResultBlock
from agentcli.ledger.message import Msg
from agentcli.model.base import ModelRequest
from agentcli.model.openai_wire.foreign import is_object
from agentcli.model.openai_wire.names import Names
from agentcli.model.openai_wire.part import Part, Wire, images_after, not_sent_back, parts_of, result_of


@dataclass(slots=True, frozen=True)
class WireRequest:
    """What is sent, and how the names in the answer are to be read."""

    messages: list[Wire]
    tools: list[Wire]
    names: Mapping[str, str]
    """Name on the wire -> name of the tool, where they differ."""


def wire_request(request: ModelRequest) -> WireRequest:
    """The request as this wire takes it."""
    names = Names(request.tools)
    history = History(names, request.messages)
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
    return WireRequest([*system, *history.messages], tools, names.differing)


@dataclass(slots=True)
class Turn:
    """One answer of the model with the results of its calls."""

    texts: list[str] = field(default_factory=list[str])
    calls: dict[str, ToolCallBlock] = field(default_factory=dict[str, ToolCallBlock])
    answered: bool = False


class History:
    """Messages of the ledger, put on the wire one after the other."""

    def __init__(self, names: Names, msgs: Iterable[Msg]) -> None:
        self.messages: list[Wire] = []
        self._names = names
        self._turn = Turn()
        self._results: dict[str, ToolResultBlock] = {}
        for msg in msgs:
            if msg.role == "assistant":
                self._answer(msg)
            else:
                self._say(msg.role, cast(list[Any], msg.content))

    def _say(self, role: str, blocks: Iterable[Any]) -> None:
        parts = parts_of(blocks)
        if any(part.image for part in parts):
            self.messages.append({"role": role, "content": [_wire_part(part) for part in parts]})
        elif text := "\n".join(part.text for part in parts):
            self.messages.append({"role": role, "content": text})

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
                case DataBlock():
                    self._next().texts.append(not_sent_back(block))
                case _:  # thinking, and what only a later version or another provider can read
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
            self.messages.append({"role": "assistant", "content": text or None, "tool_calls": calls})
            self._give_results(turn.calls.values())
        elif text.strip():
            self.messages.append({"role": "assistant", "content": text})

    def _call(self, call: ToolCallBlock) -> Wire:
        arguments = call.input if is_object(call.input) else "{}"
        return {"id": call.id, "type": "function", "function": {"name": self._names.legal(call.name), "arguments": arguments}}

    def _give_results(self, calls: Iterable[ToolCallBlock]) -> None:
        """Nothing stands between results on this wire: their images follow after the last, in one message."""
        seen: list[tuple[str, list[Part]]] = []
        for call in calls:
            content, images = result_of(self._results.get(call.id))
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
            seen.append((f"{self._names.legal(call.name)} ({call.id})", images))
        if content := images_after(seen, _wire_part):
            self.messages.append({"role": "user", "content": content})


def _wire_part(part: Part) -> Wire:
    return {"type": "image_url", "image_url": {"url": part.image}} if part.image else {"type": "text", "text": part.text}


def _joined(texts: list[str]) -> str:
    """Blocks of one turn as one text, with a blank line where nothing separates them."""
    whole = ""
    for text in filter(None, texts):
        apart = not whole or whole[-1].isspace() or text[0].isspace()
        whole += text if apart else f"\n\n{text}"
    return whole
