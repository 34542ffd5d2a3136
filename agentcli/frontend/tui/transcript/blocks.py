"""What the transcript is made of: a block knows its words and gives its rows for a width. Knows no widget."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import ClassVar

from rich.segment import Segment
from rich.text import Text

from agentcli.frontend.tui.transcript.chunks import Chunk
from agentcli.frontend.tui.transcript.ink import GUTTER, WIDEST, Ink, Row, clipped, marked, plain_rows, spread, wrap
from agentcli.frontend.tui.transcript.markdown import markdown_rows
from agentcli.ledger.event import ErrorInfo
from agentcli.view.clean import clean
from agentcli.view.summary import error_sentences, plural, spell_time

FOLDED_USER = 12
FOLDED_THINKING = 2000


class Gap(Enum):
    """Whether a blank row stands before a block."""

    ALWAYS = auto()
    WORK = auto()
    """None after another row of thinking or of a call."""
    NOTICE = auto()
    """None after another notice."""
    NEVER = auto()


@dataclass(slots=True, frozen=True)
class Sight:
    """How blocks are looked at: the styles, the width of the text, and whether details are open."""

    ink: Ink
    width: int
    details: bool
    root: str = ""
    beat: int = 0
    """Counts quarter seconds while something runs."""
    now: float = 0.0

    @property
    def text_width(self) -> int:
        """Columns for text behind the gutter."""
        return max(4, min(WIDEST, self.width - GUTTER - 1))


class Block:
    """A part of the transcript; `opened` is set where the user opened or closed this one alone."""

    gap: ClassVar[Gap] = Gap.ALWAYS
    opened: bool | None = None

    def rows(self, sight: Sight) -> list[Row]:
        """The rows, gutter included."""
        raise NotImplementedError

    def gap_before(self) -> Gap:
        """Whether a blank row stands before it."""
        return self.gap

    def is_open(self, sight: Sight) -> bool:
        """Whether its details are shown."""
        return sight.details if self.opened is None else self.opened


@dataclass(eq=False)
class UserBlock(Block):
    """What the user said; `how` tells how it came (steered, queued)."""

    text: str
    how: str = ""

    def rows(self, sight: Sight) -> list[Row]:
        lines = clean(self.text).rstrip("\n").split("\n")
        folded = len(lines) - FOLDED_USER if len(lines) > FOLDED_USER + 3 and not self.is_open(sight) else 0
        text = Text("\n".join(lines[: len(lines) - folded]), sight.ink.bold)
        if folded:
            text.append(f"\n… {plural(folded, 'more line')}", sight.ink.muted)
        if self.how:
            text.append(f"  ({self.how})", sight.ink.muted)
        mark = Segment("▌ ", sight.ink.user)
        return [[mark, *row] for row in wrap(text, sight.text_width)]


@dataclass(eq=False)
class TextPart(Block):
    """A piece of the assistant's Markdown."""

    chunk: Chunk

    def gap_before(self) -> Gap:
        return Gap.NEVER if self.chunk.joined else Gap.ALWAYS

    def rows(self, sight: Sight) -> list[Row]:
        return marked(markdown_rows(self.chunk.source, sight.ink, sight.text_width))


@dataclass(eq=False)
class ThinkingBlock(Block):
    """What the model thought, folded to a row."""

    gap: ClassVar[Gap] = Gap.WORK
    pieces: list[str] = field(default_factory=list[str])
    seconds: float | None = None
    over: bool = False

    def rows(self, sight: Sight) -> list[Row]:
        if self.over and not self.pieces and (self.seconds or 0) < 1:
            return []  # it carries what only its provider can read
        ink, opened = sight.ink, self.is_open(sight)
        said = "Thinking …"
        if self.over:
            said = f"Thought for {spell_time(self.seconds)}" if self.seconds and self.seconds >= 1 else "Thought"
        rows = marked([[Segment(said, ink.muted)]], "▾" if opened else "▸", ink.muted)
        text = clean("".join(self.pieces)).strip() if opened else ""
        if text:
            if not self.over and len(text) > FOLDED_THINKING:  # each frame draws it anew
                text = "…" + text[-FOLDED_THINKING:]
            rows += marked(plain_rows(text, ink.thinking, sight.text_width))
        return rows


@dataclass(eq=False)
class NoticeBlock(Block):
    """A sentence of the program itself; foreign words may stand in it."""

    gap: ClassVar[Gap] = Gap.NOTICE
    text: str
    mark: str = "·"

    def rows(self, sight: Sight) -> list[Row]:
        return marked(plain_rows(clean(self.text).strip(), sight.ink.muted, sight.text_width), self.mark, sight.ink.muted)


@dataclass(eq=False)
class WelcomeBlock(Block):
    """The empty start: what this is connected to, and what to type."""

    lines: tuple[str, ...]

    def rows(self, sight: Sight) -> list[Row]:
        rows: list[Row] = []
        for at, line in enumerate(self.lines):
            rows += marked(plain_rows(clean(line), sight.ink.muted if at else sight.ink.base, sight.text_width))
        return rows


@dataclass(eq=False)
class ErrorBlock(Block):
    """What happened, what to do, and the provider's words below."""

    error: ErrorInfo

    def rows(self, sight: Sight) -> list[Row]:
        ink = sight.ink
        what, remedy = error_sentences(self.error)
        rows = marked(plain_rows(what, ink.deny, sight.text_width), "✕", ink.deny)
        rows += marked(plain_rows(remedy, ink.base, sight.text_width))
        words = clean(self.error.message).strip()
        if not words:
            return rows
        if self.is_open(sight) or ("\n" not in words and len(words) < 2 * sight.text_width):
            return rows + marked(plain_rows(words, ink.muted, sight.text_width))
        first = clipped(words.split("\n", 1)[0], sight.text_width - 10)
        return rows + marked(
            [spread([Segment(first, ink.muted)], [Segment("ctrl+o", ink.muted)], sight.text_width)], "▸", ink.muted
        )
