"""The one connection to an endpoint: a client of the SDK for connection and keys, its bytes folded by our own hands.

The SDK is imported at the first call or by `warm`, never before.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

from agentcli.errors import ModelError
from agentcli.model.base import ModelCard, Piece
from agentcli.model.openai_wire.failure import failure, of_answer, told
from agentcli.model.openai_wire.fold import AnswerFold
from agentcli.model.openai_wire.reader import joined
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
GOODBYE = 0.1
"""Seconds for the end of a body whose answer is complete: a connection that was read to its end serves the next call."""


class Connection:
    """A model's endpoint.

    Args:
        spec: the model; a str is a model's name, with endpoint and key from the environment.
        sending: what sends a request, of a client of the SDK.
        silence: seconds without a byte after which the answer has failed.
        patience: seconds without a word of the answer, keep-alive comments left aside.
    """

    def __init__(
        self,
        spec: ModelSpec | str,
        sending: Callable[[AsyncOpenAI], Any],
        *,
        silence: float = SILENCE,
        patience: float = PATIENCE,
    ) -> None:
        self.spec = spec if isinstance(spec, ModelSpec) else ModelSpec(name=spec)
        own = self.spec.base_url
        self.base_url = (own or os.environ.get("OPENAI_BASE_URL") or OPENAI).rstrip("/")
        # A key of the environment belongs to the endpoint of the environment and goes to no other.
        self._shown = re.sub(r"//[^/@]*@", "//", self.base_url)  # a password in the address is not told or saved
        key = self.spec.api_key or (os.environ.get("OPENAI_API_KEY") if own is None else None)
        self.key = key.strip() if key else None
        self._sending, self._silence, self._patience = sending, silence, patience
        self._client: AsyncOpenAI | None = None
        self._loading = threading.Lock()
        self.card = ModelCard(
            name=self.spec.name,
            context_size=self.spec.context_size,
            provider=f"{self._shown}|{self.spec.wire_name}",
        )

    async def answer(self, body: dict[str, Any], fold: AnswerFold, **needed: Any) -> AsyncGenerator[Piece]:
        """Send a request and fold what comes back, to its end.

        Args:
            body: the fields of the request. Not given by name: the SDK would walk through every message
                of a long history, on the event loop.
            fold: takes the bytes.
            needed: arguments that the SDK's method wants to have.
        """
        self._check_key()
        client = await self._ready()
        from httpx2 import HTTPError, InvalidURL
        from openai import OpenAIError

        try:
            async with aclosing(self._read(client, body, fold, needed)) as pieces:
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

    async def _read(
        self, client: AsyncOpenAI, body: dict[str, Any], fold: AnswerFold, needed: dict[str, Any]
    ) -> AsyncGenerator[Piece]:
        from httpx2 import HTTPError

        clock, heard = asyncio.get_running_loop().time, 0
        since = clock()
        fields: dict[str, Any] = {**needed, "model": self.spec.wire_name, "stream": True, "extra_body": body}
        if not self.key and not self._names_key():
            from openai import Omit

            fields["extra_headers"] = {"Authorization": Omit()}
        async with (
            self._sending(client)(**fields) as response,
            aclosing(joined(response.iter_bytes())) as chunks,
        ):
            async for chunk in chunks:
                for piece in fold.feed(chunk):
                    yield piece
                if fold.done:
                    break
                if fold.heard != heard:
                    heard, since = fold.heard, clock()
                elif clock() - since > self._patience:
                    raise failure("timeout", f"(nothing for {self._patience:.0f} s, though the connection was kept open)")
            if fold.done:
                with suppress(TimeoutError, HTTPError):
                    async with asyncio.timeout(GOODBYE):
                        async for _ in chunks:
                            pass

    def _check_key(self) -> None:
        if self.base_url == OPENAI and not self.key and not self._names_key():
            raise failure("auth", sentence="There is no API key; set OPENAI_API_KEY.")
        if self.key and not (self.key.isascii() and self.key.isprintable()):
            raise failure("auth", sentence="The API key holds characters that no key has; check OPENAI_API_KEY.")

    def _names_key(self) -> bool:
        return any(name.lower() == "authorization" for name in self.spec.headers)

    def _load(self) -> AsyncOpenAI:
        with self._loading:
            if self._client is not None:
                return self._client
            from httpx2 import Timeout
            from openai import AsyncOpenAI

            try:
                client = AsyncOpenAI(
                    api_key=self.key or NO_KEY,
                    base_url=self.base_url,
                    max_retries=0,
                    timeout=Timeout(self._silence, connect=CONNECT_TIMEOUT),
                    default_headers=dict(self.spec.headers),
                )
            except (ImportError, ValueError, OSError) as error:  # a proxy or certificate of the environment
                sentence = f"No connection to {self._shown} can be prepared; check the proxy and certificate settings."
                raise failure("connection", f"({error})", sentence=sentence, retryable=False) from error
            self._sending(client)  # the SDK imports this part at its first use
            self._client = client
            return client

    def _failure_of(self, error: Exception, fold: AnswerFold) -> ModelError:
        """What a failure of the SDK or of the connection means."""
        import httpx2
        import openai

        cause = error.__cause__ if isinstance(error, openai.APIConnectionError) and error.__cause__ else error
        detail = f"({told(str(cause), self.key) or type(cause).__name__})"
        match cause:
            case openai.APIStatusError():
                return of_answer(cause.status_code, cause.response.text, cause.response.headers, self.key)
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
