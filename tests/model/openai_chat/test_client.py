from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import aclosing

import pytest

from agentcli.errors import ModelError
from agentcli.ledger.message import UserMsg
from agentcli.model.base import CallPiece, Finish, ModelRequest, Piece, TextPiece, ToolSchema, UsagePiece
from agentcli.model.openai_chat.client import OpenAIChatModel
from agentcli.model.registry import ModelSpec
from tests.fakes.endpoint import FakeEndpoint, said, sse

REQUEST = ModelRequest("be good", [UserMsg(content="hi")])
HELLO = sse(said("hello"), said(finish="stop"), "[DONE]")
STREAM: dict[str, str] = {}


async def ask(
    answers: Iterable[tuple[int, dict[str, str], list[bytes]]], *, request: ModelRequest = REQUEST, cut: bool = False, **spec: str
) -> tuple[list[Piece], ModelError | None, FakeEndpoint]:
    async with FakeEndpoint(list(answers), cut=cut) as endpoint:
        model = OpenAIChatModel(ModelSpec(name="m", base_url=endpoint.url, **spec))
        pieces: list[Piece] = []
        try:
            async for piece in model.stream(request):
                pieces.append(piece)
        except ModelError as error:
            return pieces, error, endpoint
        finally:
            await model.close()
        return pieces, None, endpoint


async def failed(*answers: tuple[int, dict[str, str], list[bytes]], cut: bool = False) -> tuple[list[Piece], str, bool]:
    pieces, error, _ = await ask(answers, cut=cut)
    assert error is not None
    return pieces, error.kind, error.retryable


async def test_a_request_holds_what_every_endpoint_knows_and_nothing_else():
    tools = [ToolSchema("mcp.x", "does", {"type": "object", "properties": {}})]
    body = [
        sse({"choices": [{"delta": {"tool_calls": [{"id": "c", "function": {"name": "mcp_x", "arguments": "{}"}}]}}]}, "[DONE]")
    ]
    request = ModelRequest("be good", [UserMsg(content="hi")], tools)
    pieces, error, endpoint = await ask([(200, STREAM, body)], request=request, model="sent-name", api_key="sk-key")
    assert error is None
    assert pieces == [CallPiece("0", "mcp.x", "c"), CallPiece("0", arguments="{}"), Finish("stop")]
    parameters = {"type": "object", "properties": {}}
    assert endpoint.requests == [
        {
            "model": "sent-name",
            "messages": [{"role": "system", "content": "be good"}, {"role": "user", "content": "hi"}],
            "stream": True,
            "stream_options": {"include_usage": True},
            "tools": [{"type": "function", "function": {"name": "mcp_x", "description": "does", "parameters": parameters}}],
        }
    ]
    assert "authorization: bearer sk-key" in endpoint.heads[0].lower()


async def test_without_tools_none_are_sent():
    _, _, endpoint = await ask([(200, STREAM, [HELLO])])
    assert "tools" not in endpoint.requests[0]


async def test_a_key_of_the_environment_goes_to_no_endpoint_that_was_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    _, error, endpoint = await ask([(200, STREAM, [HELLO])])
    assert error is None and "authorization" not in endpoint.heads[0].lower()


async def test_endpoint_and_key_of_the_environment_belong_together(monkeypatch: pytest.MonkeyPatch):
    async with FakeEndpoint([(200, STREAM, [HELLO])]) as endpoint:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        model = OpenAIChatModel("m")
        assert [piece async for piece in model.stream(REQUEST)] == [TextPiece("hello"), Finish("stop")]
        await model.close()
        assert "bearer sk-of-the-environment" in endpoint.heads[0].lower()


async def test_without_a_key_nothing_goes_to_openai(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(ModelError, match="set OPENAI_API_KEY") as caught:
        await anext(OpenAIChatModel("m").stream(REQUEST))
    assert caught.value.kind == "auth"


async def test_a_key_that_is_none_is_told_before_anything_is_sent():
    with pytest.raises(ModelError, match="characters that no key has"):
        await anext(OpenAIChatModel(ModelSpec(name="m", base_url="http://127.0.0.1:9/v1", api_key="sk-“key”")).stream(REQUEST))


async def test_a_proxy_that_cannot_be_used_is_told_at_the_first_call(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ALL_PROXY", "nonsense://127.0.0.1:9")
    model = OpenAIChatModel(ModelSpec(name="m", base_url="http://127.0.0.1:9/v1"))
    await model.warm()
    with pytest.raises(ModelError, match="check the proxy") as caught:
        await anext(model.stream(REQUEST))
    assert (caught.value.kind, caught.value.retryable) == ("connection", False)


async def test_one_connection_serves_many_calls():
    async with FakeEndpoint([(200, STREAM, [HELLO])] * 2) as endpoint:
        model = OpenAIChatModel(ModelSpec(name="m", base_url=endpoint.url))
        for _ in range(2):
            assert [piece async for piece in model.stream(REQUEST)] == [TextPiece("hello"), Finish("stop")]
        await model.close()
        assert (len(endpoint.requests), endpoint.connections) == (2, 1)


async def test_an_error_status_is_classified_with_its_wait():
    body = [b'{"error": {"message": "slow down, sk-key-of-mine"}}']
    _, error, endpoint = await ask([(429, {"retry-after": "7"}, body)], api_key="sk-key-of-mine")
    assert error is not None
    assert (error.kind, error.status, error.retryable, error.retry_after) == ("rate_limit", 429, True, 7.0)
    assert error.message == "The provider asks to slow down (HTTP 429). It said: slow down, ***"
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"<html>log in</html>", "malformed_stream"), (b'{"error": {"message": "x", "code": 401}}', "auth"), (b"\n", "connection")],
)
async def test_a_good_status_with_a_body_that_is_no_answer_is_a_failure(body: bytes, kind: str):
    assert (await failed((200, {"content-type": "text/html"}, [body])))[:2] == ([], kind)


async def test_a_whole_completion_is_as_good_as_a_stream():
    body = [b'{"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 2}}']
    pieces, error, _ = await ask([(200, {"content-type": "application/json"}, body)])
    assert (pieces, error) == ([TextPiece("hi"), UsagePiece(2), Finish("stop")], None)


async def test_a_connection_that_breaks_before_the_answer_is_a_failed_connection():
    assert await failed((200, STREAM, []), cut=True) == ([], "connection", True)


async def test_a_connection_that_breaks_in_the_answer_is_a_cut_stream():
    assert await failed((200, STREAM, [sse(said("half"))]), cut=True) == ([TextPiece("half")], "cut_stream", True)


async def test_a_last_line_before_the_break_counts():
    pieces, error, _ = await ask([(200, STREAM, [sse(said("all", "stop")).rstrip()])], cut=True)
    assert (pieces, error) == ([TextPiece("all"), Finish("stop")], None)


async def test_a_connection_that_breaks_after_the_end_of_the_answer_does_no_harm():
    pieces, error, _ = await ask([(200, STREAM, [sse(said("all", "stop"))])], cut=True)
    assert (pieces, error) == ([TextPiece("all"), Finish("stop")], None)


async def test_after_done_nothing_is_waited_for():
    pieces, error, _ = await asyncio.wait_for(ask([(200, STREAM, [HELLO, b""])]), 5)
    assert (pieces, error) == ([TextPiece("hello"), Finish("stop")], None)


@pytest.mark.parametrize(
    ("url", "kind", "retryable"),
    [
        ("http://127.0.0.1:9/v1", "connection", True),
        ("htp://x/v1", "bad_request", False),
        ("nowhere", "bad_request", False),
    ],
)
async def test_an_address_that_does_not_answer_is_named(url: str, kind: str, retryable: bool):
    model = OpenAIChatModel(ModelSpec(name="m", base_url=url))
    with pytest.raises(ModelError) as caught:
        await anext(model.stream(REQUEST))
    assert (caught.value.kind, caught.value.retryable) == (kind, retryable)
    assert url in caught.value.message
    await model.close()


async def test_silence_and_mere_keep_alives_end_in_a_timeout():
    async with FakeEndpoint([(200, STREAM, [sse(said("a")), b""])]) as endpoint:
        model = OpenAIChatModel(ModelSpec(name="m", base_url=endpoint.url), silence=0.2)
        pieces = model.stream(REQUEST)
        assert await anext(pieces) == TextPiece("a")
        with pytest.raises(ModelError) as caught:
            await anext(pieces)
        assert caught.value.kind == "timeout"
        await model.close()
    comments = [b": still here\n\n"] * 3
    async with FakeEndpoint([(200, STREAM, [*comments, b""])]) as endpoint:
        model = OpenAIChatModel(ModelSpec(name="m", base_url=endpoint.url), silence=5, patience=0)
        with pytest.raises(ModelError, match="though the connection was kept open"):
            await anext(model.stream(REQUEST))
        await model.close()


async def test_closing_the_iterator_closes_the_response():
    async with FakeEndpoint([(200, STREAM, [sse(said("a")), b""])]) as endpoint:
        model = OpenAIChatModel(ModelSpec(name="m", base_url=endpoint.url))
        async with aclosing(model.stream(REQUEST)) as pieces:
            assert await anext(pieces) == TextPiece("a")
        await asyncio.wait_for(endpoint.closed.wait(), 5)
        await model.close()


async def test_cancelling_the_reader_closes_the_response():
    async with FakeEndpoint([(200, STREAM, [b""])]) as endpoint:
        model = OpenAIChatModel(ModelSpec(name="m", base_url=endpoint.url))
        await model.warm()
        task = asyncio.ensure_future(anext(model.stream(REQUEST)))
        await asyncio.sleep(0.2)
        task.cancel()
        await asyncio.wait_for(endpoint.closed.wait(), 5)
        with pytest.raises(asyncio.CancelledError):
            await task
        await model.close()


@pytest.mark.parametrize("end", ["", "/", "//", "/chat/completions", "/responses/"])
async def test_an_address_is_taken_as_people_write_it(end: str):
    async with FakeEndpoint([(200, STREAM, [HELLO])]) as endpoint:
        model = OpenAIChatModel(ModelSpec(name="m", base_url=endpoint.url + end))
        pieces = [piece async for piece in model.stream(REQUEST)]
        await model.close()
    assert TextPiece("hello") in pieces
    assert endpoint.heads[0].startswith("POST /v1/chat/completions ")
