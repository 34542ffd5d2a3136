"""The Chat Completions model: one client of the SDK for connection and keys, its bytes folded by our own hands.

The SDK is imported at the first call or by `warm`, never before.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from agentcli.errors import ModelError
from agentcli.model.base import ModelCard, ModelRequest, Piece
from agentcli.model.openai_chat.failure import failure, of_answer, told
from agentcli.model.openai_chat.format import WireRequest, wire_request
from agentcli.model.openai_chat.reader import joined
from agentcli.model.openai_chat.stream import ChatFold
from agentcli.model.spec import ModelSpec

if TYPE_CHECKING:
    from openai import AsyncOpenAI

OPENAI = "https://api.openai.com/v1"
NO_KEY = "none"
"""The SDK wants a key; this one is never sent."""
CONNECT_TIMEOUT = 10.0
SILENCE = 300.0
"""Seconds without a byte; a local model may think long before its first."""
PATIENCE = 900.0
"""Seconds without a word, while the connection is only kept open."""


class OpenAIChatModel:
    """A model behind an endpoint that speaks Chat Completions.

    Args:
        spec: the model; a str is a model's name, with endpoint and key from the environment.
        silence: seconds without a byte after which the answer has failed.
        patience: seconds without a word of the answer, keep-alive comments left aside.
    """

    def __init__(self, spec: ModelSpec | str, *, silence: float = SILENCE, patience: float = PATIENCE) -> None:
        self._spec = spec if isinstance(spec, ModelSpec) else ModelSpec(name=spec)
        own = self._spec.base_url
        self._base_url = (own or os.environ.get("OPENAI_BASE_URL") or OPENAI).rstrip("/")
        # A key of the environment belongs to the endpoint of the environment and goes to no other.
        self._shown = re.sub(r"//[^/@]*@", "//", self._base_url)  # a password in the address is not told or saved
        key = self._spec.api_key or (os.environ.get("OPENAI_API_KEY") if own is None else None)
        self._key = key.strip() if key else None
        self._silence, self._patience = silence, patience
        self._client: AsyncOpenAI | None = None
        self._loading = threading.Lock()
        self.card = ModelCard(
            name=self._spec.name,
            context_size=self._spec.context_size,
            provider=f"{self._shown}|{self._spec.wire_name}",
        )

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """One attempt of one answer."""
        self._check_key()
        wire = wire_request(request)
        fold = ChatFold(wire.names, self.card.provider, self._key)
        client = await self._ready()
        from httpx2 import HTTPError, InvalidURL
        from openai import OpenAIError

        try:
            async with aclosing(self._answer(client, wire, fold)) as pieces:
                async for piece in pieces:
                    yield piece
        except (OpenAIError, HTTPError, InvalidURL) as error:
            for piece in fold.tail():
                yield piece
            if not fold.finished:
                raise self._failure_of(error, fold) from error
        for piece in fold.end():
            yield piece

    async def warm(self) -> None:
        """Load the SDK and make the client, off the event loop."""
        with suppress(ModelError):  # the first call says it
            await self._ready()

    async def close(self) -> None:
        """Close the connections; a later call opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _ready(self) -> AsyncOpenAI:
        return self._client or await asyncio.to_thread(self._load)

    async def _answer(self, client: AsyncOpenAI, wire: WireRequest, fold: ChatFold) -> AsyncGenerator[Piece]:
        """Send the request and fold what comes back."""
        clock, heard = asyncio.get_running_loop().time, 0
        since = clock()
        sending: Any = client.chat.completions.with_streaming_response.create
        # Not by name: the SDK would walk through every message of a long history, on the event loop.
        body = {"messages": wire.messages, **({"tools": wire.tools} if wire.tools else {})}
        fields: dict[str, Any] = {"extra_body": body}
        if not self._key and not self._names_key():
            from openai import Omit

            fields["extra_headers"] = {"Authorization": Omit()}
        async with (
            sending(
                model=self._spec.wire_name,
                messages=[],
                stream=True,
                stream_options={"include_usage": True},
                **fields,
            ) as response,
            aclosing(joined(response.iter_bytes())) as chunks,
        ):
            async for chunk in chunks:
                for piece in fold.feed(chunk):
                    yield piece
                if fold.done:
                    return
                if fold.heard != heard:
                    heard, since = fold.heard, clock()
                elif clock() - since > self._patience:
                    raise failure("timeout", f"(nothing for {self._patience:.0f} s, though the connection was kept open)")

    def _check_key(self) -> None:
        if self._base_url == OPENAI and not self._key and not self._names_key():
            raise failure("auth", sentence="There is no API key; set OPENAI_API_KEY.")
        if self._key and not (self._key.isascii() and self._key.isprintable()):
            raise failure("auth", sentence="The API key holds characters that no key has; check OPENAI_API_KEY.")

    def _names_key(self) -> bool:
        return any(name.lower() == "authorization" for name in self._spec.headers)

    def _load(self) -> AsyncOpenAI:
        with self._loading:
            if self._client is not None:
                return self._client
            from httpx2 import Timeout
            from openai import AsyncOpenAI

            try:
                client = AsyncOpenAI(
                    api_key=self._key or NO_KEY,
                    base_url=self._base_url,
                    max_retries=0,
                    timeout=Timeout(self._silence, connect=CONNECT_TIMEOUT),
                    default_headers=dict(self._spec.headers),
                )
            except (ImportError, ValueError, OSError) as error:  # a proxy or certificate of the environment
                sentence = f"No connection to {self._shown} can be prepared; check the proxy and certificate settings."
                raise failure("connection", f"({error})", sentence=sentence, retryable=False) from error
            _ = client.chat.completions.with_streaming_response  # the SDK imports this part at its first use
            self._client = client
            return client

    def _failure_of(self, error: Exception, fold: ChatFold) -> ModelError:
        """What a failure of the SDK or of the connection means."""
        import httpx2
        import openai

        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) and error.__cause__ else error
        detail = f"({told(str(cause), self._key) or type(cause).__name__})"
        match cause:
            case openai.APIStatusError():
                return of_answer(cause.status_code, cause.response.text, cause.response.headers, self._key)
            case httpx2.ConnectTimeout():
                return failure("connection", sentence=f"There was no connection to {self._shown} within {CONNECT_TIMEOUT:.0f} s.")
            case httpx2.TimeoutException() | openai.APITimeoutError():
                return failure("timeout")
            case httpx2.ProxyError():
                return failure("connection", detail, sentence="The proxy did not let the connection through.")
            case httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
                return failure("bad_request", detail, sentence=f"{self._shown!r} is no address of a provider.")
            case httpx2.LocalProtocolError():
                return failure("bad_request", detail, sentence="The request cannot be sent.")
            case httpx2.ConnectError():
                return self._no_connection(detail)
            case httpx2.HTTPError():
                return fold.broken(detail)
            case _:
                return failure("connection" if isinstance(cause, openai.APIConnectionError) else "bad_request", detail)

    def _no_connection(self, detail: str) -> ModelError:
        if "certificate" in detail.lower():
            sentence = f"The certificate of {self._shown} cannot be trusted."
            return failure("connection", detail, sentence=sentence, retryable=False)
        return failure("connection", detail, sentence=f"There is no connection to {self._shown}.")
