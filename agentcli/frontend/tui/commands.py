"""The slash commands, in one table."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

COMMANDS = {
    "help": "keys and commands",
    "mode": "NAME: default, accept_edits, explore, bypass, dont_ask; without one, a list",
    "model": "NAME: answer with another model from now on; without one, a list",
    "connect": "models on this machine, an endpoint with a key, another address",
    "context": "what the next request holds",
    "compact": "summarise the older part of the context now; words after it say what matters",
    "prompt": "what would be sent to the model next, byte for byte; words after it count as the message",
    "undo": "CALL: the files of a call as they were before it; without one, the last change",
    "redo": "the change that was undone last, once more",
    "why": "CALL: who allowed or denied a call, when, by which rule; without one, the last call",
    "rewind": "go back to before an earlier message (esc esc)",
    "title": "TEXT: what the session is called",
    "resume": "go on with another session",
    "theme": "NAME: other colours; without one, a list",
    "quit": "leave; the session is kept",
}


@dataclass(slots=True, frozen=True)
class Slash:
    """A command line: its name and what follows."""

    name: str
    argument: str


def slash_of(text: str) -> Slash | None:
    """The command of a prompt that begins with `/`; None for a message (a path such as `/etc/hosts` is one)."""
    if not text.startswith("/") or "\n" in text.strip():
        return None
    name, _, argument = text[1:].strip().partition(" ")
    return None if "/" in name else Slash(name, argument.strip())


def unknown(slash: Slash) -> str:
    """What to say of a command that is none."""
    near = difflib.get_close_matches(slash.name, COMMANDS, 1, 0.5)
    hint = f" Did you mean /{near[0]}?" if near else " /help lists the commands."
    return f"There is no command /{slash.name}.{hint}"
