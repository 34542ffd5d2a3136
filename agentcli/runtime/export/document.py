"""A session as a document: what each form of export writes in its own way. Every text in it is clean.

Cleaning is exact: what a terminal or a browser would hide is shown as a sign.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from agentcli.errors import UsageError
from agentcli.ledger.block import (
    Base64Source,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
)
from agentcli.ledger.message import Msg
from agentcli.runtime.catalogue import Story
from agentcli.view.clean import clean
from agentcli.view.summary import call_arguments, call_target, result_summary

SHOWN = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Pictures without script in them."""


@dataclass(slots=True, frozen=True)
class Words:
    """Text of a message; that of the model is Markdown, that of the user is as it was typed."""

    text: str


@dataclass(slots=True, frozen=True)
class Thought:
    """What the model thought."""

    text: str


@dataclass(slots=True, frozen=True)
class Aside:
    """Words put in while the reply ran."""

    text: str


@dataclass(slots=True, frozen=True)
class Attachment:
    """An image or a file; `data` only where a browser can show it."""

    label: str
    media_type: str = ""
    data: str = ""


@dataclass(slots=True, frozen=True)
class Argument:
    """An argument of a call; long ones have lines."""

    name: str
    value: str


@dataclass(slots=True, frozen=True)
class Step:
    """A call and what came of it."""

    tool: str
    target: str
    outcome: str
    arguments: Sequence[Argument]
    diff: str = ""
    output: str = ""
    attachments: Sequence[Attachment] = ()


Part: TypeAlias = Words | Thought | Aside | Attachment | Step


@dataclass(slots=True, frozen=True)
class Turn:
    """A message: who speaks, when, what, and how it ended where that is not as usual."""

    role: str
    at: str
    parts: Sequence[Part]
    end: str = ""


@dataclass(slots=True, frozen=True)
class Document:
    """A whole session."""

    title: str
    facts: Sequence[tuple[str, str]]
    turns: Sequence[Turn]
    lost: Sequence[str] = field(default_factory=tuple[str, ...])


def document_of(story: Story) -> Document:
    """The document of a session that was read."""
    row = story.row
    if row is None:
        raise UsageError("this session cannot be exported: its log has no whole first line")
    facts = [("Session", row.id), ("Folder", row.cwd), ("Begun", row.created_at), ("Last used", row.updated_at)]
    facts += [("Model", row.model or ""), ("Mode", row.mode or "")]
    return Document(
        title=_line(row.title) or "(no title)",
        facts=[(label, _line(value)) for label, value in facts if value],
        turns=[_turn(msg) for msg in story.messages],
        lost=[_line(sentence) for sentence in story.lost],
    )


def _turn(msg: Msg) -> Turn:
    end = ""
    if msg.error is not None:
        end = _line(f"error: {msg.error.kind}: {msg.error.message}")
    elif msg.finished_reason not in (None, "completed"):
        end = _line(str(msg.finished_reason.value if msg.finished_reason else "")).replace("_", " ")
    elif msg.role == "assistant" and msg.finished_reason is None:
        end = "not ended"
    return Turn(msg.role, _line(msg.created_at[:16].replace("T", " ") + " UTC"), list(_parts(msg)), end)


def _parts(msg: Msg) -> Iterator[Part]:
    calls = {call.id for call in msg.calls}
    for block in msg.content:
        match block:
            case TextBlock():
                yield Words(_text(block.text))
            case ThinkingBlock():
                if block.thinking.strip():  # else it carries what only its provider can read
                    yield Thought(_text(block.thinking))
            case HintBlock():
                yield from _hint(block)
            case DataBlock():
                yield _attachment(block)
            case ToolCallBlock():
                yield _step(block, msg.result(block.id))
            case ToolResultBlock():
                if block.id not in calls:
                    yield _result_alone(block)
            case _:
                yield Attachment(f"a block of the unknown type {_line(block.type)}")


def _hint(block: HintBlock) -> Iterator[Part]:
    for part in [TextBlock(text=block.hint)] if isinstance(block.hint, str) else block.hint:
        yield Aside(_text(part.text)) if isinstance(part, TextBlock) else _attachment(part)


def _step(call: ToolCallBlock, result: ToolResultBlock | None) -> Step:
    arguments = call_arguments(call.input)
    shown = [Argument(_line(name), _value(value)) for name, value in arguments.items()]
    if not shown and call.input.strip():
        shown = [Argument("input", _text(call.input))]
    tool, target = _line(call.name), call_target(call.name, call.input)
    if result is None:
        return Step(tool, target, _open(call), shown)
    diff = result.metadata.get("diff")
    summary = result_summary(result.state, result.text, result.metadata)
    outcome = result.state.value if not summary else f"{result.state.value}: {summary}"
    diff_text = _text(diff) if isinstance(diff, str) else ""
    return Step(tool, target, _line(outcome), shown, diff_text, _text(result.text), _attached(result))


def _open(call: ToolCallBlock) -> str:
    waits = {ToolCallState.ASKING: "waits for an answer", ToolCallState.SUBMITTED: "waits for its result from outside"}
    return waits.get(call.state, "has no result")


def _result_alone(result: ToolResultBlock) -> Step:
    outcome = f"{result.state.value}; its call is lost"
    return Step(_line(result.name), "", outcome, (), "", _text(result.text), _attached(result))


def _attached(result: ToolResultBlock) -> list[Attachment]:
    if isinstance(result.output, str):
        return []
    return [_attachment(part) for part in result.output if isinstance(part, DataBlock)]


def _attachment(block: DataBlock) -> Attachment:
    source, name = block.source, _line(block.name or "")
    if not isinstance(source, Base64Source):
        return Attachment(_line(f"{name} {source.media_type} at {source.url}".strip()))
    size = len(source.data) * 3 // 4
    label = _line(f"{name} {source.media_type}, {size:,} bytes".strip())
    if source.media_type in SHOWN and _is_base64(source.data):
        return Attachment(label, source.media_type, source.data)
    return Attachment(label)


def _is_base64(data: str) -> bool:
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _value(value: object) -> str:
    return _text(value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))


def _text(text: str) -> str:
    return clean(text, exact=True)


def _line(text: str) -> str:
    return clean(text, newlines=False, exact=True)
