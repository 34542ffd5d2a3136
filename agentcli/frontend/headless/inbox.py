"""Inputs that wait their turn, in the order of their lines. Knows no conversation."""

from __future__ import annotations

import asyncio

from agentcli.frontend.headless.lines import Input
from agentcli.ledger.message import Msg


class Inbox:
    """A queue in which a message may lie that was also given to the running reply."""

    def __init__(self) -> None:
        self.refused = False
        """A line was refused."""
        self._items: list[tuple[Input, bool]] = []
        self._closed = False
        self._changed = asyncio.Event()

    def add(self, item: Input, *, steered: bool = False) -> None:
        """Put an input at the end."""
        self._items.append((item, steered))
        self._changed.set()

    def close(self) -> None:
        """Nothing will be added any more."""
        self._closed = True
        self._changed.set()

    async def next(self) -> Input | None:
        """Take the first input that no reply was given; None at the end of all."""
        while True:
            for at, (item, steered) in enumerate(self._items):
                if not steered:
                    del self._items[at]
                    return item
            if self._closed:
                return None
            self._changed.clear()
            await self._changed.wait()

    def steered(self) -> list[Msg]:
        """The messages that lie with the conversation."""
        return [item for item, steered in self._items if steered and isinstance(item, Msg)]

    def give_back(self, left: int) -> None:
        """A reply has ended: of the messages that it was given, the last `left` were not taken in."""
        given = [at for at, (_, steered) in enumerate(self._items) if steered]
        taken = set(given[: len(given) - left])
        self._items = [(item, False) for at, (item, _) in enumerate(self._items) if at not in taken]
