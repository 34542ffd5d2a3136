"""The Textual application: themes, one chat at a time, and an honest end when something of ours breaks."""

from __future__ import annotations

import asyncio
import gc
import traceback
from typing import Any, ClassVar

from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.screen import Screen

from agentcli.errors import AgentcliError
from agentcli.frontend.tui.choosing import COPY_KEY, SESSIONS, session_entry
from agentcli.frontend.tui.models import Models
from agentcli.frontend.tui.opening import Opener
from agentcli.frontend.tui.screens.chat import ChatScreen
from agentcli.frontend.tui.screens.paper import Paper
from agentcli.frontend.tui.screens.pick import Picked, PickScreen
from agentcli.frontend.tui.themes import Wardrobe, role_variables
from agentcli.frontend.tui.transcript.ink import Ink
from agentcli.frontend.tui.trusting import YES, trust_text
from agentcli.frontend.tui.widgets.rows import Rows
from agentcli.runtime.conversation import Conversation
from agentcli.runtime.trust import Offer, decide
from agentcli.view.summary import utc_now
from agentcli.view.theme import PLAIN

USAGE = 2
STOP_WITHIN = 3.0
"""Seconds that a running reply has for its end; a command ends within two."""

OPENING = "Opening the session …"


class Ground(Screen[None]):
    """What is behind the picker before there is a chat."""

    def __init__(self) -> None:
        super().__init__()
        self._words = Rows()

    def compose(self) -> ComposeResult:
        """One line."""
        yield self._words

    def say(self, sentence: str, ink: Ink) -> None:
        """Show a sentence."""
        self._words.show([[], [Segment(f"  {sentence}")]], ink.muted)


class ChatApp(App[None], inherit_bindings=False):
    """`agentcli chat` on Textual.

    Args:
        conversation: None lets the user pick a session first.
        opener: opens the sessions that are picked.
        models: where models are asked for; else this machine.
        offer: settings of the repository that nobody has decided on; asked about before anything is opened.
    """

    TITLE = "agentcli"
    CSS_PATH: ClassVar[list[str]] = [f"screens/{name}.tcss" for name in ("chat", "confirm", "pick", "form", "paper")]  # pyright: ignore[reportIncompatibleVariableOverride]
    ENABLE_COMMAND_PALETTE = False
    PAUSE_GC_ON_SCROLL = True

    def __init__(
        self,
        conversation: Conversation | None,
        wardrobe: Wardrobe,
        prompt: str | None = None,
        opener: Opener | None = None,
        models: Models | None = None,
        offer: Offer | None = None,
        pick: bool = False,
    ) -> None:
        super().__init__()
        self._offer, self._pick_first = offer, pick
        self.animation_level = "none"
        self.wardrobe = wardrobe
        self._prompt, self._opener, self._models = prompt, opener, models
        self.chat = self._chat(conversation) if conversation is not None else None
        self._ground = Ground()
        self._leaving = self._picking = False
        self.refusal = ""
        """Why no conversation could be opened."""
        self.fault = ""
        """The traceback of a fault of ours, to be shown when the terminal is itself again."""
        wardrobe.dress(self)

    def _chat(self, conversation: Conversation) -> ChatScreen:
        prompt, self._prompt = self._prompt, None
        pick_session = self.pick_session if self._opener else None
        return ChatScreen(conversation, self.wardrobe, prompt, self.leave, pick_session, self._models)

    def get_default_screen(self) -> Screen[Any]:
        """The chat, or an empty ground for what it is picked from."""
        screen = self.chat if self.chat is not None else self._ground
        # Textual gives its first screen no callback, but takes one away when it is switched.
        screen._push_result_callback(self, None)  # pyright: ignore[reportPrivateUsage]
        return screen

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Themes of Textual's own know nothing of our roles."""
        return role_variables(PLAIN)

    # -- which session -------------------------------------------------------------------------

    def on_mount(self) -> None:
        """Without a conversation the first thing is to settle what is trusted, and which one it is."""
        if self._offer is not None and self._opener is not None:
            self.run_worker(self._settle(self._offer, self._opener), group="trust")
        elif self.chat is None:
            self.pick_session()

    async def _settle(self, offer: Offer, opener: Opener) -> None:
        """Ask whether the repository's own settings are used; only then is the conversation opened."""
        said = await self.push_screen_wait(Paper(trust_text(offer), self.wardrobe.ink))
        if said:
            await asyncio.to_thread(decide, offer, said == YES)
        if self._pick_first:
            self.pick_session()
            return
        try:
            conversation = await opener.begin()
        except AgentcliError as error:
            self.refusal = str(error)
            self.exit(return_code=USAGE)
            return
        self.chat = self._chat(conversation)
        await self.switch_screen(self.chat)  # pyright: ignore[reportUnknownMemberType]

    def pick_session(self) -> None:
        """Let the user pick a session, and go on with it; what is on the screen is left properly."""
        if self._opener is not None and not self._picking:
            self._picking = True
            self.run_worker(self._pick(self._opener), group="pick")

    async def _pick(self, opener: Opener) -> None:
        try:
            said = ""
            while (picked := await self._picked(opener, said)) is not None:
                said = await self._go_on_with(opener, picked)
                if not said:
                    return
            if self.chat is None:
                self.exit()
        finally:
            self._picking = False

    async def _picked(self, opener: Opener, said: str) -> Picked | None:
        """What is picked; the list fills while it is open."""
        screen = PickScreen(SESSIONS, self.wardrobe.ink, complete=False)
        screen.say(said)
        reading = self.run_worker(self._fill(screen, opener), group="choices")
        try:
            return await self.push_screen_wait(screen)
        finally:
            reading.cancel()

    async def _fill(self, screen: PickScreen, opener: Opener) -> None:
        now, open_id = utc_now(), self.chat.conversation.status.session_id if self.chat is not None else ""
        steps = opener.choices()
        try:
            while (step := await asyncio.to_thread(next, steps, None)) is not None:
                screen.add(session_entry(choice, now, open_id) for choice in step)
            screen.add((), complete=True)
        except AgentcliError as error:
            screen.add((), complete=True)
            screen.say(str(error))

    async def _go_on_with(self, opener: Opener, picked: Picked) -> str:
        """Show another session; a sentence where that cannot be."""
        before = self.chat
        if before is not None:
            before.say(OPENING)
        else:
            self._ground.say(OPENING, self.wardrobe.ink)
        try:
            conversation = await opener.resume(picked.key, fork=picked.how == COPY_KEY)
        except AgentcliError as error:
            if before is not None:
                before.say("")
            return str(error)
        if before is not None:
            await self.stop()
            await opener.close(before.conversation)
        self.chat = self._chat(conversation)
        await self.switch_screen(self.chat)  # pyright: ignore[reportUnknownMemberType]
        return ""

    # -- the end -------------------------------------------------------------------------------

    def leave(self, code: int = 0) -> None:
        """Leave as soon as the running reply has ended as interrupted, or after a while without it."""
        if self._leaving:
            return
        self._leaving = True
        if self.chat is None:
            self.exit(return_code=code)
        else:
            self.run_worker(self._stop_and_leave(self.chat, code), group="leave")

    async def _stop_and_leave(self, chat: ChatScreen, code: int) -> None:
        if chat.bridge.streaming:
            chat.say("Stopping what runs …")
        await self.stop()
        self.exit(return_code=code)

    async def stop(self) -> None:
        """Interrupt the running reply and wait for its end, bounded."""
        if self.chat is not None:
            await self.chat.bridge.end(STOP_WITHIN)

    def on_ready(self) -> None:
        """What lives now lives to the end; the collector need not look at it again."""
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)
        gc.enable()

    def _fatal_error(self) -> None:
        # Textual would draw the fault with the values of all variables, foreign text included.
        error = self._exception
        self.fault = "".join(traceback.format_exception(error)) if error is not None else "unknown fault"
        self._close_messages_no_wait()
