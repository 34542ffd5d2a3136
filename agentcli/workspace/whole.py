"""The whole of an output that is too long to be told: on its way to a file as soon as that shows, in bounded memory.

Knows no session: who opens a spool decides where it lies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Protocol

from agentcli.errors import LogError

BLOCK = 262_144
"""Characters that are gathered before they are written."""
NOT_KEPT = "they are not kept"
HOW_TO_READ = "Read it with offset and limit"


@dataclass(slots=True, frozen=True)
class Stored:
    """A text as a file that stays as it is."""

    path: str
    digest: str
    """sha256 of its bytes, in hex."""
    size: int
    """In bytes."""
    missing: int = 0
    """Bytes that had no room between its beginning and its end."""


class Spool(Protocol):
    """A file that is being written. Blocking, for any thread; OSError or LogError where the disk refuses."""

    def write(self, text: str) -> None:
        """Add to it; nothing once it is finished or dropped."""
        ...

    def finish(self) -> Stored:
        """Make it durable under a name that stays."""
        ...

    def drop(self) -> None:
        """Let go of it, and remove what has no such name."""
        ...


Keep = Callable[[], Awaitable[Spool | None]]
"""Opens a spool; None where nothing can be kept."""


class Whole:
    """Takes a text in pieces. Whoever makes one has to `close` it, whatever happens.

    A cancelled caller leaves no step half done: the next one waits for it.

    Args:
        most: as long as this it is told whole, and no file is made.
    """

    def __init__(self, most: int, keep: Keep | None) -> None:
        self._most, self._keep = most, keep
        self._pieces: list[str] = []
        self._held = self._count = 0
        self._spool: Spool | None = None
        self._busy: asyncio.Future[None] | None = None
        self._fault = "" if keep is not None else NOT_KEPT
        self.stored: Stored | None = None

    def add(self, text: str) -> bool:
        """Take the next piece; whether it is time to `write`."""
        if self._fault:
            return False
        self._pieces.append(text)
        self._held += len(text)
        self._count += len(text)
        return self._count > self._most and (self._spool is None or self._held >= BLOCK)

    async def write(self) -> None:
        """Bring what is held to the file."""
        text = "".join(self._pieces)
        self._pieces.clear()
        self._held = 0
        await self._alone(self._put(text))

    async def end(self) -> str:
        """Make the file durable; where it is, or why it is not, in words for the line that stands for what is left out."""
        if self._count > self._most and not self._fault:
            await self.write()
            await self._alone(self._finish())
        return self._fault or (where(self.stored) if self.stored else "")

    async def close(self) -> None:
        """Give back what it holds; a file that was finished stays."""
        self._pieces.clear()
        if self._busy is not None:
            await self._alone(self._drop())

    @property
    def metadata(self) -> dict[str, object]:
        """What the result says of the file."""
        return {"kept": {"blob": self.stored.digest, "bytes": self.stored.size}} if self.stored else {}

    async def _alone(self, step: Coroutine[None, None, None]) -> None:
        before = self._busy
        self._busy = asyncio.ensure_future(_after(before, step))
        await asyncio.shield(self._busy)

    async def _put(self, text: str) -> None:
        if self._fault or self._keep is None:
            return
        try:
            if self._spool is None:
                self._spool = await self._keep()
            if self._spool is None:
                self._fault = NOT_KEPT
            else:
                await asyncio.to_thread(self._spool.write, text)
        except (OSError, LogError) as error:
            self._fail(error)

    async def _finish(self) -> None:
        if self._fault or self._spool is None:
            return
        try:
            self.stored = await asyncio.to_thread(self._spool.finish)
        except (OSError, LogError) as error:
            self._fail(error)

    async def _drop(self) -> None:
        if self._spool is not None:
            await asyncio.to_thread(self._spool.drop)

    def _fail(self, error: OSError | LogError) -> None:
        # An output that cannot be kept is no reason to stop: its head and its tail are there.
        why = error.strerror if isinstance(error, OSError) else None
        self._fault = f"they could not be kept: {why or error}"


async def _after(before: asyncio.Future[None] | None, step: Coroutine[None, None, None]) -> None:
    if before is not None:
        await asyncio.wait([before])
    await step


def where(stored: Stored) -> str:
    """Where a text is, for a model."""
    if stored.missing:
        return f"{stored.path} has all but {stored.missing:,} bytes of its middle: {HOW_TO_READ}"
    return f"the whole is in {stored.path}: {HOW_TO_READ}"
