"""A tool call as one compact row: mark, name, target, figures; its live output, and its details when opened."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from agentcli.frontend.tui.transcript.blocks import Block, Gap, Sight
from agentcli.frontend.tui.transcript.diff import diff_rows
from agentcli.frontend.tui.transcript.ink import Row, clipped, marked, plain_rows, spread, wrap
from agentcli.ledger.block import ToolResultState
from agentcli.view.clean import clean
from agentcli.view.summary import call_arguments, call_target, effects_unknown, plural, result_summary, spell_time

RUNNING_MARKS = "◐◓◑◒"
NAME_WIDTH = 7
ROOMY = 50
READ_AHEAD = 2000
LIVE_ROWS = 5
LIVE_KEPT = 4000
SHOWN_HEAD, SHOWN_TAIL = 60, 20
ARGUMENT_ROWS = 40


@dataclass(eq=False)
class ToolBlock(Block):
    """One call from the model's first word about it to its result."""

    gap: ClassVar[Gap] = Gap.WORK
    name: str
    arguments: list[str] = field(default_factory=list[str])
    result: list[str] = field(default_factory=list[str])
    progress: str = ""
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    state: ToolResultState | None = None
    """None until a result has begun."""
    waiting: str = ""
    """What it waits for: `asked`, `elsewhere`."""
    began: float | None = None
    seconds: float | None = None
    _target: str | None = None

    @property
    def runs(self) -> bool:
        """Whether its mark changes."""
        return self.state is ToolResultState.RUNNING and not self.waiting

    def replace(self, name: str, arguments: str) -> None:
        """What was confirmed instead of what the model wrote."""
        self.name, self.arguments, self._target = name, [arguments], None

    def show_progress(self, text: str) -> None:
        """Keep the last of its live output."""
        self.progress = (self.progress + text)[-LIVE_KEPT:]

    def rows(self, sight: Sight) -> list[Row]:
        rows = [self._head(sight)]
        if self.is_open(sight):
            return rows + self._details(sight)
        if self.runs:
            return rows + self._live(sight)
        return rows + self._fault(sight)

    # -- the row -------------------------------------------------------------------------------

    def _head(self, sight: Sight) -> Row:
        ink, width = sight.ink, sight.text_width
        mark, style = self._mark(sight)
        name = clean(self.name, newlines=False, exact=True)
        figures = self._figures(sight)
        right: Row = [Segment(figures, ink.muted)] if figures and width >= 30 else []
        lead = clipped(name, max(8, width // 2)).ljust(NAME_WIDTH) + " "
        room = width - len(lead) - (len(figures) + 2 if right else 0)
        if room < 12 and right:  # the right column gives way to the target
            right, room = [], width - len(lead)
        target = clipped(self._aim(sight.root), room)
        left: Row = [Segment(lead, ink.bold), Segment(target, ink.base)]
        return [Segment(f"{mark} ", style), *spread(left, right, width)]

    def _aim(self, root: str) -> str:
        """The target; while the arguments still come only their beginning is read, so that no frame reads all."""
        if self._target is not None:
            return self._target
        if self.state is not None or self.waiting:
            self._target = call_target(self.name, "".join(self.arguments), root)
            return self._target
        head, size = list[str](), 0
        for piece in self.arguments:
            head.append(piece)
            size += len(piece)
            if size > READ_AHEAD:
                break
        return call_target(self.name, "".join(head), root)

    def _mark(self, sight: Sight) -> tuple[str, Style]:
        ink = sight.ink
        if self.waiting:
            return "?", ink.ask
        match self.state:
            case None:
                return "◌", ink.muted
            case ToolResultState.RUNNING:
                return RUNNING_MARKS[sight.beat % 4], ink.tool
            case ToolResultState.SUCCESS:
                return "●", ink.tool
            case _ if effects_unknown(self.state, self.text):
                return "–", ink.ask
            case ToolResultState.INTERRUPTED:
                return "–", ink.muted
            case _:
                return "✕", ink.deny

    def _figures(self, sight: Sight) -> str:
        if self.waiting:
            return {"asked": "asks", "elsewhere": "runs elsewhere"}.get(self.waiting, self.waiting)
        if self.state is None:
            return ""
        if self.state is ToolResultState.RUNNING:
            return f"{int(sight.now - self.began)} s" if self.began is not None and sight.now - self.began >= 1 else ""
        parts = [result_summary(self.state, self.text, self.metadata), spell_time(self.seconds)]
        return "  ".join(part for part in parts if part)

    @property
    def text(self) -> str:
        """The result so far."""
        return "".join(self.result)

    # -- below the row -------------------------------------------------------------------------

    def _live(self, sight: Sight) -> list[Row]:
        live = clean(self.progress or self.text[-LIVE_KEPT:]).rstrip()
        if not live:
            return []
        return self._below(live.split("\n")[-LIVE_ROWS:], sight)

    def _fault(self, sight: Sight) -> list[Row]:
        """The first words of a failure; a success keeps to its row."""
        if self.state in (None, ToolResultState.RUNNING, ToolResultState.SUCCESS):
            return []
        lines = [line for line in clean(self.text[:2000]).split("\n") if line.strip()][:2]
        return self._below(lines, sight)

    def _below(self, lines: list[str], sight: Sight) -> list[Row]:
        """Lines under the target, one row each."""
        indent = NAME_WIDTH + 1 if sight.text_width >= ROOMY else 0
        shown = [[Segment(" " * indent + clipped(line, sight.text_width - indent), sight.ink.muted)] for line in lines]
        return marked(shown)

    def _details(self, sight: Sight) -> list[Row]:
        ink, width = sight.ink, sight.text_width
        diff = self.metadata.get("diff")
        if isinstance(diff, str) and diff and self.state is ToolResultState.SUCCESS:
            return marked(diff_rows(diff, ink, width))
        rows = self._said(sight)
        text = clean(self.text or self.progress).rstrip()
        if not text:
            return rows
        lines = text.split("\n")
        left_out = len(lines) - SHOWN_HEAD - SHOWN_TAIL
        if left_out <= 1:
            return rows + marked(plain_rows(text, ink.muted, width))
        head = plain_rows("\n".join(lines[:SHOWN_HEAD]), ink.muted, width)
        tail = plain_rows("\n".join(lines[-SHOWN_TAIL:]), ink.muted, width)
        return rows + marked([*head, [Segment(f"… {plural(left_out, 'line')} not shown", ink.ask)], *tail])

    def _said(self, sight: Sight) -> list[Row]:
        """The arguments, where the row does not hold all of them."""
        ink, width = sight.ink, sight.text_width
        text = "".join(self.arguments)
        arguments = call_arguments(text)
        rows: list[Row] = []
        if not arguments and text.strip() not in ("", "{}"):
            rows = plain_rows(clean(text, exact=True), ink.base, width)
        for key, value in arguments.items():
            words = value if isinstance(value, str) else repr(value)
            shown = Text(f"{clean(key, newlines=False, exact=True)}  ", ink.muted)
            shown.append(clean(words, exact=True), ink.base)
            rows += wrap(shown, width)
        if len(rows) > ARGUMENT_ROWS:
            rows = [*rows[:ARGUMENT_ROWS], [Segment("… the rest of the arguments is not shown", ink.ask)]]
        return marked(rows)
