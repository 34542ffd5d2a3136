"""One model call: pieces of an answer become block events; a failed attempt is retried while it has shown nothing."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from agentcli.agent.context import model_request
from agentcli.agent.pump import Ended
from agentcli.agent.retry import Attempts, final
from agentcli.agent.work import Work
from agentcli.errors import ModelError
from agentcli.ledger import event as ev
from agentcli.ledger.block import new_id
from agentcli.model import base as model
from agentcli.model.fallback import FallbackModel

log = logging.getLogger(__name__)

FINISH = {
    "stop": ev.ModelEndReason.COMPLETED,
    "length": ev.ModelEndReason.LENGTH,
    "content_filter": ev.ModelEndReason.CONTENT_FILTER,
}


@dataclass(slots=True)
class Outcome:
    """How a model call ended, for the loop."""

    reason: ev.ModelEndReason = ev.ModelEndReason.COMPLETED
    error: ev.ErrorInfo | None = None
    empty: bool = True
    """Neither text nor data nor a call was shown."""


async def reason(work: Work, outcome: Outcome) -> AsyncGenerator[ev.AgentEvent, None]:
    """Stream one answer. Its blocks are on disk before MODEL_CALL_END is yielded, if it ended properly."""
    reply_id, name = work.state.reply_id, _begin(work)
    work.answering = True
    yield work.fold(ev.ModelCallStartEvent(reply_id=reply_id, model_name=name))
    await work.journal.record("model_call", {"reply_id": reply_id, "model": name})
    attempts = Attempts(work)
    while True:
        answer = Answer(work)
        async with aclosing(_attempt(work, answer)) as events:
            async for event in events:
                yield event
        if answer.failure is None or answer.shown or work.stopped:
            break
        step = await attempts.after(answer.failure)
        if step is None:
            answer.failure = final(attempts.failure or answer.failure)
            break
        yield work.fold(
            ev.ModelCallRetryEvent(
                reply_id=reply_id,
                attempt=attempts.number,
                delay_s=step.delay,
                error=info_of(answer.failure),
                model_name=step.model_name,
                withdrawn=answer.thinking_ids,
            )
        )
        await work.pause(step.delay)
        if work.stopped:
            answer = Answer(work)
            break
    for event in answer.close():
        yield event
    outcome.reason, outcome.error, outcome.empty = _reason(work, answer), None, not answer.shown
    if answer.failure is not None and outcome.reason == ev.ModelEndReason.ERROR:
        outcome.error = info_of(answer.failure)
    end = work.fold(ev.ModelCallEndEvent(reply_id=reply_id, finished_reason=outcome.reason, **answer.usage))
    if outcome.reason == ev.ModelEndReason.COMPLETED:
        if work.msg.content:
            await work.journal.kept(work.msg)
        work.answering = False
    yield end


def _begin(work: Work) -> str:
    """The name of the model that is asked first: in another reply the chosen one again."""
    if isinstance(work.model, FallbackModel):
        work.model.begin(work.state.reply_id)
    return work.model.card.name


def _reason(work: Work, answer: Answer) -> ev.ModelEndReason:
    if answer.finish is not None:
        return FINISH[answer.finish]
    return ev.ModelEndReason.INTERRUPTED if work.stopped else ev.ModelEndReason.ERROR


def info_of(error: ModelError) -> ev.ErrorInfo:
    """The failure as events carry it."""
    return ev.ErrorInfo.model_validate(
        {"kind": error.kind, "message": error.message, "retryable": error.retryable, "status": error.status}
    )


async def _attempt(work: Work, answer: Answer) -> AsyncGenerator[ev.AgentEvent, None]:
    if work.stopped:
        return
    pump = work.pump([("model", work.model.stream(model_request(work)))])
    try:
        while True:
            _, item = await work.next(pump)
            if isinstance(item, Ended):
                answer.end(item)
                return
            for event in answer.take(item):
                yield event
    finally:
        await work.done(pump)


class Answer:
    """What one attempt has shown so far; turns pieces into folded events."""

    def __init__(self, work: Work) -> None:
        self.work, self.reply_id = work, work.state.reply_id
        self.finish: str | None = None
        self.failure: ModelError | None = None
        self.shown = False
        self.thinking_ids: list[str] = []
        self.usage: dict[str, Any] = {}
        self._open: tuple[str, str, str] | None = None  # kind, key and block id of the open text, thinking or data
        self._extra: dict[str, object] = {}  # fields of the open block that come with its end
        self._calls: dict[str, str] = {}  # key of a piece -> call id

    def end(self, ended: Ended) -> None:
        """Take note of how the stream was over."""
        if isinstance(ended.error, ModelError):
            self.failure = ended.error
        elif ended.error is not None:
            log.error("the model's stream failed", exc_info=ended.error)
            self.failure = ModelError("internal", f"{type(ended.error).__name__}: {ended.error}")
        elif self.finish is None and not ended.stopped:
            self.failure = ModelError("cut_stream", "The answer broke off before its end.", retryable=True)

    def take(self, piece: model.Piece) -> Iterator[ev.AgentEvent]:
        """The events of one piece, folded."""
        match piece:
            case model.TextPiece(text, key, extra):
                yield from self._say(text, key, extra)
            case model.ThinkingPiece(text, key, extra):
                yield from self._think(text, key, dict(extra))
            case model.DataPiece(media_type, data, key):
                self.shown = True
                yield from self._opened("data", key, media_type)
                delta = ev.DataBlockDeltaEvent(reply_id=self.reply_id, block_id=self._block, media_type=media_type, data=data)
                yield self._fold(delta)
            case model.CallPiece():
                self.shown = True
                yield from self._call(piece)
            case model.UsagePiece(spent, made, cached, thought):
                self.usage = {"input_tokens": spent, "output_tokens": made, "cached_tokens": cached, "reasoning_tokens": thought}
            case model.Finish(reason):
                self.finish = reason
            case _:
                return

    def close(self) -> Iterator[ev.AgentEvent]:
        """End every block that is still open."""
        yield from self._ended()
        for call_id in self._calls.values():
            yield self._fold(ev.ToolCallEndEvent(reply_id=self.reply_id, tool_call_id=call_id))

    @property
    def _block(self) -> str:
        assert self._open is not None
        return self._open[2]

    def _fold(self, event: ev.AgentEvent) -> ev.AgentEvent:
        return self.work.fold(event)

    def _say(self, text: str, key: str, extra: Mapping[str, object]) -> Iterator[ev.AgentEvent]:
        if text:
            self.shown = True
            yield from self._opened("text", key)
            yield self._fold(ev.TextBlockDeltaEvent(reply_id=self.reply_id, block_id=self._block, delta=text))
        if self._is_open("text", key):
            self._extra.update(extra)

    def _think(self, text: str, key: str, extra: dict[str, object]) -> Iterator[ev.AgentEvent]:
        if not text and not extra:
            return
        if self._is_open("thinking", key):
            self._extra.update(extra)
        else:
            yield from self._opened("thinking", key, extra=extra)
        if text:
            yield self._fold(ev.ThinkingBlockDeltaEvent(reply_id=self.reply_id, block_id=self._block, delta=text))

    def _is_open(self, kind: str, key: str) -> bool:
        return self._open is not None and self._open[:2] == (kind, key)

    def _opened(
        self, kind: str, key: str, media_type: str = "", extra: dict[str, object] | None = None
    ) -> Iterator[ev.AgentEvent]:
        if self._is_open(kind, key):
            return
        yield from self._ended()
        self._open = (kind, key, new_id())
        if kind == "text":
            yield self._fold(ev.TextBlockStartEvent(reply_id=self.reply_id, block_id=self._block))
        elif kind == "data":
            yield self._fold(ev.DataBlockStartEvent(reply_id=self.reply_id, block_id=self._block, media_type=media_type))
        else:
            self.thinking_ids.append(self._block)
            yield self._fold(ev.ThinkingBlockStartEvent(reply_id=self.reply_id, block_id=self._block, metadata=extra or {}))

    def _ended(self) -> Iterator[ev.AgentEvent]:
        if self._open is None:
            return
        kind, _, block_id = self._open
        if kind == "text":
            yield self._fold(ev.TextBlockEndEvent(reply_id=self.reply_id, block_id=block_id, metadata=self._extra))
        elif kind == "data":
            yield self._fold(ev.DataBlockEndEvent(reply_id=self.reply_id, block_id=block_id))
        else:
            yield self._fold(ev.ThinkingBlockEndEvent(reply_id=self.reply_id, block_id=block_id, metadata=self._extra))
        self._open, self._extra = None, {}

    def _call(self, piece: model.CallPiece) -> Iterator[ev.AgentEvent]:
        yield from self._ended()
        if piece.key not in self._calls:
            taken = self.work.call_ids
            call_id = piece.call_id if piece.call_id and piece.call_id not in taken else f"call_{new_id()[:24]}"
            taken.add(call_id)
            self._calls[piece.key] = call_id
            yield self._fold(ev.ToolCallStartEvent(reply_id=self.reply_id, tool_call_id=call_id, tool_call_name=piece.name))
        if piece.arguments:
            call_id = self._calls[piece.key]
            yield self._fold(ev.ToolCallDeltaEvent(reply_id=self.reply_id, tool_call_id=call_id, delta=piece.arguments))
