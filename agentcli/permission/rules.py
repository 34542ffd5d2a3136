"""Rules against a call: which one denies or asks, and whether every part of it is allowed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from agentcli.ledger.rule import PermissionBehavior, PermissionContext, PermissionRule
from agentcli.permission.match import Match, WordRule, path_rules
from agentcli.permission.subject import Command, Kind, Subject, Target, Way

FILE_RULES = ("Read", "Edit", "Write")
"""Speak of ways of touching files, so they are never unknown."""
MCP_NAME = re.compile(r"mcp__(?:\*|[^*]+__(?:\*|[^*]+\*?))\Z")


def strongest(subject: Subject, context: PermissionContext, behavior: PermissionBehavior) -> tuple[Match, PermissionRule | None]:
    """How surely a deny or ask rule names the call, and which."""
    best: tuple[Match, PermissionRule | None] = (Match.NO, None)
    for rule in context.rules:
        if rule.behavior is behavior and (match := _forbids(rule, subject, context)) > best[0]:
            best = (match, rule)
    return best


def allowing_target(target: Target, subject: Subject, context: PermissionContext) -> PermissionRule | None:
    """The allow rule that covers a place."""
    names = _names_of(target, subject)
    for rule in _allowing(context):
        if rule.tool_name not in names:
            continue
        if rule.rule_content is None or _path_allowed(rule.rule_content, target, context):
            return rule
    return None


def allowing_tool(subject: Subject, context: PermissionContext) -> PermissionRule | None:
    """The allow rule for every call of the tool."""
    return next((rule for rule in _allowing(context) if _is_whole(rule) and _same_tool(rule, subject.tool)), None)


def allowing_command(command: Command, subject: Subject, context: PermissionContext) -> PermissionRule | None:
    """The allow rule that covers the words of one simple command."""
    if not command.words or not command.plain:
        return None
    for rule in _allowing(context):
        if rule.tool_name == subject.tool and rule.rule_content and WordRule.parse(rule.rule_content).allows(command.words):
            return rule
    return None


def _allowing(context: PermissionContext) -> Iterable[PermissionRule]:
    return (rule for rule in context.rules if rule.behavior is PermissionBehavior.ALLOW)


def _is_whole(rule: PermissionRule) -> bool:
    return rule.rule_content is None or rule.rule_content.strip() in ("*", ":*")


def _same_tool(rule: PermissionRule, tool: str) -> bool:
    if rule.tool_name.startswith("mcp__") and rule.tool_name.endswith("*"):
        return tool.startswith(rule.tool_name[:-1])
    return rule.tool_name == tool


def _names_of(target: Target, subject: Subject) -> frozenset[str]:
    """The tools in whose name a rule may speak of a place."""
    own = frozenset[str]() if subject.kind is Kind.SHELL else frozenset((subject.tool,))
    return own | {"Read"} if target.way is Way.LOOK else own | {"Edit"}


def _path_allowed(content: str, target: Target, context: PermissionContext) -> bool:
    return any(rule.allows(target.path, target.way is Way.LOOK) for rule in path_rules(content, context, wide=False))


def _forbids(rule: PermissionRule, subject: Subject, context: PermissionContext) -> Match:
    if subject.kind is Kind.SHELL and rule.tool_name == subject.tool:
        return _line_forbidden(rule, subject)
    if subject.kind in (Kind.FUNCTION, Kind.FREE):
        return Match.YES if _same_tool(rule, subject.tool) and _is_whole(rule) else Match.NO
    return _targets_forbidden(rule, subject, context)


def _line_forbidden(rule: PermissionRule, subject: Subject) -> Match:
    if _is_whole(rule) or subject.line is None:
        return Match.YES
    wanted = WordRule.parse(rule.rule_content or "")
    found = max((wanted.forbids(words) for words in subject.line.named), default=Match.NO)
    return max(found, Match.PERHAPS) if subject.line.fault else found


def _targets_forbidden(rule: PermissionRule, subject: Subject, context: PermissionContext) -> Match:
    found = max((_target_forbidden(rule, target, subject, context) for target in subject.targets), default=Match.NO)
    if found is Match.YES or _is_whole(rule):
        return found
    mentioned = any(_target_forbidden(rule, target, subject, context) for target in subject.mentioned)
    return max(found, Match.PERHAPS) if mentioned else found


def _target_forbidden(rule: PermissionRule, target: Target, subject: Subject, context: PermissionContext) -> Match:
    if rule.tool_name not in _names_of(target, subject):
        return Match.NO
    if _is_whole(rule):
        return Match.YES
    paths = path_rules(rule.rule_content or "", context, wide=True)
    if any(path.forbids(target.path) for path in paths):
        return Match.YES
    if target.fault:
        # What cannot be reached under this name may be reached under another, so nothing can be said.
        return Match.PERHAPS
    deep = target.folder or target.way is Way.REMOVE
    return Match.PERHAPS if deep and any(path.lies_below(target.path) for path in paths) else Match.NO


def unknown_tools(rules: Iterable[PermissionRule], known: Iterable[str]) -> list[str]:
    """A sentence for each rule whose tool nobody has, with the name that may have been meant; MCP names are never unknown."""
    tools = sorted({*known, *FILE_RULES})
    unknown = dict.fromkeys(rule for rule in rules if rule.tool_name not in tools and not MCP_NAME.match(rule.tool_name))
    return [_unknown(rule, tools) for rule in unknown]


def _unknown(rule: PermissionRule, tools: Sequence[str]) -> str:
    folded = {tool.casefold(): tool for tool in tools}
    near = [folded[name] for name in get_close_matches(rule.tool_name.casefold(), folded, n=1, cutoff=0.5)]
    if re.fullmatch(r"mcp__[^_*].*[^_*]", rule.tool_name):
        near = [f"{rule.tool_name}__*"]
    meant = f"; did you mean {near[0]}?" if near else f"; tools are {', '.join(tools)}"
    return f"the {rule.behavior.value} rule {rule.text} does nothing: there is no tool {rule.tool_name}{meant}"


def covers(offered: Sequence[PermissionRule], given: PermissionRule) -> bool:
    """The rule allows no more than one that was offered."""
    return given.behavior is PermissionBehavior.ALLOW and any(_covers(rule, given) for rule in offered)


def _covers(offered: PermissionRule, given: PermissionRule) -> bool:
    narrower_tool = offered.tool_name == "Edit" and given.tool_name == "Write"
    if offered.tool_name != given.tool_name and not narrower_tool:
        return False
    if offered.rule_content is None or offered.rule_content == given.rule_content:
        return True
    if given.rule_content is None:
        return False
    if offered.tool_name in ("Read", "Edit", "Write"):
        return _path_covers(offered.rule_content, given.rule_content)
    return _words_cover(WordRule.parse(offered.rule_content), WordRule.parse(given.rule_content))


def _words_cover(offered: WordRule, given: WordRule) -> bool:
    return offered.further and given.words[: len(offered.words)] == offered.words


def _path_covers(offered: str, given: str) -> bool:
    if not offered.endswith("**") or ".." in given.split("/"):
        return False
    stem = offered.removesuffix("**")
    if stem == "":
        return not given.startswith(("/", "~"))
    return given.startswith(stem)
