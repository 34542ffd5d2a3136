from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentcli.errors import ModelError
from agentcli.ledger.block import Base64Source, DataBlock
from agentcli.ledger.message import UserMsg
from agentcli.model.base import CallPiece, Finish, ModelRequest, Piece, TextPiece, ThinkingPiece, ToolSchema, UsagePiece
from agentcli.model.openai_responses.client import REFUSALS, OpenAIResponseModel
from agentcli.model.openai_wire.client import OPENAI
from agentcli.model.openai_wire.failure import of_answer
from agentcli.model.openai_wire.lesson import refused
from agentcli.model.registry import ModelSpec
from tests.fakes.endpoint import FakeEndpoint, sse
from tests.fakes.wire import messages_of

Answer = tuple[int, dict[str, str], list[bytes]]
REQUEST = ModelRequest("be good", [UserMsg(content="hi")])
RS = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "E"}
INCLUDE = ["reasoning.encrypted_content"]


def delta(text: str) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "delta": text}


def ended(*output: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"status": "completed", "output": list(output), **fields}}


def ok(*events: Any) -> Answer:
    return 200, {}, [sse(*events)]


def no(status: int, message: str) -> Answer:
    return status, {}, [b'{"error": {"message": "%s"}}' % message.encode()]


HELLO = ok(delta("hello"), ended())
SAID = [TextPiece("hello", "0"), Finish("stop")]


async def pieces_of(model: OpenAIResponseModel, request: ModelRequest = REQUEST) -> list[Piece]:
    return [piece async for piece in model.stream(request)]


async def ask(*answers: Answer, request: ModelRequest = REQUEST, calls: int = 1) -> tuple[list[Piece], list[dict[str, Any]]]:
    """The pieces of the last of some calls, and every request."""
    async with FakeEndpoint(answers) as endpoint:
        model = OpenAIResponseModel(ModelSpec(name="m", base_url=endpoint.url))
        try:
            for _ in range(calls - 1):
                await pieces_of(model, request)
            return await pieces_of(model, request), endpoint.requests
        finally:
            await model.close()


async def test_a_request_keeps_nothing_at_the_provider_and_asks_for_encrypted_reasoning():
    parameters = {"type": "object", "properties": {}}
    called = {"type": "function_call", "call_id": "c", "name": "mcp_x", "arguments": "{}"}
    request = ModelRequest("be good", [UserMsg(content="hi")], [ToolSchema("mcp.x", "does", parameters)])
    async with FakeEndpoint([ok(ended(called))]) as endpoint:
        model = OpenAIResponseModel(ModelSpec(name="m", base_url=endpoint.url, model="sent-name", api_key="sk-key"))
        pieces = await pieces_of(model, request)
        await model.close()
    assert pieces == [CallPiece("0", "mcp.x", "c"), CallPiece("0", arguments="{}"), Finish("stop")]
    assert endpoint.requests == [
        {
            "model": "sent-name",
            "input": [
                {"type": "message", "role": "system", "content": [{"type": "input_text", "text": "be good"}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]},
            ],
            "store": False,
            "include": INCLUDE,
            "stream": True,
            "tools": [{"type": "function", "name": "mcp_x", "description": "does", "parameters": parameters, "strict": False}],
        }
    ]
    assert endpoint.heads[0].startswith("POST /v1/responses ") and "bearer sk-key" in endpoint.heads[0].lower()


async def test_reasoning_is_given_back_to_its_endpoint_and_model_only():
    thought = ok({"type": "response.output_item.done", "item": RS}, delta("a"), ended())
    async with FakeEndpoint([thought, HELLO, HELLO]) as endpoint:
        model = OpenAIResponseModel(ModelSpec(name="m", base_url=endpoint.url))
        request = ModelRequest("", messages_of(await pieces_of(model)))
        await pieces_of(model, request)
        another = OpenAIResponseModel(ModelSpec(name="n", base_url=endpoint.url))
        await pieces_of(another, request)
        await model.close()
        await another.close()
    kinds = [[item.get("role") or item["id"] for item in sent["input"]] for sent in endpoint.requests]
    assert kinds == [["system", "user"], ["user", "rs_1", "assistant", "user"], ["user", "assistant", "user"]]


@pytest.mark.parametrize(
    ("refusal", "field"),
    [
        (no(400, "Unknown parameter: 'include'."), "include"),
        (no(400, "Encrypted content is not supported with this model."), "include"),
        (no(422, "body.include: Extra inputs are not permitted"), "include"),
        (no(400, "Unsupported parameter: store"), "store"),
    ],
)
async def test_what_an_endpoint_refuses_is_left_out_from_then_on(refusal: Answer, field: str):
    pieces, requests = await ask(refusal, HELLO, HELLO, calls=2)
    assert pieces == SAID
    assert [field in sent for sent in requests] == [True, False, False]
    assert [len(sent) for sent in requests] == [5, 4, 4]


async def test_an_endpoint_that_knows_no_strict_tools_is_told_of_tools_without_it():
    request = ModelRequest("", [UserMsg(content="hi")], [ToolSchema("x", "does", {"type": "object"})])
    pieces, requests = await ask(no(400, "tools[0].strict: extra fields not permitted"), HELLO, request=request)
    assert pieces == SAID and ["strict" in sent["tools"][0] for sent in requests] == [True, False]


async def test_several_refusals_are_met_one_by_one():
    pieces, requests = await ask(no(400, "no 'store' here"), no(400, "no 'include' here"), HELLO)
    assert pieces == SAID and set(requests[-1]) == {"model", "input", "stream"}


@pytest.mark.parametrize(
    "words",
    [
        "The encrypted content for item rs_1 could not be verified.",
        "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false.",
        "Item 'x' of type 'reasoning' was provided without its required following item.",
    ],
)
async def test_reasoning_that_its_endpoint_cannot_read_any_more_is_left_out(words: str):
    async with FakeEndpoint([no(400, words), HELLO]) as endpoint:
        model = OpenAIResponseModel(ModelSpec(name="m", base_url=endpoint.url))
        thought = ThinkingPiece("", "0", {"origin": model.card.provider, "item": RS})
        request = ModelRequest("", messages_of([thought, TextPiece("a")]))
        assert await pieces_of(model, request) == SAID
        await model.close()
    assert [[item["type"] for item in sent["input"]] for sent in endpoint.requests] == [
        ["message", "reasoning", "message", "message"],
        ["message", "message", "message"],
    ]
    assert [sent["include"] for sent in endpoint.requests] == [INCLUDE, INCLUDE]


@pytest.mark.parametrize(
    ("status", "message", "name"),
    [
        (400, "This model's maximum context length is 10 tokens", None),
        (401, "include", None),
        (500, "store", None),
        (400, "Your organization must be verified to generate reasoning summaries.", "summary"),
        (400, "Unsupported parameter: 'reasoning.summary'", "summary"),
        (400, "Unsupported value: 'reasoning.effort' has to be low", None),
        (400, "unknown item rs_1", "items"),
    ],
)
def test_only_a_refusal_by_name_is_met(status: int, message: str, name: str | None):
    error = of_answer(status, '{"error": {"message": "%s"}}' % message, {})  # noqa: UP031
    assert refused(error, {"items", "include", "store", "summary"}, REFUSALS) == name
    assert refused(error, set(), REFUSALS) is None


async def test_a_refusal_that_cannot_be_met_is_an_error():
    with pytest.raises(ModelError, match="no 'tools' here") as caught:
        await ask(no(400, "no 'tools' here"))
    assert caught.value.kind == "bad_request"


async def test_a_summary_is_asked_for_where_a_model_can_tell_one(monkeypatch: pytest.MonkeyPatch):
    async with FakeEndpoint([HELLO, no(400, "'reasoning.summary' is not supported"), HELLO, HELLO]) as endpoint:
        monkeypatch.setattr("agentcli.model.openai_responses.client.OPENAI", endpoint.url)
        for name in ("gpt-5", "o4-mini", "gpt-4.1"):
            model = OpenAIResponseModel(ModelSpec(name=name, base_url=endpoint.url))
            assert await pieces_of(model) == SAID
            await model.close()
    assert OPENAI == "https://api.openai.com/v1"
    assert [sent.get("reasoning") for sent in endpoint.requests] == [{"summary": "auto"}, {"summary": "auto"}, None, None]


async def test_a_whole_response_is_as_good_as_a_stream():
    response = ended({"type": "message", "content": [{"text": "hi"}]}, usage={"input_tokens": 2})["response"]
    pieces, _ = await ask((200, {"content-type": "application/json"}, [json.dumps({**response, "object": "response"}).encode()]))
    assert pieces == [TextPiece("hi", "0"), UsagePiece(2), Finish("stop")]


async def test_a_connection_that_breaks_in_the_answer_is_a_cut_stream_and_after_its_end_does_no_harm():
    async with FakeEndpoint([(200, {}, [sse(delta("half"))]), HELLO], cut=True) as endpoint:
        model = OpenAIResponseModel(ModelSpec(name="m", base_url=endpoint.url))
        seen: list[Piece] = []
        with pytest.raises(ModelError) as caught:
            async for piece in model.stream(REQUEST):
                seen.append(piece)
        assert (seen, caught.value.kind) == ([TextPiece("half", "0")], "cut_stream")
        assert await pieces_of(model) == SAID
        await model.close()


async def test_after_the_last_event_nothing_is_waited_for():
    pieces, _ = await asyncio.wait_for(ask((200, {}, [sse(delta("hello"), ended()), b""])), 5)
    assert pieces == SAID


async def test_one_connection_serves_many_calls():
    async with FakeEndpoint([HELLO] * 3) as endpoint:
        model = OpenAIResponseModel(ModelSpec(name="m", base_url=endpoint.url))
        for _ in range(3):
            assert await pieces_of(model) == SAID
        await model.close()
    assert (len(endpoint.requests), endpoint.connections) == (3, 1)


async def test_limit_and_effort_are_sent_and_an_effort_that_is_refused_is_told():
    answers = [HELLO, no(400, "max_output_tokens is not supported"), HELLO, no(400, "reasoning.effort must be low")]
    async with FakeEndpoint(answers) as endpoint:
        model = OpenAIResponseModel(ModelSpec(name="m", base_url=endpoint.url, max_output=500, reasoning_effort="high"))
        assert await pieces_of(model) == await pieces_of(model) == SAID
        with pytest.raises(ModelError, match="must be low"):
            await pieces_of(model)
        await model.close()
    assert [sent.get("max_output_tokens") for sent in endpoint.requests] == [500, 500, None, None]
    assert [sent["reasoning"] for sent in endpoint.requests] == [{"effort": "high"}] * 4


async def test_an_endpoint_that_cannot_stream_is_asked_for_whole_answers():
    response = {"object": "response", "status": "completed", "output": [{"type": "message", "content": [{"text": "hello"}]}]}
    whole = (200, {}, [json.dumps(response).encode()])
    pieces, requests = await ask(no(400, "Your organization must be verified to stream this model."), whole, whole, calls=2)
    assert pieces == SAID and [sent["stream"] for sent in requests] == [True, False, False]


async def test_data_that_a_model_does_not_take_is_named_and_sounds_are_at_once():
    kinds = ("image/png", "application/pdf", "audio/wav")
    blocks = [DataBlock(source=Base64Source(data="YQ==", media_type=kind)) for kind in kinds]
    request = ModelRequest("", [UserMsg(content=blocks)])
    _, requests = await ask(no(400, "input_image is not supported"), no(400, "Unknown type input_file"), HELLO, request=request)
    content = [[part["type"] for part in sent["input"][0]["content"]] for sent in requests]
    assert content == [
        ["input_image", "input_file", "input_text"],
        ["input_text", "input_file", "input_text"],
        ["input_text"] * 3,
    ]
