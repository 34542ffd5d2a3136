"""Rows of segments as a widget: header, status line, the parts of a confirmation. No markup is ever read."""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from agentcli.frontend.tui.transcript.ink import Row


class Rows(ScrollView, can_focus=False):
    """Shows rows as they are; scrolls where there are more than fit."""

    DEFAULT_CSS = """
    Rows {
        height: auto;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
    }
    """

    def __init__(self, **more: str) -> None:
        super().__init__(**more)  # pyright: ignore[reportArgumentType]
        self._strips: list[Strip] = []

    def show(self, rows: Sequence[Row], base: Style) -> None:
        """Show these rows; `base` is the style of what has none."""
        strips = [Strip(Segment.apply_style(row, base)) for row in rows]
        if strips == self._strips:
            return
        grown = len(strips) != len(self._strips)
        self._strips = strips
        self.virtual_size = Size(self.size.width, len(strips))
        self.refresh(layout=grown)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As many as there are."""
        return len(self._strips)

    def render_line(self, y: int) -> Strip:
        """One row."""
        at = int(self.scroll_y) + y
        ground = self.rich_style
        if at >= len(self._strips):
            return Strip.blank(self.size.width, ground)
        strip = self._strips[at].adjust_cell_length(self.size.width)
        return Strip(Segment.apply_style(strip, ground))
