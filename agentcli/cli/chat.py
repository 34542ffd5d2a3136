"""`agentcli chat`."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import TYPE_CHECKING

from agentcli.errors import UsageError
from agentcli.frontend.tui.app import run_chat

if TYPE_CHECKING:
    from agentcli.runtime.options import Options


def chat(chosen: Namespace) -> int:
    """The screen, until the user leaves it."""
    if os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("this terminal (TERM) cannot show the screen; `agentcli run` works in it")

    def read() -> Options:
        # The runtime is loaded behind the first frame.
        from agentcli.cli.options import options_of

        return options_of(chosen, headless=False)

    return run_chat(read, chosen.prompt, pick=chosen.pick)
