"""The confirmation: a modal screen over the lower part, drawn from the previews alone."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
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
from agentcli.frontend.tui.screens.fields import Arguments, Reason, pretty
from agentcli.frontend.tui.screens.guard import HOLD, Guard
from agentcli.frontend.tui.screens.plan import Plan, Seen, View, allows, more_row, plan
from agentcli.frontend.tui.transcript.ink import Ink, Row
from agentcli.frontend.tui.typed import app_of
from agentcli.frontend.tui.widgets.rows import Rows

LEAVE_WITHIN = 2.0
FIELD_ROWS = 1
FIELD_MOST = 12
TOO_EARLY = "Too early: that key did not count."


@dataclass(slots=True, frozen=True)
class Behind:
    """What the confirmation needs of the chat behind it."""

    result_of: sheet.ResultOf
    leave: Callable[[], None]
    stop: Callable[[], None]


class Confirm(ModalScreen[None]):
    """Asks about every waiting call, and gives each answer away at once; the chat closes it when none waits."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c,super+c", "step_out", id="confirm.leave", priority=True),
        Binding("ctrl+s", "use_edited", id="confirm.use_edited"),
    ]

    def __init__(self, questions: list[Question], ink: Ink, root: str, behind: Behind) -> None:
        super().__init__()
        self.answers = Answers(questions)
        self.ink, self.root, self.behind = ink, root, behind
        self.guard = Guard()
        self.step = ""
        """What is open beside the question: `rule`, `reason`, `edit`."""
        self.full = False
        self.sending = False
        """The last answer still has its effect; no other counts meanwhile."""
        self._hint = ""
        self._plan = Plan()
        self._verdicts: asyncio.Queue[Verdict] = asyncio.Queue()
        self._seen: dict[str, Seen] = {}
        self._held: tuple[Timer, str] | None = None
        self._stepped_out = 0.0
        self._made: tuple[tuple[str, str, int], list[Row]] | None = None

    def compose(self) -> ComposeResult:
        """The parts, top to bottom."""
        with Vertical(id="sheet"):
            yield Rows(id="title")
            yield Rows(id="calls")
            yield Rows(id="body")
            yield Rows(id="more")
            yield Rows(id="warnings")
            yield Rows(id="rule")
            yield Reason(id="reason", placeholder="why not; the model reads this", compact=True)
            yield Arguments(id="arguments", compact=True, highlight_cursor_line=False)
            yield Rows(id="answers")

    def on_mount(self) -> None:
        """Draw, and count the time from the moment it is painted."""
        self.query_one("#reason", Input).cursor_blink = False
        self.query_one("#arguments", TextArea).cursor_blink = False
        self.watch(self.query_one("#body", Rows), "scroll_y", self._scrolled, init=False)
        self.draw()
        self.call_after_refresh(self._painted)

    def on_resize(self) -> None:
        """The body gives way, the answers stay."""
        self.draw()
        self.call_after_refresh(self._look)

    def _painted(self) -> None:
        self.guard.painted(time.monotonic())
        self._look()

    # -- the chat behind -----------------------------------------------------------------------

    async def answered(self) -> Verdict:
        """The next answer."""
        return await self._verdicts.get()

    def renew(self, questions: list[Question]) -> None:
        """What waits now that the last answer had its effect."""
        before = self.answers.question
        self.answers.renew(questions)
        self.sending = False
        if self.answers.question != before:
            self.query_one("#body", Rows).scroll_to(y=0, animate=False)
        self._turn()

    def marks_changed(self) -> None:
        """A call that was answered began or ended."""
        if self.is_attached and self.is_running and self.answers.over and self.query("#answers"):
            self.draw()

    def _give(self, verdict: Verdict) -> None:
        """Away with an answer; on to the next question, where one waits."""
        self.step, self.sending = "", True
        self._verdicts.put_nowait(verdict)
        self.query_one("#body", Rows).scroll_to(y=0, animate=False)
        if self.answers.open:
            self._turn()

    # -- drawing -------------------------------------------------------------------------------

    @property
    def seen(self) -> Seen:
        """What was seen of the question that is looked at."""
        return self._seen.setdefault("".join(self._key()), Seen())

    def _key(self) -> tuple[str, str]:
        question = self.answers.question
        return question.call.id, question.preview.digest if question.preview else ""

    def _view(self) -> View:
        width, height = app_of(self).size
        field = {"reason": FIELD_ROWS + 1, "edit": min(FIELD_MOST, height // 2)}.get(self.step, 0)
        return View(
            answers=self.answers,
            ink=self.ink,
            width=width,
            height=height,
            field=field,
            root=self.root,
            step=self.step,
            full=self.full,
            seen=self.seen,
            results=self.behind.result_of,
            sending=self.sending,
            hint=self._hint,
        )

    def draw(self) -> None:
        """All parts anew, each in its height; the body has what is left, and scrolls."""
        view = self._view()
        body, before = self.query_one("#body", Rows), self._plan
        at_end = before.scrolls and 0 < body.scroll_y >= len(before.body) - before.shown
        made = self._plan = plan(view, self._body(view.width))
        if at_end:  # other words of the keys may take a row from the body; who looks at its end stays there
            self.call_after_refresh(body.scroll_end, animate=False)
        self._fill("title", made.title)
        self._fill("calls", made.calls)
        self._fill("body", made.body, made.shown)
        self._fill("warnings", made.warnings)
        self._fill("rule", made.rule)
        self._fill("answers", made.answers)
        self._tell_more(view)
        self.query_one("#reason").display = self.step == "reason" and not made.cramped
        arguments = self.query_one("#arguments")
        arguments.display = self.step == "edit" and not made.cramped
        arguments.styles.height = view.field

    def _tell_more(self, view: View) -> None:
        made = self._plan
        scrolls = made.scrolls and made.shown > 0
        first = min(int(self.query_one("#body", Rows).scroll_y), len(made.body) - made.shown)
        self._fill("more", [more_row(view, made, first)] if scrolls else [])

    def _look(self) -> None:
        """What is on the screen now has been seen; new rows at the end have to stand there for a while, too."""
        body, seen, made = self.query_one("#body", Rows), self.seen, self._plan
        if made.cramped or not made.shown:
            return
        before = seen.unseen, seen.ended
        width = app_of(self).size.width
        if seen.note(width, len(made.body), int(body.scroll_y), min(made.shown, body.size.height)):
            self.guard.painted(time.monotonic())
        if (seen.unseen, seen.ended) != before:
            self.draw()

    def _scrolled(self) -> None:
        self._tell_more(self._view())
        self.call_after_refresh(self._look)

    def _body(self, width: int) -> list[Row]:
        """The rows of the body; a long one is not made anew for every key."""
        key = (*self._key(), width)
        if self._made is None or self._made[0] != key:
            self._made = key, sheet.body_rows(self.answers.question, self.ink, width)
        return self._made[1]

    def _fill(self, name: str, rows: list[Row], height: int | None = None) -> None:
        part = self.query_one(f"#{name}", Rows)
        height = len(rows) if height is None else height
        part.styles.height = height
        part.display = height > 0
        part.show(rows, self.ink.base)

    def _turn(self, step: str = "") -> None:
        """Open or close what stands beside the question; what is new has to be seen first."""
        self.step, self._hint = step, ""
        self.draw()
        self.guard.painted(time.monotonic())
        self.call_after_refresh(self._painted)

    # -- keys ----------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """A key that moves does so at once; one that answers is weighed first."""
        if self.step in ("reason", "edit"):
            if CONFIRM_KEYS.get(event.key) == "back" or self._plan.cramped:
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
        action = CONFIRM_KEYS.get(key)
        lets = self.guard.lets(pressed)
        if action is None or self._plan.cramped:
            return
        if not lets:
            self._tell(TOO_EARLY)
            return
        self._held = self.set_timer(HOLD, lambda: self._fire(action)), action

    def _drop_held(self) -> None:
        if self._held is not None:
            self._held[0].stop()
            self._held = None

    def _fire(self, action: str) -> None:
        self._held = None
        if self._plan.cramped:
            return
        self._tell("")
        act = self._table().get(action)
        if act is not None:
            act()

    def _tell(self, hint: str) -> None:
        if hint != self._hint:
            self._hint = hint
            self.draw()

    def _table(self) -> dict[str, Callable[[], None]]:
        if self.sending:
            return {"back": self.behind.stop}
        if self.step == "rule":
            return {"always": self._always, "give": self._always, "scope": self._scope, "back": self._turn}
        if not allows(self._view(), apart=self._plan.apart):
            allowing = dict.fromkeys(("allow", "always", "accept_edits", "edit"), self._not_seen)
            return {**self._actions(), **allowing}
        return self._actions()

    def _not_seen(self) -> None:
        self._tell(f"{sheet.plural(self.seen.unseen, 'line')} not seen yet: look at the end first")

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

    def _allow(self) -> None:
        self._give(self.answers.allow())

    def _always(self) -> None:
        self._give(self.answers.allow(always=True))

    def _deny(self) -> None:
        self._give(self.answers.deny())

    def _accept_edits(self) -> None:
        self._give(self.answers.allow(accept_edits=True))

    def _scope(self) -> None:
        self.answers.next_scope()
        self.draw()

    def _toggle_full(self) -> None:
        self.full = not self.full
        self.draw()

    def _move(self, move: str) -> None:
        body = self.query_one("#body", Rows)
        several = len(self.answers.open) > 1 and not self.step
        page = max(1, body.size.height - 1)
        step = {"up": -1, "previous": -1, "down": 1, "next": 1}.get(move, 0)
        if several and step:
            if self.answers.move(step):
                body.scroll_to(y=0, animate=False)
                self._turn()
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
        if self._plan.cramped or self.step != "reason":
            return
        self.set_focus(None)
        reason, event.input.value = event.value.strip(), ""
        self._give(self.answers.deny(reason))

    def _open_edit(self) -> None:
        area = self.query_one("#arguments", TextArea)
        area.load_text(pretty(self.answers.question.call.input))
        self._turn("edit")
        area.focus()

    def action_use_edited(self) -> None:
        """Allow the call with the edited arguments."""
        if self.step != "edit" or self._plan.cramped:
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
        self._give(self.answers.allow_edited(text))

    def action_step_out(self) -> None:
        """Ctrl+C answers nothing: it says how to leave, and the second one leaves; the question is kept."""
        now = time.monotonic()
        if now - self._stepped_out < LEAVE_WITHIN:
            self.behind.leave()
            return
        self._stepped_out = now
        kept = (
            "what runs is stopped, with all that waits" if self.sending else "the question is kept for `agentcli chat --resume`"
        )
        self._tell(f"ctrl+c again leaves; {kept}")
