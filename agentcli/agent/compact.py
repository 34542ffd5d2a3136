"""Make room in a model's context: the older part is sent as a summary, or, where none can be had, without its results.

What is sent is cut, never the ledger: the whole history stays in the log and in `state.context`.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, TypeGuard

from agentcli.agent.context import (
    Place,
    as_summary,
    covered,
    kept,
    prompt,
    sent,
    summary_msg,
    trimmed,
)
from agentcli.agent.cuts import Cut, cuts
from agentcli.agent.estimate import Sizes, measure, ratio_of, tokens_of_msg
from agentcli.agent.pump import Ended
from agentcli.agent.reasoning import info_of
from agentcli.agent.work import EventT, Work
from agentcli.errors import ModelError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ContentBlock, HintBlock
from agentcli.ledger.message import Msg, Usage, UserMsg
from agentcli.ledger.state import Compression
from agentcli.model import base as model

log = logging.getLogger(__name__)

TRIGGER = 0.8
"""Share of the context at which room is made."""
RESERVE = 0.3
"""Share of the context that may be in use afterwards, as far as the request can be cut."""
OF_SUMMARY = 2000.0
LEAST_GAIN = 0.1
"""A pass has to free this share of the request, or it was for nothing."""
LEAST_TOKENS = 200.0
MOST_ATTEMPTS = 3
LONGEST_DELAY = 20.0
MOST_WORDS = 4000
"""Characters of the user's last message that are kept beside a summary."""
PURPOSE = "compression"
"""`metadata["purpose"]` of the model call that makes a summary."""
CUT_SHORT = "\n\n[The summary was cut short here.]"
NO_SUMMARY = "No summary could be made"


@dataclass(slots=True)
class Room:
    """What came of making room, for the loop."""

    estimated: float = 0.0
    """The next request, uncorrected, when it was measured."""
    made: bool = False
    error: ev.ErrorInfo | None = None
    """A pass was made for nothing: the reply cannot go on."""


@dataclass(slots=True, frozen=True)
class Plan:
    """One pass: what is to be covered, and what the request takes before and without it."""

    cut: Cut
    before: Sizes
    rest: float
    """Tokens behind the cut, and of system and tools."""


def sizes_of(work: Work) -> Sizes:
    """The estimated sizes of the next request, uncorrected."""
    state = work.state
    summary = summary_msg(state)
    messages = kept(state.context, covered(state), None, trimmed(state))
    return measure(work.system(), work.toolkit.schemas(), summary, messages)


async def make_room(work: Work, room: Room, *, refused: bool = False) -> AsyncGenerator[ev.AgentEvent, None]:
    """One pass before a model call, where its request nears the context's size or was `refused` as too long."""
    sizes = sizes_of(work)
    room.estimated = sizes.total
    size = window_of(work, sizes, refused)
    if size is None or sizes.total < TRIGGER * size:
        return
    plan = plan_of(work, sizes, size)
    if plan is None:
        return
    made = Pass(work, plan)
    async with aclosing(made.run()) as events:
        async for event in events:
            yield event
    room.made = made.made
    if made.made:
        room.estimated = made.after
    elif not work.stopped:
        room.error = _full(work, sizes, size)


def window_of(work: Work, sizes: Sizes, refused: bool) -> float | None:
    """The context's size in uncorrected tokens; what was refused is larger than it, whatever is known."""
    known = work.model.card.context_size
    size = known / work.state.token_ratio if known else None
    if not refused:
        return size
    return min(size or sizes.total, sizes.total)


def _full(work: Work, sizes: Sizes, size: float) -> ev.ErrorInfo:
    ratio = work.state.token_ratio
    return ev.ErrorInfo(
        kind="context_length",
        message=f"The request takes about {sizes.total * ratio:,.0f} of {size * ratio:,.0f} tokens, and neither a summary of its "
        "older part nor leaving out old results made room.",
    )


def calibrate(work: Work, room: Room, event: ev.ModelCallEndEvent) -> None:
    """Correct the estimate by what the provider reports."""
    ratio = ratio_of(event.input_tokens, room.estimated)
    if ratio is not None:
        work.state.token_ratio = ratio


# -- where to cut --------------------------------------------------------------------------------


def plan_of(work: Work, sizes: Sizes, size: float) -> Plan | None:
    """The earliest cut that leaves a bounded rest; None where too little lies before any cut."""
    found: Cut | None = None
    budget = RESERVE * size - sizes.fixed - min(OF_SUMMARY, size / 10)
    loose = sizes.total - sizes.fixed - sizes.summary
    for cut in cuts(work.state.context, covered(work.state), trimmed(work.state)):
        found = cut
        if loose - cut.covered <= budget:
            break
    if found is None or found.covered + sizes.summary < max(LEAST_TOKENS, LEAST_GAIN * sizes.total):
        return None
    return Plan(found, sizes, sizes.total - sizes.summary - found.covered)


# -- one pass ------------------------------------------------------------------------------------


class Pass:
    """Ask for a summary; where none comes that makes room, leave out old results. In a reply, or outside of any."""

    def __init__(self, work: Work, plan: Plan, *, focus: str = "", reply_id: str | None = None) -> None:
        self.work, self.plan, self.focus = work, plan, focus
        self.reply_id = work.state.reply_id if reply_id is None else reply_id
        self.made = False
        self.after = plan.before.total
        self.failure: ModelError | None = None
        self._text: list[str] = []
        self._usage: dict[str, int] = {}
        self._finish = ""

    async def run(self) -> AsyncGenerator[ev.AgentEvent, None]:
        """The events of the pass: a model call without blocks, and what was compressed. On disk before it is told."""
        name = self.work.model.card.name
        yield self._fold(ev.ModelCallStartEvent(reply_id=self.reply_id, model_name=name, metadata={"purpose": PURPOSE}))
        async with aclosing(self._ask(name)) as events:
            async for event in events:
                yield event
        usage: dict[str, Any] = {**self._usage, "metadata": {"purpose": PURPOSE}}
        yield self._fold(ev.ModelCallEndEvent(reply_id=self.reply_id, finished_reason=self._reason(), **usage))
        if not self.reply_id:
            self.work.state.apart = self.work.state.apart + Usage(**self._usage)
        if self.work.stopped:
            return
        done = await (self._summarised() if self.failure is None else self._left_out(self.failure.message))
        if done is not None:
            yield self._fold(done)

    def _fold(self, event: EventT) -> EventT:
        return self.work.fold(event) if self.reply_id else event

    # -- the summary -------------------------------------------------------------------------------

    async def _ask(self, name: str) -> AsyncGenerator[ev.AgentEvent, None]:
        """As many attempts as it needs; one that is too long itself is made once more without the results."""
        request, short, attempt = self._request(None), False, 1
        while True:
            await self._attempt(request)
            failure = self.failure
            if failure is None or self.work.stopped or attempt == MOST_ATTEMPTS:
                return
            if failure.kind == "context_length" and not short:
                request, short, delay = self._request(self.plan.cut.place), True, 0.0
            elif failure.retryable:
                delay = min(LONGEST_DELAY, failure.retry_after if failure.retry_after is not None else 2.0**attempt)
            else:
                return
            attempt += 1
            error = info_of(failure)
            ids: dict[str, Any] = {"reply_id": self.reply_id, "model_name": name}
            yield self._fold(ev.ModelCallRetryEvent(**ids, attempt=attempt, delay_s=delay, error=error))
            await self.work.pause(delay)

    def _request(self, trims: Place | None) -> model.ModelRequest:
        """The same beginning as any request, so that a provider's cache helps; then our own words."""
        work = self.work
        asked = prompt("compact.md") + (f"\n\nThe user asks to pay attention to this: {self.focus}" if self.focus else "")
        messages = [*sent(work.state, end=self.plan.cut.place, trims=trims), UserMsg(content=asked)]
        # With calls in the history some providers insist on tools; a call in the answer is not run.
        return model.ModelRequest(system=work.system(), messages=messages, tools=work.toolkit.schemas())

    async def _attempt(self, request: model.ModelRequest) -> None:
        self._text, self._usage, self._finish, self.failure = [], {}, "", None
        if self.work.stopped:
            return
        pump = self.work.pump([("model", self.work.model.stream(request))])
        try:
            while True:
                _, item = await self.work.next(pump)
                if isinstance(item, Ended):
                    self.failure = self._failed(item)
                    return
                self._take(item)
        finally:
            await self.work.done(pump)

    def _take(self, piece: model.Piece) -> None:
        match piece:
            case model.TextPiece(text):
                self._text.append(text)
            case model.UsagePiece(spent, made, cached, thought):
                self._usage = {"input_tokens": spent, "output_tokens": made, "cached_tokens": cached, "reasoning_tokens": thought}
            case model.Finish(reason):
                self._finish = reason
            case _:
                return

    def _failed(self, ended: Ended) -> ModelError | None:
        if isinstance(ended.error, ModelError):
            return ended.error
        if ended.error is not None:
            log.error("the stream of a summary failed", exc_info=ended.error)
            return ModelError("internal", f"{type(ended.error).__name__}: {ended.error}")
        if ended.stopped:
            return None
        if self._finish not in ("stop", "length"):
            return ModelError(self._finish or "cut_stream", "The summary broke off before its end.")
        return None if self._words else ModelError("malformed_stream", "The model gave no summary.")

    @property
    def _words(self) -> str:
        return "".join(self._text).strip()

    def _reason(self) -> ev.ModelEndReason:
        if self.work.stopped:
            return ev.ModelEndReason.INTERRUPTED
        if self.failure is not None:
            return ev.ModelEndReason.ERROR
        return ev.ModelEndReason.LENGTH if self._finish == "length" else ev.ModelEndReason.COMPLETED

    async def _summarised(self) -> ev.ContextCompressedEvent | None:
        words = self._words + (CUT_SHORT if self._finish == "length" else "")
        summary = words + _last_words(self.work, self.plan.cut.place)
        after = self.plan.rest + tokens_of_msg(as_summary(summary))
        if not self._gains(after):
            return await self._left_out("The summary is as long as what it was made of.")
        old = self.work.state.compressed
        # Where results behind the cut are left out already, they stay so.
        trims = old.trims if old is not None and trimmed(self.work.state) > self.plan.cut.place else None
        return await self._keep(summary, Compression(covers=self.plan.cut.mark, trims=trims), after, words)

    # -- without a model ---------------------------------------------------------------------------

    async def _left_out(self, why: str) -> ev.ContextCompressedEvent | None:
        """The fallback: calls stay, and each has its result, which says that it was left out."""
        state, plan = self.work.state, self.plan
        whole = kept(state.context, covered(state), plan.cut.place, trimmed(state))
        short = kept(state.context, covered(state), plan.cut.place, max(plan.cut.place, trimmed(state)))
        after = plan.before.total - sum(map(tokens_of_msg, whole)) + sum(map(tokens_of_msg, short))
        if not self._gains(after):
            return None
        old = state.compressed or Compression()
        compression = Compression(covers=old.covers, trims=plan.cut.mark)
        told = f"{NO_SUMMARY} ({why.rstrip('.')}). Old results are left out of what is sent instead."
        return await self._keep(state.summary, compression, after, told)

    def _gains(self, after: float) -> bool:
        before = self.plan.before.total
        return before - after >= LEAST_GAIN * before

    async def _keep(self, summary: str | None, what: Compression, after: float, told: str) -> ev.ContextCompressedEvent:
        """Into the log, then into the state; only then may it be told."""
        state = self.work.state
        before, after_ = (round(tokens * state.token_ratio) for tokens in (self.plan.before.total, after))
        what = what.model_copy(update={"tokens_before": before, "tokens_after": after_})
        body = {"reply_id": self.reply_id, "summary": summary, "usage": self._usage, **what.model_dump(mode="json")}
        await self.work.journal.record("summary", body, durable=True)
        state.summary, state.compressed = summary, what
        self.made, self.after = True, after
        return ev.ContextCompressedEvent(reply_id=self.reply_id, tokens_before=before, tokens_after=after_, summary=told)


def _last_words(work: Work, place: Place) -> str:
    """What the user said last, word for word, where it would only be told by the summary."""
    state = work.state
    if any(_words_of(msg) for msg in kept(state.context, place, None, place)):
        return ""
    said = next((words for msg in reversed(state.context) for words in _words_of(msg)[::-1]), "")
    if len(said) > MOST_WORDS:
        said = f"{said[: MOST_WORDS // 2]}\n[...]\n{said[-MOST_WORDS // 2 :]}"
    return f"\n\n## The user's last message, word for word\n\n{said}" if said else ""


def _words_of(msg: Msg) -> list[str]:
    """The texts of the user in a message; steering stands within a reply."""
    if msg.role == "user":
        text = msg.get_text_content()
        return [text] if text else []
    return [block.hint for block in msg.content if _is_steering(block) and isinstance(block.hint, str)]


def _is_steering(block: ContentBlock) -> TypeGuard[HintBlock]:
    return isinstance(block, HintBlock) and block.source == "user"
