"""A list to pick from: a title, a filter, rows, and a foot that says what is hidden. Knows nothing of what is picked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from agentcli.frontend.tui.keys import PICK_KEYS
from agentcli.frontend.tui.screens.listing import MARGIN, Entry, Listing
from agentcli.frontend.tui.transcript.ink import Ink, Row, clipped, row_width, spread
from agentcli.frontend.tui.typed import app_of
from agentcli.frontend.tui.widgets.rows import Rows
from agentcli.view.clean import clean
from agentcli.view.summary import plural

TALL_FROM = 16
"""Rows of a window in which an entry has two."""
LONGEST_FILTER = 200


@dataclass(slots=True, frozen=True)
class Picked:
    """What was picked, and by which of the further keys (empty: by Enter)."""

    key: str
    how: str = ""


@dataclass(slots=True, frozen=True)
class Wording:
    """What the dialog says of itself."""

    title: str
    takes: str
    """What Enter does."""
    leaves: str = "leaves"
    """What Esc does."""
    lead: str = ""
    """A sentence below the title, where the window has room for it."""
    nothing: str = "There is nothing to pick."
    ways: Mapping[str, str] | None = None
    """Further keys that pick, and what each does."""


class PickScreen(ModalScreen[Picked | None]):
    """Gives what was picked, or None. Entries may still come while it is open."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+c,super+c", "step_out", id="pick.leave", priority=True)]

    def __init__(self, wording: Wording, ink: Ink, entries: Iterable[Entry] = (), *, complete: bool = True) -> None:
        super().__init__()
        self.wording, self.ink = wording, ink
        self._all: list[tuple[Entry, str]] = []
        self._counts: Counter[str] = Counter()
        self._shown: list[Entry] = []
        self._filter = self._hint = ""
        self._moved = self._every = self._over = False
        self._complete = complete
        self.listing = Listing(ink, self.action_take, id="listing")
        self._keep(entries)

    def compose(self) -> ComposeResult:
        """The parts, top to bottom."""
        with Vertical(id="picking"):
            yield Rows(id="pick-head")
            yield self.listing
            yield Rows(id="pick-foot")

    def on_mount(self) -> None:
        """Draw."""
        self._sift()

    def on_resize(self) -> None:
        """The rows depend on the window."""
        self.draw()

    # -- entries -------------------------------------------------------------------------------

    def add(self, entries: Iterable[Entry], *, complete: bool = False) -> None:
        """Further entries; `complete` with the last ones."""
        self._complete = complete
        self._keep(entries)
        self._sift()

    def _keep(self, entries: Iterable[Entry]) -> None:
        new = [(entry, entry.words) for entry in entries]
        self._all.extend(new)
        self._all.sort(key=lambda pair: pair[0].rank)
        self._counts.update(entry.hidden for entry, _ in new if entry.hidden)

    def _sift(self) -> None:
        """What is shown now; who has moved keeps what he chose."""
        wanted = self._filter.casefold().split()
        among = [pair for pair in self._all if self._every or not pair[0].hidden]
        shown = [entry for entry, words in among if all(one in words for one in wanted)]
        chosen = self.listing.chosen if self._moved else None
        self._shown = shown
        self._draw_with(shown.index(chosen) if chosen in shown else 0)

    # -- drawing -------------------------------------------------------------------------------

    def draw(self) -> None:
        """All parts anew."""
        self._draw_with(self.listing.at)

    def _draw_with(self, at: int) -> None:
        if not self.is_attached or not self.query("#pick-foot"):
            return
        width, height = app_of(self).size
        tall = height >= TALL_FROM and any(entry.under for entry, _ in self._all)
        nothing = self._nothing()
        self.listing.show(self._shown, at, tall=tall, nothing=nothing)
        self._fill("pick-head", self._head_rows(width, height))
        self._fill("pick-foot", self._foot_rows(width, height, tall))

    def _fill(self, name: str, rows: list[Row]) -> None:
        part = self.query_one(f"#{name}", Rows)
        part.styles.height = len(rows)
        part.show(rows, self.ink.base)

    def _nothing(self) -> str:
        if not self._complete:
            return "Reading …"
        return "Nothing has all of these words." if self._filter else self.wording.nothing

    def _head_rows(self, width: int, height: int) -> list[Row]:
        roomy: list[Row] = [[]] if height >= TALL_FROM else []
        rows = [self._title_row(width), self._filter_row(width), *roomy]
        if self.wording.lead and roomy:
            rows.insert(
                1, [Segment(MARGIN), Segment(clipped(self.wording.lead, max(4, width - len(MARGIN) - 1)), self.ink.muted)]
            )
        return rows

    def _title_row(self, width: int) -> Row:
        ink, count = self.ink, len(self._all) if self._every else len(self._all) - self._counts.total()
        left: Row = [Segment("─ ", ink.user), Segment(self.wording.title, ink.bold), Segment(" ")]
        figure = f" {len(self._shown):,} of {count:,}" if len(self._shown) != count else f" {count:,}"
        right: Row = [Segment(f"{figure}{'' if self._complete else ' …'} ", ink.muted)]
        rule = width - row_width(left) - row_width(right)
        return [*left, Segment("─" * rule, ink.user), *right] if rule > 0 else left

    def _filter_row(self, width: int) -> Row:
        ink, room = self.ink, max(4, width - len(MARGIN) - 2)
        if not self._filter:
            return [Segment(MARGIN), Segment(clipped("type to filter", room), ink.muted)]
        shown = clean(self._filter, newlines=False, exact=True)
        while row_width([Segment(shown)]) > room:  # the end of what is typed stays in sight
            shown = shown[1:]
        return [Segment(MARGIN), Segment(shown, ink.base), Segment("▏", ink.user)]

    def _foot_rows(self, width: int, height: int, tall: bool) -> list[Row]:
        ink, room, chosen = self.ink, max(4, width - len(MARGIN) - 1), self.listing.chosen
        rows: list[Row] = [[]] if height >= TALL_FROM else []
        if self._hint:
            rows.append([Segment(MARGIN), Segment(clipped(clean(self._hint, newlines=False, exact=True), room), ink.ask)])
        elif not tall and chosen is not None and chosen.under:
            rows.append([Segment(MARGIN), Segment(clipped(clean(chosen.under, newlines=False, exact=True), room), ink.base)])
        if self._counts:
            rows.append([Segment(MARGIN), Segment("tab", ink.user), Segment(clipped(self._hidden_words(), room - 3), ink.muted)])
        return [*rows, self._key_row(width)]

    def _hidden_words(self) -> str:
        kinds = ", ".join(plural(count, kind) for kind, count in sorted(self._counts.items()))
        count = self._counts.total()
        return f" hides {count:,} again: {kinds}" if self._every else f" shows {count:,} hidden: {kinds}"

    def _key_row(self, width: int) -> Row:
        keys = [("enter", self.wording.takes), *(self.wording.ways or {}).items(), ("esc", self.wording.leaves)]
        row: Row = [Segment(MARGIN)]
        for key, words in keys:
            piece: Row = [Segment(key, self.ink.user), Segment(f" {words}   ", self.ink.base)]
            if row_width(row) + row_width(piece) - 3 <= width:
                row += piece
        return spread(row, [Segment("↑↓ pgup pgdn ", self.ink.muted)], width)

    # -- keys ----------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Letters filter, the other keys move and pick."""
        event.stop()
        event.prevent_default()
        self._hint = ""
        if event.key in (self.wording.ways or {}):
            self.action_take(event.key)
        elif event.is_printable and event.character:
            self._refilter(self._filter + event.character)
        else:
            self._act(PICK_KEYS.get(event.key, ""))

    def _act(self, action: str) -> None:
        match action:
            case "take":
                self.action_take()
            case "leave":
                self._leave()
            case "hidden" if self._counts:
                self._every = not self._every
                self._sift()
            case "rub":
                self._refilter(self._filter[:-1])
            case "word":
                self._refilter(" ".join(self._filter.split()[:-1]))
            case "clear":
                self._refilter("")
            case _:
                self._move(action)

    def _move(self, action: str) -> None:
        page, most = self.listing.page, len(self._shown)
        by = {"up": -1, "down": 1, "page_up": -page, "page_down": page, "top": -most, "bottom": most}.get(action, 0)
        self._moved = self._moved or bool(by)
        self._draw_with(self.listing.at + by)

    def _refilter(self, text: str) -> None:
        self._filter, self._moved = text[:LONGEST_FILTER], False
        self._sift()

    def on_paste(self, event: events.Paste) -> None:
        """A paste filters."""
        event.stop()
        event.prevent_default()
        self._refilter(self._filter + " ".join(event.text[:LONGEST_FILTER].split()))

    def action_take(self, how: str = "") -> None:
        """Pick what is chosen, or say why it cannot be picked."""
        chosen = self.listing.chosen
        if chosen is None:
            return
        if chosen.refused and not how:
            self.say(chosen.refused)
            return
        self._end(Picked(chosen.key, how))

    def say(self, sentence: str) -> None:
        """A sentence above the keys, until the next one."""
        self._hint = sentence
        self.draw()

    def _leave(self) -> None:
        if self._filter:
            self._refilter("")
        else:
            self._end(None)

    def action_step_out(self) -> None:
        """Ctrl+C picks nothing."""
        self._end(None)

    def _end(self, picked: Picked | None) -> None:
        if not self._over:  # a key may have come before the dialog was gone
            self._over = True
            self.dismiss(picked)
