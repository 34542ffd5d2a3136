"""The chat: header, transcript, what is queued, prompt, status line; and what the keys do there."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable, Coroutine
from typing import Any, ClassVar

from rich.segment import Segment
from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import Screen
from textual.widgets import TextArea
from textual.worker import Worker

from agentcli.frontend.tui.bridge import Bridge, Question, Verdict
from agentcli.frontend.tui.commands import slash_of
from agentcli.frontend.tui.folder import branch_of
from agentcli.frontend.tui.keys import CHAT_KEYS
from agentcli.frontend.tui.models import Models, ModelsHere
from agentcli.frontend.tui.screens.asking import Asking
from agentcli.frontend.tui.screens.confirm import Behind
from agentcli.frontend.tui.screens.form import Form
from agentcli.frontend.tui.screens.orders import BUSY, Orders
from agentcli.frontend.tui.screens.paper import Paper
from agentcli.frontend.tui.screens.pick import Picked, PickScreen
from agentcli.frontend.tui.screens.rewinding import rewind
from agentcli.frontend.tui.themes import Wardrobe
from agentcli.frontend.tui.transcript.blocks import WelcomeBlock
from agentcli.frontend.tui.transcript.view import Transcript
from agentcli.frontend.tui.typed import app_of
from agentcli.frontend.tui.welcome import welcome
from agentcli.frontend.tui.widgets.prompt import Prompt
from agentcli.frontend.tui.widgets.rows import Rows
from agentcli.frontend.tui.widgets.status import MODES, figures_of, header_row, queue_rows, status_row
from agentcli.ledger.block import ToolResultState
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.conversation import Conversation

CYCLE = (PermissionMode.DEFAULT, PermissionMode.ACCEPT_EDITS, PermissionMode.EXPLORE)
LEAVE_WITHIN = 2.0
TWICE_WITHIN = 0.6
"""Seconds in which a second Esc belongs to the first."""
GO_ON = "Go on."


class ChatScreen(Screen[None]):
    """The one screen of the program; it is the face of the bridge."""

    AUTO_FOCUS = "#prompt"
    VERTICAL_BREAKPOINTS: ClassVar[list[tuple[int, str]]] = [(0, "-short"), (16, "-tall")]  # pyright: ignore[reportIncompatibleVariableOverride]
    BINDINGS: ClassVar[list[BindingType]] = [*CHAT_KEYS]

    def __init__(
        self,
        conversation: Conversation,
        wardrobe: Wardrobe,
        prompt: str | None,
        leave: Callable[[], None],
        pick_session: Callable[[], None] | None = None,
        models: Models | None = None,
    ) -> None:
        super().__init__()
        self._leave = leave
        self.conversation, self.wardrobe = conversation, wardrobe
        self.transcript = Transcript(root=conversation.status.root, id="transcript")
        self.prompt = Prompt(id="prompt")
        # Held here and not looked up: a reply may still end while the screen is taken down.
        self._header, self._mark, self._queue, self._status = (Rows(id=name) for name in ("header", "mark", "queue", "status"))
        self._first = prompt
        self._branch = ""
        self._said = ""
        self._asked_to_leave = self._escaped = 0.0
        self.bridge = Bridge(conversation, self.transcript.feed, self)
        self._asking = Asking(self, Behind(self._result_of, leave, self.action_interrupt))
        self._orders = Orders(self, models or ModelsHere(), pick_session)
        self._early: list[str] | None = []
        """What is sent while the conversation is built up, or built anew; None where it stands."""

    def compose(self) -> ComposeResult:
        """The parts, top to bottom."""
        yield self._header
        yield self.transcript
        yield self._queue
        with Horizontal(id="ask"):
            yield self._mark
            yield self.prompt
        yield self._status

    def on_mount(self) -> None:
        """Draw at once; history, branch and the model's library come behind the first frame."""
        self.dress()
        self.call_after_refresh(self._begin)

    def dress(self) -> None:
        """Draw everything in the colours that are worn."""
        ink = self.wardrobe.ink
        self.transcript.wear(ink, self.wardrobe.worn.colors["background"])
        self._mark.show([[Segment("›", ink.user)]], ink.base)
        self.state_changed()

    def _begin(self) -> None:
        self.run_worker(self._open(), group="reply")

    async def _warm(self) -> None:
        """Load the model's library once the history is drawn: the two would take the interpreter from each other."""
        await self.conversation.warm()
        gc.freeze()

    async def _open(self) -> None:
        """What was, what is to be said at start, and what waits."""
        status = self.conversation.status
        await self._show_past()
        self.set_timer(0.1, lambda: self.run_worker(self._warm(), group="warm", exit_on_error=False))
        for notice in [*status.notices, *self.wardrobe.themes.warnings]:
            self.bridge.feed.notice(notice)
        self._branch = await asyncio.to_thread(branch_of, status.root)
        self.state_changed()
        early = self._taken_early()
        if status.waiting:
            await self.bridge.go_on()
        elif status.unfinished:
            self.bridge.feed.notice("The last reply was cut off. Enter on the empty prompt continues it.")
        for text in [*([self._first] if self._first is not None else []), *early]:
            self._send(text)

    def _taken_early(self) -> list[str]:
        """From now on what is sent goes to the conversation; what was sent so far."""
        early, self._early = self._early or [], None
        return early

    def hold(self) -> None:
        """From now on what is sent waits."""
        self._early = []

    def release(self) -> None:
        """What was sent meanwhile is sent now."""
        for text in self._taken_early():
            self._send(text)

    async def _show_past(self) -> None:
        with self.transcript.holding():
            if not await self.bridge.replay():
                self.transcript.add(WelcomeBlock(welcome(self.conversation.status)))

    # -- the face of the bridge ----------------------------------------------------------------

    def state_changed(self) -> None:
        """Draw header, queue and status line anew."""
        if not self.is_attached:
            return
        self._asking.marks_changed()
        width, ink, status = app_of(self).size.width, self.wardrobe.ink, self.conversation.status
        figures = figures_of(status, self._branch, running=self.bridge.running, said=self._said)
        self._header.show([header_row(figures, ink, width)], ink.base)
        self._status.show([status_row(figures, ink, width)], ink.base)
        rows = queue_rows(self.bridge.steered, self.bridge.queued, ink, width)
        self._queue.show(rows, ink.muted)
        self._queue.display = bool(rows)

    async def ask(self, questions: list[Question]) -> Verdict:
        """Show what waits in the open confirmation, or open one; the next answer."""
        return await self._asking.ask(questions, self.wardrobe.ink, self.conversation.status.root)

    async def asked(self) -> None:
        """Nothing waits any more: the confirmation is closed, where one is open."""
        await self._asking.close()

    def _result_of(self, call_id: str) -> ToolResultState | None:
        tool = self.bridge.feed.tools.get(call_id)
        return tool.state if tool is not None else None

    def say(self, sentence: str) -> None:
        """Show a sentence in the status line until the next key."""
        self._said = sentence
        self.state_changed()

    # -- sending -------------------------------------------------------------------------------

    def action_send(self) -> None:
        """Send; while a reply runs, tell it; on an empty prompt, continue what was cut off."""
        text = self.prompt.whole.strip("\n")
        if not text.strip():
            self._continue()
            return
        self.prompt.take()
        if self._early is not None:
            self._early.append(text)
        else:
            self._send(text)

    def _send(self, text: str) -> None:
        slash = slash_of(text)
        if slash is not None:
            self._orders.take(slash)
        elif self.bridge.running:
            self.bridge.steer(text)
        else:
            self.transcript.to_end()
            self.reply(self.bridge.say(text))

    def action_queue(self) -> None:
        """Keep the text until the reply has ended."""
        text = self.prompt.whole.strip("\n")
        if not text.strip():
            return
        if not self.bridge.running:
            self.say("No reply runs: enter sends.")
            return
        self.bridge.queue(self.prompt.take().strip("\n"))

    def _continue(self) -> None:
        status = self.conversation.status
        if self.bridge.running:
            return
        if status.unfinished or status.waiting:
            self.reply(self.bridge.go_on())
        elif self.bridge.limited:
            self._send(GO_ON)
        elif status.demo and self._early is None:
            self._orders.connect()

    # -- what commands need --------------------------------------------------------------------

    def reply(self, stream: Coroutine[Any, Any, None]) -> None:
        """Begin what counts as a reply: Esc stops it, and what is sent meanwhile waits for its end."""
        self.bridge.running = True  # before the worker starts, so that a second Enter steers
        self.run_worker(stream, group="reply")

    def start(self, work: Coroutine[Any, Any, None]) -> Worker[None]:
        """Do something beside what the keys do."""
        return self.run_worker(work, group="order")

    async def pick(self, screen: PickScreen) -> Picked | None:
        """Let the user pick; only for what was started."""
        return await app_of(self).push_screen_wait(screen)

    async def fill_in(self, form: Form) -> dict[str, str] | None:
        """Let the user fill in a form; only for what was started."""
        return await app_of(self).push_screen_wait(form)

    async def read(self, paper: Paper) -> str:
        """Let the user read; only for what was started."""
        return await app_of(self).push_screen_wait(paper)

    def wear(self, theme: str) -> bool:
        """Other colours; False where there is no such theme."""
        worn = self.wardrobe.change(app_of(self), theme)
        if worn:
            self.dress()
        return worn

    # -- other keys ----------------------------------------------------------------------------

    def action_newline(self) -> None:
        """Break the line."""
        self.prompt.newline()

    def action_interrupt(self) -> None:
        """Stop the reply; what was queued comes back into the prompt."""
        if self.bridge.waits_elsewhere and not self.bridge.running:
            self.reply(self.bridge.withdraw())
        elif self.bridge.running:
            left = self.bridge.interrupt()
            if left:
                self.prompt.put("\n".join(filter(None, [left, self.prompt.text])))
        elif time.monotonic() - self._escaped < TWICE_WITHIN:
            self.action_rewind()
        else:
            self._escaped = time.monotonic()
            if self._said:
                self.say("")
            return
        self._escaped = 0.0

    def action_rewind(self) -> None:
        """Go back to before an earlier message; it is put into the prompt, to be edited and sent again."""
        if self.bridge.running:
            self.say(BUSY)
        elif self._early is None:
            self.run_worker(rewind(self), group="rewind", exclusive=True)

    async def build_anew(self) -> None:
        """Another transcript, and a bridge without memory, for what stands now."""
        before, details = self.transcript, self.transcript.details
        self.transcript = Transcript(root=self.conversation.status.root, id="transcript")
        with app_of(self).batch_update():
            await before.remove()
            await self.mount(self.transcript, before=self._queue)
            self.bridge = Bridge(self.conversation, self.transcript.feed, self)
            self.dress()
            if details:
                self.transcript.toggle_details()
            await self._show_past()

    def action_cycle_mode(self) -> None:
        """The next mode."""
        mode = self.conversation.status.mode
        after = CYCLE[(CYCLE.index(mode) + 1) % len(CYCLE)] if mode in CYCLE else PermissionMode.DEFAULT
        self.run_worker(self._change_mode(after))

    async def _change_mode(self, mode: PermissionMode) -> None:
        said = await self.bridge.set_mode(mode)
        now = self.conversation.status.mode
        self.say("" if now is mode else said or f"The mode stays {MODES[now]}.")

    def action_details(self) -> None:
        """Open or close thinking, calls and results."""
        self.transcript.toggle_details()

    def action_end(self) -> None:
        """Back to the end."""
        self.transcript.to_end()

    def action_ladder(self) -> None:
        """Copy a selection, else stop the reply, else clear the prompt, else say how to leave; again: leave."""
        now = time.monotonic()
        selected = self.get_selected_text() or self.prompt.selected_text
        if selected:
            app_of(self).copy_to_clipboard(selected)
            self.clear_selection()
            self.say("Copied.")
        elif now - self._asked_to_leave < LEAVE_WITHIN:
            self.action_leave()
        elif self.bridge.running:
            self._asked_to_leave = now
            self.action_interrupt()
            self.say("Stopped. ctrl+c again leaves.")
        elif self.prompt.text:
            self._asked_to_leave = now
            self.prompt.put("")
            self.say("Cleared. ctrl+c again leaves.")
        else:
            self._asked_to_leave = now
            self.say("ctrl+c again, ctrl+d or /quit leaves.")

    def action_leave_if_empty(self) -> None:
        """Leave on an empty prompt, else delete to the right."""
        if self.prompt.text:
            self.prompt.action_delete_right()
        else:
            self.action_leave()

    def action_leave(self) -> None:
        """Leave; the session is kept, and what runs is stopped first."""
        self._leave()

    # -- what happens around -------------------------------------------------------------------

    @on(Prompt.Beyond)
    def _scroll(self, message: Prompt.Beyond) -> None:
        if message.pages:
            self.transcript.page(message.pages)
        else:
            self.transcript.to_end()

    @on(TextArea.Changed, "#prompt")
    def _typed(self) -> None:
        self._escaped = 0.0
        if self._said and self.prompt.text:  # a command that was taken leaves the prompt empty, and says something
            self.say("")

    def on_key(self, event: events.Key) -> None:
        """What was typed before the prompt had the focus is the prompt's; what comes from there it has no use for."""
        if event.is_printable or event.key in self.active_bindings:
            event.stop()
            event.prevent_default()
            self.set_focus(self.prompt)
            self.prompt.post_message(events.Key(event.key, event.character))

    def on_paste(self, event: events.Paste) -> None:
        """A paste goes to the prompt, too."""
        event.stop()
        event.prevent_default()
        self.prompt.post_message(events.Paste(event.text))

    def on_resize(self, event: events.Resize) -> None:
        """The rows of header and status line depend on the width."""
        self.state_changed()
