"""The loop of one reply: act on what is open, reason, again; and its one end (law 3)."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator

from agentcli.agent.acting import act
from agentcli.agent.context import CUT_OFF, arguments_ended
from agentcli.agent.reasoning import Outcome, reason
from agentcli.agent.resume import interrupt_open
from agentcli.agent.work import Work
from agentcli.errors import LogError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolResultState, new_id

log = logging.getLogger(__name__)

LENGTH = "The answer was cut at the model's output limit."
EMPTY = "The model gave an empty answer."
BROKEN = {
    ev.ModelEndReason.LENGTH: "never started: the answer was cut at the model's output limit.",
    ev.ModelEndReason.CONTENT_FILTER: "never started: the answer was stopped by the provider's content filter.",
    ev.ModelEndReason.INTERRUPTED: "never started: interrupted by the user.",
    ev.ModelEndReason.ERROR: "never started: the answer broke off.",
}
FILTERED = ev.ErrorInfo(kind="content_filter", message="The provider's content filter stopped the answer.")


async def go_on(work: Work) -> AsyncIterator[ev.AgentEvent]:
    """Go on with the current reply until it ends or waits."""
    try:
        async for event in _loop(work):
            yield event
    except LogError as error:
        # The disk refuses records: stop before the next side effect, keep all in memory, say so.
        log.error("the session log refuses records: %s", error)
        info = ev.ErrorInfo(kind="internal", message=str(error))
        yield _ended(work, ev.ReplyEndReason.ERROR, info)


async def _loop(work: Work) -> AsyncIterator[ev.AgentEvent]:
    state = work.state
    while True:
        async for event in act(work):
            yield event
        if work.stopped:
            for event in interrupt_open(work):
                yield event
            yield await end(work, ev.ReplyEndReason.INTERRUPTED)
            return
        if waiting := work.waiting():
            blocks = [call.model_copy(deep=True) for call in waiting]
            yield ev.ReplyPausedEvent(reply_id=state.reply_id, session_id=state.session_id, waiting=blocks)
            return
        if state.cur_iter >= work.max_iters:
            yield work.fold(ev.ExceedMaxItersEvent(reply_id=state.reply_id, name=work.name))
            yield await end(work, ev.ReplyEndReason.EXCEED_MAX_ITERS)
            return
        for hint in _steering(work):
            yield hint
        outcome = Outcome()
        async for event in reason(work, outcome):
            yield event
        state.cur_iter += 1
        if outcome.reason == ev.ModelEndReason.COMPLETED and work.msg.open_calls():
            continue
        async for event in _finish(work, outcome):
            yield event
        return


def _steering(work: Work) -> list[ev.AgentEvent]:
    """Texts that came while the reply ran: never before its first model call."""
    if work.state.cur_iter == 0:
        return []
    texts, work.state.steering = work.state.steering, []
    reply_id = work.state.reply_id
    return [work.fold(ev.HintBlockEvent(reply_id=reply_id, block_id=new_id(), source="user", hint=text)) for text in texts]


async def _finish(work: Work, outcome: Outcome) -> AsyncIterator[ev.AgentEvent]:
    """The end of a reply after its last model call; calls of an answer that broke off are answered first."""
    for call in work.msg.open_calls():
        text = BROKEN[outcome.reason] if arguments_ended(call) else CUT_OFF
        stopped = outcome.reason == ev.ModelEndReason.INTERRUPTED
        for event in work.result_events(call, ToolResultState.INTERRUPTED if stopped else ToolResultState.ERROR, text):
            yield event
    match outcome.reason:
        case ev.ModelEndReason.COMPLETED:
            yield await end(work, ev.ReplyEndReason.COMPLETED, notice=EMPTY if outcome.empty else None)
        case ev.ModelEndReason.LENGTH:
            yield await end(work, ev.ReplyEndReason.COMPLETED, notice=LENGTH)
        case ev.ModelEndReason.INTERRUPTED:
            yield await end(work, ev.ReplyEndReason.INTERRUPTED)
        case ev.ModelEndReason.CONTENT_FILTER:
            yield await end(work, ev.ReplyEndReason.ERROR, FILTERED)
        case ev.ModelEndReason.ERROR:
            yield await end(work, ev.ReplyEndReason.ERROR, outcome.error)


async def end(
    work: Work, reason: ev.ReplyEndReason, error: ev.ErrorInfo | None = None, notice: str | None = None
) -> ev.ReplyEndEvent:
    """End the reply, on disk first. A reply without content leaves no message."""
    msg = work.msg
    event = _ended(work, reason, error, notice)
    if msg.content:
        await work.journal.kept(msg)
    else:
        answers = work.state.context[-1].id if work.state.context else None
        failure = error.model_dump(mode="json") if error else None
        body = {"reply_id": msg.id, "answers": answers, "finished_reason": reason, "error": failure}
        await work.journal.record("reply", body, durable=True)
    return event


def _ended(
    work: Work, reason: ev.ReplyEndReason, error: ev.ErrorInfo | None = None, notice: str | None = None
) -> ev.ReplyEndEvent:
    msg, state = work.msg, work.state
    metadata = {"notice": notice} if notice else {}
    event = ev.ReplyEndEvent(reply_id=msg.id, session_id=state.session_id, finished_reason=reason, error=error, metadata=metadata)
    work.fold(event)
    state.unfinished = False
    if not msg.content:
        state.context.remove(msg)
    return event
