"""The unfold of the fold: a message as the events that give it again, so that a screen has one code path."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from agentcli.ledger import event as ev
from agentcli.ledger.block import (
    Base64Source,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolResultState,
)
from agentcli.ledger.message import Msg


def unfold(msg: Msg, session_id: str) -> Iterator[ev.AgentEvent]:
    """The events of an assistant message, a whole block in one delta; a reply that has not ended has no end."""
    yield ev.ReplyStartEvent(reply_id=msg.id, session_id=session_id, name=msg.name, created_at=msg.created_at)
    for block in msg.content:
        match block:
            case TextBlock():
                yield from _text(msg.id, block)
            case ThinkingBlock():
                yield from _thinking(msg.id, block)
            case DataBlock():
                yield from _data(msg.id, block)
            case HintBlock():
                yield ev.HintBlockEvent(
                    reply_id=msg.id, block_id=block.id, source=block.source, hint=block.hint, **_at(block.created_at)
                )
            case ToolCallBlock():
                yield from _call(msg.id, block)
            case ToolResultBlock():
                yield from _result(msg.id, block)
            case _:
                continue
    if msg.usage is not None:
        yield ev.ModelCallEndEvent(reply_id=msg.id, **msg.usage.model_dump(include=set(type(msg.usage).model_fields)))
    if msg.finished_reason is not None:
        yield ev.ReplyEndEvent(
            reply_id=msg.id,
            session_id=session_id,
            finished_reason=msg.finished_reason,
            error=msg.error,
            metadata=msg.metadata,
            **_at(msg.finished_at),
        )


def _at(moment: str | None) -> dict[str, Any]:
    return {"created_at": moment} if moment else {}


def _text(reply_id: str, block: TextBlock) -> Iterator[ev.AgentEvent]:
    ids: dict[str, Any] = {"reply_id": reply_id, "block_id": block.id}
    yield ev.TextBlockStartEvent(**ids, **_at(block.created_at))
    yield ev.TextBlockDeltaEvent(**ids, delta=block.text)
    yield ev.TextBlockEndEvent(**ids, metadata=dict(block.model_extra or {}), **_at(block.finished_at))


def _thinking(reply_id: str, block: ThinkingBlock) -> Iterator[ev.AgentEvent]:
    ids: dict[str, Any] = {"reply_id": reply_id, "block_id": block.id}
    yield ev.ThinkingBlockStartEvent(**ids, metadata=dict(block.model_extra or {}), **_at(block.created_at))
    yield ev.ThinkingBlockDeltaEvent(**ids, delta=block.thinking)
    yield ev.ThinkingBlockEndEvent(**ids, **_at(block.finished_at))


def _data(reply_id: str, block: DataBlock) -> Iterator[ev.AgentEvent]:
    if not isinstance(block.source, Base64Source):
        return
    ids: dict[str, Any] = {"reply_id": reply_id, "block_id": block.id}
    yield ev.DataBlockStartEvent(**ids, media_type=block.source.media_type, **_at(block.created_at))
    yield ev.DataBlockDeltaEvent(**ids, media_type=block.source.media_type, data=block.source.data)
    yield ev.DataBlockEndEvent(**ids, **_at(block.finished_at))


def _call(reply_id: str, block: ToolCallBlock) -> Iterator[ev.AgentEvent]:
    ids: dict[str, Any] = {"reply_id": reply_id, "tool_call_id": block.id}
    yield ev.ToolCallStartEvent(**ids, tool_call_name=block.name, **_at(block.created_at))
    yield ev.ToolCallDeltaEvent(**ids, delta=block.input)
    yield ev.ToolCallEndEvent(**ids, **_at(block.finished_at))


def _result(reply_id: str, block: ToolResultBlock) -> Iterator[ev.AgentEvent]:
    ids: dict[str, Any] = {"reply_id": reply_id, "tool_call_id": block.id}
    yield ev.ToolResultStartEvent(**ids, tool_call_name=block.name, **_at(block.created_at))
    for part in [TextBlock(text=block.output)] if isinstance(block.output, str) else block.output:
        if isinstance(part, TextBlock):
            yield ev.ToolResultTextDeltaEvent(**ids, delta=part.text)
        elif isinstance(part.source, Base64Source):
            source = part.source
            yield ev.ToolResultDataDeltaEvent(**ids, block_id=part.id, media_type=source.media_type, data=source.data)
        else:
            url = str(part.source.url)
            yield ev.ToolResultDataDeltaEvent(**ids, block_id=part.id, media_type=part.source.media_type, url=url)
    if block.state != ToolResultState.RUNNING:
        yield ev.ToolResultEndEvent(**ids, state=block.state, metadata=block.metadata, **_at(block.finished_at))
