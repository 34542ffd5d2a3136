"""Bring what a crash, a closed generator or a refusing disk left into a state that can go on."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from agentcli.agent import gate
from agentcli.agent.acting import begun
from agentcli.agent.answers import confirmed, interrupt_open, taken_in
from agentcli.agent.context import CUT_OFF, arguments_ended, closing, effects_of
from agentcli.agent.gate import ALLOWED_BEFORE, judge
from agentcli.agent.work import Work
from agentcli.errors import LogError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock, ToolCallState, ToolResultState
from agentcli.ledger.message import Msg
from agentcli.ledger.state import Question
from agentcli.permission.subject import Kind
from agentcli.workspace.leftover import Leftover, Start, leftovers

BROKE_OFF = "never started: the answer broke off."
NOT_SAVED = "never started: the session could not be saved."
SAVED_NO_MORE = "interrupted, effects unknown: the session could not be saved any more. Look before you repeat it."
ANSWERS: Mapping[str, type[ev.AnswerEvent]] = {
    "decided": ev.UserConfirmResultEvent,
    "executed": ev.ExternalExecutionResultEvent,
    "interrupt": ev.UserInterruptEvent,
}
"""Kind of the record that an accepted answer is written ahead as -> the answer."""


async def recover(work: Work, *, from_log: bool = False, records: Sequence[Mapping[str, Any]] = ()) -> list[str]:
    """Bring the current reply into a state that can go on; folded and saved, part of no stream.

    Args:
        from_log: the ledger was read from disk, where an answer stands only if it ended.
        records: what the log holds beside its messages.

    Returns:
        Sentences for the user: what of the reply still runs.
    """
    reply = work.state.reply
    if reply is None:
        return []
    notices: list[str] = []
    asked_anew: list[ToolCallBlock] = []
    before = len(work.untold)
    for answer in _answers(work, records):
        _apply(work, answer)
    for call in reply.open_calls():
        if begun(work, call):
            notices += await _close_started(work, reply, call, records)
        elif call.state == ToolCallState.ALLOWED:
            _unanswered(work, call)
            asked_anew.append(call)
        elif work.answering and call.state == ToolCallState.PENDING:
            work.result_events(call, ToolResultState.ERROR, BROKE_OFF if arguments_ended(call) else CUT_OFF)
    work.answering = False
    if from_log and work.state.unfinished and not reply.open_calls() and reply.content[-1].type == "text":
        # The last answer is whole and has no calls: only the note of its end is missing (crash matrix, 23).
        _end(work, ev.ReplyEndReason.COMPLETED)
    changed = len(work.untold) > before
    work.untold.clear()
    if changed:
        await work.journal.kept(reply)
    for call in asked_anew:
        # Behind the answer, so that this is not given once more at the next start.
        await gate.note_asked(work, call, work.state.questions[call.id], _target_of(call, records))
    return notices


def _target_of(call: ToolCallBlock, records: Sequence[Mapping[str, Any]]) -> str:
    """What the question named as its target."""
    asked = [record for record in records if record["type"] == "asked" and record.get("call_id") == call.id]
    return str(asked[-1].get("target", call.name)) if asked else call.name


def _answers(work: Work, records: Sequence[Mapping[str, Any]]) -> Iterator[ev.AnswerEvent]:
    """The answers to this reply that were accepted; the process may have died before what they caused was saved."""
    asked = {record.get("call_id"): place for place, record in enumerate(records) if record["type"] == "asked"}
    for place, record in enumerate(records):
        form = ANSWERS.get(record["type"])
        if form is None or record.get("reply_id") != work.state.reply_id:
            continue
        try:
            answer = form.model_validate({key: value for key, value in record.items() if key not in ("seq", "ts", "type")})
        except ValidationError:
            continue  # of another version: what it answers is asked again
        if isinstance(answer, ev.UserConfirmResultEvent):
            valid = [one for one in answer.confirm_results if asked.get(one.tool_call.id, -1) < place]
            answer = answer.model_copy(update={"confirm_results": valid})
        yield answer


def _apply(work: Work, answer: ev.AnswerEvent) -> None:
    """Do what an answer did, where it has not been done."""
    match answer:
        case ev.UserConfirmResultEvent():
            asking = [one for one in answer.confirm_results if _state_of(work, one.tool_call.id) == ToolCallState.ASKING]
            if asking:
                confirmed(work, answer.model_copy(update={"confirm_results": asking}))
        case ev.ExternalExecutionResultEvent():
            for result in answer.execution_results:
                if _state_of(work, result.id) == ToolCallState.SUBMITTED:
                    taken_in(work, result)
        case ev.UserInterruptEvent():
            if work.msg.finished_reason is None:
                interrupt_open(work)
                _end(work, ev.ReplyEndReason.INTERRUPTED)


def _end(work: Work, reason: ev.ReplyEndReason) -> None:
    work.fold(ev.ReplyEndEvent(reply_id=work.msg.id, session_id=work.state.session_id, finished_reason=reason))
    work.state.unfinished = False


def _state_of(work: Work, call_id: str) -> ToolCallState | None:
    call = work.msg.call(call_id)
    return call.state if call is not None else None


async def _close_started(work: Work, reply: Msg, call: ToolCallBlock, records: Sequence[Mapping[str, Any]]) -> list[str]:
    """Say what is known of a call that was started, its processes that still run included."""
    events = closing(work, reply, call)
    start, verdict = _start_of(call, records), judge(work, call)
    left: list[Leftover] = []
    if start is not None and not isinstance(verdict, str) and verdict.subject.kind == Kind.SHELL:
        left = await work.whole(asyncio.to_thread(leftovers, start))
    if left:
        words = f"\nStill running of it: {', '.join(one.name for one in left)}."
        events.insert(-1, ev.ToolResultTextDeltaEvent(reply_id=reply.id, tool_call_id=call.id, delta=words))
    started = work.state.started.get(call.id)
    told: list[str] = []
    if started is not None and not started.read_only:
        told.append(f"{call.name} ran when the session broke off, and never runs again by itself: {effects_of(started)}")
    for event in events:
        work.fold(event)
    work.settle(call.id)
    return [*told, *(f"A command of this session still runs, and nobody reads it: {one.name}." for one in left)]


def _start_of(call: ToolCallBlock, records: Sequence[Mapping[str, Any]]) -> Start | None:
    """How a call was started, as the log says it; it says the process where that ran already."""
    found: Start | None = None
    for record in records:
        if record.get("call_id") != call.id:
            continue
        if record["type"] == "started":
            found = Start(call.id, _moment(record.get("ts")))
        elif record["type"] == "process" and found is not None:
            pid, began, mark = record.get("pid"), record.get("start_time"), record.get("mark")
            known = isinstance(pid, int) and isinstance(began, int)
            found = replace(found, pid=pid if known else 0, start_time=began if known else 0, mark=str(mark or ""))
    return found


def _moment(ts: object) -> float:
    try:
        return datetime.fromisoformat(str(ts)).timestamp()
    except ValueError:
        return 0.0


async def broken_off(work: Work, error: LogError) -> list[ev.AgentEvent]:
    """The end of a reply whose records the disk refuses; all of it is in memory, and nothing goes on."""
    state, reply = work.state, work.state.reply
    events = list(work.untold)
    earlier = [event for event in events if isinstance(event, ev.ReplyEndEvent)]
    for call in reply.open_calls() if reply is not None else []:
        ran = begun(work, call)
        words = SAVED_NO_MORE if ran else NOT_SAVED
        events += work.result_events(call, ToolResultState.INTERRUPTED if ran else ToolResultState.ERROR, words)
    end = ev.ReplyEndEvent(
        reply_id=state.reply_id,
        session_id=state.session_id,
        finished_reason=ev.ReplyEndReason.ERROR,
        error=ev.ErrorInfo(kind="internal", message=str(error)),
        metadata=earlier[-1].metadata if earlier else {},
    )
    if reply is not None:
        work.fold(end)
        if not reply.content:
            state.context.remove(reply)
    state.unfinished = work.answering = False
    if reply is not None and reply.content:
        with suppress(LogError):  # then the log owes it, and writes it when it can; the first error is the one to tell
            await work.journal.kept(reply, durable=False)
    return [*(event for event in events if not isinstance(event, ev.ReplyEndEvent)), end]


def _unanswered(work: Work, call: ToolCallBlock) -> None:
    """An answer that was given and not acted on is asked for again, and says so."""
    question = work.state.questions.get(call.id) or Question(digest="")
    notes = [*(note for note in question.notes if note != ALLOWED_BEFORE), ALLOWED_BEFORE]
    work.state.questions[call.id] = question.model_copy(update={"notes": notes})
    block = call.model_copy(update={"state": ToolCallState.ASKING}, deep=True)
    work.fold(ev.RequireUserConfirmEvent(reply_id=work.state.reply_id, tool_calls=[block]))
