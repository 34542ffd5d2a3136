"""The conversation and the application that shows it, from opening to closing, signals included."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass

from agentcli.errors import AgentcliError, UsageError
from agentcli.frontend.tui.chat_app import ChatApp
from agentcli.frontend.tui.opening import Opened
from agentcli.frontend.tui.prepaint import Terminal
from agentcli.frontend.tui.themes import Wardrobe
from agentcli.runtime import catalogue
from agentcli.runtime.options import Options
from agentcli.runtime.trust import Offer, offer
from agentcli.view.theme import load_themes

GRACE = 4.5
"""Seconds after a signal before the program ends without asking anybody: more than a running reply has for its end."""


@dataclass(slots=True)
class Ending:
    """How the screen ended."""

    code: int = 0
    session_id: str = ""
    fault: str = ""


def play(options: Options | Callable[[], Options], prompt: str | None, terminal: Terminal, *, pick: bool = False) -> Ending:
    """Open the conversation, or let the user pick a session; show it until the user leaves, close it."""
    return asyncio.run(_play(options() if callable(options) else options, prompt, terminal, pick=pick))


async def _play(options: Options, prompt: str | None, terminal: Terminal, *, pick: bool) -> Ending:
    logging.getLogger().addHandler(logging.NullHandler())  # else Python writes records over the screen, or behind it
    opened, offered = Opened(options), _offered(options)
    if pick:
        opened.choices()  # raises for a folder that is none
    elif offered is None:
        await opened.begin()
    ending = Ending()
    try:
        themes = load_themes(reversed(catalogue.theme_folders()))
        if options.theme is not None and options.theme not in themes.found:
            raise UsageError(f"there is no theme {options.theme}; `agentcli themes` lists them")
        wardrobe = Wardrobe(themes, catalogue.theme_name(options.theme))
        app = ChatApp(opened.conversation, wardrobe, prompt, opened, offer=offered, pick=pick)
        _listen(app, terminal, ending)
        terminal.hand_over()
        try:
            await app.run_async()
        finally:
            await app.stop()  # also after a fault of ours: the log is not closed under a running reply
        ending.code = ending.code or app.return_code or 0
        ending.fault = app.fault
        if app.refusal:
            raise UsageError(app.refusal)
    finally:
        if opened.conversation is not None:
            ending.session_id = opened.conversation.status.session_id
            await opened.close(opened.conversation)
    return ending


def _offered(options: Options) -> Offer | None:
    """What the repository brings and nobody has decided on; what cannot be read is told with the notices."""
    try:
        found = offer(options.cwd)
    except AgentcliError:
        return None
    return found if found is not None and found.said is None else None


def _listen(app: ChatApp, terminal: Terminal, ending: Ending) -> None:
    """SIGTERM and SIGHUP end the application as a key would, and after a grace without it."""
    loop = asyncio.get_running_loop()

    def end(number: int) -> None:
        ending.code = 128 + number
        late = threading.Timer(GRACE, _give_up, (terminal, 128 + number))
        late.daemon = True
        late.start()
        app.leave(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        loop.add_signal_handler(number, end, number)


def _give_up(terminal: Terminal, code: int) -> None:
    # A terminal that hung up may block whoever writes to it; the log is durable, so nothing is lost.
    terminal.restore()
    os._exit(code)
