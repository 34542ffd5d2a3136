"""`agentcli chat`."""

from __future__ import annotations

import os
from argparse import Namespace

from agentcli.cli.options import options_of
from agentcli.errors import UsageError
from agentcli.frontend.tui.app import run_chat


def chat(chosen: Namespace) -> int:
    """The screen, until the user leaves it."""
    if os.environ.get("TERM", "dumb") == "dumb":
        raise UsageError("this terminal (TERM) cannot show the screen; `agentcli run` works in it")
    return run_chat(options_of(chosen, headless=False), chosen.prompt)
