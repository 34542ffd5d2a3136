"""The slash commands, carried out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from agentcli.errors import AgentcliError
from agentcli.frontend.tui.commands import COMMANDS, Slash, unknown
from agentcli.frontend.tui.desk import Desk
from agentcli.frontend.tui.keys import HELP
from agentcli.frontend.tui.models import MODE, THEME, Models, mode_entries, theme_entries
from agentcli.frontend.tui.screens.connecting import Connecting
from agentcli.frontend.tui.screens.paper import Paper, Text
from agentcli.frontend.tui.screens.pick import PickScreen
from agentcli.frontend.tui.widgets.status import context_lines
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.command import Command, Redo, SetTitle, Undo

BUSY = "A reply runs; esc stops it first."


class Orders:
    """Carries out one command after the other.

    Args:
        pick_session: lets the user go on with another session, where there is any.
    """

    def __init__(self, desk: Desk, models: Models, pick_session: Callable[[], None] | None) -> None:
        self._desk, self._pick_session = desk, pick_session
        self._connecting = Connecting(desk, models)

    def take(self, slash: Slash) -> None:
        """Carry out a command, or say that there is none of this name."""
        desk, said = self._desk, slash.argument
        match slash.name:
            case "quit":
                desk.action_leave()
            case "help" | "":
                lines = [*HELP, *(f"/{name}  {words}" for name, words in COMMANDS.items())]
                desk.bridge.feed.notice("\n".join(lines))
            case "mode":
                self._mode(said)
            case "model":
                self._start(desk.bridge.set_model(said)) if said else desk.start(self._connecting.pick_model())
            case "connect":
                self.connect()
            case "context":
                desk.bridge.feed.notice("\n".join(context_lines(desk.conversation.context())))
            case "compact" if desk.bridge.running:
                desk.say("A reply runs; compress the context after its end.")
            case "compact":
                desk.reply(desk.bridge.compact(said))
            case "theme":
                self._theme(said)
            case "resume":
                self._resume()
            case "rewind":
                desk.action_rewind()
            case "prompt":
                desk.start(self._prompt(said))
            case "undo":
                self._start(self._done(Undo(said)))
            case "redo":
                self._start(self._done(Redo()))
            case "why":
                desk.start(self._why(said))
            case "title" if said:
                self._start(self._done(SetTitle(said)))
            case "title":
                desk.say("/title TEXT gives the session a title.")
            case _:
                desk.bridge.feed.notice(unknown(slash))

    def connect(self) -> None:
        """Show what can be connected."""
        self._desk.start(self._connecting.offer())

    def _start(self, sentence: Coroutine[Any, Any, str]) -> None:
        self._desk.start(self._said(sentence))

    async def _said(self, sentence: Coroutine[Any, Any, str]) -> None:
        self._desk.say(await sentence)

    # -- the commands --------------------------------------------------------------------------

    def _mode(self, name: str) -> None:
        wanted = name.replace(" ", "_").replace("-", "_").lower()
        if not wanted:
            self._desk.start(self._pick_mode())
        elif wanted in list(PermissionMode):
            self._start(self._desk.bridge.set_mode(PermissionMode(wanted)))
        else:
            self._desk.say(f"Modes: {', '.join(PermissionMode)}")

    async def _pick_mode(self) -> None:
        desk = self._desk
        picked = await desk.pick(PickScreen(MODE, desk.wardrobe.ink, mode_entries(desk.conversation.status.mode)))
        if picked is not None:
            desk.say(await desk.bridge.set_mode(PermissionMode(picked.key)))

    def _theme(self, name: str) -> None:
        if not name:
            self._desk.start(self._pick_theme())
        elif not self._desk.wear(name):
            self._desk.say(f"Themes: {', '.join(self._desk.wardrobe.names)}")

    async def _pick_theme(self) -> None:
        wardrobe = self._desk.wardrobe
        picked = await self._desk.pick(PickScreen(THEME, wardrobe.ink, theme_entries(wardrobe.names, wardrobe.worn.name)))
        if picked is not None:
            self._desk.wear(picked.key)

    def _resume(self) -> None:
        if self._desk.bridge.running:
            self._desk.say(BUSY)
        elif self._pick_session is not None:
            self._pick_session()
        else:
            self._desk.say("There are no other sessions here.")

    async def _done(self, command: Command) -> str:
        try:
            return await self._desk.conversation.do(command)
        except AgentcliError as error:
            return str(error)

    async def _prompt(self, text: str) -> None:
        from agentcli.runtime.dry_run import request_text  # few look at it; all would wait for it at start

        desk = self._desk
        try:
            body = await request_text(desk.conversation, text or None)
        except AgentcliError as error:
            desk.say(str(error))
            return
        title = f"The next request to {desk.conversation.status.model}, {len(body.encode()):,} bytes"
        await desk.read(Paper(Text(title, body), desk.wardrobe.ink))

    async def _why(self, call: str) -> None:
        from agentcli.runtime.why import why

        desk = self._desk
        session = desk.conversation.status.session_id
        if not session:
            desk.say("No call was made yet.")
            return
        try:
            found = await asyncio.to_thread(why, call, session)
        except AgentcliError as error:
            desk.say(str(error))
            return
        desk.bridge.feed.notice("\n".join([found.title, *found.lines(), f"call {found.call.id}"]))
