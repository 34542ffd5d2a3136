"""Questions about the world, answered as plain data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agentcli import paths
from agentcli.config.load import load_settings
from agentcli.ledger.message import Msg
from agentcli.session.store import SessionRow, SessionStore


def theme_folders() -> list[Path]:
    """Folders with theme files, the user's own first."""
    return paths.themes_dirs()


def theme_name(flag: str | None) -> str | None:
    """The theme that is wished for: flag, environment, settings."""
    return flag or load_settings(None).theme


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
