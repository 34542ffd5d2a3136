"""A loaded session as the state of an agent: nothing is asked, run or changed here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from agentcli.agent.context import place_of
from agentcli.agent.rewind import memory_of
from agentcli.ledger.message import Usage
from agentcli.ledger.rule import PermissionContext, PermissionMode, PermissionRule
from agentcli.ledger.state import AgentState, Compression, Question, Started
from agentcli.session.store import Loaded


@dataclass(slots=True, frozen=True)
class Saved:
    """What a session was left with, beside its messages."""

    cwd: str
    root: str
    title: str
    """Empty where none was given."""
    mode: PermissionMode | None
    """None where the log does not say it any more."""
    model: str
    api: str | None


def saved_of(loaded: Loaded) -> Saved:
    """The last values of what a session keeps."""
    mode, model, api = loaded.header.get("mode"), loaded.header.get("model"), loaded.header.get("api")
    cwd, root, title = loaded.header.get("cwd"), loaded.header.get("root"), loaded.header.get("title")
    for record in loaded.records:
        if record["type"] == "title":
            title = record.get("title", title)
        elif record["type"] == "cwd":
            cwd, root = record.get("cwd", cwd), record.get("root", root)
        elif record["type"] == "mode":
            mode = record.get("mode", mode)
        elif record["type"] == "model":
            model, api = record.get("model", model), record.get("api", api)
    known = PermissionMode(mode) if mode in set(PermissionMode) else None
    return Saved(str(cwd or ""), str(root or ""), str(title or ""), known, str(model or ""), api)


def restore(loaded: Loaded, session_id: str, permission: PermissionContext) -> AgentState:
    """The state that the session's log gives; `agent.recover()` then settles what a crash left."""
    context = list(loaded.messages)
    last = context[-1] if context else None
    reply_id = last.id if last is not None and last.role == "assistant" else ""
    open_ids = {call.id for msg in context for call in msg.open_calls()}
    state = AgentState(session_id=session_id, reply_id=reply_id, permission_context=permission, past_calls=loaded.past_calls)
    state.context = context  # not above: each message would be validated once more
    state.tool_context = memory_of(context)
    answered: set[Any] = set()
    rewound, summary_stands = 0, True
    for record in loaded.records:
        match record["type"]:
            case "asked" if record.get("call_id") in open_ids:
                _keep(state.questions, record, Question)
            case "started" if record.get("call_id") in open_ids:
                _keep(state.started, record, Started)
            case "rewind":
                rewound = record["seq"]
                state.apart = _added(state.apart, record.get("usage"))
                if not summary_stands:
                    state.summary = state.compressed = None
            case "forked":
                state.apart = _added(state.apart, record.get("usage"))
            case "rule":
                _rule(permission, record)
            case "summary":
                summary_stands = _compressed(state, record)
            case "reply":
                answered.add(record.get("answers"))
            case "model_call" if record.get("reply_id") == reply_id:
                state.cur_iter += 1
            case _:
                continue
    if last is not None and loaded.starts[last.id] > rewound:
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


def _compressed(state: AgentState, record: dict[str, Any]) -> bool:
    """The last summary whose place in the context is still known is the one that is sent; whether this one's is."""
    if not record.get("reply_id"):
        state.apart = _added(state.apart, record.get("usage"))
    try:
        compressed = Compression.model_validate({key: record.get(key) for key in Compression.model_fields if key in record})
    except ValidationError:
        return False  # of another version: the whole context is sent
    marks = [mark for mark in (compressed.covers, compressed.trims) if mark is not None]
    if not marks or any(place_of(state.context, mark) is None for mark in marks):
        return False
    summary = record.get("summary")
    state.summary, state.compressed = summary if isinstance(summary, str) else None, compressed
    return True


def _added(usage: Usage, more: object) -> Usage:
    try:
        return usage + Usage.model_validate(more or {})
    except ValidationError:
        return usage


def _rule(permission: PermissionContext, record: dict[str, Any]) -> None:
    try:
        rule = PermissionRule.model_validate(
            {key: record.get(key) for key in ("tool_name", "rule_content", "behavior", "source")}
        )
    except ValidationError:
        return  # it granted something to another version; here it grants nothing
    if rule.source == "session":
        permission.rules.append(rule)
