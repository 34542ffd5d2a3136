"""Questions about the world, answered as plain data."""

from __future__ import annotations

from agentcli import paths
from agentcli.ledger.message import Msg
from agentcli.session.store import SessionRow, SessionStore


def session_rows() -> list[SessionRow]:
    """All saved sessions, newest first."""
    return SessionStore(paths.data_dir()).rows()


def session_messages(prefix: str) -> list[Msg]:
    """The messages of a session, by its id or a unique beginning of it."""
    store = SessionStore(paths.data_dir())
    return store.read(store.find(prefix)).messages
