"""A loaded session as the state of an agent: nothing is asked, run or changed here."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from agentcli.agent.context import place_of
from agentcli.ledger.block import ToolResultBlock
from agentcli.ledger.message import Msg, Usage
from agentcli.ledger.rule import PermissionContext, PermissionMode, PermissionRule
from agentcli.ledger.state import AgentState, Compression, Question, Started, Task, ToolMemory
from agentcli.session.store import Loaded


@dataclass(slots=True, frozen=True)
class Saved:
    """What a session was left with, beside its messages."""

    cwd: str
    mode: PermissionMode | None
    """None where the log does not say it any more."""
    model: str
    api: str | None


def saved_of(loaded: Loaded) -> Saved:
    """The last values of what a session keeps."""
    mode, model, api = loaded.header.get("mode"), loaded.header.get("model"), loaded.header.get("api")
    for record in loaded.records:
        if record["type"] == "mode":
            mode = record.get("mode", mode)
        elif record["type"] == "model":
            model, api = record.get("model", model), record.get("api", api)
    known = PermissionMode(mode) if mode in set(PermissionMode) else None
    return Saved(str(loaded.header.get("cwd", "")), known, str(model or ""), api)


def restore(loaded: Loaded, session_id: str, permission: PermissionContext) -> AgentState:
    """The state that the session's log gives; `agent.recover()` then settles what a crash left."""
    context = list(loaded.messages)
    last = context[-1] if context else None
    reply_id = last.id if last is not None and last.role == "assistant" else ""
    open_ids = {call.id for msg in context for call in msg.open_calls()}
    state = AgentState(session_id=session_id, context=context, reply_id=reply_id, permission_context=permission)
    state.tool_context = _memory(context)
    answered: set[Any] = set()
    for record in loaded.records:
        match record["type"]:
            case "asked" if record.get("call_id") in open_ids:
                _keep(state.questions, record, Question)
            case "started" if record.get("call_id") in open_ids:
                _keep(state.started, record, Started)
            case "rule":
                _rule(permission, record)
            case "summary":
                _compressed(state, record)
            case "reply":
                answered.add(record.get("answers"))
            case "model_call" if record.get("reply_id") == reply_id:
                state.cur_iter += 1
            case _:
                continue
    if last is not None:
        state.unfinished = last.finished_reason is None if last.role == "assistant" else last.id not in answered
    return state


def _keep(into: dict[str, Any], record: dict[str, Any], form: type[Question] | type[Started]) -> None:
    fields = {key: value for key, value in record.items() if key in form.model_fields}
    try:
        into[record["call_id"]] = form.model_validate(fields)
    except ValidationError:
        # A record of another version. A start that cannot be read is still a start: effects unknown.
        if form is Started:
            into[record["call_id"]] = Started(call_id=record["call_id"])


def _compressed(state: AgentState, record: dict[str, Any]) -> None:
    """The last summary whose place in the context is still known is the one that is sent."""
    if not record.get("reply_id"):
        state.apart = _added(state.apart, record.get("usage"))
    try:
        compressed = Compression.model_validate({key: record.get(key) for key in Compression.model_fields if key in record})
    except ValidationError:
        return  # of another version: the whole context is sent
    marks = [mark for mark in (compressed.covers, compressed.trims) if mark is not None]
    if marks and all(place_of(state.context, mark) is not None for mark in marks):
        summary = record.get("summary")
        state.summary, state.compressed = summary if isinstance(summary, str) else None, compressed


def _added(usage: Usage, more: object) -> Usage:
    try:
        given = Usage.model_validate(more or {})
    except ValidationError:
        return usage
    return Usage(**{name: getattr(usage, name) + getattr(given, name) for name in Usage.model_fields})


def _rule(permission: PermissionContext, record: dict[str, Any]) -> None:
    try:
        rule = PermissionRule.model_validate(
            {key: record.get(key) for key in ("tool_name", "rule_content", "behavior", "source")}
        )
    except ValidationError:
        return  # it granted something to another version; here it grants nothing
    if rule.source == "session":
        permission.rules.append(rule)


def _memory(context: Iterable[Msg]) -> ToolMemory:
    memory = ToolMemory()
    for msg in context:
        for block in msg.content:
            if isinstance(block, ToolResultBlock):
                _remember(memory, block.metadata)
    return memory


def _remember(memory: ToolMemory, metadata: dict[str, Any]) -> None:
    seen, tasks = metadata.get("seen"), metadata.get("tasks")
    if isinstance(seen, dict):
        memory.read_files.update({str(path): str(digest) for path, digest in seen.items()})  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(tasks, list):
        try:
            memory.tasks = [Task.model_validate(task) for task in tasks]  # pyright: ignore[reportUnknownVariableType]
        except ValidationError:
            return
