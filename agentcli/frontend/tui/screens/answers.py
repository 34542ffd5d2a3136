"""The questions of one confirmation, and the answers to them as they are given. Knows no widget."""

from __future__ import annotations

from dataclasses import dataclass, field

from agentcli.frontend.tui.bridge import Question, Verdict
from agentcli.ledger.event import ConfirmResult
from agentcli.ledger.rule import PermissionRule

SCOPES = ("session", "project", "everywhere")
SCOPE_WORDS = {"session": "in this session", "project": "in this project", "everywhere": "everywhere"}
EDITS = ("Write", "Edit", "MultiEdit")


@dataclass(slots=True)
class Answers:
    """Which question is looked at, and which wait no more. An answer leaves at once; none is kept here."""

    questions: list[Question]
    at: int = 0
    scope: str = "session"
    over: set[str] = field(default_factory=set[str])
    """Calls that were answered, or that a rule has settled."""
    last: str = ""
    """The name of the call that was answered last."""

    def __post_init__(self) -> None:
        self.preset()

    @property
    def question(self) -> Question:
        """The one that is looked at."""
        return self.questions[self.at]

    @property
    def open(self) -> list[Question]:
        """Those that wait."""
        return [question for question in self.questions if question.call.id not in self.over]

    @property
    def rules(self) -> list[PermissionRule]:
        """The rules that are offered for it."""
        return self.question.call.suggested_rules

    @property
    def edits(self) -> bool:
        """Whether it changes a file, so that edits can be accepted from now on."""
        return self.question.call.name in EDITS

    def renew(self, waiting: list[Question]) -> None:
        """What waits now, with the previews of now; every other call is over."""
        fresh = {question.call.id: question for question in waiting}
        known = {question.call.id for question in self.questions}
        self.questions = [fresh.get(question.call.id, question) for question in self.questions]
        self.questions += [question for question in waiting if question.call.id not in known]
        self.over = {question.call.id for question in self.questions if question.call.id not in fresh}
        if self.question.call.id in self.over:
            self._advance()

    def preset(self) -> None:
        """The scope that is offered first: the project for looking, the session for all else."""
        looks = bool(self.rules) and all(rule.tool_name == "Read" for rule in self.rules)
        self.scope = "project" if looks else "session"

    def next_scope(self) -> None:
        """The scope after this one."""
        self.scope = SCOPES[(SCOPES.index(self.scope) + 1) % len(SCOPES)]

    def move(self, step: int) -> bool:
        """Look at the next question that waits, up or down; whether there is one."""
        order = range(self.at + 1, len(self.questions)) if step > 0 else range(self.at - 1, -1, -1)
        return self._look_at(next((at for at in order if self.questions[at].call.id not in self.over), self.at))

    def allow(self, *, always: bool = False, accept_edits: bool = False) -> Verdict:
        """Allow this call, once or with its rule."""
        rules = [rule.model_copy(update={"source": self.scope}) for rule in self.rules] if always else None
        return Verdict(self._result(confirmed=True, rules=rules), accept_edits)

    def deny(self, reason: str | None = None) -> Verdict:
        """Deny this call; the reason goes to the model."""
        return Verdict(self._result(confirmed=False, reason=reason or None))

    def allow_edited(self, text: str) -> Verdict:
        """Allow this call with other arguments; they are judged anew, and the preview was of the old ones."""
        call = self.question.call.model_copy(update={"input": text})
        self._close()
        return Verdict(ConfirmResult(confirmed=True, tool_call=call))

    def _result(self, *, confirmed: bool, rules: list[PermissionRule] | None = None, reason: str | None = None) -> ConfirmResult:
        question = self.question
        digest = question.preview.digest if question.preview is not None else None
        self._close()
        return ConfirmResult(confirmed=confirmed, tool_call=question.call, rules=rules, digest=digest, reason=reason)

    def _close(self) -> None:
        self.last = self.question.call.name
        self.over.add(self.question.call.id)
        self._advance()

    def _advance(self) -> None:
        """On to the next question that waits."""
        order = [*range(self.at + 1, len(self.questions)), *range(self.at)]
        self._look_at(next((at for at in order if self.questions[at].call.id not in self.over), self.at))

    def _look_at(self, at: int) -> bool:
        moved, self.at = at != self.at, at
        if moved:
            self.preset()
        return moved
