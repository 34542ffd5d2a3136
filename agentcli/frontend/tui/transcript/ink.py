"""The styles of the transcript by role, and the small arts of making rows. Knows no widget."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from agentcli.view.theme import ThemeData

GUTTER = 2
WIDEST = 100

Row: TypeAlias = list[Segment]

# Wrapping asks for a console; nothing is ever printed on this one.
CONSOLE = Console(width=WIDEST, color_system="truecolor", force_terminal=True, legacy_windows=False)


@dataclass(slots=True, frozen=True)
class Ink:
    """Rich styles by role; made once for each theme."""

    base: Style
    bold: Style
    muted: Style
    link: Style
    code: Style
    heading: Style
    user: Style
    thinking: Style
    tool: Style
    allow: Style
    ask: Style
    deny: Style
    explore: Style
    add: Style
    remove: Style
    hunk: Style
    string: Style
    number: Style
    keyword: Style
    sheet: Style
    """The ground of code."""
    paper: Style
    """The ground of all else."""


def ink_of(theme: ThemeData) -> Ink:
    """The styles of a theme."""
    colors, agent = theme.colors, theme.agent
    base = Style(color=colors["foreground"])
    return Ink(
        base=base,
        bold=base + Style(bold=True),
        muted=Style(color=colors["secondary"]),
        link=Style(color=colors["accent"], underline=True),
        code=Style(color=colors["accent"]),
        heading=Style(color=colors["primary"], bold=True),
        user=Style(color=agent["user"]),
        thinking=Style(color=agent["thinking"], italic=True),
        tool=Style(color=agent["tool"]),
        allow=Style(color=agent["allow"]),
        ask=Style(color=agent["ask"]),
        deny=Style(color=agent["deny"]),
        explore=Style(color=agent["explore"]),
        add=Style(color=agent["diff-add"]),
        remove=Style(color=agent["diff-remove"]),
        hunk=Style(color=agent["diff-hunk"]),
        string=Style(color=colors["success"]),
        number=Style(color=colors["warning"]),
        keyword=Style(color=agent["explore"]),
        sheet=Style(bgcolor=colors["surface"]),
        paper=Style(bgcolor=colors["background"]),
    )


def wrap(text: Text, width: int) -> list[Row]:
    """Rows of a text, broken at words, long words broken anywhere; an empty text is one empty row."""
    lines = text.wrap(CONSOLE, max(1, width), tab_size=4, overflow="fold")
    return [segments(line) for line in lines] or [[]]


def segments(line: Text) -> Row:
    """The segments of one line."""
    if not line.spans:  # rich gives such a line no style
        return [Segment(line.plain, line.style if isinstance(line.style, Style) else None)]
    return list(Segment.simplify(line.render(CONSOLE)))


def plain_rows(text: str, style: Style, width: int) -> list[Row]:
    """Rows of a text of one style."""
    return wrap(Text(text, style), width)


def text_of(row: Row) -> str:
    """The words of a row."""
    return "".join(segment.text for segment in row)


def row_width(row: Row) -> int:
    """Cells that a row takes."""
    return sum(cell_len(segment.text) for segment in row)


def indented(rows: Iterable[Row], by: str | Segment, first: str | Segment | None = None) -> list[Row]:
    """Rows behind an indent; the first one may have a mark in its place."""
    blank = by if isinstance(by, Segment) else Segment(by)
    head = blank if first is None else first if isinstance(first, Segment) else Segment(first)
    return [[head if at == 0 else blank, *row] for at, row in enumerate(rows)]


def marked(rows: Iterable[Row], mark: str = " ", style: Style | None = None) -> list[Row]:
    """Rows behind the gutter, with a mark in the gutter of the first."""
    return indented(rows, " " * GUTTER, Segment(mark.ljust(GUTTER), style))


def clipped(text: str, width: int) -> str:
    """A line no wider than so many cells; what is left out is told by an ellipsis."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(0, width - 1)).rstrip() + "…" if width > 0 else ""


def spread(left: Row, right: Row, width: int) -> Row:
    """Two parts of one row, the second at the right edge; it goes first where there is no room."""
    room = width - row_width(left) - row_width(right)
    if not right or room < 2:
        return left
    return [*left, Segment(" " * room), *right]
