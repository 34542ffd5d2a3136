"""The confirmation: a modal screen over the lower part, drawn from the previews alone."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import Input, TextArea

from agentcli.frontend.tui.bridge import Question, Verdict
from agentcli.frontend.tui.keys import CONFIRM_KEYS, CONFIRM_MOVES
from agentcli.frontend.tui.screens import sheet
from agentcli.frontend.tui.screens.answers import Answers
from agentcli.frontend.tui.screens.guard import HOLD, Guard
from agentcli.frontend.tui.transcript.ink import Ink, Row
from agentcli.frontend.tui.typed import app_of
from agentcli.frontend.tui.widgets.ordered import run_key
from agentcli.frontend.tui.widgets.rows import Rows

LEAVE_WITHIN = 2.0
FIELD_ROWS = 1
FIELD_MOST = 12
LEAST = 3
"""Rows that the body has at least, before warnings scroll with it."""
SHORT = 20
"""Screens lower than this are taken whole."""


class Reason(Input):
    """Why a call is denied."""

    async def _on_key(self, event: events.Key) -> None:
        await run_key(self, event)


class Arguments(TextArea):
    """The arguments of a call, to be edited."""

    async def _on_key(self, event: events.Key) -> None:
        await run_key(self, event)


class Confirm(ModalScreen[Verdict]):
    """Asks about every waiting call; dismissed with all answers."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,super+c", "step_out", id="confirm.leave", priority=True),
        Binding("ctrl+s", "use_edited", id="confirm.use_edited"),
    ]

    def __init__(self, questions: list[Question], ink: Ink, root: str) -> None:
        super().__init__()
        self.answers = Answers(questions)
        self.ink, self.root = ink, root
        self.guard = Guard()
        self.step = ""
        """What is open beside the question: `rule`, `reason`, `edit`."""
        self.full = False
        self._held: tuple[Timer, str] | None = None
        self._stepped_out = 0.0
        self._made: tuple[tuple[str, int], list[Row]] | None = None

    def compose(self) -> ComposeResult:
        """The parts, top to bottom."""
        with Vertical(id="sheet"):
            yield Rows(id="title")
            yield Rows(id="calls")
            yield Rows(id="body")
            yield Rows(id="warnings")
            yield Rows(id="rule")
            yield Reason(id="reason", placeholder="why not; the model reads this", compact=True)
            yield Arguments(id="arguments", compact=True, highlight_cursor_line=False)
            yield Rows(id="answers")

    def on_mount(self) -> None:
        """Draw, and count the time from the moment it is painted."""
        self.query_one("#reason", Input).cursor_blink = False
        self.query_one("#arguments", TextArea).cursor_blink = False
        self.draw()
        self.call_after_refresh(self._painted)

    def on_resize(self) -> None:
        """The body gives way, the answers stay."""
        self.draw()

    def _painted(self) -> None:
        self.guard.painted(time.monotonic())

    # -- drawing -------------------------------------------------------------------------------

    def draw(self) -> None:
        """All parts anew, each in its height; the body has what is left, and scrolls."""
        width, height = app_of(self).size
        room = height - {"reason": FIELD_ROWS + 1, "edit": min(FIELD_MOST, height // 2)}.get(self.step, 0)
        body = self._body(width)
        parts = self._parts(width, scrolls=False)
        if room - _height(parts) < LEAST:  # whatever else there is scrolls with the body, the answers never do
            body = [*parts["title"][1:], *parts["warnings"][1:], *body]
            parts["title"], parts["warnings"] = parts["title"][:1], []
        most = self._most(room - _height(parts), height)
        if len(body) > most:
            parts["answers"] = self._parts(width, scrolls=True)["answers"]
            most = self._most(room - _height(parts), height)
        parts["body"] = [[], *body] if len(body) < most else body
        for name, rows in parts.items():
            self._fill(name, rows, max(1, min(len(rows), most)) if name == "body" else len(rows))
        self.query_one("#reason").display = self.step == "reason"
        arguments = self.query_one("#arguments")
        arguments.display = self.step == "edit"
        arguments.styles.height = min(FIELD_MOST, height // 2)

    def _body(self, width: int) -> list[Row]:
        """The rows of the body; a long one is not made anew for every key."""
        key = (self.answers.question.call.id, width)
        if self._made is None or self._made[0] != key:
            self._made = key, sheet.body_rows(self.answers.question, self.ink, width)
        return self._made[1]

    def _parts(self, width: int, *, scrolls: bool) -> dict[str, list[Row]]:
        answers, ink = self.answers, self.ink
        return {
            "title": sheet.title_rows(answers.question, ink, width),
            "calls": sheet.call_rows(answers, ink, width, self.root),
            "warnings": sheet.warning_rows(answers.question, ink, width),
            "rule": sheet.rule_rows(answers, ink, width) if self.step == "rule" else [],
            "answers": sheet.answer_rows(answers, self.step, ink, width, full=self.full, scrolls=scrolls),
        }

    def _most(self, left: int, height: int) -> int:
        """Rows that the body may have: what led to the question stays in sight where there is room for both."""
        return left if self.full or height < SHORT else max(8, left - height // 3) if left > 8 else left

    def _fill(self, name: str, rows: list[Row], height: int) -> None:
        part = self.query_one(f"#{name}", Rows)
        part.styles.height = height
        part.display = height > 0
        part.show(rows, self.ink.base)

    def _turn(self, step: str = "") -> None:
        """Open or close what stands beside the question; what is new has to be seen first."""
        self.step = step
        self.draw()
        self.guard.painted(time.monotonic())
        self.call_after_refresh(self._painted)

    def _next(self) -> None:
        """On to the next question, or out."""
        if self.answers.done:
            self.dismiss(self.answers.verdict)
            return
        self.query_one("#body", Rows).scroll_to(y=0, animate=False)
        self._turn()

    # -- keys ----------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """A key that moves does so at once; one that answers is weighed first."""
        if self.step in ("reason", "edit"):
            if CONFIRM_KEYS.get(event.key) == "back":
                event.stop()
                event.prevent_default()
                self.set_focus(None)
                self._turn()
            return
        event.stop()
        event.prevent_default()
        move = CONFIRM_MOVES.get(event.key)
        if move is not None:
            self._move(move)
            return
        self._weigh(event.key, event.time)

    def on_paste(self, event: events.Paste) -> None:
        """A paste never answers."""
        if self.step not in ("reason", "edit"):
            event.stop()
            event.prevent_default()
            self._drop_held()
            self.guard.disturbed(time.monotonic())

    def _weigh(self, key: str, pressed: float) -> None:
        if self._held is not None:  # two keys this close were not meant as answers
            self._drop_held()
            self.guard.disturbed(pressed)
            return
        if not self.guard.lets(pressed):
            return
        action = CONFIRM_KEYS.get(key)
        if action is None:
            return
        self._held = self.set_timer(HOLD, lambda: self._fire(action)), action

    def _drop_held(self) -> None:
        if self._held is not None:
            self._held[0].stop()
            self._held = None

    def _fire(self, action: str) -> None:
        self._held = None
        table = self._rule_actions() if self.step == "rule" else self._actions()
        act = table.get(action)
        if act is not None:
            act()

    def _actions(self) -> dict[str, Callable[[], None]]:
        actions: dict[str, Callable[[], None]] = {
            "allow": self._allow,
            "deny": self._deny,
            "back": self._deny,
            "reason": self._open_reason,
            "edit": self._open_edit,
            "full": self._toggle_full,
        }
        if self.answers.rules:
            actions["always"] = lambda: self._turn("rule")
        if self.answers.edits:
            actions["accept_edits"] = self._accept_edits
        return actions

    def _rule_actions(self) -> dict[str, Callable[[], None]]:
        return {"always": self._always, "give": self._always, "scope": self._scope, "back": self._turn}

    def _allow(self) -> None:
        self.answers.allow()
        self._next()

    def _always(self) -> None:
        self.step = ""
        self.answers.allow(always=True)
        self._next()

    def _deny(self) -> None:
        self.answers.deny()
        self._next()

    def _accept_edits(self) -> None:
        self.answers.accept_edits = True
        self._allow()

    def _scope(self) -> None:
        self.answers.next_scope()
        self.draw()

    def _toggle_full(self) -> None:
        self.full = not self.full
        self.draw()

    def _move(self, move: str) -> None:
        body = self.query_one("#body", Rows)
        several = len(self.answers.questions) > 1 and not self.step
        page = max(1, body.size.height - 1)
        step = {"up": -1, "previous": -1, "down": 1, "next": 1}.get(move, 0)
        if several and step:
            if self.answers.move(step):
                self._next()
            return
        to = {"top": 0.0, "bottom": float(body.max_scroll_y), "page_up": body.scroll_y - page, "page_down": body.scroll_y + page}
        body.scroll_to(y=to.get(move, body.scroll_y + step), animate=False)

    # -- fields --------------------------------------------------------------------------------

    def _open_reason(self) -> None:
        self._turn("reason")
        self.query_one("#reason", Input).focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """The reason is given."""
        event.stop()
        self.set_focus(None)
        self.step = ""
        self.answers.deny(event.value.strip())
        event.input.value = ""
        self._next()

    def _open_edit(self) -> None:
        area = self.query_one("#arguments", TextArea)
        area.load_text(_pretty(self.answers.question.call.input))
        self._turn("edit")
        area.focus()

    def action_use_edited(self) -> None:
        """Allow the call with the edited arguments."""
        if self.step != "edit":
            return
        text = self.query_one("#arguments", TextArea).text
        try:
            whole = json.loads(text)
        except ValueError as exc:
            self.notify(f"This is no JSON: {exc}", markup=False)
            return
        if not isinstance(whole, dict):
            self.notify("The arguments have to be a JSON object.", markup=False)
            return
        self.set_focus(None)
        self.step = ""
        self.answers.allow_edited(text)
        self._next()

    def action_step_out(self) -> None:
        """Ctrl+C answers nothing: it says how to leave, and the second one leaves; the question is kept."""
        now = time.monotonic()
        if now - self._stepped_out < LEAVE_WITHIN:
            app_of(self).exit(return_code=0)
            return
        self._stepped_out = now
        note: Row = [*sheet.indented([[]], sheet.MARGIN)[0]]
        note += sheet.plain_rows("ctrl+c again leaves; the question is kept for `agentcli chat --resume`", self.ink.ask, 200)[0]
        self._fill("answers", [[], note], self.query_one("#answers", Rows).size.height)


def _height(parts: dict[str, list[Row]]) -> int:
    return sum(len(rows) for rows in parts.values())


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text
