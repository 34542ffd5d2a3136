"""The transcript: one scroll view on the line API. Finished blocks are frozen rows; only what changes is made anew."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.filter import ANSIToTruecolor
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.timer import Timer

from agentcli.frontend.tui.transcript.blocks import Block, Sight
from agentcli.frontend.tui.transcript.feed import Feed
from agentcli.frontend.tui.transcript.ink import GUTTER, Ink, Row, ink_of, text_of
from agentcli.frontend.tui.transcript.pages import AHEAD, Pages
from agentcli.view.theme import PLAIN

FRAME = 1 / 20
BEAT = 1 / 4
KEPT_LINES = 400
"""Strips that are kept; one is large (Textual gives each seven caches), so rows that nobody sees have none."""


class Transcript(ScrollView, can_focus=False):
    """Shows blocks; follows the end unless the user has scrolled up."""

    ALLOW_SELECT = True
    BINDINGS: ClassVar[list[BindingType]] = []  # the keys are the prompt's
    DEFAULT_CSS = """
    Transcript {
        height: 1fr;
        background: $background;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        padding: 0;
    }
    """

    class Moved(Message):
        """The end came into sight or went out of it."""

    def __init__(self, root: str = "", **more: str) -> None:
        super().__init__(**more)  # pyright: ignore[reportArgumentType]
        self.pages = Pages(Sight(ink_of(PLAIN), 80, details=False, root=root))
        self.feed = Feed(self)
        self.following = True
        self._frame: Timer | None = None
        self._beat: Timer | None = None
        self._second: Timer | None = None
        self._last_frame = 0.0
        self._ready = self._held = False
        self._changed: dict[int, Block] = {}
        self._added: list[Block] = []
        self._lines: dict[int, tuple[Row, Strip]] = {}
        self._ground = Style()

    # -- what is shown (the Page of the feed) ----------------------------------------------------

    def add(self, block: Block) -> None:
        """A block at the end, with the next frame."""
        self._added.append(block)
        self.ask_frame()

    def change(self, block: Block) -> None:
        """A block that looks different now, with the next frame."""
        self._changed[id(block)] = block
        self.ask_frame()

    def withdraw(self, block: Block) -> None:
        """A block that is withdrawn."""
        self._place_added()
        self._changed.pop(id(block), None)
        self.pages.remove(block, self.size.height)
        self._show()

    def ask_frame(self, *, now: bool = False) -> None:
        """Draw soon: at once where the last frame is long ago, or with `now`; else with the next one. Never waits."""
        if self._held or not self.is_attached or (self._frame is not None and not now):
            return
        if self._frame is not None:
            self._frame.stop()
        wait = 0.001 if now else max(0.001, self._last_frame + FRAME - time.monotonic())
        self._frame = self.set_timer(wait, self._draw)

    @contextmanager
    def holding(self) -> Generator[None]:
        """Nothing is drawn meanwhile; a history would show each of its pages."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
            self.ask_frame()

    def _draw(self) -> None:
        self._frame = None
        self.feed.flush()
        self._place_added()
        for block in self._changed.values():
            self.pages.change(block)
        self._changed.clear()
        if self._frame is not None:  # the flush has asked for the frame that this is
            self._frame.stop()
            self._frame = None
        self._show()
        self._keep_beat()
        self._last_frame = time.monotonic()

    def _place_added(self) -> None:
        added, self._added = self._added, []
        if not self._ready:
            self.pages.add_unseen(added)
        elif self.following and len(added) > 2 * AHEAD:
            self.pages.add_unseen(added)
            self.pages.forget(self.size.height)
        else:
            for block in added:
                self.pages.add(block)

    def _show(self) -> None:
        if self.following:
            self.pages.trim()
        self.virtual_size = Size(self.size.width, len(self.pages))
        if self.following:
            self.scroll_to(y=self.max_scroll_y, animate=False, force=True)
        self.refresh()

    # -- looking -------------------------------------------------------------------------------

    def wear(self, ink: Ink, ground: str) -> None:
        """Other colours."""
        self._ground = Style(bgcolor=ground)
        self._lines.clear()
        self._look(ink=ink)

    @property
    def details(self) -> bool:
        """Whether details are open."""
        return self.pages.sight.details

    def toggle_details(self) -> None:
        """Open or close thinking, calls and results, all of them."""
        for block in self.pages.blocks:
            block.opened = None
        self._look(details=not self.details)

    def _look(self, **changes: object) -> None:
        """Make the rows anew, the tail first; who reads further up keeps his place."""
        self.feed.flush()
        self._place_added()
        self._changed.clear()
        if self.is_attached:
            self.screen.clear_selection()
        anchor = None if self.following else self.pages.block_at(int(self.scroll_y))
        self.pages.look(self.size.height, **changes)
        if anchor is not None:
            self.pages.reach(anchor)
        self._show()
        if anchor is not None:
            self.scroll_to(y=self.pages.span(anchor)[0], animate=False, force=True)

    def on_resize(self, event: events.Resize) -> None:
        """Another width wraps anew."""
        if event.size.width != self.pages.sight.width or not self._ready:
            self._ready = True
            self._look(width=event.size.width)
        else:
            self._show()

    # -- moving --------------------------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        following = new_value >= self.max_scroll_y - 1
        if following != self.following:
            self.following = following
            self.post_message(self.Moved())
        if new_value < self.size.height and self.pages.first > 0:
            self.call_later(self._earlier)

    def _earlier(self) -> None:
        if self.following or self.scroll_y >= self.size.height:
            return
        added = self.pages.earlier(AHEAD)
        if added:
            self._lines.clear()
            self.screen.clear_selection()
            self.virtual_size = Size(self.size.width, len(self.pages))
            self.scroll_to(y=self.scroll_y + added, animate=False, force=True)
            self.refresh()

    def page(self, pages: int) -> None:
        """Move by pages, up (-1) or down (1)."""
        self.scroll_to(y=self.scroll_y + pages * max(1, self.size.height - 2), animate=False)

    def to_end(self) -> None:
        """Back to the end, and follow it."""
        self.scroll_to(y=self.max_scroll_y, animate=False)

    async def on_click(self, event: events.Click) -> None:
        """Open or close the block that was clicked, by its row."""
        if event.button != 1 or self.screen.get_selected_text():
            return
        y = int(self.scroll_y) + event.y
        block = self.pages.block_at(y)
        if block is None or event.x >= self.pages.sight.text_width + GUTTER or y > self.pages.span(block)[0] + 1:
            return
        block.opened = not block.is_open(self.pages.sight)
        self.pages.change(block)
        self._show()

    # -- the mark of what runs -------------------------------------------------------------------

    def _keep_beat(self) -> None:
        runs = bool(self.feed.running())
        if runs and self._beat is None:
            self._beat = self.set_interval(BEAT, self._tick)
        elif not runs and self._beat is not None:
            self._beat.stop()
            self._beat = None
        row = self.feed.counting
        if row is not None and self._second is None:
            self._second = self.set_timer(max(0.01, row.until - time.monotonic() - row.left + 1), self._count_down)
        elif row is None and self._second is not None:
            self._second.stop()
            self._second = None

    def _count_down(self) -> None:
        self._second = None
        row = self.feed.counting
        if row is None:
            return
        if row.count(time.monotonic()):
            self.change(row)  # the frame sets the next timer
        else:
            self._keep_beat()

    def _tick(self) -> None:
        sight = self.pages.sight
        self.pages.sight = Sight(sight.ink, sight.width, sight.details, sight.root, sight.beat + 1, time.monotonic())
        for block in self.feed.running():
            start, end = self.pages.span(block)
            if end <= start or self.pages.change(block) != 0:
                self._show()
                continue
            top = int(self.scroll_y)
            if start < top + self.size.height and end > top:
                self.refresh_lines(start, end - start)

    # -- rows ----------------------------------------------------------------------------------

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows as they are: there is no border, padding or opacity that Textual would have to add to each."""
        strips = [self.render_line(y) for y in crop.line_range]
        for one in self.get_line_filters():
            if not isinstance(one, ANSIToTruecolor):  # our colours are true ones
                strips = [strip.apply_filter(one, self.background_colors[1]) for strip in strips]
        if crop.column_span != (0, self.size.width):
            strips = [strip.crop(*crop.column_span) for strip in strips]
        return strips

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        at = int(self.scroll_y) + y
        width = self.size.width
        if at >= len(self.pages.rows):
            return Strip.blank(width, self._ground)
        row, selection = self.pages.rows[at], self.text_selection
        kept = self._lines.get(at)
        if selection is None and kept is not None and kept[0] is row and kept[1].cell_length == width:
            return kept[1]
        strip = Strip(row).adjust_cell_length(width, self._ground)
        if selection is not None:
            return self._selected(strip, at, selection).apply_offsets(0, at)
        strip = strip.apply_offsets(0, at)
        if len(self._lines) > KEPT_LINES:
            self._lines.clear()
        self._lines[at] = row, strip
        return strip

    def _selected(self, strip: Strip, y: int, selection: Selection) -> Strip:
        span = selection.get_span(y)
        if span is None:
            return strip
        start, end = span
        text = strip.text
        to_cell = strip.index_to_cell_position
        first = to_cell(min(start, len(text)))
        last = strip.cell_length if end == -1 else to_cell(min(end, len(text)))
        style = self.screen.get_component_rich_style("screen--selection", partial=True)
        return Strip.join([strip.crop(0, first), strip.crop(first, last).apply_style(style), strip.crop(last)])

    def selection_updated(self, selection: Selection | None) -> None:
        """Draw the selection."""
        self._lines.clear()
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected words, without the gutter."""
        rows = self.pages.rows
        first = selection.start.y if selection.start is not None else 0
        last = selection.end.y if selection.end is not None else len(rows) - 1
        lines: list[str] = []
        for y in range(first, min(last, len(rows) - 1) + 1):
            span = selection.get_span(y)
            if span is None:
                continue
            start, end = max(span[0], GUTTER), None if span[1] == -1 else span[1]
            lines.append(text_of(rows[y])[start:end].rstrip())
        return ("\n".join(lines), "\n") if lines else None
