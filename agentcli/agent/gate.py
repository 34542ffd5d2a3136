"""May these calls run: validate, judge, preview, and put the question on disk before it is asked."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentcli.agent.loops import loop_note
from agentcli.agent.work import Work
from agentcli.errors import ToolError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock, ToolCallState
from agentcli.ledger.preview import Preview
from agentcli.ledger.rule import PermissionBehavior, PermissionMode, PermissionRule
from agentcli.ledger.state import Question
from agentcli.permission.decision import PermissionDecision
from agentcli.permission.subject import Kind, Subject, Way
from agentcli.tool.base import ToolBase
from agentcli.tool.schema import parse_arguments, validate

log = logging.getLogger(__name__)


CHANGED = "The file has changed since the first question."
MOVED = "What this would run on has changed since the first question: its folder, or where its paths lead."
NO_SHELL = "EXPLORE is read-only and runs no shell command here: there is no sandbox; use Read, Glob and Grep"
ALLOWED_BEFORE = "Allowed before the restart, not started."


@dataclass(slots=True, frozen=True)
class Verdict:
    """What may be done with one call now."""

    call: ToolCallBlock
    tool: ToolBase
    arguments: Mapping[str, Any]
    subject: Subject
    decision: PermissionDecision
    note: str = ""
    """What the question says beside its preview."""

    @property
    def behavior(self) -> PermissionBehavior:
        return self.decision.behavior

    @property
    def harmless(self) -> bool:
        """Changes nothing: it needs no record before it starts and may be asked for again."""
        # An empty list of commands or targets proves nothing.
        subject, line = self.subject, self.subject.line
        looks = all(target.way == Way.LOOK for target in subject.targets)
        match subject.kind:
            case Kind.SHELL:
                return line is not None and line.proven and looks
            case Kind.FILE:
                return looks and bool(subject.targets)
            case Kind.FUNCTION:
                return subject.read_only
            case Kind.FREE:
                return True

    def hangs_on(self, earlier: Verdict) -> bool:
        """Whether what this call shows and does depends on a file that an earlier one changes, or the other way round.

        What a command shows is its line, whatever it touches.
        """
        if self.subject.kind != Kind.FILE:
            return False
        touched = {target.path: target.way for target in earlier.subject.targets}
        both = [(touched[target.path], target.way) for target in self.subject.targets if target.path in touched]
        return any(way != Way.LOOK for pair in both for way in pair)


def judge(work: Work, call: ToolCallBlock) -> Verdict | str:
    """The verdict on a call as it stands, or why it can never run."""
    tool = work.toolkit.get(call.name)
    if tool is None:
        near = work.toolkit.near(call.name)
        return f"There is no tool {call.name!r}." + (f" Did you mean {' or '.join(near)}?" if near else "")
    try:
        arguments = parse_arguments(call.input)
        validate(arguments, tool.parameters)
        subject = tool.subject(arguments, work.place)
    except ToolError as error:
        return str(error)
    except Exception as error:  # the edge of a tool
        log.exception("tool %s could not tell its targets", call.name)
        return f"The tool failed before it started: {type(error).__name__}: {error}"
    loop, spent = loop_note(work.msg, call), work.budget.note(work.msg)
    decision = _doubted(_decide(work, subject), loop, (PermissionMode.DONT_ASK, PermissionMode.EXPLORE))
    decision = _doubted(decision, spent, (PermissionMode.DONT_ASK,))
    return Verdict(call, tool, arguments, subject, decision, " ".join(filter(None, (loop, spent))))


def _decide(work: Work, subject: Subject) -> PermissionDecision:
    mode = work.state.permission_context.mode
    decision = work.engine.decide(subject, mode)
    if mode != PermissionMode.EXPLORE or subject.kind != Kind.SHELL or decision.behavior == PermissionBehavior.DENY:
        return decision
    # Law 7 is enforced twice: what the engine lets through needs a sandbox as well, and there is none yet.
    return decision.model_copy(update={"behavior": PermissionBehavior.DENY, "reason": NO_SHELL, "suggested_rules": []})


def _doubted(decision: PermissionDecision, note: str, denying: tuple[PermissionMode, ...]) -> PermissionDecision:
    """A call that goes round in a circle, or on beyond a budget, is asked about, and no rule settles that.

    In the modes that are `denying` nobody is asked, and it is denied.
    """
    if not note or decision.behavior == PermissionBehavior.DENY:
        return decision
    if decision.mode in denying:
        return decision.model_copy(update={"behavior": PermissionBehavior.DENY, "reason": note, "suggested_rules": []})
    if decision.behavior == PermissionBehavior.ASK:
        return decision
    return decision.model_copy(update={"behavior": PermissionBehavior.ASK, "reason": note, "suggested_rules": []})


async def preview_of(work: Work, verdict: Verdict) -> Preview | str:
    """What would happen now, or why it cannot work."""
    context = work.tool_context(verdict.call, verdict.subject)

    def look() -> Preview:
        verdict.tool.check(verdict.arguments, context)
        preview = verdict.tool.preview(verdict.arguments, context)
        return preview.model_copy(update={"notes": [*preview.notes, verdict.note]}) if verdict.note else preview

    try:
        preview = await work.whole(asyncio.to_thread(look))
    except ToolError as error:
        return str(error)
    except Exception as error:  # the edge of a tool
        log.exception("tool %s could not make its preview", verdict.call.name)
        return f"The tool failed before it started: {type(error).__name__}: {error}"
    return preview.model_copy(update={"digest": _bound(preview.digest, verdict.subject, work.place.cwd)})


def _bound(digest: str, subject: Subject, cwd: str) -> str:
    """The digest of an answer: it is for these very targets, as links lead to them now, and for this folder."""
    targets = sorted({f"{target.way}:{target.path}" for target in subject.targets})
    return hashlib.sha256("\0".join([digest, cwd, *targets]).encode("utf-8", "surrogateescape")).hexdigest()


@dataclass(slots=True, frozen=True)
class Asked:
    """A call with the preview and the rules that its question shows."""

    call: ToolCallBlock
    preview: Preview
    rules: list[PermissionRule]


async def ask(work: Work, asked: list[Asked]) -> ev.RequireUserConfirmEvent:
    """Put questions into log and state; only then may the event be yielded (law 4)."""
    blocks = [_asking(one) for one in asked]
    previews = {one.call.id: one.preview for one in asked}
    event = ev.RequireUserConfirmEvent(reply_id=work.state.reply_id, tool_calls=blocks, previews=previews)
    questions = {one.call.id: question_of(work, one) for one in asked}
    for one in asked:
        await note_asked(work, one.call, questions[one.call.id], one.preview.target)
    work.fold(event)
    work.state.questions.update(questions)
    await work.journal.kept(work.msg)
    return event


async def note_asked(work: Work, call: ToolCallBlock, question: Question, target: str) -> None:
    """Write a question down; durable with the next record that is."""
    body = {"reply_id": work.state.reply_id, "call_id": call.id, "tool": call.name, "target": target}
    await work.journal.record("asked", {**body, **question.model_dump(mode="json")})


def question_of(work: Work, asked: Asked) -> Question:
    """What is remembered of a question; one that is asked again keeps its age."""
    before = work.state.questions.get(asked.call.id)
    asked_at = {"asked_at": before.asked_at} if before else {}
    return Question(digest=asked.preview.digest, notes=asked.preview.notes, **asked_at)


def _asking(asked: Asked) -> ToolCallBlock:
    return asked.call.model_copy(update={"state": ToolCallState.ASKING, "suggested_rules": asked.rules}, deep=True)
