"""Decides a call: allow, ask or deny. Each mode is a table of steps and a column of outcomes; nothing is read or asked here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from agentcli.ledger.rule import PermissionBehavior, PermissionContext, PermissionMode, PermissionRule
from agentcli.permission.decision import PermissionDecision
from agentcli.permission.match import Match
from agentcli.permission.rules import allowing_command, allowing_target, allowing_tool, covers, strongest
from agentcli.permission.subject import Command, Kind, Subject, Target, Way
from agentcli.permission.suggest import suggested_rules

__all__ = ["PermissionEngine", "covers"]

ALLOW, ASK, DENY = PermissionBehavior.ALLOW, PermissionBehavior.ASK, PermissionBehavior.DENY
STRICTNESS = {ALLOW: 0, ASK: 1, DENY: 2}


class Row(StrEnum):
    """The kinds of calls that a mode tells apart, the graver later; the words are the reason that the user is given."""

    FREE = "it touches nothing outside the conversation"
    SHELL_QUIET = "the command is known to change nothing"
    MARKED = "the tool is marked as read-only"
    LOOK_KEPT = "it looks at an output of this session"
    LOOK_INSIDE = "it looks at files of the project"
    CHANGE_INSIDE = "it changes files of the project"
    SHELL_CHANGE = "the command changes files of the project"
    FUNCTION = "the tool may change anything"
    SHELL_OTHER = "the command is not known to change nothing"
    LOOK_OUTSIDE = "it looks at files outside the project"
    CHANGE_OUTSIDE = "it changes files outside the project"
    SHELL_OUTSIDE = "the command changes files outside the project"
    LOOK_PROTECTED = "it looks at a protected place"
    CHANGE_PROTECTED = "it changes a protected place"


GRAVITY = {row: place for place, row in enumerate(Row)}
OUTCOMES: dict[Row, tuple[PermissionBehavior, PermissionBehavior, PermissionBehavior, PermissionBehavior]] = {
    #                     default accept explore bypass
    Row.LOOK_KEPT: (ALLOW, ALLOW, ALLOW, ALLOW),
    Row.LOOK_INSIDE: (ASK, ALLOW, ALLOW, ALLOW),
    Row.LOOK_OUTSIDE: (ASK, ASK, ASK, ALLOW),
    Row.CHANGE_INSIDE: (ASK, ALLOW, DENY, ALLOW),
    Row.CHANGE_OUTSIDE: (ASK, ASK, DENY, ASK),
    Row.LOOK_PROTECTED: (ASK, ASK, ASK, ASK),
    Row.CHANGE_PROTECTED: (ASK, ASK, DENY, ASK),
    Row.SHELL_QUIET: (ALLOW, ALLOW, ALLOW, ALLOW),
    Row.SHELL_CHANGE: (ASK, ALLOW, DENY, ALLOW),
    Row.SHELL_OUTSIDE: (ASK, ASK, DENY, ASK),
    Row.SHELL_OTHER: (ASK, ASK, DENY, ALLOW),
    Row.MARKED: (ASK, ALLOW, ALLOW, ALLOW),
    Row.FUNCTION: (ASK, ASK, DENY, ALLOW),
    Row.FREE: (ALLOW, ALLOW, ALLOW, ALLOW),
}
"""What happens without rules; `dont_ask` is `default` with every ask denied."""
PROTECTED = frozenset((Row.LOOK_PROTECTED, Row.CHANGE_PROTECTED))


@dataclass(slots=True, frozen=True)
class Case:
    """One call under one mode."""

    subject: Subject
    context: PermissionContext
    outcomes: Mapping[Row, PermissionBehavior]
    mode: PermissionMode

    def answer(self, behavior: PermissionBehavior, reason: str, rule: PermissionRule | None = None) -> PermissionDecision:
        """A decision on this call."""
        return PermissionDecision(
            behavior=behavior,
            reason=reason,
            rule=rule,
            mode=self.mode,
            protected=any(target.protected for target in self.subject.targets),
        )

    def strictest(self, rows: Iterator[Row]) -> tuple[PermissionBehavior, Row]:
        """The outcome of all rows together."""
        return max(((self.outcomes[row], row) for row in rows), key=lambda found: (STRICTNESS[found[0]], GRAVITY[found[1]]))

    def passes(self, row: Row) -> bool:
        """The mode allows such a call without a question."""
        return self.outcomes[row] is ALLOW


Step = Callable[[Case], PermissionDecision | None]


# Which rows a call belongs to.


def rows_of(subject: Subject) -> Iterator[Row]:
    """Every row of a call; the strictest one decides."""
    match subject.kind:
        case Kind.FREE:
            yield Row.FREE
        case Kind.FUNCTION:
            yield Row.MARKED if subject.read_only else Row.FUNCTION
        case Kind.FILE:
            yield from (_file_row(target) for target in subject.targets)
        case Kind.SHELL:
            yield from _line_rows(subject)


def _line_rows(subject: Subject) -> Iterator[Row]:
    commands = subject.line.commands if subject.line else ()
    if not commands:
        yield Row.SHELL_OTHER
    for command in commands:
        yield from _command_rows(command)
    # Places that only the loose reading sees cannot make a call safer, only worse.
    yield from (_shell_row(target, simple=False) for target in subject.targets if target.protected or not target.inside)


def _command_rows(command: Command) -> Iterator[Row]:
    if not (command.read_only or command.simple_change):
        yield Row.SHELL_OTHER
    if command.read_only:
        yield Row.SHELL_QUIET
    yield from (_shell_row(target, command.simple_change) for target in command.targets)


def _file_row(target: Target) -> Row:
    if target.way is Way.LOOK:
        return _look_row(target)
    if target.protected:
        return Row.CHANGE_PROTECTED
    return Row.CHANGE_INSIDE if target.inside else Row.CHANGE_OUTSIDE


def _look_row(target: Target) -> Row:
    if target.kept:
        return Row.LOOK_KEPT
    if target.protected:
        return Row.LOOK_PROTECTED
    return Row.LOOK_INSIDE if target.inside else Row.LOOK_OUTSIDE


def _shell_row(target: Target, simple: bool) -> Row:
    if target.way is Way.LOOK:
        return _look_row(target)
    if target.protected:
        return Row.CHANGE_PROTECTED
    if not target.inside or target.fault:
        return Row.SHELL_OUTSIDE
    return Row.SHELL_CHANGE if simple else Row.SHELL_OTHER


# The steps.


def impossible(case: Case) -> PermissionDecision | None:
    """What can never run is denied with its fault."""
    return case.answer(DENY, case.subject.fault) if case.subject.fault else None


def denied(case: Case) -> PermissionDecision | None:
    """A deny rule stands above everything."""
    match, rule = strongest(case.subject, case.context, DENY)
    return case.answer(DENY, f"the rule {rule.text} denies it", rule) if rule and match is Match.YES else None


def explored(case: Case) -> PermissionDecision:
    """EXPLORE's own verdict, which ends there: no rule and no answer lets it change anything."""
    match, rule = strongest(case.subject, case.context, DENY)
    if rule and match is Match.PERHAPS:
        return case.answer(
            DENY, f"explore is read-only, and the rule {rule.text} may deny a part of it that cannot be told", rule
        )
    behavior, row = case.strictest(rows_of(case.subject))
    if behavior is DENY:
        return case.answer(DENY, f"explore is read-only: {_told(case.subject, row)}")
    return case.answer(behavior, _told(case.subject, row))


def asked(case: Case) -> PermissionDecision | None:
    """An ask rule, or a part that cannot be read while it may hold what a rule denies."""
    match, rule = strongest(case.subject, case.context, ASK)
    if rule and match is Match.YES:
        return case.answer(ASK, f"the rule {rule.text} asks", rule)
    hidden = [found for found in (strongest(case.subject, case.context, DENY), (match, rule)) if found[0] is Match.PERHAPS]
    if not hidden or not hidden[0][1]:
        return None
    return case.answer(ASK, f"the rule {hidden[0][1].text} may concern a part of it that cannot be told", hidden[0][1])


def guarded(case: Case) -> PermissionDecision | None:
    """Protected places are asked about one by one; no allow rule covers them."""
    rows = [row for row in rows_of(case.subject) if row in PROTECTED]
    if not rows:
        return None
    behavior, row = case.strictest(iter(rows))
    return case.answer(behavior, _told(case.subject, row))


def allowed(case: Case) -> PermissionDecision | None:
    """Every part is allowed, by a rule or by the mode."""
    rule = allowing_tool(case.subject, case.context)
    if rule and not (case.subject.line and case.subject.line.fault):
        return case.answer(ALLOW, f"the rule {rule.text} allows it", rule)
    match case.subject.kind:
        case Kind.FILE:
            covered = [_target_covered(case, target, _file_row(target)) for target in case.subject.targets]
        case Kind.SHELL:
            covered = _commands_covered(case)
        case _:
            return None
    rules = [found for found in covered if isinstance(found, PermissionRule)]
    if not rules or not all(covered):
        return None
    return case.answer(ALLOW, f"the rule {rules[0].text} allows it", rules[0])


def settled(case: Case) -> PermissionDecision:
    """The mode's fallback; a question carries what *always* would grant, where that would have allowed this very call."""
    behavior, row = case.strictest(rows_of(case.subject))
    decision = case.answer(behavior, _told(case.subject, row))
    if behavior is not ASK:
        return decision
    rules = suggested_rules(case.subject, case.context)
    granted = replace(case, context=case.context.model_copy(update={"rules": rules}))
    return decision.model_copy(update={"suggested_rules": rules}) if allowed(granted) else decision


Covered = PermissionRule | bool


def _commands_covered(case: Case) -> list[Covered]:
    line = case.subject.line
    if line is None or line.fault:
        return []
    return [_command_covered(case, command) for command in line.commands]


def _command_covered(case: Case, command: Command) -> Covered:
    if rule := allowing_command(command, case.subject, case.context):
        return rule
    if command.words and not (command.read_only or command.simple_change):
        return False
    covered = [_target_covered(case, target, _shell_row(target, command.simple_change)) for target in command.targets]
    rules = [found for found in covered if isinstance(found, PermissionRule)]
    return all(covered) and (rules[0] if rules else True)


def _target_covered(case: Case, target: Target, row: Row) -> Covered:
    return allowing_target(target, case.subject, case.context) or case.passes(row)


def _told(subject: Subject, row: Row) -> str:
    """The row in words, with the place that is meant."""
    target = next((target for target in subject.targets if target.protected), None) if row in PROTECTED else None
    if target:
        return f"{row.value}: {target.path} ({target.why})" if target.why else f"{row.value}: {target.path}"
    if row is Row.SHELL_OUTSIDE and (blind := next((target for target in subject.targets if target.fault), None)):
        return f"what the command changes is not known: {blind.path} ({blind.fault})"
    unproven = subject.line.unproven if subject.line and row is Row.SHELL_OTHER else None
    return f"{row.value}: {unproven}" if unproven else row.value


# The modes.


def _column(place: int) -> Mapping[Row, PermissionBehavior]:
    return {row: outcome[place] for row, outcome in OUTCOMES.items()}


class Default:
    """Asks before anything that is looked at or changed."""

    mode = PermissionMode.DEFAULT
    steps: tuple[Step, ...] = (impossible, denied, asked, guarded, allowed, settled)
    outcomes: Mapping[Row, PermissionBehavior] = _column(0)

    def decide(self, subject: Subject, context: PermissionContext) -> PermissionDecision:
        """The first step that answers."""
        case = Case(subject, context, self.outcomes, self.mode)
        decision = next(filter(None, (step(case) for step in self.steps)), None)
        return decision or case.answer(DENY, "no step of the mode has decided")


class AcceptEdits(Default):
    """Looks and changes inside without asking."""

    mode = PermissionMode.ACCEPT_EDITS
    outcomes = _column(1)


class Explore(Default):
    """Changes nothing, whatever the rules say."""

    mode = PermissionMode.EXPLORE
    steps = (impossible, denied, explored)
    outcomes = _column(2)


class Bypass(Default):
    """Asks only for protected places and changes outside."""

    mode = PermissionMode.BYPASS
    outcomes = _column(3)


class DontAsk(Default):
    """There is nobody to ask, so each ask is a denial."""

    mode = PermissionMode.DONT_ASK

    def decide(self, subject: Subject, context: PermissionContext) -> PermissionDecision:
        """As in `default`, with each ask denied."""
        decision = super().decide(subject, context)
        if decision.behavior is not ASK:
            return decision
        return decision.model_copy(
            update={"behavior": DENY, "reason": f"nobody is asked in this mode, and {decision.reason}", "suggested_rules": []}
        )


MODES: dict[PermissionMode, Default] = {kind.mode: kind() for kind in (Default, AcceptEdits, Explore, Bypass, DontAsk)}


class PermissionEngine:
    """Decides calls by the rules and the mode of a context; the context stays the caller's."""

    def __init__(self, context: PermissionContext) -> None:
        self.context = context

    def decide(self, subject: Subject, mode: PermissionMode | None = None) -> PermissionDecision:
        """May this call run, under the rules of now."""
        return MODES[mode or self.context.mode].decide(subject, self.context)

    def add_rule(self, rule: PermissionRule) -> None:
        """Take a rule in; it counts from the next decision on."""
        if rule not in self.context.rules:
            self.context.rules.append(rule)
