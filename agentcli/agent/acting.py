"""Run the calls of an answer, in their order; those that only look may run beside each other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from agentcli.agent import gate, receipt
from agentcli.agent.context import closing
from agentcli.agent.gate import Asked, Verdict, judge, preview_of
from agentcli.agent.pump import Ended
from agentcli.agent.result import Result
from agentcli.agent.work import Work
from agentcli.errors import ToolError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock, ToolCallState, ToolResultState
from agentcli.ledger.rule import PermissionBehavior

log = logging.getLogger(__name__)

NOT_STARTED = "never started: interrupted by the user."


async def act(work: Work) -> AsyncGenerator[ev.AgentEvent, None]:
    """Bring the open calls of the reply as far as they can come: to results, or to open questions."""
    for call in [call for call in work.msg.open_calls() if begun(work, call)]:
        # Nobody listened when it was cut off. It has an effect, or may have one: it never runs again (law 5).
        for event in closing(work, work.msg, call):
            yield work.fold(event)
        work.settle(call.id)
    answered = [call for call in work.msg.open_calls() if call.state == ToolCallState.ALLOWED]
    await work.budget.answered(work.msg, [work.state.questions.get(call.id) for call in answered], work.journal)
    async with aclosing(run(work, answered, answered=True)) as events:
        async for event in events:
            yield event
    while not work.stopped:
        ready, asks, refused = _sort(work)
        for call, verdict in refused:
            state, text = await _refused(work, verdict)
            for event in work.result_events(call, state, text):
                yield event
        if ready:
            async with aclosing(run(work, ready)) as events:
                async for event in events:
                    yield event
            continue
        asked: list[Asked] = []
        async with aclosing(_previewed(work, asks, asked)) as events:
            async for event in events:
                yield event
        if asked:
            yield await gate.ask(work, asked)
        if len(asked) == len(asks):
            break


def begun(work: Work, call: ToolCallBlock) -> bool:
    """Whether an open call was started, and so is not to be started again."""
    return call.id in work.state.started or (call.state == ToolCallState.ALLOWED and work.msg.result(call.id) is not None)


def _sort(work: Work) -> tuple[list[ToolCallBlock], list[Verdict], list[tuple[ToolCallBlock, Verdict | str]]]:
    """What may run now, what must be asked now, and what is refused."""
    ready: list[ToolCallBlock] = []
    asks: list[Verdict] = []
    refused: list[tuple[ToolCallBlock, Verdict | str]] = []
    standing: list[Verdict] = []  # asked ones, and those that will be, in order
    blocked = False
    for call in work.msg.open_calls():
        verdict = judge(work, call)
        if call.state == ToolCallState.SUBMITTED:
            blocked = True
        elif isinstance(verdict, str) or verdict.behavior == PermissionBehavior.DENY:
            refused.append((call, verdict))
        elif verdict.behavior == PermissionBehavior.ALLOW and (call.state == ToolCallState.ASKING or not blocked):
            # One that was asked and is allowed now was settled by the rule given with a sibling's answer.
            ready.append(call)
        elif verdict.behavior == PermissionBehavior.ALLOW:
            standing.append(verdict)
        else:
            blocked = True
            if call.state != ToolCallState.ASKING and not any(verdict.hangs_on(other) for other in standing):
                asks.append(verdict)
            standing.append(verdict)
    return ready, asks, refused


async def _refused(work: Work, verdict: Verdict | str) -> tuple[ToolResultState, str]:
    """How a call that does not run is answered; who denied it is written down."""
    if isinstance(verdict, str):
        return ToolResultState.ERROR, verdict
    await receipt.write(work, verdict)
    return ToolResultState.DENIED, f"Denied: {verdict.decision.reason}"


async def _previewed(work: Work, asks: list[Verdict], asked: list[Asked]) -> AsyncGenerator[ev.AgentEvent, None]:
    """Collect the questions; what could not work anyway is answered instead of asked."""
    for verdict in asks:
        if verdict.decision.rule is not None:
            await receipt.write(work, verdict)
        preview = await preview_of(work, verdict)
        if isinstance(preview, str):
            for event in work.result_events(verdict.call, ToolResultState.ERROR, preview):
                yield event
        else:
            asked.append(Asked(verdict.call, preview, list(verdict.decision.suggested_rules)))


# -- running -----------------------------------------------------------------------------------


async def run(work: Work, calls: list[ToolCallBlock], *, answered: bool = False) -> AsyncGenerator[ev.AgentEvent, None]:
    """Run calls in order; neighbours that are safe beside each other run together."""
    rest = list(calls)
    while rest and not work.stopped:
        batch = [rest.pop(0)]
        while rest and _beside(work, batch[0]) and _beside(work, rest[0]):
            batch.append(rest.pop(0))
        async with aclosing(_run_together(work, batch, answered)) as events:
            async for event in events:
                yield event


def _beside(work: Work, call: ToolCallBlock) -> bool:
    tool = work.toolkit.get(call.name)
    return tool is not None and tool.concurrency_safe and not tool.external


async def _run_together(work: Work, calls: list[ToolCallBlock], answered: bool) -> AsyncGenerator[ev.AgentEvent, None]:
    results: dict[str, Result] = {}
    pump = work.pump()
    try:
        for call in calls:
            verdict = judge(work, call)  # the decision is taken at the moment of execution (law 6)
            if isinstance(verdict, str) or verdict.behavior == PermissionBehavior.DENY:
                state, text = await _refused(work, verdict)
                for event in work.result_events(call, state, text):
                    yield event
                continue
            if verdict.behavior != PermissionBehavior.ALLOW and not answered:
                continue  # since a mode or a rule has changed, it has to be asked
            if verdict.tool.external:
                await receipt.write(work, verdict, answered=answered)
                async with aclosing(_hand_out(work, call)) as events:
                    async for event in events:
                        yield event
                continue
            problem = await _start(work, verdict, answered)
            if problem is not None:
                for event in work.result_events(call, ToolResultState.ERROR, problem):
                    yield event
                continue
            results[call.id] = Result(work, verdict)
            if work.msg.result(call.id) is None:
                start = ev.ToolResultStartEvent(reply_id=work.state.reply_id, tool_call_id=call.id, tool_call_name=call.name)
                yield work.fold(start)
            pump.start(call.id, verdict.tool.run(verdict.arguments, work.tool_context(call, verdict.subject)))
            if work.stopped:
                pump.stop()
        running = set(results)
        while running:
            key, item = await work.next(pump)
            if not isinstance(item, Ended):
                for event in await results[key].take(item):
                    yield event
                continue
            running.discard(key)
            for event in await work.whole(results[key].end(item)):
                yield event
            await work.journal.kept(work.msg, durable=not results[key].verdict.harmless)
    finally:
        await work.done(pump)
        for result in results.values():
            await work.whole(result.close())


async def _start(work: Work, verdict: Verdict, answered: bool) -> str | None:
    """Write ahead what is about to begin (law 5); the text of a refusal where it cannot work."""
    context = work.tool_context(verdict.call, verdict.subject)

    def look() -> Any:
        verdict.tool.check(verdict.arguments, context)
        return verdict.tool.start_record(verdict.arguments, context)

    try:
        started = await work.whole(asyncio.to_thread(look))
    except ToolError as error:
        return str(error)
    except Exception as error:  # the edge of a tool
        log.exception("tool %s could not start", verdict.call.name)
        return f"The tool failed before it started: {type(error).__name__}: {error}"
    await receipt.write(work, verdict, answered=answered)
    if verdict.harmless:
        return None
    body = {"reply_id": work.state.reply_id, **started.model_dump(mode="json")}
    await work.journal.record("started", {**body, "tool": verdict.call.name, "input": verdict.call.input}, durable=True)
    work.state.started[verdict.call.id] = started
    return None


async def _hand_out(work: Work, call: ToolCallBlock) -> AsyncGenerator[ev.AgentEvent, None]:
    start = ev.ToolResultStartEvent(reply_id=work.state.reply_id, tool_call_id=call.id, tool_call_name=call.name)
    work.fold(start)
    block = call.model_copy(update={"state": ToolCallState.SUBMITTED}, deep=True)
    event = work.fold(ev.RequireExternalExecutionEvent(reply_id=work.state.reply_id, tool_calls=[block]))
    await work.journal.kept(work.msg)
    yield start
    yield event
