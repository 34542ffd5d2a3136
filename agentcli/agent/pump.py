"""Producers in tasks of their own: a model's stream, or tools that run beside each other.

The reader of a network never waits for whoever looks at the events, and an interrupt stops
the producers, not the generator that hands their items on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")


@dataclass(slots=True, frozen=True)
class Ended:
    """A producer is over: by itself, by an error, or because it was stopped."""

    error: BaseException | None = None
    stopped: bool = False


MOST_ITEMS = 256
"""Items that may lie between producers and a consumer that is slow."""


class Pump(Generic[Item]):
    """Items of one or several producers, in the order in which they came."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(MOST_ITEMS)
        self._queue: asyncio.Queue[tuple[str, Item | Ended]] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, key: str, source: AsyncIterator[Item]) -> None:
        """Run a producer; its items and its `Ended` come out under its key."""
        task = asyncio.create_task(self._run(key, source))
        self._tasks.add(task)
        task.add_done_callback(partial(self._over, key))

    async def next(self) -> tuple[str, Item | Ended]:
        """The next item of any producer."""
        key, item = await self._queue.get()
        if not isinstance(item, Ended):
            self._room.release()
        return key, item

    def stop(self) -> None:
        """Stop all producers; each still ends with its `Ended`."""
        for task in self._tasks:
            task.cancel()

    async def close(self) -> None:
        """Stop all producers and wait until they are gone."""
        self.stop()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _run(self, key: str, source: Any) -> None:
        async with aclosing(source) as items:
            async for item in items:
                await self._room.acquire()
                self._queue.put_nowait((key, item))

    def _over(self, key: str, task: asyncio.Task[None]) -> None:
        # Not at the end of `_run`: a task that is stopped before its first step never gets into it.
        self._tasks.discard(task)
        if task.cancelled():
            self._queue.put_nowait((key, Ended(stopped=True)))
        else:
            self._queue.put_nowait((key, Ended(error=task.exception())))
