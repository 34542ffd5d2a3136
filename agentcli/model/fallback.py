"""A model with others behind it; it is the one whose turn it is. When the turn passes on is the agent's to decide."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Callable, Sequence

from agentcli.model.base import ChatModel, ModelCard, ModelRequest, Piece


class FallbackModel:
    """The first model of a row, until the turn is passed on; another reply begins with the first again.

    Args:
        others: makes each of those behind it; `UsageError` where it cannot be used now.
    """

    def __init__(self, first: ChatModel, others: Sequence[Callable[[], ChatModel]]) -> None:
        self._makers = list(others)
        self._made: dict[int, ChatModel] = {0: first}
        self._making = threading.Lock()
        self._turn: int = 0
        self._reply_id: str = ""

    @property
    def current(self) -> ChatModel:
        """The model whose turn it is."""
        return self._made[self._turn]

    @property
    def card(self) -> ModelCard:
        """The current model's."""
        return self.current.card

    def begin(self, reply_id: str) -> None:
        """Begin with the first model, where this is another reply."""
        if reply_id != self._reply_id:
            self._turn, self._reply_id = 0, reply_id

    def coming(self) -> range:
        """The places of those whose turn has not come."""
        return range(self._turn + 1, len(self._makers) + 1)

    def made(self, place: int) -> ChatModel:
        """The model of a place, made at the first need, which may take its time."""
        with self._making:
            if place not in self._made:
                self._made[place] = self._makers[place - 1]()
            return self._made[place]

    def pass_on(self, place: int) -> None:
        """Give the turn to a model that was made."""
        assert place in self._made
        self._turn = place

    def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """One attempt of the current model."""
        return self.current.stream(request)

    async def warm(self) -> None:
        """Load what the current model needs."""
        await self.current.warm()

    async def close(self) -> None:
        """Close all that were made; a later call opens new connections."""
        for model in list(self._made.values()):
            await model.close()
