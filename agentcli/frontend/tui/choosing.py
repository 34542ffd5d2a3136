"""Saved sessions and earlier messages as entries of a list to pick from."""

from __future__ import annotations

from pathlib import Path

from agentcli.frontend.tui.screens.listing import LONGEST, Entry
from agentcli.frontend.tui.screens.pick import Wording
from agentcli.runtime.catalogue import Choice
from agentcli.view.summary import age, plural

COPY_KEY = "ctrl+f"
SESSIONS = Wording(
    title="Go on with a session",
    takes="goes on",
    nothing="No session was saved yet.",
    ways={COPY_KEY: "goes on in a copy"},
)
MESSAGES = Wording(title="Go back to before a message", takes="takes it back into the prompt", leaves="stays here")
HERE, ELSEWHERE, BROKEN = 0, 1, 2


def short_folder(path: str) -> str:
    """A folder with `~` for the home folder."""
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path == home or path.startswith(home.rstrip("/") + "/") else path


def session_entry(choice: Choice, now: str, open_id: str = "") -> Entry:
    """A session; `open_id` is the one that is on the screen."""
    if choice.fault:
        return Entry(choice.id, choice.id, "unreadable", choice.fault, "", BROKEN, True, "unreadable log", choice.fault)
    open_here = choice.id == open_id
    states = ["waits" if choice.waiting else "", "open here" if open_here else "held" if choice.held_by else ""]
    return Entry(
        key=choice.id,
        title=choice.title or "(no title)",
        right=" · ".join([*filter(None, states), age(choice.updated_at, now)]),
        under=_under(choice, open_here=open_here),
        mark="?" if choice.waiting else "",
        rank=HERE if choice.here else ELSEWHERE,
        dim=not choice.here,
        hidden="" if choice.messages else "empty session",
        refused=_refusal(choice, open_here=open_here),
    )


def _under(choice: Choice, *, open_here: bool) -> str:
    folder = short_folder(choice.cwd) if choice.cwd else "folder unknown"
    parts = [
        f"{folder} (the folder is gone)" if choice.gone else folder,
        plural(choice.messages, "message"),
        f"{plural(choice.waiting, 'call')} {'waits' if choice.waiting == 1 else 'wait'}" if choice.waiting else "",
        f"process {choice.held_by} writes it" if choice.held_by and not open_here else "",
    ]
    return " · ".join(filter(None, parts))


def _refusal(choice: Choice, *, open_here: bool) -> str:
    if open_here:
        return "This session is on the screen already; ctrl+f goes on in a copy."
    if choice.held_by:
        return f"Process {choice.held_by} writes this session; ctrl+f goes on in a copy."
    return ""


def message_entry(msg_id: str, text: str, at: str, now: str) -> Entry:
    """An earlier message."""
    return Entry(key=msg_id, title=text[:LONGEST].strip() or "(no text)", right=age(at, now))
