"""Answers: are they for what waits now, and what do they change. Also what a crash or a closed generator left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from agentcli.agent import gate
from agentcli.agent.acting import NOT_STARTED, STOPPED, begun
from agentcli.agent.context import CUT_OFF, arguments_ended, closing
from agentcli.agent.gate import ALLOWED_BEFORE, CHANGED, MOVED, Asked, judge, preview_of
from agentcli.agent.work import Work
from agentcli.errors import LogError, NothingWaiting, StaleAnswer, ToolError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock, ToolCallState, ToolResultBlock, ToolResultState, new_id
from agentcli.ledger.message import Msg
from agentcli.ledger.preview import Preview
from agentcli.ledger.state import Question
from agentcli.permission.engine import covers
from agentcli.permission.subject import Kind
from agentcli.tool.preview import plain_preview
from agentcli.tool.schema import parse_arguments
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

# -- what a crash left -------------------------------------------------------------------------


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
                _confirmed(work, answer.model_copy(update={"confirm_results": asking}))
        case ev.ExternalExecutionResultEvent():
            for result in answer.execution_results:
                if _state_of(work, result.id) == ToolCallState.SUBMITTED:
                    _external(work, result)
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
    for event in events:
        work.fold(event)
    work.settle(call.id)
    return [f"A command of this session still runs, and nobody reads it: {one.name}." for one in left]


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


async def announce(work: Work) -> AsyncGenerator[ev.AgentEvent, None]:
    """What waits, once more, with previews of now."""
    waiting = work.waiting()
    asking = [call for call in waiting if call.state == ToolCallState.ASKING]
    handed_out = [call for call in waiting if call.state == ToolCallState.SUBMITTED]
    if asking:
        yield await _announced(work, [await asked_again(work, call) for call in asking])
    if handed_out:
        blocks = [call.model_copy(deep=True) for call in handed_out]
        yield ev.RequireExternalExecutionEvent(reply_id=work.state.reply_id, tool_calls=blocks)


async def _announced(work: Work, asked: list[Asked]) -> ev.RequireUserConfirmEvent:
    """The question once more; written only where it is not the one that was asked."""
    if any(not _stands(work, one) for one in asked):
        try:
            return await gate.ask(work, asked)
        except LogError:
            work.untold.clear()  # it waits as before: what was asked first is on disk
            raise
    blocks = [one.call.model_copy(deep=True) for one in asked]
    previews = {one.call.id: one.preview for one in asked}
    return ev.RequireUserConfirmEvent(reply_id=work.state.reply_id, tool_calls=blocks, previews=previews)


def _stands(work: Work, asked: Asked) -> bool:
    same = work.state.questions.get(asked.call.id) == gate.question_of(work, asked)
    return same and asked.call.suggested_rules == asked.rules


async def asked_again(work: Work, call: ToolCallBlock) -> Asked:
    """The question of now for a call that was asked before, with notes on what is new."""
    question = work.state.questions.get(call.id)
    notes = list(question.notes) if question else []
    preview, rules = await _present(work, call)
    changed = CHANGED if preview.kind in ("diff", "new_file") else MOVED
    if question and question.digest and question.digest != preview.digest and changed not in notes:
        notes.append(changed)
    notes += [note for note in preview.notes if note not in notes]
    return Asked(call, preview.model_copy(update={"notes": notes}), rules)


async def _present(work: Work, call: ToolCallBlock) -> tuple[Preview, list[ev.PermissionRule]]:
    """What the call would do now; a call that can no longer work still shows all of itself."""
    verdict = judge(work, call)
    if isinstance(verdict, str):
        return _broken(call, verdict), []
    preview = await preview_of(work, verdict)
    if isinstance(preview, str):
        return _broken(call, preview), []
    return preview, list(verdict.decision.suggested_rules)


def _broken(call: ToolCallBlock, why: str) -> Preview:
    try:
        arguments = parse_arguments(call.input)
    except ToolError:
        arguments = {"input": call.input}
    target = str(arguments.get("file_path") or arguments.get("path") or call.name)
    plain = plain_preview(call.name, arguments)
    return plain.model_copy(update={"target": target, "notes": [f"It can no longer work: {why}"]})


# -- answers -----------------------------------------------------------------------------------


def check_confirmation(work: Work, event: ev.UserConfirmResultEvent) -> None:
    """Refuse an answer that is not for what waits now; nothing has changed then."""
    asking = {call.id: call for call in work.waiting() if call.state == ToolCallState.ASKING}
    ids = [answer.tool_call.id for answer in event.confirm_results]
    _check(work, event.reply_id, ids, set(asking), "confirmation")
    for answer in event.confirm_results:
        offered = asking[answer.tool_call.id].suggested_rules
        for rule in answer.rules or []:
            if not covers(offered, rule):
                raise StaleAnswer(f"The rule {rule.text} ({rule.behavior}) was not offered with call {answer.tool_call.id}.")


def check_results(work: Work, event: ev.ExternalExecutionResultEvent) -> None:
    """The same for results from outside."""
    submitted = {call.id for call in work.waiting() if call.state == ToolCallState.SUBMITTED}
    _check(work, event.reply_id, [result.id for result in event.execution_results], submitted, "external execution")
    running = [result.id for result in event.execution_results if result.state == ToolResultState.RUNNING]
    if running:
        raise StaleAnswer(f"The result of call {running[0]} is still running; send it when it is final.")


def check_interrupt(work: Work, event: ev.UserInterruptEvent) -> None:
    """An interrupt names the reply that waits, or none."""
    if event.reply_id and event.reply_id != work.state.reply_id:
        raise StaleAnswer(f"Reply {event.reply_id} is not the one that waits.")


def _check(work: Work, reply_id: str, ids: Sequence[str], waiting: set[str], what: str) -> None:
    if not waiting:
        raise NothingWaiting(f"Nothing waits for a {what}.")
    if reply_id != work.state.reply_id:
        raise StaleAnswer(f"Reply {reply_id} is not the one that waits; {work.state.reply_id} is.")
    if not ids or len(set(ids)) != len(ids):
        raise StaleAnswer("An answer names each of its calls once.")
    foreign = [call_id for call_id in ids if call_id not in waiting]
    if foreign:
        raise StaleAnswer(f"Call {foreign[0]} does not wait for a {what}.")


async def confirm(work: Work, event: ev.UserConfirmResultEvent) -> AsyncGenerator[ev.AgentEvent, None]:
    """Apply a checked confirmation: rules, decisions and denials are on disk before the first event."""
    taken: list[ev.ConfirmResult] = []
    again: list[Asked] = []
    for answer in event.confirm_results:
        asked = await _changed(work, answer) if answer.confirmed else None
        if asked is not None:
            again.append(asked)
        else:
            taken.append(answer)
    if taken:
        for given in await _decide(work, event.model_copy(update={"confirm_results": taken})):
            yield given
    if again:
        yield await gate.ask(work, again)


async def _changed(work: Work, answer: ev.ConfirmResult) -> Asked | None:
    """The new question, where the answer was given to something that is not so any more."""
    call = work.msg.call(answer.tool_call.id)
    assert call is not None, "the answer was checked"
    question = work.state.questions.get(call.id)
    asked = await asked_again(work, call)
    present, known = asked.preview.digest, question.digest if question else ""
    stale = (known and known != present) or (answer.digest is not None and answer.digest != present)
    return asked if stale else None


async def _decide(work: Work, event: ev.UserConfirmResultEvent) -> list[ev.AgentEvent]:
    rules = [rule for answer in event.confirm_results if answer.confirmed for rule in answer.rules or []]
    if rules:
        await work.journal.granted(rules)
    await _write_ahead(work, "decided", event)
    for rule in rules:
        work.engine.add_rule(rule)
    events = _confirmed(work, event)
    await work.journal.kept(work.msg, durable=False)
    return events


async def _write_ahead(work: Work, kind: str, event: ev.AnswerEvent) -> None:
    """Make an accepted answer durable before anything is changed by it; `recover` does what it did not come to."""
    await work.journal.record(kind, event.model_dump(mode="json", exclude={"type", "id"}), durable=True)


def _confirmed(work: Work, event: ev.UserConfirmResultEvent) -> list[ev.AgentEvent]:
    for answer in event.confirm_results:
        call = work.msg.call(answer.tool_call.id)
        question = work.state.questions.get(answer.tool_call.id)
        if call is not None and question is not None and call.input != answer.tool_call.input:
            # What was asked is no measure any more of whether the target has changed.
            work.state.questions[call.id] = question.model_copy(update={"digest": ""})
    events: list[ev.AgentEvent] = [work.fold(event)]
    for answer in event.confirm_results:
        call = work.msg.call(answer.tool_call.id)
        if call is not None and not answer.confirmed:
            words = "Denied by the user." + (f" Reason: {answer.reason}" if answer.reason else "")
            events += work.result_events(call, ToolResultState.DENIED, words)
    return events


async def accept_results(work: Work, event: ev.ExternalExecutionResultEvent) -> AsyncGenerator[ev.AgentEvent, None]:
    """Take in checked results; all of them are on disk before the first event."""
    await _write_ahead(work, "executed", event)
    events: list[ev.AgentEvent] = [work.fold(event)]
    for result in event.execution_results:
        events += _external(work, result)
    await work.journal.kept(work.msg, durable=False)
    for one in events:
        yield one


async def interrupted(work: Work, event: ev.UserInterruptEvent) -> list[ev.AgentEvent]:
    """Take in the interrupt of what waits: every open call gets its result."""
    await _write_ahead(work, "interrupt", event)
    return [work.fold(event), *interrupt_open(work)]


def _external(work: Work, result: ToolResultBlock) -> list[ev.AgentEvent]:
    ids: dict[str, Any] = {"reply_id": work.state.reply_id, "tool_call_id": result.id}
    events: list[ev.AgentEvent] = []
    for block in [result.output] if isinstance(result.output, str) else result.output:
        if isinstance(block, str):
            events.append(ev.ToolResultTextDeltaEvent(**ids, delta=block))
        elif block.type == "text":
            events.append(ev.ToolResultTextDeltaEvent(**ids, delta=block.text))
        elif block.source.type == "base64":
            source = block.source
            data = ev.ToolResultDataDeltaEvent(**ids, block_id=new_id(), media_type=source.media_type, data=source.data)
            events.append(data)
        else:
            source = block.source
            url = ev.ToolResultDataDeltaEvent(**ids, block_id=new_id(), media_type=source.media_type, url=str(source.url))
            events.append(url)
    events.append(ev.ToolResultEndEvent(**ids, state=result.state, metadata=result.metadata))
    work.settle(result.id)
    return [work.fold(event) for event in events]


def interrupt_open(work: Work) -> list[ev.AgentEvent]:
    """Give every open call of the reply exactly one interrupted result."""
    events: list[ev.AgentEvent] = []
    for call in work.msg.open_calls():
        words = STOPPED if work.msg.result(call.id) is not None else NOT_STARTED
        events += work.result_events(call, ToolResultState.INTERRUPTED, words)
    return events
