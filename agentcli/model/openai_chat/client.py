"""The Chat Completions model: what is sent over its endpoint's connection, and how the answer is folded."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from agentcli.model.address import on_loopback
from agentcli.model.base import ModelCard, ModelRequest, Piece
from agentcli.model.openai_chat.format import REASONING, SIGNED, UNREASONED, Manner, WireRequest, wire_request
from agentcli.model.openai_chat.stream import ChatFold
from agentcli.model.openai_wire.client import PATIENCE, SILENCE, Attempt, Connection
from agentcli.model.openai_wire.lesson import NO_DATA, NO_STREAM, STREAM, STREAM_OPTIONS, Lessons
from agentcli.model.spec import ModelSpec

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport
    from openai import AsyncOpenAI

OLD_LIMIT, NEW_LIMIT = "max_tokens", "max_completion_tokens"
WANT_REASONING = (
    "deepseek.com",
    "moonshot.ai",
    "moonshot.cn",
    "z.ai",
    "bigmodel.cn",
    "minimax.io",
    "minimaxi.com",
    "openrouter.ai",
)
"""Hosts whose models go on thinking where they stopped for a call; servers on this machine hand it to their templates."""
KNOW_NEW_LIMIT = ("openai.com", "azure.com", "groq.com", "cerebras.ai")
OF_REASONING = r"reasoning(?!_effort)"


def _unknown(name: str) -> re.Pattern[str]:
    """The words of an endpoint that does not know a field; about its value it has others."""
    words = r"(not support|unsupported|instead|not permitted|not allowed|unknown|unrecognized|unexpected|invalid.param)"
    return re.compile(rf"\b{name}\b.*{words}|{words}.*\b{name}\b")


REFUSALS = (
    *NO_STREAM,
    (OLD_LIMIT, _unknown("max_tokens")),
    (NEW_LIMIT, _unknown("max_completion_tokens")),
    (SIGNED, re.compile(r"extra_content")),
    (UNREASONED, re.compile(rf"{OF_REASONING}.*(missing|must be|required|need)|(missing|must|required|need).*{OF_REASONING}")),
    (REASONING, re.compile(OF_REASONING)),
    (UNREASONED, re.compile(r"reasoning_(content|details)|`reasoning`|'reasoning'|\"reasoning\"")),
    *NO_DATA,
)
"""What a request can do without, or lacks, and the words of an endpoint that says so; the first that fits."""


class OpenAIChatModel:
    """A model behind an endpoint that speaks Chat Completions.

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
        wanted = self._connection.spec.replay_reasoning
        self._gives_back = _is_at(self._connection.base_url, WANT_REASONING, or_here=True) if wanted is None else wanted

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
        demanded = UNREASONED in learnt
        back = (self._gives_back or demanded) and REASONING not in learnt
        wire = wire_request(request, Manner(self.card.provider, reasoning=back, fill=demanded, without=learnt))
        body = self._body(wire)
        fold = ChatFold(wire.names, self.card.provider, self._connection.secrets)
        holds = {*body, *wire.holds, STREAM}
        if self._connection.spec.replay_reasoning is False:
            holds -= {UNREASONED}
        return Attempt(body, fold, holds, {"messages": []})

    def _body(self, wire: WireRequest) -> dict[str, Any]:
        spec, learnt = self._connection.spec, self._lessons.learnt
        body: dict[str, Any] = {"messages": wire.messages}
        if wire.tools:
            body["tools"] = wire.tools
        if STREAM in learnt:
            body["stream"] = False
        elif STREAM_OPTIONS not in learnt:
            body["stream_options"] = {"include_usage": True}
        if spec.max_output and (limit := self._limit()):
            body[limit] = spec.max_output
        if spec.reasoning_effort:
            body["reasoning_effort"] = spec.reasoning_effort
        return body

    def _limit(self) -> str | None:
        """The name that this endpoint has for the limit of an answer; None where it knows neither."""
        names = (NEW_LIMIT, OLD_LIMIT) if _is_at(self._connection.base_url, KNOW_NEW_LIMIT) else (OLD_LIMIT, NEW_LIMIT)
        return next((name for name in names if name not in self._lessons.learnt), None)


def _is_at(base_url: str, hosts: tuple[str, ...], or_here: bool = False) -> bool:
    """Whether an address is one of these hosts, or below one."""
    if or_here and on_loopback(base_url):
        return True
    try:
        host = urlsplit(base_url).hostname or ""
    except ValueError:
        return False
    return any(f".{host}".endswith(f".{name}") for name in hosts)


def _sending(client: AsyncOpenAI) -> Any:
    return client.chat.completions.with_streaming_response.create
