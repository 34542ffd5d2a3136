"""Questions about the world, answered as plain data. Nothing here locks, repairs or changes a session but `remove_session`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentcli import paths
from agentcli.config.load import load_settings
from agentcli.errors import SessionError, UsageError
from agentcli.ledger.message import Msg
from agentcli.runtime.where import folder
from agentcli.session.search import Found
from agentcli.session.store import SessionRow, SessionStore
from agentcli.view.clean import clean

BEFORE, AFTER = 40, 120
"""Characters of an excerpt around the words."""
FIRST_STEP, LARGEST_STEP = 40, 1000
"""Sessions that are looked at in one step; each one is twice as large as the one before."""
NO_SESSION = "Its first line is not whole, so it is no session; `agentcli sessions verify` looks closer."
NO_LOG = "It lies among the logs and is none."


def theme_folders() -> list[Path]:
    """Folders with theme files, the user's own first."""
    return paths.themes_dirs()


def theme_name(flag: str | None) -> str | None:
    """The theme that is wished for: flag, environment, settings."""
    return flag or load_settings(None).theme


def session_rows() -> list[SessionRow]:
    """All saved sessions, newest first."""
    return _store().rows()


def session_row(prefix: str) -> SessionRow | str:
    """A session by its id or a unique beginning of it; the bare id where its log is no session any more."""
    store = _store()
    found = store.find(prefix)
    return store.row(found) or found


def hidden_sessions(shown: Sequence[SessionRow]) -> list[str]:
    """The names of what lies among the logs and cannot be shown as a session."""
    return _store().strays({row.id for row in shown})


@dataclass(slots=True, frozen=True)
class Choice:
    """A session that could be gone on with, or a log that cannot be read as one: then `fault` says why."""

    id: str
    title: str = ""
    cwd: str = ""
    updated_at: str = ""
    messages: int = 0
    waiting: int = 0
    held_by: str | None = None
    here: bool = False
    """It belongs to the folder of now."""
    gone: bool = False
    """Its folder is no more."""
    fault: str = ""


def session_choices(cwd: str | None) -> Iterator[list[Choice]]:
    """All there is to go on with, the last used first, a few at each step; what is no session comes last."""
    return _choices(folder(cwd or os.curdir), _store())


def _choices(here: str, store: SessionStore) -> Iterator[list[Choice]]:
    ids, broken, folders = store.ids(), list[Choice](), dict[str, bool]()
    start, size = 0, FIRST_STEP
    while start < len(ids):
        found: list[Choice] = []
        for session_id in ids[start : start + size]:
            row = store.row(session_id)
            if row is None:
                broken.append(Choice(session_id, fault=NO_SESSION))
            else:
                found.append(_choice(row, here, folders))
        yield found
        start, size = start + size, min(2 * size, LARGEST_STEP)
    yield [*broken, *(Choice(name, fault=NO_LOG) for name in store.strays(set(ids)))]


def _choice(row: SessionRow, here: str, folders: dict[str, bool]) -> Choice:
    if row.cwd not in folders:
        folders[row.cwd] = os.path.isdir(row.cwd)
    return Choice(
        id=row.id,
        title=row.title,
        cwd=row.cwd,
        updated_at=row.updated_at,
        messages=row.messages,
        waiting=row.waiting,
        held_by=row.held_by,
        here=row.cwd == here,
        gone=bool(row.cwd) and not folders[row.cwd],
    )


@dataclass(slots=True, frozen=True)
class Story:
    """What a session holds, and what of it is lost."""

    messages: Sequence[Msg]
    lost: Sequence[str]
    row: SessionRow | None = None


def session_story(prefix: str) -> Story:
    """A session by its id or a unique beginning of it."""
    store = _store()
    found = store.find(prefix)
    loaded = store.read(found)
    return Story(loaded.messages, loaded.lost, store.row(found))


@dataclass(slots=True, frozen=True)
class Health:
    """Whether a log is whole."""

    id: str
    lost: Sequence[str]
    fault: str | None = None
    """Why it is no session at all."""

    def to_json(self) -> dict[str, Any]:
        """The row for scripts."""
        return {"id": self.id, "ok": not self.lost, "lost": list(self.lost)}


def verify_sessions(prefix: str | None) -> Iterator[Health]:
    """Read one session, or all of them, as a resume would."""
    store = _store()
    if prefix is not None:
        found = store.find(prefix)
        yield Health(found, store.read(found).lost)
        return
    for session_id in store.ids():
        try:
            yield Health(session_id, store.read(session_id).lost)
        except SessionError as error:
            yield Health(session_id, (), str(error))


@dataclass(slots=True, frozen=True)
class Hit:
    """A place in a session in which a text was found."""

    row: SessionRow
    found: Found

    @property
    def excerpt(self) -> str:
        """The words and what stands around them, as one clean line."""
        text, start, end = self.found.text, self.found.start, self.found.end
        cut = text[max(0, start - BEFORE) : end + AFTER]
        line = clean(" ".join(cut.split()), newlines=False)
        return ("…" if start > BEFORE else "") + line + ("…" if end + AFTER < len(text) else "")

    def to_json(self) -> dict[str, Any]:
        """The row for scripts."""
        found = self.found
        where = {"message_id": found.message_id, "role": found.role, "at": found.at, "block": found.block}
        return {"id": self.row.id, "title": self.row.title, "cwd": self.row.cwd, **where, "excerpt": self.excerpt}


def search_sessions(text: str) -> Iterator[Hit]:
    """Where a text stands in any session, the last used session first."""
    if not text.strip():
        raise UsageError("there is nothing to search for: the text is empty")
    for row, places in _store().search(text.strip()):
        yield from (Hit(row, found) for found in places)


def remove_session(session_id: str) -> list[str]:
    """Remove a session for good; the names of the files that went. `SessionHeld` where it is in use."""
    return _store().remove(session_id)


def _store() -> SessionStore:
    return SessionStore(paths.data_dir())
