"""What a person is told beside the output of a command: one line on stderr."""

from __future__ import annotations

import sys

from agentcli.view.clean import clean


def say(text: str) -> None:
    """Print a sentence; foreign text in it is made harmless."""
    print(f"agentcli: {clean(text, newlines=False, exact=True)}", file=sys.stderr)


def row(*words: str) -> None:
    """Print a line of a list on stdout."""
    print(clean("  ".join(word for word in words if word), newlines=False, exact=True).rstrip())
