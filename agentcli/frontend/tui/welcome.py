"""What stands on the empty screen: what it is connected to, and what to type."""

from __future__ import annotations

from agentcli.frontend.tui.folder import folder_name
from agentcli.runtime.conversation import Status


def welcome(status: Status) -> tuple[str, ...]:
    """The lines, the first of which counts most."""
    folder = folder_name(status.cwd)
    if status.demo:
        return (
            f"No model is connected yet, in {folder}.",
            "Enter on the empty prompt, or /connect, shows what can be connected.",
            "Nothing is sent anywhere before you choose.",
            "Type anything, and a scripted guide shows how it works.",
        )
    return f"Connected to {status.model}, in {folder}.", "Type what is to be done. /help shows keys and commands."
