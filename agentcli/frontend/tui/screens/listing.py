"""The rows of a list to pick from, drawn on the line API: only what is on the screen is made, however many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agentcli.frontend.tui.transcript.ink import Ink, Row, clipped, row_width
from agentcli.view.clean import clean

MARGIN = "   "
LONGEST = 400
"""Characters of a foreign text that are looked at for one row."""


@dataclass(slots=True, frozen=True)
class Entry:
    """What can be picked. Its texts are foreign: they are cleaned where they are drawn."""

    key: str
    title: str
    right: str = ""
    """What stands at the right edge."""
    under: str = ""
    """A second row, where the window has room for two."""
    mark: str = ""
    rank: int = 0
    """Lower ones stand before higher ones, whatever order they come in."""
    dim: bool = False
    hidden: str = ""
    """What it is one of, where it is shown only on request: `empty session`."""
    refused: str = ""
    """Why it cannot be picked; it is said in place of it."""

    @property
    def words(self) -> str:
        """What the filter looks through."""
        return f"{self.title}\n{self.under}\n{self.right}".casefold()


def one_line(text: str) -> str:
    """A foreign text as the beginning of one clean line."""
    return clean(" ".join(text[:LONGEST].split()), newlines=False, exact=True)


class Listing(ScrollView, can_focus=False):
    """Entries of one or two rows each, one of them chosen."""

    DEFAULT_CSS = """
    Listing {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
    }
    """

    def __init__(self, ink: Ink, take: Callable[[], None], **more: str) -> None:
        super().__init__(**more)  # pyright: ignore[reportArgumentType]
        self.ink, self._take = ink, take
        self.entries: Sequence[Entry] = ()
        self.at = 0
        self.tall = False
        """Two rows an entry."""
        self._marked = False
        self._nothing = ""

    @property
    def step(self) -> int:
        """Rows of an entry."""
        return 2 if self.tall else 1

    @property
    def chosen(self) -> Entry | None:
        """The entry that is chosen, where there is any."""
        return self.entries[self.at] if self.at < len(self.entries) else None

    def show(self, entries: Sequence[Entry], at: int, *, tall: bool, nothing: str) -> None:
        """Other entries, another one chosen, or another height; `nothing` is said where there is none."""
        self.entries, self.tall, self._nothing = entries, tall, nothing
        self._marked = any(entry.mark for entry in entries)
        self.at = max(0, min(at, len(entries) - 1))
        # So much more that the last entry can be scrolled to without the half of another one at the top.
        self.virtual_size = Size(self.size.width, len(entries) * self.step + self.size.height % self.step)
        self._into_sight()
        self.refresh()

    def move(self, by: int) -> None:
        """So many entries up or down."""
        self.show(self.entries, self.at + by, tall=self.tall, nothing=self._nothing)

    @property
    def page(self) -> int:
        """Entries that a page has."""
        return max(1, self.size.height // self.step - 1)

    def _into_sight(self) -> None:
        top, bottom = self.at * self.step, (self.at + 1) * self.step
        if top < self.scroll_y:
            self.scroll_to(y=top, animate=False, force=True)
        elif bottom > self.scroll_y + self.size.height > 0:
            self.scroll_to(y=-(-(bottom - self.size.height) // self.step) * self.step, animate=False, force=True)

    def on_resize(self) -> None:
        """What is chosen stays in sight."""
        self.move(0)

    async def on_click(self, event: events.Click) -> None:
        """The first click chooses, one on what is chosen takes it."""
        event.stop()
        place = (int(self.scroll_y) + event.y) // self.step
        if event.button != 1 or place >= len(self.entries):
            return
        if place == self.at:
            self._take()
        else:
            self.move(place - self.at)

    # -- rows ----------------------------------------------------------------------------------

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width, ground = self.size.width, self.rich_style
        place, part = divmod(int(self.scroll_y) + y, self.step)
        if place < len(self.entries):
            entry, here = self.entries[place], place == self.at
            row = self._under(entry, here, width) if part else self._head(entry, here, width)
        elif not self.entries and y == 0:
            row = [Segment(MARGIN), Segment(clipped(self._nothing, max(4, width - 4)), self.ink.muted)]
        else:
            return Strip.blank(width, ground)
        return Strip(Segment.apply_style(row, ground)).adjust_cell_length(width, ground)

    def _head(self, entry: Entry, here: bool, width: int) -> Row:
        ink = self.ink
        row: Row = [Segment(" › ", ink.user) if here else Segment(MARGIN)]
        if self._marked:
            row.append(Segment((entry.mark or " ") + " ", ink.ask))
        right = clipped(one_line(entry.right), max(0, width // 2))
        room = width - row_width(row) - (row_width([Segment(right)]) + 2 if right else 0) - 1
        title = clipped(one_line(entry.title), max(4, room))
        row.append(Segment(title, self._style(entry, here)))
        gap = width - row_width(row) - row_width([Segment(right)]) - 1
        return [*row, Segment(" " * gap), Segment(right, ink.muted)] if right and gap > 1 else row

    def _under(self, entry: Entry, here: bool, width: int) -> Row:
        indent = MARGIN + ("  " if self._marked else "")
        words = clipped(one_line(entry.under), max(4, width - len(indent) - 1))
        return [Segment(indent), Segment(words, self.ink.base if here else self.ink.muted)]

    def _style(self, entry: Entry, here: bool) -> Style:
        if here:
            return self.ink.bold
        return self.ink.muted if entry.dim else self.ink.base
