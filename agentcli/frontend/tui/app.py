"""The way in and out of the screen: first frame, what is played behind it, and the terminal as it was.

Imports nothing large: the first frame is painted before asyncio, the runtime and Textual are loaded.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from agentcli.errors import AgentcliError
from agentcli.frontend.tui.prepaint import Terminal

if TYPE_CHECKING:
    from agentcli.runtime.options import Options

USAGE = 2


def run_chat(options: Options | Callable[[], Options], prompt: str | None, *, pick: bool = False) -> int:
    """The screen, from the first frame to the last line; the exit code.

    Args:
        options: what the flags say, or who reads them: then the runtime is loaded behind the first frame.
        pick: the user picks a saved session first.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        _say("chat needs a terminal; `agentcli run` works without one")
        return USAGE
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        sys.__stderr__ = sys.__stdout__  # Textual draws on it
    terminal = Terminal()
    gc.disable()  # until the screen stands: what is loaded and read until then is no garbage
    try:
        terminal.take()
        from agentcli.frontend.tui.play import play

        ending = play(options, prompt, terminal, pick=pick)
    except AgentcliError as exc:
        terminal.restore()
        _say(str(exc))
        return USAGE
    finally:
        terminal.restore()
    if ending.fault:
        _say_fault(ending.fault)
    if ending.session_id:
        with suppress(OSError):
            print(f"agentcli chat --resume {ending.session_id}", flush=True)
    return ending.code


def _say(text: str) -> None:
    from agentcli.view.clean import clean

    print(f"agentcli: {clean(text, newlines=False, exact=True)}", file=sys.stderr)


def _say_fault(fault: str) -> None:
    from agentcli.view.clean import clean

    print(clean(fault, exact=True).rstrip(), file=sys.stderr)
    _say("the screen has a fault; please report what stands above.")
