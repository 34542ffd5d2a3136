"""A text over the whole screen, to be read; with a question below it where one is asked."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen

from agentcli.frontend.tui.keys import CONFIRM_MOVES
from agentcli.frontend.tui.screens.guard import Guard
from agentcli.frontend.tui.transcript.ink import Ink, Row, clipped, indented, plain_rows
from agentcli.frontend.tui.typed import app_of
from agentcli.frontend.tui.widgets.rows import Rows
from agentcli.view.clean import clean

MARGIN = "  "
LEAVES = ("escape", "ctrl+c", "super+c")


@dataclass(slots=True, frozen=True)
class Choice:
    """An answer, by a key."""

    key: str
    words: str


@dataclass(slots=True, frozen=True)
class Text:
    """What is shown: foreign text is cleaned here."""

    title: str
    body: str
    lead: Sequence[str] = ()
    """Sentences above the body."""
    choices: Sequence[Choice] = ()
    leaves: str = "closes"
    """What Esc does."""


class Paper(ModalScreen[str]):
    """Gives the key of the choice; empty where it was only closed."""

    AUTO_FOCUS = ""

    def __init__(self, text: Text, ink: Ink) -> None:
        super().__init__()
        self._text, self._ink = text, ink
        self._guard = Guard()

    def compose(self) -> ComposeResult:
        """The parts, top to bottom."""
        with Vertical(id="paper"):
            yield Rows(id="top")
            yield Rows(id="text")
            yield Rows(id="bottom")

    def on_mount(self) -> None:
        """Draw, and count the time from the moment it is painted."""
        self.draw()
        self.call_after_refresh(lambda: self._guard.painted(time.monotonic()))

    def on_resize(self) -> None:
        """The rows depend on the width."""
        self.draw()

    def draw(self) -> None:
        """All parts anew."""
        text, ink, width = self._text, self._ink, app_of(self).size.width
        room = max(1, width - len(MARGIN) - 1)
        lead = [row for sentence in text.lead for row in plain_rows(clean(sentence), ink.base, room)]
        title: list[Row] = [[Segment(clipped(clean(text.title, newlines=False), room), ink.bold)]]
        self.query_one("#top", Rows).show(indented([*title, *lead, []], MARGIN), ink.base)
        self.query_one("#text", Rows).show(indented(body_rows(text.body, ink.base, room), MARGIN), ink.base)
        self.query_one("#bottom", Rows).show([[], self._keys()], ink.base)

    def _keys(self) -> Row:
        choices = [*self._text.choices, Choice("esc", self._text.leaves)]
        parts = [(choice.key, f" {choice.words}   ") for choice in choices]
        key = self._ink.ask + Style(bold=True)
        return [Segment(MARGIN), *(segment for name, words in parts for segment in (Segment(name, key), Segment(words)))]

    def on_key(self, event: events.Key) -> None:
        """A key that moves does so at once; one that answers must not come too early."""
        event.stop()
        event.prevent_default()
        if event.key in LEAVES:
            self.dismiss("")
        elif any(choice.key == event.key for choice in self._text.choices):
            if self._guard.lets(event.time):
                self.dismiss(event.key)
        else:
            self._move(CONFIRM_MOVES.get(event.key, ""))

    def on_paste(self, event: events.Paste) -> None:
        """A paste never answers."""
        event.stop()
        self._guard.disturbed(time.monotonic())

    def _move(self, move: str) -> None:
        body = self.query_one("#text", Rows)
        page = max(1, body.size.height - 1)
        steps = {"up": -1, "previous": -1, "down": 1, "next": 1, "page_up": -page, "page_down": page}
        to = {"top": 0.0, "bottom": float(body.max_scroll_y)}.get(move, body.scroll_y + steps.get(move, 0))
        body.scroll_to(y=to, animate=False)


def body_rows(text: str, style: Style, width: int) -> list[Row]:
    """Rows of a text that may be very long: a plain line is cut, any other one wrapped."""
    return [row for line in clean(text, exact=True).split("\n") for row in _rows_of(line, style, width)]


def _rows_of(line: str, style: Style, width: int) -> Iterator[Row]:
    if not line.isascii() or "\t" in line:
        yield from plain_rows(line, style, width)
        return
    for at in range(0, max(1, len(line)), width):
        yield [Segment(line[at : at + width], style)]
