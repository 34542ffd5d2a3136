"""Answers to what waits: are they for it, and what do they change."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any

from agentcli.agent import gate
from agentcli.agent.acting import NOT_STARTED
from agentcli.agent.announce import asked_again
from agentcli.agent.gate import Asked
from agentcli.agent.result import STOPPED, bounded
from agentcli.agent.work import Work
from agentcli.errors import NothingWaiting, StaleAnswer
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallState, ToolResultBlock, ToolResultState, new_id
from agentcli.permission.engine import covers


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
    events = confirmed(work, event)
    await work.journal.kept(work.msg, durable=False)
    return events


async def _write_ahead(work: Work, kind: str, event: ev.AnswerEvent) -> None:
    """Make an accepted answer durable before anything is changed by it; `recover` does what it did not come to."""
    await work.journal.record(kind, event.model_dump(mode="json", exclude={"type", "id"}), durable=True)


def confirmed(work: Work, event: ev.UserConfirmResultEvent) -> list[ev.AgentEvent]:
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
    event = await bounded(work, event)
    await _write_ahead(work, "executed", event)
    events: list[ev.AgentEvent] = [work.fold(event)]
    for result in event.execution_results:
        events += taken_in(work, result)
    await work.journal.kept(work.msg, durable=False)
    for one in events:
        yield one


async def interrupted(work: Work, event: ev.UserInterruptEvent) -> list[ev.AgentEvent]:
    """Take in the interrupt of what waits: every open call gets its result."""
    await _write_ahead(work, "interrupt", event)
    return [work.fold(event), *interrupt_open(work)]


def taken_in(work: Work, result: ToolResultBlock) -> list[ev.AgentEvent]:
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
