"""Questions about the world, answered as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agentcli import paths
from agentcli.ledger.message import Msg
from agentcli.session.store import SessionRow, SessionStore


def session_rows() -> list[SessionRow]:
    """All saved sessions, newest first."""
    return SessionStore(paths.data_dir()).rows()


@dataclass(slots=True, frozen=True)
class Story:
    """What a session holds, and what of it is lost."""

    messages: Sequence[Msg]
    lost: Sequence[str]


def session_story(prefix: str) -> Story:
    """A session by its id or a unique beginning of it; nothing is locked or repaired."""
    store = SessionStore(paths.data_dir())
    loaded = store.read(store.find(prefix))
    return Story(loaded.messages, loaded.lost)
