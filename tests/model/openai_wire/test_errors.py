"""What a user is told of each kind of failure, over both wires and a real connection."""

from __future__ import annotations

import asyncio
import json
from typing import Any, get_args

import pytest

from agentcli.errors import ModelError
from agentcli.ledger.event import ErrorKind
from agentcli.ledger.message import UserMsg
from agentcli.model.base import ModelRequest
from agentcli.model.openai_wire.failure import SENTENCE
from agentcli.model.registry import ModelSpec, make_model
from tests.fakes.endpoint import FakeEndpoint, said, sse

REQUEST = ModelRequest("", [UserMsg(content="hi")])
KEY = "my-own-key-123"
REST = " It said: the words of the provider"
WORDS = "the words of the provider"
DELTA = {"chat": said("half"), "responses": {"type": "response.output_text.delta", "delta": "half"}}


async def told(url: str, api: Any, **spec: Any) -> tuple[str, bool, str]:
    """Kind, whether it may work later, and the message of a call that fails."""
    model = make_model(ModelSpec(name="m", api=api, base_url=url, **spec))
    try:
        with pytest.raises(ModelError) as caught:
            async for _ in model.stream(REQUEST):
                pass
    finally:
        await model.close()
    return caught.value.kind, caught.value.retryable, caught.value.message


async def answered(api: str, status: int, *body: bytes, cut: bool = False, **spec: Any) -> tuple[str, bool, str]:
    chunks = list(filter(None, body))  # an empty one would be silence
    async with FakeEndpoint([(status, {"content-type": "text/html"}, chunks)], cut=cut) as endpoint:
        return await told(endpoint.url, api, **spec)


def fault(words: str = WORDS, **fields: Any) -> bytes:
    return json.dumps({"error": {"message": words, **fields}}).encode()


def test_every_kind_of_a_model_has_its_sentence():
    assert set(SENTENCE) == set(get_args(ErrorKind)) - {"internal"}
    assert all(sentence.endswith(".") and sentence.count(". ") == 0 for sentence in SENTENCE.values())
    assert len(set(SENTENCE.values())) == len(SENTENCE)


STATUSES = [
    (401, fault(), "auth", False, "The provider did not accept the API key; check THE_VARIABLE (HTTP 401)." + REST),
    (402, fault(), "quota", False, "The account's quota at the provider is used up; add credit there, or"),
    (403, fault(), "permission", False, "The provider does not permit this request with this key; choose another"),
    (404, fault(), "not_found", False, "The provider does not know this model or address; check the model's name and the"),
    (407, b"", "connection", False, "The proxy wants a name and a password; put them into HTTPS_PROXY (HTTP 407)."),
    (408, b"", "timeout", True, "The provider did not answer in time (HTTP 408)."),
    (400, fault(), "bad_request", False, "The provider refused the request (HTTP 400)." + REST),
    (400, fault("maximum context length"), "context_length", False, "The conversation is too long for this model; make it"),
    (400, fault(WORDS, code="content_filter"), "content_filter", False, "The provider's content filter stopped this answer"),
    (400, fault("m does not support tools"), "unsupported", False, "This model or endpoint takes no tools, and an agent"),
    (400, fault("logprobs is not supported"), "unsupported", False, "The model or the provider cannot do what was asked"),
    (429, fault(), "rate_limit", True, "The provider asks to slow down (HTTP 429)." + REST),
    (500, fault(), "server", True, "The provider has a fault of its own (HTTP 500)." + REST),
    (502, b"<html>bad gateway</html>", "server", True, "The provider has a fault of its own (HTTP 502)."),
]


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(("status", "body", "kind", "again", "message"), STATUSES)
async def test_a_status_is_told_in_one_sentence_with_the_providers_words(
    api: str, status: int, body: bytes, kind: str, again: bool, message: str
):
    seen = await answered(api, status, body, api_key=KEY, key_from="THE_VARIABLE")
    assert seen[:2] == (kind, again) and seen[2].startswith(message) and "<html>" not in seen[2]
    if WORDS.encode() in body:
        assert seen[2].endswith(REST)


BODIES = [
    (b"<!doctype html><p>log in</p>", "malformed_stream", False, "The address answered with a web page and not as a model;"),
    (b"", "connection", True, "The provider sent an empty answer."),
    (b"\n\n", "connection", True, "The provider sent an empty answer."),
    (b": keep-alive\n\n", "connection", True, "The provider sent an empty answer."),
    (b"data: [DONE]\n\n", "connection", True, "The provider sent an empty answer."),
    (b"event: ping\n\n", "connection", True, "The provider sent an empty answer."),
    (
        b"Welcome to our proxy.\nBye.\n",
        "malformed_stream",
        True,
        "The provider sent something that is no answer. It begins with: Wel",
    ),
    (b"Welcome", "malformed_stream", True, "The provider sent something that is no answer. It begins with: Welcome"),
    (b"data: {broken\n\n", "malformed_stream", True, "The provider sent something that is no answer. It begins with: {broken"),
    (b'{"hello": 1}', "malformed_stream", True, "The provider sent something that is no answer. It begins with: {"),
    (b'{"response":"a"}\n{"response":"b"}\n', "malformed_stream", True, "The provider sent something that is no answer."),
    (
        fault(code=401),
        "auth",
        False,
        "The provider did not accept the API key; check the key that is set for it (HTTP 401)." + REST,
    ),
]


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize(("body", "kind", "again", "message"), BODIES)
async def test_bodies_that_are_no_answer_are_told_apart(api: str, body: bytes, kind: str, again: bool, message: str):
    seen = await answered(api, 200, body)
    assert seen[:2] == (kind, again) and seen[2].startswith(message)


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_where_a_connection_breaks_is_told(api: str):
    assert (await answered(api, 200, cut=True))[::2][0] == "connection"
    kind, again, message = await answered(api, 200, sse(DELTA[api]), cut=True)
    assert (kind, again) == ("cut_stream", True) and message.startswith("The answer broke off before its end.")
    kind, again, message = await answered(api, 200, sse(DELTA[api]))
    assert (kind, again, message) == ("cut_stream", True, "The answer broke off before its end.")


async def test_a_server_that_wants_a_key_where_none_is_set_is_told_so():
    assert await answered("chat", 401, fault()) == (
        "auth",
        False,
        "The provider wants an API key, and none is set for this address (HTTP 401)." + REST,
    )


async def test_no_key_is_told_back():
    words = f"the key {KEY} of https://me:word@host and header-secret is wrong, as is gsk_abcdefghij"
    headers = {"X-Api-Key": "header-secret", "X-Title": "wrong"}
    _, _, message = await answered("chat", 401, fault(words), api_key=KEY, headers=headers)
    assert message.endswith("It said: the key *** of https://***@host and *** is wrong, as is gsk_***")
    _, _, message = await answered("chat", 200, f"data: {KEY}\n\n".encode(), api_key=KEY)
    assert message.endswith("It begins with: ***")


async def test_addresses_that_cannot_be_reached_are_told_apart():
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 no TLS here\r\n\r\n")
        writer.close()

    assert await told("http://127.0.0.1:9/v1", "chat") == (
        "connection",
        True,
        "Nothing answers at http://127.0.0.1:9/v1; is the server running? (All connection attempts failed)",
    )
    kind, again, message = await told("http://no-such-host.invalid/v1", "chat")
    assert (kind, again) == ("connection", True)
    assert message.startswith("The name of the host in http://no-such-host.invalid/v1 is not known; check the address and")
    async with await asyncio.start_server(plain, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        kind, again, message = await told(url, "chat")
    assert (kind, again) == ("connection", False)
    assert message.startswith(f"{url} does not speak TLS as expected; check https:// against http://, and the proxy. (")


@pytest.mark.parametrize(("status", "again"), [(407, False), (503, True)])
async def test_a_proxy_that_lets_nothing_through_is_told_as_such(monkeypatch: pytest.MonkeyPatch, status: int, again: bool):
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 %d no\r\n\r\n" % status)
        writer.close()

    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        monkeypatch.setenv("HTTPS_PROXY", f"http://me:word@127.0.0.1:{server.sockets[0].getsockname()[1]}")
        kind, retryable, message = await told("https://far.example/v1", "chat")
    assert (kind, retryable) == ("connection", again)
    assert message.startswith("The proxy did not let the connection through; check HTTPS_PROXY and NO_PROXY.")
    assert "word" not in message
