"""Rules against a call: which one denies or asks, and whether every part of it is allowed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentcli.ledger.rule import PermissionBehavior, PermissionContext, PermissionRule
from agentcli.permission.match import Match, WordRule, path_rules
from agentcli.permission.subject import Command, Kind, Subject, Target, Way


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
    return max((_target_forbidden(rule, target, subject, context) for target in subject.targets), default=Match.NO)


def _target_forbidden(rule: PermissionRule, target: Target, subject: Subject, context: PermissionContext) -> Match:
    if rule.tool_name not in _names_of(target, subject):
        return Match.NO
    if _is_whole(rule):
        return Match.YES
    paths = path_rules(rule.rule_content or "", context, wide=True)
    if any(path.forbids(target.path) for path in paths):
        return Match.YES
    deep = target.folder or target.way is Way.REMOVE
    return Match.PERHAPS if deep and any(path.lies_below(target.path) for path in paths) else Match.NO


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
