"""The saved sessions of a data folder: made, opened for writing, read, found.

Opening takes the lock and sets aside a torn end; reading does neither.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Container, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from agentcli.errors import SessionError
from agentcli.ledger.block import now
from agentcli.ledger.message import Msg
from agentcli.session import index
from agentcli.session.blob import Blobs
from agentcli.session.codec import ENVELOPE, MAY_BE_NULL, line_of, scan
from agentcli.session.disk import APPEND, NEW, READ, DiskIO, Grower, make_folder, saving
from agentcli.session.index import SessionRow
from agentcli.session.loaded import Loaded, load, no_collection
from agentcli.session.lock import Hold, holder
from agentcli.session.log import SessionLog
from agentcli.session.remove import remove
from agentcli.session.search import Found, Needle, search
from agentcli.session.torn import repair

VERSION = 1
BASE32 = "abcdefghijklmnopqrstuvwxyz234567"


def new_session_id() -> str:
    """16 random lower-case base32 characters."""
    return "".join(secrets.choice(BASE32) for _ in range(16))


class SessionStore:
    """The sessions below one data folder."""

    def __init__(self, data_dir: Path, io: DiskIO | None = None) -> None:
        self.folder = data_dir / "sessions"
        self._io = io or DiskIO()

    def create(self, session_id: str, header: Mapping[str, Any]) -> SessionLog:
        """A new session whose first line, and whose name in the folder, are durable."""
        path = self._path(session_id)
        with saving(path), ExitStack() as undo:
            make_folder(self._io, self.folder)
            try:
                fd = self._io.open(path, APPEND | NEW)
            except FileExistsError as exc:
                raise SessionError(f"session {session_id} exists already") from exc
            undo.callback(_drop, self._io, path, fd)
            hold = Hold(self._io, path, fd)
            undo.callback(hold.release)
            file = Grower(self._io, path, fd)
            file.append(first_line(session_id, header))
            file.sync(metadata=True)
            self._io.fsync_folder(self.folder)
            undo.pop_all()
        return SessionLog(session_id, file, hold, Blobs(self._io, path), last_seq=1, given={})

    def open(self, session_id: str) -> tuple[SessionLog, Loaded]:
        """An existing session, for writing; SessionHeld where another process has it."""
        path = self._path(session_id)
        fd = self._open(path, APPEND)
        blobs = Blobs(self._io, path)
        with saving(path), ExitStack() as undo:
            undo.callback(self._io.close, fd)
            hold = Hold(self._io, path, fd)
            undo.callback(hold.release)
            if os.fstat(fd).st_nlink == 0:
                raise SessionError(f"there is no session {session_id}: it was removed just now")
            file = Grower(self._io, path, fd)
            with no_collection():
                found = scan(read_all(fd))
                loaded = load(session_id, found, blobs.fetch)
            loaded.lost += blobs.missing(loaded.messages)
            blobs.sweep()
            loaded.lost += repair(self._io, path, file, found)
            undo.pop_all()
        given = {msg.id: given_in(msg) for msg in loaded.messages}
        return SessionLog(session_id, file, hold, blobs, last_seq=found.last_seq, given=given), loaded

    def read(self, session_id: str) -> Loaded:
        """An existing session as it is on disk; nothing is locked, nothing is repaired."""
        path = self._path(session_id)
        fd = self._open(path, READ)
        try:
            raw = read_all(fd)
        finally:
            self._io.close(fd)
        blobs = Blobs(self._io, path)
        with no_collection():
            found = scan(raw)
            loaded = load(session_id, found, blobs.fetch)
        loaded.lost += blobs.missing(loaded.messages)
        under_way = b"\n" not in found.tail and holder(path) is not None
        if found.tail and not under_way:
            loaded.lost.append(f"the end of the session log is lost: its last {len(found.tail)} bytes are no whole record")
        return loaded

    def outputs(self, session_id: str) -> str:
        """The folder of a session's blobs."""
        return str(Blobs(self._io, self._path(session_id)).folder)

    def find(self, prefix: str) -> str:
        """The one session whose id starts so; UsageError where there is none, or more."""
        return index.find(self.folder, prefix)

    def remove(self, session_id: str) -> list[str]:
        """Remove a session and all that lies beside its log; the names of what went. SessionHeld where it is in use."""
        path = self._path(session_id)
        fd = self._open(path, APPEND)
        try:
            hold = Hold(self._io, path, fd)
            try:
                return remove(self._io, path)
            finally:
                hold.release()
        finally:
            self._io.close(fd)

    def ids(self) -> list[str]:
        """Every session, and every log too broken to be one, the last used first."""
        return [path.stem for path in index.logs(self.folder)]

    def strays(self, known: Container[str]) -> list[str]:
        """What lies among the logs and is none of the known sessions."""
        return index.strays(self.folder, known)

    def may_ask(self) -> list[str]:
        """The sessions that may have an open question, the last used first."""
        return [path.stem for path in index.logs(self.folder) if index.may_ask(path)]

    def row(self, session_id: str) -> SessionRow | None:
        """The row of one session."""
        return index.row_of(self._path(session_id))

    def search(self, text: str) -> Iterator[tuple[SessionRow, list[Found]]]:
        """The sessions in which a text stands, the last used first, and where."""
        needle = Needle(text)
        for path in index.logs(self.folder):
            found = search(path, needle)
            row = index.row_of(path) if found else None
            if row is not None:
                yield row, found

    def mentions(self, session_id: str, text: str) -> bool:
        """Whether a word stands in the bytes of a log; cheaper than reading it."""
        try:
            return text.encode() in self._path(session_id).read_bytes()
        except OSError:
            return False

    def rows(self) -> list[SessionRow]:
        """One row a session, the last used first."""
        return index.rows(self.folder)

    def last_of(self, cwd: str) -> str | None:
        """The last used session of a working folder."""
        return index.last_of(self.folder, cwd)

    def _path(self, session_id: str) -> Path:
        if not index.ID.fullmatch(session_id):
            raise SessionError(f"{session_id!r} is no session id")
        return self.folder / f"{session_id}.jsonl"

    def _open(self, path: Path, flags: int) -> int:
        try:
            fd = self._io.open(path, flags)
        except FileNotFoundError as exc:
            raise SessionError(f"there is no session {path.stem}") from exc
        except OSError as exc:
            raise SessionError(f"session {path.stem} cannot be opened: {exc.strerror}: {path}") from exc
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            self._io.close(fd)
            raise SessionError(f"session {path.stem} cannot be opened: it is no file: {path}")
        return fd


def first_line(session_id: str, header: Mapping[str, Any]) -> bytes:
    """The line that makes a file a session; the header is kept whole."""
    ts = now()
    given = {key: value for key, value in header.items() if key not in ENVELOPE}
    first = {"version": VERSION, "cwd": "", "parent": None, "created_at": ts, **given, "id": session_id}
    return line_of(1, ts, "session", first)


def read_all(fd: int) -> bytes:
    """All bytes of an open file."""
    with os.fdopen(os.dup(fd), "rb") as file:
        file.seek(0)
        return file.read()


def given_in(msg: Msg) -> set[str]:
    """Which of the fields that may be null the lines of a message have given a value."""
    return {name for name in MAY_BE_NULL if getattr(msg, name) is not None}


def _drop(io: DiskIO, path: Path, fd: int) -> None:
    """Take back a file of our own that never became a session."""
    try:
        io.unlink(path)
    except OSError:
        return  # what stays has no whole first line, so it is no session
    finally:
        io.close(fd)
