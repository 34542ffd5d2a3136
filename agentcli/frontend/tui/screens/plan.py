"""How the rows of a confirmation share the screen, and what of a body was seen. Knows no widget.

The title with its target, the answers and a part of the body come first; where not even these have room,
nothing can be answered.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rich.segment import Segment

from agentcli.frontend.tui.screens import sheet
from agentcli.frontend.tui.screens.answers import Answers
from agentcli.frontend.tui.transcript.ink import Ink, Row, plain_rows, row_width

SHORT = 20
"""Screens lower than this are taken whole."""
MANY = 100
"""Rows of a body that may be left unseen by who allows, unless it is a command: of that nothing may."""
TRAIL = 3
"""Blanks behind the last key of a row."""
TOO_SMALL = "window too small to answer"


@dataclass(slots=True)
class Seen:
    """Which rows of one body were on the screen, as it is wrapped now."""

    rows: set[int] = field(default_factory=set[int])
    total: int = -1
    width: int = 0
    ended: bool = False
    """Its end was on the screen once."""

    def note(self, width: int, total: int, first: int, count: int) -> bool:
        """These rows are on the screen; whether the end is among them for the first time."""
        if (self.width, self.total) != (width, total):
            self.rows.clear()
            self.width, self.total = width, total
        self.rows.update(range(max(0, first), min(first + count, total)))
        new = not self.ended and first + count >= total
        self.ended = self.ended or new
        return new

    @property
    def unseen(self) -> int:
        """Rows that were not."""
        return max(0, self.total - len(self.rows))


@dataclass(slots=True, frozen=True)
class View:
    """What is to be shown, and how much room there is."""

    answers: Answers
    ink: Ink
    width: int
    height: int
    field: int
    """Rows of a field that is open."""
    root: str
    step: str
    full: bool
    seen: Seen
    results: sheet.ResultOf
    sending: bool
    hint: str = ""


@dataclass(slots=True)
class Plan:
    """The rows of each part; the body scrolls within `shown` rows."""

    title: list[Row] = field(default_factory=list[Row])
    calls: list[Row] = field(default_factory=list[Row])
    body: list[Row] = field(default_factory=list[Row])
    warnings: list[Row] = field(default_factory=list[Row])
    rule: list[Row] = field(default_factory=list[Row])
    answers: list[Row] = field(default_factory=list[Row])
    shown: int = 0
    apart: bool = True
    """Warnings stand apart from the body, and do not scroll with it."""
    cramped: bool = False

    @property
    def scrolls(self) -> bool:
        """Whether the body has more rows than are shown."""
        return len(self.body) > self.shown

    @property
    def fixed(self) -> int:
        """Rows of everything but the body."""
        return sum(len(part) for part in (self.title, self.calls, self.warnings, self.rule, self.answers))


@dataclass(slots=True, frozen=True)
class Level:
    """How much is given up for the sake of the rest."""

    calls: int
    least: int
    """Rows that the body has to have."""
    apart: bool = False
    brief: bool = False


LEVELS = (Level(5, 4, apart=True), Level(3, 3), Level(2, 2, brief=True), Level(0, 2, brief=True))


def plan(view: View, body: list[Row]) -> Plan:
    """The first arrangement that has room for what must be seen."""
    for level in LEVELS:
        made = _arranged(view, body, level)
        least = 0 if view.step else min(level.least, len(made.body))
        legible = all(row_width(row) - TRAIL <= view.width for row in made.answers)
        if legible and view.height - view.field - made.fixed >= least:
            return made
    return _cramped(view)


def _arranged(view: View, body: list[Row], level: Level) -> Plan:
    answers, ink, width = view.answers, view.ink, view.width
    title, least = sheet.title_rows(answers.question, ink, width, view.root)
    made = Plan(title=title, body=body, apart=level.apart)
    warnings = sheet.warning_rows(answers.question, ink, width)
    if level.apart:
        made.warnings = warnings
    else:
        made.title, made.body = title[:least], [*title[least:], *body, *warnings]
    made.calls = sheet.call_rows(answers, view.results, ink, width, view.root, min(level.calls, max(2, view.height // 4)))
    made.rule = sheet.rule_rows(answers, ink, width) if view.step == "rule" else []
    _share(view, made, level, scrolls=False)
    if made.scrolls:
        _share(view, made, level, scrolls=True)
    elif len(made.body) < made.shown:
        made.body = [[], *made.body]
    made.shown = min(made.shown, len(made.body))
    return made


def _share(view: View, made: Plan, level: Level, *, scrolls: bool) -> None:
    """The answers, and what is left for the body; the row below a body that scrolls tells of it."""
    keys = sheet.Keys(
        step=view.step,
        full=view.full,
        scrolls=scrolls,
        brief=level.brief,
        sending=view.sending,
        counts=not scrolls or allows(view, apart=made.apart),
        unseen=view.seen.unseen if scrolls else 0,
    )
    made.answers = sheet.answer_rows(view.answers, keys, view.ink, view.width)
    if view.hint:
        made.answers[0] = sheet.hint_row(view.hint, view.ink, view.width)
    left = view.height - view.field - made.fixed
    roomy = not view.full and view.height >= SHORT and left > 8
    # What led to the question stays in sight where there is room for both.
    made.shown = max(0, (max(8, left - view.height // 3) if roomy else left) - scrolls)


def allows(view: View, *, apart: bool) -> bool:
    """Whether enough of it was seen for it to be allowed."""
    seen, preview = view.seen, view.answers.question.preview
    if seen.ended:
        return True
    whole = preview is None or preview.kind == "command" or not apart
    return not whole and seen.total >= 0 and seen.unseen <= MANY


def _cramped(view: View) -> Plan:
    words = plain_rows(view.hint or TOO_SMALL, view.ink.ask, max(1, view.width))
    title, _ = sheet.title_rows(view.answers.question, view.ink, view.width, view.root)
    rows = words[: view.height]
    return Plan(title=title[: max(0, view.height - len(rows))], answers=rows, cramped=True)


def more_row(view: View, made: Plan, first: int) -> Row:
    """What lies below, and above, of what is shown of the body."""
    below = max(0, len(made.body) - first - made.shown)
    keys = " · f full" if not view.full and view.height >= SHORT else ""
    if below:
        words = f"▾ {sheet.plural(below, 'more line')}{keys} · end"
    else:
        words = f"▴ the end; {sheet.plural(max(0, first), 'line')} above · home"
    style = view.ink.ask if below else view.ink.muted
    return [Segment(sheet.MARGIN), Segment(sheet.clipped(words, max(1, view.width - len(sheet.MARGIN))), style)]
