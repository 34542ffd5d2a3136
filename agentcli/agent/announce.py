"""What waits for an answer, told once more with what is so now."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from agentcli.agent import gate
from agentcli.agent.gate import CHANGED, MOVED, Asked, judge, preview_of
from agentcli.agent.work import Work
from agentcli.errors import LogError, ToolError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock, ToolCallState
from agentcli.ledger.preview import Preview
from agentcli.permission.subject import Kind
from agentcli.tool.preview import plain_preview
from agentcli.tool.schema import parse_arguments

NO_LONGER = "It can no longer work"


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
    notes = [note for note in question.notes if not note.startswith(NO_LONGER)] if question else []
    preview, rules = await _present(work, call)
    changed = CHANGED if _edits(work, call) else MOVED
    if question and question.digest and question.digest != preview.digest and changed not in notes:
        notes.append(changed)
    notes += [note for note in preview.notes if note not in notes]
    return Asked(call, preview.model_copy(update={"notes": notes}), rules)


def _edits(work: Work, call: ToolCallBlock) -> bool:
    """Whether the call changes a file by its own hand, so that the file's bytes are part of the question."""
    tool = work.toolkit.get(call.name)
    verdict = judge(work, call) if tool is not None and not tool.read_only else ""
    return not isinstance(verdict, str) and verdict.subject.kind == Kind.FILE


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
    return plain.model_copy(update={"target": target, "notes": [f"{NO_LONGER}: {why}"]})
