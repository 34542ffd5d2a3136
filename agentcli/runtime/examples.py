"""The examples beside rules of the configuration: whether each rule says what its author meant."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from agentcli.config.settings import Permissions
from agentcli.errors import ConfigError, ToolError
from agentcli.ledger.rule import PermissionBehavior, PermissionContext, PermissionRule
from agentcli.permission.engine import PermissionEngine
from agentcli.permission.match import Match
from agentcli.permission.rules import FILE_RULES, strongest
from agentcli.permission.subject import Kind, Subject
from agentcli.tool.base import ToolBase
from agentcli.workspace.root import Place

ARGUMENT = {"Bash": "command", **{name: "file_path" for name in FILE_RULES}}
"""What an example of a rule of this name is."""


def check_examples(levels: Mapping[str, Permissions], place: Place, tools: Sequence[ToolBase]) -> None:
    """ConfigError for the first rule that is not about what it shall match, or is about what it shall not.

    Args:
        levels: where rules come from -> the rules.
    """
    known = {tool.name: tool for tool in tools}
    wrong = next((told for source, rules in levels.items() for told in _wrong(source, rules, place, known)), None)
    if wrong is not None:
        raise ConfigError(wrong)


def _wrong(source: str, rules: Permissions, place: Place, known: Mapping[str, ToolBase]) -> Iterator[str]:
    for written, rule in rules.entries(source):
        for wanted, examples in ((True, written.match), (False, written.not_match)):
            for example in examples:
                if _about(rule, _subject(rule, example, place, known), place) is not wanted:
                    says = "does not match" if wanted else "matches"
                    yield f"permissions.{rule.behavior.value} ({source}): the rule {rule.text} {says} its example {example!r}"


def _subject(rule: PermissionRule, example: str, place: Place, known: Mapping[str, ToolBase]) -> Subject:
    argument, tool = ARGUMENT.get(rule.tool_name), known.get(rule.tool_name)
    if argument is None or tool is None:
        return Subject(tool=example, kind=Kind.FUNCTION)
    try:
        return tool.subject({argument: example}, place)
    except ToolError as error:
        raise ConfigError(f"{rule.text}: its example {json.dumps(example)} is none: {error}") from error


def _about(rule: PermissionRule, subject: Subject, place: Place) -> bool:
    """Whether a rule alone decides a call."""
    context = PermissionContext(root=place.root, home=place.home, working_directories=list(place.added), rules=[rule])
    if rule.behavior is not PermissionBehavior.ALLOW:
        return strongest(subject, context, rule.behavior)[0] is Match.YES
    decision = PermissionEngine(context).decide(subject)
    return decision.behavior is PermissionBehavior.ALLOW and decision.rule is not None
