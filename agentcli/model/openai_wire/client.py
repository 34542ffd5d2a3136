"""The one connection to an endpoint: a client of the SDK for connection and keys, its bytes folded by our own hands.

The SDK is imported at the first call or by `warm`, never before.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import threading
from collections.abc import AsyncGenerator, Callable, Collection, Iterator, Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentcli.errors import ConfigError, ModelError
from agentcli.model.address import base_address
from agentcli.model.base import ModelCard, Piece
from agentcli.model.openai_wire.failure import failure, of_answer, told
from agentcli.model.openai_wire.fold import AnswerFold
from agentcli.model.openai_wire.lesson import Lessons
from agentcli.model.openai_wire.reader import joined
from agentcli.model.spec import ModelSpec

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport
    from openai import AsyncOpenAI

OPENAI = "https://api.openai.com/v1"
NO_KEY = "none"
"""The SDK wants a key; this one is never sent."""
CONNECT_TIMEOUT = 10.0
SILENCE = 300.0
"""Seconds without a byte; a local model may think long before its first."""
PATIENCE = 900.0
"""Seconds without a word, while the connection is only kept open."""
NAMES_KEY = re.compile(r"auth|key|token|secret", re.IGNORECASE)
"""Headers whose values are kept out of error texts."""
GOODBYE = 0.1
"""Seconds for the end of a body whose answer is complete: a connection that was read to its end serves the next call."""


@dataclass(slots=True, frozen=True)
class Attempt:
    """A request and what folds its answer."""

    body: dict[str, Any]
    """Its fields. They are not given to the SDK by name: it would walk through every message of a long history,
    on the event loop."""
    fold: AnswerFold
    holds: Collection[str] = ()
    """What of it the endpoint may refuse by name."""
    needed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arguments that the SDK's method wants to have."""


class Connection:
    """A model's endpoint.

    Args:
        spec: the model; a str is a model's name, with endpoint and key from the environment.
        sending: what sends a request, of a client of the SDK.
        silence: seconds without a byte after which the answer has failed.
        patience: seconds without a word of the answer, keep-alive comments left aside.
        transport: what carries the requests, in the place of the network.
    """

    def __init__(
        self,
        spec: ModelSpec | str,
        sending: Callable[[AsyncOpenAI], Any],
        *,
        silence: float = SILENCE,
        patience: float = PATIENCE,
        transport: AsyncBaseTransport | None = None,
    ) -> None:
        self.spec = spec if isinstance(spec, ModelSpec) else ModelSpec(name=spec)
        own = self.spec.base_url
        self.base_url = _base(own or os.environ.get("OPENAI_BASE_URL") or OPENAI)
        # A key of the environment belongs to the endpoint of the environment and goes to no other.
        self._shown = re.sub(r"//[^/@]*@", "//", self.base_url)  # a password in the address is not told or saved
        key = self.spec.api_key or (os.environ.get("OPENAI_API_KEY") if own is None else None)
        self.key = key.strip() if key else None
        of_headers = [value for name, value in self.spec.headers.items() if NAMES_KEY.search(name)]
        self.secrets = tuple(filter(None, [self.key, *of_headers]))
        """What is kept out of error texts."""
        self._sending, self._silence, self._patience = sending, silence, patience
        self._transport = transport
        self._client: AsyncOpenAI | None = None
        self._loading = threading.Lock()
        self.card = ModelCard(
            name=self.spec.name,
            context_size=self.spec.context_size,
            provider=f"{self._shown}|{self.spec.wire_name}",
        )

    async def learning(self, attempt: Callable[[], Attempt], lessons: Lessons) -> AsyncGenerator[Piece]:
        """Send a request and fold what comes back; what the endpoint refuses by name is minded from then on."""
        while True:
            sent, begun = attempt(), False
            try:
                async with aclosing(self.answer(sent)) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
                return
            except ModelError as error:
                if begun or not lessons.learn(error, sent.holds):
                    raise

    async def answer(self, attempt: Attempt) -> AsyncGenerator[Piece]:
        """Send a request once and fold what comes back, to its end."""
        fold = attempt.fold
        self._check_key()
        client = await self._ready()
        from httpx2 import HTTPError, InvalidURL
        from openai import OpenAIError

        try:
            async with aclosing(self._read(client, attempt)) as pieces:
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

    async def _read(self, client: AsyncOpenAI, attempt: Attempt) -> AsyncGenerator[Piece]:
        from httpx2 import HTTPError

        fold = attempt.fold
        clock, heard = asyncio.get_running_loop().time, 0
        since = clock()
        fields: dict[str, Any] = {
            **attempt.needed,
            "model": self.spec.wire_name,
            "stream": True,
            "extra_body": attempt.body,
        }
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
            raise failure("auth", sentence=f"The API key holds characters that no key has; check {self._key_place}.")

    @property
    def _key_place(self) -> str:
        """Where the key came from, in words."""
        return self.spec.key_from or ("the key of this provider" if self.spec.api_key else "OPENAI_API_KEY")

    @property
    def _refused_key(self) -> str:
        """The sentence about a key that was not accepted."""
        if self.key or self._names_key():
            return f"The provider did not accept the API key; check {self._key_place}."
        return "The provider wants an API key, and none is set for this address."

    def _names_key(self) -> bool:
        return any(name.lower() == "authorization" for name in self.spec.headers)

    def _load(self) -> AsyncOpenAI:
        with self._loading:
            if self._client is not None:
                return self._client
            from httpx2 import AsyncClient, Timeout
            from openai import AsyncOpenAI

            try:
                client = AsyncOpenAI(
                    http_client=AsyncClient(transport=self._transport) if self._transport is not None else None,
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
        detail = f"({told(str(cause), self.secrets) or type(cause).__name__})"
        match cause:
            case openai.APIStatusError():
                return of_answer(
                    cause.status_code, cause.response.text, cause.response.headers, self.secrets, {"auth": self._refused_key}
                )
            case httpx2.ConnectTimeout():
                return failure("connection", sentence=f"There was no connection to {self._shown} within {CONNECT_TIMEOUT:.0f} s.")
            case httpx2.TimeoutException() | openai.APITimeoutError():
                return failure("timeout")
            case httpx2.ProxyError():
                sentence = "The proxy did not let the connection through; check HTTPS_PROXY and NO_PROXY."
                return failure("connection", detail, sentence=sentence, retryable="407" not in detail)
            case httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
                return failure("bad_request", detail, sentence=f"{self._shown!r} is no address of a provider.")
            case httpx2.LocalProtocolError():
                return failure("bad_request", detail, sentence="The request cannot be sent.")
            case httpx2.ConnectError():
                return self._no_connection(cause, detail)
            case httpx2.HTTPError():
                return fold.broken(detail)
            case _:
                return failure("connection" if isinstance(cause, openai.APIConnectionError) else "bad_request", detail)

    def _no_connection(self, error: Exception, detail: str) -> ModelError:
        """Why an address cannot be reached, told apart by what a user can do about it."""
        reasons = list(_reasons(error))
        if any(isinstance(reason, ssl.SSLCertVerificationError) for reason in reasons) or "certificate" in detail.lower():
            sentence = f"The certificate of {self._shown} cannot be trusted; SSL_CERT_FILE can name the authority to trust."
            return failure("connection", detail, sentence=sentence, retryable=False)
        if any(isinstance(reason, ssl.SSLError) for reason in reasons):
            sentence = f"{self._shown} does not speak TLS as expected; check https:// against http://, and the proxy."
            return failure("connection", detail, sentence=sentence, retryable=False)
        if any(isinstance(reason, socket.gaierror) for reason in reasons):
            sentence = f"The name of the host in {self._shown} is not known; check the address and the network."
            return failure("connection", detail, sentence=sentence)
        if any(isinstance(reason, ConnectionRefusedError) for reason in reasons):
            return failure("connection", detail, sentence=f"Nothing answers at {self._shown}; is the server running?")
        return failure("connection", detail, sentence=f"There is no connection to {self._shown}.")


def _base(given: str) -> str:
    """The address that requests are built on; what can be none is told with the first call."""
    try:
        return base_address(given)[0]
    except ConfigError:
        return given.rstrip("/")


def _reasons(error: BaseException | None) -> Iterator[BaseException]:
    """An error and what led to it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
