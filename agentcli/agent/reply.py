"""The loop of one reply: act on what is open, reason, again; and its one end (law 3)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from agentcli.agent.acting import act
from agentcli.agent.answers import interrupt_open
from agentcli.agent.compact import Room, calibrate, make_room
from agentcli.agent.context import CUT_OFF, arguments_ended
from agentcli.agent.gate import judge
from agentcli.agent.loops import MOST_ALLOWED, looped, repeats
from agentcli.agent.reasoning import Outcome, reason
from agentcli.agent.work import Work
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolResultState, new_id
from agentcli.ledger.rule import PermissionMode

LENGTH = "The answer was cut at the model's output limit."
EMPTY = "The model gave an empty answer."
LOOP = "Stopped: in EXPLORE the model made the same call a third time, with the same result each time."
USELESS = "Stopped: the model made the same call a third time, and it can never run."
ENDLESS = f"Stopped: the model made the same call {MOST_ALLOWED} times, with the same result each time."
BROKEN = {
    ev.ModelEndReason.LENGTH: "never started: the answer was cut at the model's output limit.",
    ev.ModelEndReason.CONTENT_FILTER: "never started: the answer was stopped by the provider's content filter.",
    ev.ModelEndReason.INTERRUPTED: "never started: interrupted by the user.",
    ev.ModelEndReason.ERROR: "never started: the answer broke off.",
}
FILTERED = ev.ErrorInfo(kind="content_filter", message="The provider's content filter stopped the answer.")


@dataclass(slots=True)
class Turns:
    """What one turn of the model leaves for the next."""

    over: bool = False
    refused: ev.ErrorInfo | None = None
    """The last request was too long for the model, and room has to be made."""
    squeezed: bool = False
    """That was done already, and no answer has come since."""


async def go_on(work: Work) -> AsyncGenerator[ev.AgentEvent, None]:
    """Go on with the current reply until it ends or waits. `LogError` where the disk refuses a record."""
    state, turns = work.state, Turns()
    while not turns.over:
        async with aclosing(act(work)) as events:
            async for event in events:
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
        if in_circle := _in_circle(work):
            # A limit of ours was reached: nothing failed, nobody interrupted, and the work is not completed.
            yield await end(work, ev.ReplyEndReason.EXCEED_MAX_ITERS, notice=in_circle)
            return
        if used_up := work.budget.used_up(work.msg):
            yield await end(work, ev.ReplyEndReason.EXCEED_MAX_ITERS, notice=f"Stopped. {used_up}")
            return
        if state.cur_iter >= work.max_iters:
            yield work.fold(ev.ExceedMaxItersEvent(reply_id=state.reply_id, name=work.name))
            yield await end(work, ev.ReplyEndReason.EXCEED_MAX_ITERS)
            return
        for hint in [*_notes(work), *_steering(work)]:
            yield hint
        async with aclosing(_turn(work, turns)) as events:
            async for event in events:
                yield event


def _in_circle(work: Work) -> str:
    """Why the reply ends here, where the model repeats what nobody can be asked about."""
    explores = work.state.permission_context.mode == PermissionMode.EXPLORE
    for call, result in looped(work.msg):
        if explores and result.state == ToolResultState.DENIED:
            return LOOP
        if result.state == ToolResultState.ERROR and isinstance(judge(work, call), str):
            return USELESS
        if repeats(work.msg, call) + 1 >= MOST_ALLOWED:
            return ENDLESS
    return ""


async def _turn(work: Work, turns: Turns) -> AsyncGenerator[ev.AgentEvent, None]:
    """One call of the model, with room made for it first; the end of the reply where it is the last one."""
    room, refused = Room(), turns.refused
    async with aclosing(make_room(work, room, refused=refused is not None)) as events:
        async for event in events:
            if isinstance(event, ev.ModelCallEndEvent):
                await work.spent(event)
            yield event
    if work.stopped:
        return
    if room.error is not None or (refused is not None and not room.made):
        turns.over = True
        yield await end(work, ev.ReplyEndReason.ERROR, room.error or refused)
        return
    outcome, blocks = Outcome(), len(work.msg.content)
    async with aclosing(reason(work, outcome)) as events:
        async for event in events:
            if isinstance(event, ev.ModelCallEndEvent):
                await work.spent(event)
            yield event
            if isinstance(event, ev.ModelCallEndEvent):
                calibrate(work, room, event)
    work.state.cur_iter += 1
    turns.refused, turns.squeezed = None, turns.squeezed or refused is not None
    if outcome.reason == ev.ModelEndReason.COMPLETED and work.msg.open_calls():
        turns.squeezed = False
        return
    too_long = outcome.error is not None and outcome.error.kind == "context_length"
    if too_long and not turns.squeezed and len(work.msg.content) == blocks:
        turns.refused = outcome.error
        return
    turns.over = True
    async with aclosing(_finish(work, outcome)) as events:
        async for event in events:
            yield event


def _notes(work: Work) -> list[ev.AgentEvent]:
    """What happened beside the conversation."""
    texts, work.state.notes = work.state.notes, []
    return [_hint(work, text, "agentcli") for text in texts]


def _steering(work: Work) -> list[ev.AgentEvent]:
    """Texts that came while the reply ran: never before its first model call."""
    if work.state.cur_iter == 0:
        return []
    texts, work.state.steering = work.state.steering, []
    return [_hint(work, text, "user") for text in texts]


def _hint(work: Work, text: str, source: str) -> ev.AgentEvent:
    return work.fold(ev.HintBlockEvent(reply_id=work.state.reply_id, block_id=new_id(), source=source, hint=text))


async def _finish(work: Work, outcome: Outcome) -> AsyncGenerator[ev.AgentEvent, None]:
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
