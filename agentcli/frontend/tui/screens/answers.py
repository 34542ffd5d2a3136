"""The answers to the questions of one pause, while they are given. Knows no widget."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentcli.frontend.tui.bridge import Question, Verdict
from agentcli.ledger.event import ConfirmResult
from agentcli.ledger.rule import PermissionRule

SCOPES = ("session", "project", "everywhere")
SCOPE_WORDS = {"session": "in this session", "project": "in this project", "everywhere": "everywhere"}
EDITS = ("Write", "Edit")


@dataclass(slots=True)
class Answers:
    """Which question is looked at, and what was answered so far."""

    questions: list[Question]
    at: int = 0
    scope: str = "session"
    accept_edits: bool = False
    given: dict[str, ConfirmResult] = field(default_factory=dict[str, ConfirmResult])

    def __post_init__(self) -> None:
        self.preset()

    @property
    def question(self) -> Question:
        """The one that is looked at."""
        return self.questions[self.at]

    @property
    def rules(self) -> list[PermissionRule]:
        """The rules that are offered for it."""
        return self.question.call.suggested_rules

    @property
    def edits(self) -> bool:
        """Whether it changes a file, so that edits can be accepted from now on."""
        return self.question.call.name in EDITS

    @property
    def done(self) -> bool:
        """Whether all are answered."""
        return len(self.given) == len(self.questions)

    @property
    def verdict(self) -> Verdict:
        """All answers, in the order of the questions."""
        return Verdict([self.given[question.call.id] for question in self.questions], self.accept_edits)

    def preset(self) -> None:
        """The scope that is offered first: the project for looking, the session for all else."""
        looks = bool(self.rules) and all(rule.tool_name == "Read" for rule in self.rules)
        self.scope = "project" if looks else "session"

    def next_scope(self) -> None:
        """The scope after this one."""
        self.scope = SCOPES[(SCOPES.index(self.scope) + 1) % len(SCOPES)]

    def move(self, step: int) -> bool:
        """Look at another question; whether it is another one."""
        at = min(max(self.at + step, 0), len(self.questions) - 1)
        moved = at != self.at
        self.at = at
        self.preset()
        return moved

    def allow(self, *, always: bool = False) -> None:
        """Allow this call, once or with its rule."""
        rules = [rule.model_copy(update={"source": self.scope}) for rule in self.rules] if always else None
        self._give(confirmed=True, rules=rules)

    def deny(self, reason: str | None = None) -> None:
        """Deny this call; the reason goes to the model."""
        self._give(confirmed=False, reason=reason or None)

    def allow_edited(self, text: str) -> None:
        """Allow this call with other arguments; they are judged anew, and the preview was of the old ones."""
        call = self.question.call.model_copy(update={"input": text})
        self.given[call.id] = ConfirmResult(confirmed=True, tool_call=call)
        self._advance()

    def _give(self, *, confirmed: bool, rules: list[PermissionRule] | None = None, reason: str | None = None) -> None:
        question = self.question
        digest = question.preview.digest if question.preview is not None else None
        self.given[question.call.id] = ConfirmResult(
            confirmed=confirmed, tool_call=question.call, rules=rules, digest=digest, reason=reason
        )
        self._advance()

    def _advance(self) -> None:
        """On to the next question that has no answer."""
        order = [*range(self.at + 1, len(self.questions)), *range(self.at)]
        self.at = next((at for at in order if self.questions[at].call.id not in self.given), self.at)
        self.preset()
