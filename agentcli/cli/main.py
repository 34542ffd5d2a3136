"""The way in: the command line, its command, its exit code. Loads the runtime only inside a command."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence

from agentcli.cli.say import say
from agentcli.errors import AgentcliError, LogError, ModelError, RefusedInput, SessionError, UsageError

INTERNAL, USAGE, MODEL, INTERRUPTED = 1, 2, 3, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["--version"]:
        from agentcli.version import __version__

        print(f"agentcli {__version__}")
        return 0
    from agentcli.cli.parser import parse

    chosen = parse(words)
    try:
        return _call(chosen)
    except AgentcliError as error:
        say(str(error))
        return _code(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _drop_stdout()
        return INTERNAL
    except Exception as error:
        if os.environ.get("AGENTCLI_DEBUG"):
            raise
        say(f"internal error: {type(error).__name__}: {error} (with AGENTCLI_DEBUG=1 it is shown whole)")
        return INTERNAL


def _call(chosen: Namespace) -> int:
    match chosen.command:
        case "chat":
            from agentcli.cli.chat import chat

            return chat(chosen)
        case "run":
            from agentcli.cli.run import run

            return run(chosen)
        case "sessions":
            from agentcli.cli.sessions import sessions

            return sessions(chosen)
        case "inbox":
            from agentcli.cli.inbox import inbox

            return inbox(chosen)
        case "rules":
            from agentcli.cli.rules import rules

            return rules(chosen)
        case "trust":
            from agentcli.cli.trust import trust

            return trust(chosen)
        case "why":
            from agentcli.cli.why import why

            return why(chosen)
        case "models":
            from agentcli.cli.models import models

            return models(chosen)
        case "themes":
            from agentcli.cli.themes import themes

            return themes(chosen)
        case "doctor":
            from agentcli.cli.doctor import doctor

            return doctor(chosen)
        case command:
            raise UsageError(f"unknown command {command!r}")


def _code(error: AgentcliError) -> int:
    match error:
        case ModelError():
            return MODEL
        case LogError():
            return INTERNAL
        case UsageError() | SessionError() | RefusedInput():
            return USAGE
        case _:
            return INTERNAL


def _drop_stdout() -> None:
    # The interpreter flushes stdout once more at its end, and would complain of the broken pipe there.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
