"""The Chat Completions model: what is sent over its endpoint's connection, and how the answer is folded."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from agentcli.model.base import ModelCard, ModelRequest, Piece
from agentcli.model.openai_chat.format import wire_request
from agentcli.model.openai_chat.stream import ChatFold
from agentcli.model.openai_wire.client import PATIENCE, SILENCE, Connection
from agentcli.model.spec import ModelSpec

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIChatModel:
    """A model behind an endpoint that speaks Chat Completions.

    Args:
        spec: the model; a str is a model's name, with endpoint and key from the environment.
        silence: seconds without a byte after which the answer has failed.
        patience: seconds without a word of the answer, keep-alive comments left aside.
    """

    def __init__(self, spec: ModelSpec | str, *, silence: float = SILENCE, patience: float = PATIENCE) -> None:
        self._connection = Connection(spec, _sending, silence=silence, patience=patience)
        self.card: ModelCard = self._connection.card

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """One attempt of one answer."""
        wire = wire_request(request)
        fold = ChatFold(wire.names, self.card.provider, self._connection.key)
        body: dict[str, Any] = {"messages": wire.messages, **({"tools": wire.tools} if wire.tools else {})}
        needed: dict[str, Any] = {"messages": [], "stream_options": {"include_usage": True}}
        async with aclosing(self._connection.answer(body, fold, **needed)) as pieces:
            async for piece in pieces:
                yield piece

    async def warm(self) -> None:
        """Load the SDK and make the client, off the event loop."""
        await self._connection.warm()

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        await self._connection.close()


def _sending(client: AsyncOpenAI) -> Any:
    return client.chat.completions.with_streaming_response.create
