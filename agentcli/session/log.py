"""The log of one session while it is written: order, durability, and nothing half written.

`SessionLog` fits the agent's journal without knowing it. A record is on disk, in the order of the calls, when its
method returns; it is durable where the caller asked for that. A cancelled caller changes neither.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from agentcli.errors import LogError
from agentcli.ledger.block import now
from agentcli.ledger.message import Msg
from agentcli.session.blob import Blobs
from agentcli.session.codec import ENVELOPE, given_by, line_of, msg_body
from agentcli.session.disk import Grower
from agentcli.session.lock import Hold


@dataclass(slots=True, frozen=True)
class Entry:
    """A record on its way to disk; nobody else changes its body."""

    kind: str
    body: dict[str, Any]
    durable: bool
    owed: bool = False
    """Taken from a message that will not give it again, so it is kept until the disk takes it."""
    ts: str = ""


class SessionLog:
    """The one writer of a session."""

    def __init__(
        self, session_id: str, file: Grower, hold: Hold, blobs: Blobs, last_seq: int, given: dict[str, set[str]]
    ) -> None:
        self.session_id = session_id
        self.held: list[str] = []
        """What the disk refused so far, a sentence each; it is held in memory only."""
        self._file, self._hold, self._blobs = file, hold, blobs
        self._seq, self._given = last_seq, given
        self._owed: list[Entry] = []
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="session-log")
        self._closed = False

    async def said(self, msg: Msg) -> None:
        """A whole message; durable when this returns."""
        msg.take_changes()
        entry = Entry("msg", self._body(msg, msg.content), durable=True, ts=now())
        try:
            await self._write(entry)
        except LogError:
            self._given.pop(msg.id, None)
            raise

    async def kept(self, msg: Msg, *, durable: bool = True) -> None:
        """The blocks of a message that changed, and its other fields so far."""
        changed = msg.take_changes()
        body = self._body(msg, changed if msg.id in self._given else msg.content)
        await self._write(Entry("msg", body, durable, owed=True, ts=now()))

    async def record(self, kind: str, body: Mapping[str, Any], *, durable: bool = False) -> None:
        """Any other record. A body may come from outside, so it never sets `seq`, `ts` or `type`."""
        if kind in ("session", "msg"):
            raise ValueError(f"a record of type {kind} has a method of its own")
        given = {key: copy.deepcopy(value) for key, value in body.items() if key not in ENVELOPE}
        await self._write(Entry(kind, given, durable, ts=now()))

    @property
    def blobs(self) -> Blobs:
        """What is too large for a line."""
        return self._blobs

    def close(self) -> None:
        """Write what is under way, and let another process have the session."""
        if self._closed:
            return
        self._closed = True
        self._writer.shutdown(wait=True)
        self._hold.release()
        self._file.close()

    def _body(self, msg: Msg, blocks: Any) -> dict[str, Any]:
        given = self._given.setdefault(msg.id, set())
        body = msg_body(msg, blocks, given)
        given |= given_by(body)
        return body

    async def _write(self, entry: Entry) -> None:
        if self._closed:
            raise LogError(f"session {self.session_id} is closed and takes no more records")
        # One thread keeps the order; the shield lets a record that is under way be finished.
        refused = await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._writer, self._append, entry))
        if refused is not None:
            self.held.append(str(refused))
            raise refused

    def _append(self, entry: Entry) -> LogError | None:
        try:
            if entry.durable:
                self._file.check()
            while self._owed:
                self._put(self._owed[0])
                del self._owed[0]
            self._put(entry)
        except LogError as exc:
            if entry.owed:
                self._owed.append(entry)
            return exc
        except ValueError as exc:
            return LogError(f"a record of type {entry.kind} could not be saved as JSON: {exc}")
        return self._sync() if entry.durable else None

    def _put(self, entry: Entry) -> None:
        if entry.kind == "msg":
            self._blobs.put_large(entry.body["msg"]["content"])
        self._file.append(line_of(self._seq + 1, entry.ts, entry.kind, entry.body))
        self._seq += 1

    def _sync(self) -> LogError | None:
        try:
            self._file.sync()
        except LogError as exc:
            return exc
        return None
