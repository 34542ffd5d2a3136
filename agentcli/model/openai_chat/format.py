"""A history as Chat Completions messages: pure, no I/O. What comes in is repaired already; what goes out is valid in any case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from agentcli.ledger.block import (
    Base64Source,
    DataBlock,
    HintBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
    URLSource,
)
from agentcli.ledger.message import Msg
from agentcli.model.base import ModelRequest, ToolSchema
from agentcli.model.openai_chat.calls import UNNAMED, is_object

ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
LONGEST_NAME = 64
NO_RESULT = "never started"

Wire = dict[str, Any]


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


class Names:
    """Tool names that the wire allows; legal ones stay, the others get one of their own."""

    def __init__(self, tools: Sequence[ToolSchema]) -> None:
        self._legal: dict[str, str] = {}
        self._offered = dict.fromkeys(tool.name for tool in tools)
        for name in sorted(self._offered, key=_is_illegal):
            self.legal(name)

    def legal(self, name: str) -> str:
        """The name on the wire, the same each time."""
        if name not in self._legal:
            self._legal[name] = name if not _is_illegal(name) else self._free(ILLEGAL.sub("_", name)[:LONGEST_NAME] or UNNAMED)
        return self._legal[name]

    @property
    def differing(self) -> dict[str, str]:
        """Names of tools that were changed, to be restored in the answer."""
        return {legal: name for name, legal in self._legal.items() if legal != name and name in self._offered}

    def _free(self, wanted: str) -> str:
        taken, name, number = set(self._legal.values()), wanted, 2
        while name in taken:
            name = f"{wanted[: LONGEST_NAME - 4]}_{number}"
            number += 1
        return name


def _is_illegal(name: str) -> bool:
    return not name or len(name) > LONGEST_NAME or ILLEGAL.search(name) is not None


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
        parts = [part for block in blocks for part in _parts(block)]
        if any(part["type"] != "text" for part in parts):
            self.messages.append({"role": role, "content": parts})
        elif text := "\n".join(part["text"] for part in parts):
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
                    self._next().texts.append(f"[{_name_of(block)}, made by the model, is not sent back]")
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
        images: list[Wire] = []
        for call in calls:
            result = self._results.get(call.id)
            content, seen = _result_text(result) if result is not None else (NO_RESULT, [])
            self.messages.append({"role": "tool", "tool_call_id": call.id, "content": content})
            if seen:
                images += [{"type": "text", "text": f"From the result of {self._names.legal(call.name)} ({call.id}):"}, *seen]
        if images:
            self.messages.append({"role": "user", "content": images})


def _result_text(result: ToolResultBlock) -> tuple[str, list[Wire]]:
    """The text of a result with a placeholder for each image, and the images."""
    if isinstance(result.output, str):
        return result.output, []
    texts: list[str] = []
    images: list[Wire] = []
    for part in (part for block in result.output for part in _parts(block)):
        if part["type"] == "text":
            texts.append(part["text"])
        else:
            images.append(part)
            texts.append("[image: see the next user message]")
    return "\n".join(texts) if images else "".join(texts), images


def _parts(block: Any) -> list[Wire]:
    """A block as parts of a user message."""
    match block:
        case TextBlock():
            return [{"type": "text", "text": block.text}] if block.text else []
        case DataBlock(source=Base64Source() as source) if source.media_type.startswith("image/"):
            return [_image(f"data:{source.media_type};base64,{source.data}")]
        case DataBlock(source=URLSource() as source) if source.media_type.startswith("image/") and _is_web(source):
            return [_image(str(source.url))]
        case DataBlock():
            return [{"type": "text", "text": f"[{_name_of(block)} is not sent: this model takes text and images]"}]
        case _:
            return []


def _image(url: str) -> Wire:
    return {"type": "image_url", "image_url": {"url": url}}


def _is_web(source: URLSource) -> bool:
    return source.url.scheme in ("http", "https", "data")


def _name_of(block: DataBlock) -> str:
    return f"{block.name} ({block.source.media_type})" if block.name else f"data of type {block.source.media_type}"


def _joined(texts: list[str]) -> str:
    """Blocks of one turn as one text, with a blank line where nothing separates them."""
    whole = ""
    for text in filter(None, texts):
        apart = not whole or whole[-1].isspace() or text[0].isspace()
        whole += text if apart else f"\n\n{text}"
    return whole
