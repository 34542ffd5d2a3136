"""The Textual application: themes, one screen, and an honest end when something of ours breaks."""

from __future__ import annotations

import gc
import traceback
from typing import Any, ClassVar

from textual.app import App
from textual.screen import Screen

from agentcli.frontend.tui.screens.chat import ChatScreen
from agentcli.frontend.tui.themes import Wardrobe, role_variables
from agentcli.runtime.conversation import Conversation
from agentcli.view.theme import PLAIN

STOP_WITHIN = 3.0
"""Seconds that a running reply has for its end; a command ends within two."""


class ChatApp(App[None], inherit_bindings=False):
    """`agentcli chat` on Textual."""

    TITLE = "agentcli"
    CSS_PATH: ClassVar[list[str]] = ["screens/chat.tcss", "screens/confirm.tcss"]  # pyright: ignore[reportIncompatibleVariableOverride]
    ENABLE_COMMAND_PALETTE = False
    PAUSE_GC_ON_SCROLL = True

    def __init__(self, conversation: Conversation, wardrobe: Wardrobe, prompt: str | None = None) -> None:
        super().__init__()
        self.animation_level = "none"
        self.conversation, self.wardrobe = conversation, wardrobe
        self._prompt = prompt
        self.chat: ChatScreen | None = None
        self._leaving = False
        self.fault = ""
        """The traceback of a fault of ours, to be shown when the terminal is itself again."""
        wardrobe.dress(self)

    def get_default_screen(self) -> Screen[Any]:
        """The chat."""
        self.chat = ChatScreen(self.conversation, self.wardrobe, self._prompt, self.leave)
        return self.chat

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Themes of Textual's own know nothing of our roles."""
        return role_variables(PLAIN)

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
