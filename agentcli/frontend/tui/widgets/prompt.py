"""The prompt: many lines, a history, and pastes of any size kept aside behind a marker."""

from __future__ import annotations

import re
from typing import ClassVar

from textual import events
from textual.binding import BindingType
from textual.message import Message
from textual.widgets import TextArea

from agentcli.frontend.tui.keys import CHAT_KEYS
from agentcli.frontend.tui.widgets.ordered import run_key
from agentcli.view.clean import clean

FOLDED_LINES = 10
FOLDED_SIZE = 2000
MARKER = re.compile(r"\[pasted [\d,]+ (?:lines|characters)(?: #\d+)?\]")


class Prompt(TextArea):
    """What the user writes. Keys that send act on the screen; moving beyond the text goes to it."""

    BINDINGS: ClassVar[list[BindingType]] = [*CHAT_KEYS]

    class Beyond(Message):
        """A move that leaves the prompt: pages of the transcript, or its end (0)."""

        def __init__(self, pages: int) -> None:
            super().__init__()
            self.pages = pages

    def __init__(self, **more: str) -> None:
        super().__init__(compact=True, highlight_cursor_line=False, soft_wrap=True, tab_behavior="focus", **more)  # pyright: ignore[reportArgumentType]
        self.cursor_blink = False
        self._pastes: dict[str, str] = {}
        self._past: list[str] = []
        self._at = 0
        self._draft = ""

    async def _on_key(self, event: events.Key) -> None:
        await run_key(self, event)  # Textual calls the method of TextArea next

    # -- the text ------------------------------------------------------------------------------

    @property
    def whole(self) -> str:
        """The text with the pastes in the places of their markers."""
        return MARKER.sub(lambda match: self._pastes.get(match[0], match[0]), self.text)

    def take(self) -> str:
        """The whole text, which leaves the prompt and enters the history."""
        whole, shown = self.whole, self.text
        if shown.strip() and (not self._past or self._past[-1] != shown):
            self._past.append(shown)
        self._at, self._draft = len(self._past), ""
        self.load_text("")
        return whole

    def put(self, text: str) -> None:
        """Another text, the cursor behind it."""
        self.load_text(clean(text, exact=True))
        self.move_cursor(self.document.end)

    def newline(self) -> None:
        """Break the line."""
        start, end = self.selection
        self._replace_via_keyboard("\n", start, end)

    # -- pastes --------------------------------------------------------------------------------

    async def _on_paste(self, event: events.Paste) -> None:
        event.stop()
        event.prevent_default()
        text = event.text.replace("\r\n", "\n").replace("\r", "\n")
        lines = text.count("\n") + 1
        shown = clean(text, exact=True)
        if lines > FOLDED_LINES or len(text) > FOLDED_SIZE:
            shown = self._fold(text, lines)
        if result := self._replace_via_keyboard(shown, *self.selection):
            self.move_cursor(result.end_location)
            self.focus()

    def _fold(self, text: str, lines: int) -> str:
        size = f"{lines:,} lines" if lines > FOLDED_LINES else f"{len(text):,} characters"
        marker, number = f"[pasted {size}]", 1
        while self._pastes.get(marker, text) != text:
            number += 1
            marker = f"[pasted {size} #{number}]"
        self._pastes[marker] = text
        return marker

    # -- history and moves ---------------------------------------------------------------------

    def action_cursor_up(self, select: bool = False) -> None:
        """Up, and from the first line into the past."""
        if select or not self._on_edge(first=True) or not self._recall(-1):
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        """Down, and from the last line back to the present."""
        if select or not self._on_edge(first=False) or not self._recall(1):
            super().action_cursor_down(select)

    def action_cursor_page_up(self) -> None:
        """A page of the transcript up."""
        self.post_message(self.Beyond(-1))

    def action_cursor_page_down(self) -> None:
        """A page of the transcript down."""
        self.post_message(self.Beyond(1))

    def action_cursor_line_end(self, select: bool = False) -> None:
        """The end of the line, and from there the end of the transcript."""
        if not select and self.cursor_at_end_of_text:
            self.post_message(self.Beyond(0))
        super().action_cursor_line_end(select)

    def _on_edge(self, *, first: bool) -> bool:
        offset = self.wrapped_document.location_to_offset(self.cursor_location)
        return offset.y == (0 if first else self.wrapped_document.height - 1)

    def _recall(self, step: int) -> bool:
        at = self._at + step
        if not 0 <= at <= len(self._past):
            return False
        if self._at == len(self._past):
            self._draft = self.text
        self._at = at
        self.put(self._past[at] if at < len(self._past) else self._draft)
        return True
