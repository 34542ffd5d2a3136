"""A few fields to be filled in: a title, sentences, the fields, and the keys. Knows nothing of what they are for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input

from agentcli.frontend.tui.screens.fields import Line
from agentcli.frontend.tui.screens.listing import MARGIN
from agentcli.frontend.tui.transcript.ink import Ink, Row, clipped, indented, plain_rows, row_width
from agentcli.frontend.tui.typed import app_of
from agentcli.frontend.tui.widgets.rows import Rows
from agentcli.view.clean import clean

ROOMY_FROM = 16
"""Rows of a window in which blank rows stand between the parts."""


@dataclass(slots=True, frozen=True)
class Field:
    """One line to be filled in."""

    name: str
    label: str
    hint: str = ""
    """What stands in it while it is empty."""
    needed: bool = False
    secret: bool = False
    """Its letters are not shown."""
    value: str = ""


class Form(ModalScreen[dict[str, str] | None]):
    """Gives what was filled in by name, or None."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,super+c", "leave", id="form.leave", priority=True),
        Binding("escape", "leave", id="form.back"),
        Binding("tab,down", "next", id="form.next"),
        Binding("shift+tab,up", "previous", id="form.previous"),
    ]

    def __init__(
        self, title: str, sentences: Sequence[str], fields: Sequence[Field], ink: Ink, fault: str = "", begin: int = 0
    ) -> None:
        super().__init__()
        self.ink, self.fields = ink, fields
        self._title, self._sentences, self._fault = title, sentences, fault
        self._over, self._begin = False, begin

    def compose(self) -> ComposeResult:
        """The parts, top to bottom."""
        with Vertical(id="form"):
            yield Rows(id="form-head")
            for field in self.fields:
                yield Rows(id=f"label-{field.name}", classes="label")
                yield Line(field.value, id=f"field-{field.name}", placeholder=field.hint, password=field.secret, compact=True)
            yield Rows(id="form-foot")

    def on_mount(self) -> None:
        """Draw, and begin with the field that is to be filled in."""
        for line in self._lines():
            line.cursor_blink = False
        self.draw()
        self.set_focus(self._lines()[self._begin])

    def on_resize(self) -> None:
        """The rows depend on the window."""
        self.draw()

    # -- drawing -------------------------------------------------------------------------------

    def draw(self) -> None:
        """All parts anew."""
        if not self.is_attached or not self.query("#form-foot"):
            return
        width, height = app_of(self).size
        roomy: list[Row] = [[]] if height >= ROOMY_FROM else []
        room, ink = max(8, width - len(MARGIN) - 2), self.ink
        head: Row = [Segment("─ ", ink.user), Segment(clipped(self._title, max(4, width - 4)), ink.bold), Segment(" ")]
        said = [row for sentence in self._sentences for row in plain_rows(clean(sentence), ink.muted, room)]
        rule = Segment("─" * max(0, width - row_width(head)), ink.user)
        self._show("form-head", [[*head, rule], *roomy, *indented(said, MARGIN)])
        for field in self.fields:
            self._show(f"label-{field.name}", [*roomy, [Segment(MARGIN), Segment(field.label, ink.base)]])
        fault = plain_rows(clean(self._fault), ink.ask, room) if self._fault else []
        self._show("form-foot", [*roomy, *indented(fault, MARGIN), self._key_row()])

    def _show(self, name: str, rows: list[Row]) -> None:
        part = self.query_one(f"#{name}", Rows)
        part.styles.height = len(rows)
        part.show(rows, self.ink.base)

    def _key_row(self) -> Row:
        row: Row = [Segment(MARGIN)]
        for key, words in (("enter", "goes on"), ("tab", "next field"), ("esc", "goes back")):
            row += [Segment(key, self.ink.user), Segment(f" {words}   ", self.ink.base)]
        return row

    # -- keys ----------------------------------------------------------------------------------

    def _lines(self) -> list[Line]:
        return [self.query_one(f"#field-{field.name}", Line) for field in self.fields]

    def _at(self) -> int:
        return next((at for at, line in enumerate(self._lines()) if line is self.focused), 0)

    def action_next(self) -> None:
        """The next field."""
        lines = self._lines()
        self.set_focus(lines[(self._at() + 1) % len(lines)])

    def action_previous(self) -> None:
        """The field before."""
        self.set_focus(self._lines()[self._at() - 1])

    def action_submit(self) -> None:
        """Give what was filled in; a field that wants something comes first."""
        lines = self._lines()
        missing = next((at for at, field in enumerate(self.fields) if field.needed and not lines[at].value.strip()), None)
        if missing is None:
            self._end({field.name: line.value.strip() for field, line in zip(self.fields, lines, strict=True)})
            return
        self.say(f"{self.fields[missing].label}: something has to stand here.")
        self.set_focus(lines[missing])

    def say(self, sentence: str) -> None:
        """A sentence above the keys, until something is typed."""
        self._fault = sentence
        self.draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter in any field."""
        event.stop()
        self.action_submit()

    def on_input_changed(self) -> None:
        """What was said is done with, once something is another."""
        if self._fault and any(line.value != field.value for line, field in zip(self._lines(), self.fields, strict=True)):
            self.say("")

    def action_leave(self) -> None:
        """Nothing is given."""
        self._end(None)

    def _end(self, given: dict[str, str] | None) -> None:
        if not self._over:
            self._over = True
            self.dismiss(given)
