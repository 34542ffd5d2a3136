"""The Responses model: what is sent over its endpoint's connection, and how the answer is folded.

Nothing is kept at the provider: the history is sent whole, reasoning as encrypted items.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

from agentcli.errors import ModelError
from agentcli.model.base import ModelCard, ModelRequest, Piece
from agentcli.model.openai_responses.format import WireRequest, wire_request
from agentcli.model.openai_responses.stream import ResponseFold
from agentcli.model.openai_wire.client import OPENAI, PATIENCE, SILENCE, Connection
from agentcli.model.spec import ModelSpec

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ITEMS = "items"
REFUSALS = (
    (
        ITEMS,
        re.compile(
            r"encrypted.content.*(verif|decrypt|invalid)|invalid_encrypted|not persisted|(type|required) 'reasoning'|\brs_\w"
        ),
    ),
    ("include", re.compile(r"\binclude\b|encrypted")),
    ("store", re.compile(r"\bstore\b")),
    ("strict", re.compile(r"\bstrict\b")),
    ("reasoning", re.compile(r"reasoning|summar")),
)
"""What a request can do without, and the words of an endpoint that refuses it; the first that fits."""
REASONS = re.compile(r"(o\d|gpt-5|codex)")
"""Models of OpenAI that can tell a summary of their reasoning."""


class OpenAIResponseModel:
    """A model behind an endpoint that speaks Responses.

    Args:
        spec: the model; a str is a model's name, with endpoint and key from the environment.
        silence: seconds without a byte after which the answer has failed.
        patience: seconds without a word of the answer, keep-alive comments left aside.
    """

    def __init__(self, spec: ModelSpec | str, *, silence: float = SILENCE, patience: float = PATIENCE) -> None:
        self._connection = Connection(spec, _sending, silence=silence, patience=patience)
        self.card: ModelCard = self._connection.card
        self._refused: set[str] = set()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """One attempt of one answer; what the endpoint refuses by name is left out from then on."""
        while True:
            begun = False
            wire = wire_request(request, "" if ITEMS in self._refused else self.card.provider)
            body = self._body(wire)
            try:
                fold = ResponseFold(wire.names, self.card.provider, self._connection.key)
                async with aclosing(self._connection.answer(body, fold)) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
                return
            except ModelError as error:
                also = [*([ITEMS] if wire.replays else []), *(["strict"] if wire.tools else [])]
                name = None if begun else refused(error, {*body, *also} - self._refused)
                if name is None:
                    raise
                self._refused.add(name)

    async def warm(self) -> None:
        """Load the SDK and make the client, off the event loop."""
        await self._connection.warm()

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        await self._connection.close()

    def _body(self, wire: WireRequest) -> dict[str, Any]:
        body: dict[str, Any] = {"input": wire.items, "store": False, "include": ["reasoning.encrypted_content"]}
        if self._connection.base_url == OPENAI and REASONS.match(self._connection.spec.wire_name):
            body["reasoning"] = {"summary": "auto"}
        if wire.tools:
            body["tools"] = [{name: tool[name] for name in tool if name not in self._refused} for tool in wire.tools]
        return {name: value for name, value in body.items() if name not in self._refused}


def refused(error: ModelError, sent: set[str]) -> str | None:
    """What of the things sent the endpoint's refusal names; None where the request cannot be helped."""
    if error.status not in (400, 404, 422):
        return None
    said = error.message.lower()
    return next((name for name, words in REFUSALS if name in sent and words.search(said)), None)


def _sending(client: AsyncOpenAI) -> Any:
    return client.responses.with_streaming_response.create
