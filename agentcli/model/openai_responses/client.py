"""The Responses model: what is sent over its endpoint's connection, and how the answer is folded.

Nothing is kept at the provider: the history is sent whole, reasoning as encrypted items.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any

from agentcli.model.base import ModelCard, ModelRequest, Piece
from agentcli.model.openai_responses.format import WireRequest, wire_request
from agentcli.model.openai_responses.stream import ResponseFold
from agentcli.model.openai_wire.client import OPENAI, PATIENCE, SILENCE, Attempt, Connection
from agentcli.model.openai_wire.lesson import NO_DATA, NO_STREAM, STREAM, Lessons
from agentcli.model.spec import ModelSpec

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport
    from openai import AsyncOpenAI

ITEMS, SUMMARY, LIMIT = "items", "summary", "max_output_tokens"
REFUSALS = (
    (
        ITEMS,
        re.compile(
            r"encrypted.content.*(verif|decrypt|invalid)|invalid_encrypted|not persisted|(type|required) 'reasoning'|\brs_\w"
        ),
    ),
    *NO_STREAM,
    ("include", re.compile(r"\binclude\b|encrypted")),
    ("store", re.compile(r"\bstore\b")),
    ("strict", re.compile(r"\bstrict\b")),
    (SUMMARY, re.compile(r"summar|reasoning(?!.effort)")),
    (LIMIT, re.compile(r"max_output_tokens.*(support|unknown|unrecognized|permitted)|(unsupported|unknown).*max_output_tokens")),
    *NO_DATA,
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
        transport: what carries the requests, in the place of the network.
    """

    def __init__(
        self,
        spec: ModelSpec | str,
        *,
        silence: float = SILENCE,
        patience: float = PATIENCE,
        transport: AsyncBaseTransport | None = None,
    ) -> None:
        self._connection = Connection(spec, _sending, silence=silence, patience=patience, transport=transport)
        self.card: ModelCard = self._connection.card
        self._lessons = Lessons(REFUSALS)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """One attempt of one answer; what the endpoint refuses by name is left out from then on."""
        async with aclosing(self._connection.learning(partial(self._attempt, request), self._lessons)) as pieces:
            async for piece in pieces:
                yield piece

    async def warm(self) -> None:
        """Load the SDK and make the client, off the event loop."""
        await self._connection.warm()

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        await self._connection.close()

    def _attempt(self, request: ModelRequest) -> Attempt:
        learnt = self._lessons.learnt
        wire = wire_request(request, "" if ITEMS in learnt else self.card.provider, learnt)
        body = self._body(wire)
        also = [STREAM, *([ITEMS] if wire.replays else []), *(["strict"] if wire.tools else [])]
        if SUMMARY in body.get("reasoning", {}):
            also.append(SUMMARY)
        fold = ResponseFold(wire.names, self.card.provider, self._connection.secrets)
        return Attempt(body, fold, {*body, *also, *wire.holds})

    def _body(self, wire: WireRequest) -> dict[str, Any]:
        spec, learnt = self._connection.spec, self._lessons.learnt
        body: dict[str, Any] = {"input": wire.items, "store": False, "include": ["reasoning.encrypted_content"]}
        if STREAM in learnt:
            body[STREAM] = False
        reasoning = {"effort": spec.reasoning_effort} if spec.reasoning_effort else {}
        if self._connection.base_url == OPENAI and REASONS.match(spec.wire_name) and SUMMARY not in learnt:
            reasoning[SUMMARY] = "auto"
        if reasoning:
            body["reasoning"] = reasoning
        if spec.max_output:
            body[LIMIT] = spec.max_output
        if wire.tools:
            body["tools"] = [{name: tool[name] for name in tool if name not in learnt} for tool in wire.tools]
        return {name: value for name, value in body.items() if name == STREAM or name not in learnt}


def _sending(client: AsyncOpenAI) -> Any:
    return client.responses.with_streaming_response.create
