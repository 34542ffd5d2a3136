"""Permission rules as plain data: what is in force, and what would be decided, without running anything."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentcli.errors import ToolError
from agentcli.ledger.rule import PermissionContext, PermissionMode
from agentcli.permission.decision import PermissionDecision
from agentcli.permission.engine import PermissionEngine
from agentcli.permission.subject import Kind, Subject
from agentcli.session.uses import RuleUses, key_of
from agentcli.tool.base import ToolBase
from agentcli.tool.schema import validate
from agentcli.tool.subject import free_subject
from agentcli.workspace.root import Place

LATER: dict[str, tuple[str, Kind]] = {"Skill": ("name", Kind.FREE), "Agent": ("prompt", Kind.FUNCTION)}
"""Tools that are known whether or not this session has them, with the argument that they need."""


class Malformed(Exception):
    """A line that is no question; the message says why."""


def test_lines(
    lines: Iterable[str],
    place: Place,
    context: PermissionContext,
    default_mode: PermissionMode,
    tools: Sequence[ToolBase] = (),
) -> Iterator[dict[str, Any]]:
    """One answer for each line, in order: what the engine would decide here and now."""
    engine = PermissionEngine(context.model_copy(update=_folders(place)))
    known = {tool.name: tool for tool in tools}
    for line in lines:
        yield _answer(line, place, engine, default_mode, known)


def list_rules(context: PermissionContext, uses: RuleUses) -> list[dict[str, Any]]:
    """Every rule in force, where it comes from, and what it last decided."""
    known = uses.all()
    rows: list[dict[str, Any]] = []
    for rule in context.rules:
        row = {"rule": rule.text, "behavior": rule.behavior.value, "source": rule.source}
        rows.append({**row, "last": known.get(key_of(rule.behavior.value, rule.text))})
    return rows


def _folders(place: Place) -> dict[str, Any]:
    return {"root": place.root, "home": place.home, "working_directories": list(place.added)}


def _answer(
    line: str, place: Place, engine: PermissionEngine, default_mode: PermissionMode, known: Mapping[str, ToolBase]
) -> dict[str, Any]:
    mode = default_mode
    try:
        question = _question(line)
        mode = _mode(question, default_mode)
        subject = _subject(question, place, known)
    except (Malformed, ToolError) as fault:
        return {"behavior": "deny", "reason": str(fault), "mode": mode.value, "protected": False}
    return _shown(engine.decide(subject, mode))


def _shown(decision: PermissionDecision) -> dict[str, Any]:
    answer: dict[str, Any] = {"behavior": decision.behavior.value, "reason": decision.reason}
    if decision.rule is not None:
        answer["rule"] = decision.rule.text
    return {**answer, "mode": decision.mode.value, "protected": decision.protected}


def _question(line: str) -> dict[str, Any]:
    try:
        question = json.loads(line)
    except (ValueError, RecursionError) as fault:
        raise Malformed(f"the line is no JSON: {fault}") from fault
    match question:
        case {"tool": str(), "input": dict()}:
            return question
        case _:
            raise Malformed('a line is an object with "tool", a text, and "input", an object')


def _mode(question: dict[str, Any], default_mode: PermissionMode) -> PermissionMode:
    try:
        return PermissionMode(question.get("mode", default_mode))
    except ValueError as fault:
        raise Malformed(f"there is no mode {question['mode']!r}") from fault


def _subject(question: dict[str, Any], place: Place, known: Mapping[str, ToolBase]) -> Subject:
    name, arguments = question["tool"], question["input"]
    if tool := known.get(name):
        validate(arguments, tool.parameters)
        return tool.subject(arguments, place)
    if name.startswith("mcp__") and name.count("__") > 1:
        return Subject(tool=name, kind=Kind.FUNCTION)
    if name not in LATER:
        raise Malformed(f"there is no tool {name}")
    needed, kind = LATER[name]
    if not isinstance(arguments.get(needed), str):
        raise Malformed(f"{name} needs {needed}, a text")
    return free_subject(name) if kind is Kind.FREE else Subject(tool=name, kind=kind)
