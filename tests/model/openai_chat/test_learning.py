"""What the Chat client learns from refusals: reasoning wanted or not, limits, streaming, kinds of data."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentcli.errors import ModelError
from agentcli.ledger.block import Base64Source, DataBlock, TextBlock
from agentcli.ledger.message import Msg, UserMsg
from agentcli.model.base import CallPiece, Finish, ModelRequest, Piece, TextPiece, ThinkingPiece
from agentcli.model.openai_chat.client import OpenAIChatModel
from agentcli.model.registry import ModelSpec
from tests.fakes.endpoint import FakeEndpoint, said, sse
from tests.fakes.wire import messages_of

Answer = tuple[int, dict[str, str], list[bytes]]
HELLO: Answer = (200, {}, [sse(said("hello"), said(finish="stop"), "[DONE]")])
WHOLE: Answer = (200, {}, [b'{"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]}'])
SAID = [TextPiece("hello"), Finish("stop")]
HI: list[Msg] = [UserMsg(content="hi")]


def no(message: str, status: int = 400) -> Answer:
    return status, {}, [json.dumps({"error": {"message": message}}).encode()]


def reasoned(model: OpenAIChatModel) -> list[Msg]:
    """A history with a call of this very model, and one of another."""
    own = ThinkingPiece("hm", "1", {"origin": model.card.provider, "field": "reasoning_content"})
    calls = [CallPiece("0", "Act", "c1"), CallPiece("0", arguments="{}")]
    other = ThinkingPiece("ho", "1", {"origin": "there|x", "field": "reasoning_content"})
    return [*messages_of([own, *calls]), *messages_of([other, CallPiece("0", "Act", "c2"), CallPiece("0", arguments="{}")])]


async def asked(
    *answers: Answer, messages: list[Msg] | None = None, calls: int = 1, **spec: Any
) -> tuple[list[Piece] | ModelError, list[dict[str, Any]]]:
    """The last answer and every request; without messages, those of `reasoned`."""
    async with FakeEndpoint(answers) as endpoint:
        model = OpenAIChatModel(ModelSpec(name="m", base_url=endpoint.url, **spec))
        pieces: list[Piece] = []
        try:
            for _ in range(calls):
                request = ModelRequest("", messages or reasoned(model))
                pieces = [piece async for piece in model.stream(request)]
        except ModelError as error:
            return error, endpoint.requests
        finally:
            await model.close()
        return pieces, endpoint.requests


def reasoning_of(body: dict[str, Any]) -> list[str | None]:
    return [message.get("reasoning_content") for message in body["messages"] if "tool_calls" in message]


async def test_a_server_on_this_machine_gets_its_own_reasoning_back():
    assert [reasoning_of(body) for body in (await asked(HELLO))[1]] == [["hm", None]]


@pytest.mark.parametrize(
    ("base_url", "wanted"),
    [
        ("https://api.deepseek.com/v1", True),
        ("https://api.moonshot.ai/v1", True),
        ("https://openrouter.ai/api/v1", True),
        ("https://api.openai.com/v1", False),
        ("https://api.mistral.ai/v1", False),
        ("https://api.groq.com/openai/v1", False),
        ("https://notdeepseek.com/v1", False),
    ],
)
def test_who_wants_reasoning_back_is_known_by_its_host(base_url: str, wanted: bool):
    model = OpenAIChatModel(ModelSpec(name="m", base_url=base_url))
    attempt = model._attempt(ModelRequest("", reasoned(model)))  # pyright: ignore[reportPrivateUsage]
    assert reasoning_of(attempt.body) == (["hm", None] if wanted else [None, None])


async def test_an_endpoint_that_refuses_reasoning_gets_none_from_then_on():
    pieces, bodies = await asked(no("property 'reasoning_content' is unsupported"), HELLO, HELLO, calls=2)
    assert pieces == SAID
    assert [reasoning_of(body) for body in bodies] == [["hm", None], [None, None], [None, None]]


@pytest.mark.parametrize(
    "words",
    [
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index 4",
    ],
)
async def test_an_endpoint_that_misses_the_reasoning_of_another_model_gets_an_empty_one(words: str):
    pieces, bodies = await asked(no(words), HELLO)
    assert pieces == SAID
    assert [reasoning_of(body) for body in bodies] == [["hm", None], ["hm", ""]]


async def test_reasoning_that_must_not_be_sent_is_not_even_where_the_endpoint_wants_it():
    error, bodies = await asked(no("reasoning_content is missing"), replay_reasoning=False)
    assert isinstance(error, ModelError) and error.kind == "bad_request" and "reasoning_content is missing" in error.message
    assert [reasoning_of(body) for body in bodies] == [[None, None]]


async def test_a_refusal_that_stays_the_same_is_told_and_not_asked_for_ever():
    error, bodies = await asked(*[no("reasoning_content is wrong")] * 4)
    assert isinstance(error, ModelError) and error.kind == "bad_request"
    assert len(bodies) <= 3


@pytest.mark.parametrize(
    ("refusals", "fields"),
    [
        ([], ["max_tokens"]),
        (["Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."], ["max_tokens", "max_completion_tokens"]),
        (
            ["max_tokens is not supported", "max_completion_tokens: extra fields not permitted"],
            ["max_tokens", "max_completion_tokens", None],
        ),
    ],
)
async def test_the_limit_of_an_answer_is_named_as_the_endpoint_knows_it(refusals: list[str], fields: list[str | None]):
    pieces, bodies = await asked(*map(no, refusals), HELLO, messages=HI, max_output=500)
    assert pieces == SAID
    names = ("max_tokens", "max_completion_tokens")
    assert [next((name for name in names if name in body), None) for body in bodies] == fields
    assert all(body.get(name) == 500 for body, name in zip(bodies, fields, strict=True) if name)


async def test_a_limit_that_is_too_large_is_told():
    error, bodies = await asked(no("max_tokens is too large: this model supports at most 4096"), messages=HI, max_output=5000)
    assert isinstance(error, ModelError) and error.kind == "bad_request" and len(bodies) == 1


def test_openai_knows_only_the_new_name_of_the_limit():
    model = OpenAIChatModel(ModelSpec(name="m", base_url="https://api.openai.com/v1", max_output=9, reasoning_effort="low"))
    body = model._attempt(ModelRequest("", HI)).body  # pyright: ignore[reportPrivateUsage]
    assert (body["max_completion_tokens"], body["reasoning_effort"], "max_tokens" in body) == (9, "low", False)


async def test_an_effort_that_is_refused_is_told_and_not_dropped():
    error, bodies = await asked(no("Unsupported value: 'reasoning_effort' must be one of: low"), reasoning_effort="max")
    assert isinstance(error, ModelError) and "must be one of" in error.message and bodies[-1]["reasoning_effort"] == "max"


@pytest.mark.parametrize(
    "refusal",
    [
        no("Streaming is not supported by this model"),
        no("Your organization must be verified to stream this model."),
        no("'stream' does not support true with this model"),
        no("streaming is not implemented", 501),
    ],
)
async def test_an_endpoint_that_cannot_stream_is_asked_for_whole_answers(refusal: Answer):
    pieces, bodies = await asked(refusal, WHOLE, WHOLE, messages=HI, calls=2)
    assert pieces == SAID
    assert [(body["stream"], "stream_options" in body) for body in bodies] == [(True, True), (False, False), (False, False)]


async def test_an_endpoint_that_does_not_know_the_options_of_a_stream_still_streams():
    pieces, bodies = await asked(no("stream_options: Extra inputs are not permitted", 422), HELLO, messages=HI)
    assert pieces == SAID
    assert [(body["stream"], "stream_options" in body) for body in bodies] == [(True, True), (True, False)]


@pytest.mark.parametrize(
    ("media_type", "words", "status"),
    [
        ("image/png", "messages[0]: unknown variant `image_url`, expected `text`", 422),
        ("image/png", "image input is not supported - hint: you may need to provide the mmproj", 500),
        ("image/png", "No endpoints found that support image input", 404),
        ("audio/wav", "This model does not support audio inputs", 400),
        ("application/pdf", "Invalid value: 'file'. Supported values are: 'text' and 'image_url'", 400),
    ],
)
async def test_data_that_a_model_does_not_take_is_named_and_not_sent_again(media_type: str, words: str, status: int):
    data = DataBlock(source=Base64Source(data="YQ==", media_type=media_type))
    pieces, bodies = await asked(no(words, status), HELLO, messages=[UserMsg(content=[TextBlock(text="look"), data])])
    assert pieces == SAID
    assert bodies[1]["messages"] == [
        {"role": "user", "content": f"look\n[data of type {media_type} is not sent: this model does not take it]"}
    ]


async def test_an_endpoint_without_tools_is_an_error_that_says_so():
    error, _ = await asked(no("m does not support tools"), messages=HI)
    assert isinstance(error, ModelError) and error.kind == "unsupported"
    assert error.message == (
        "This model or endpoint takes no tools, and an agent needs them; choose another model (HTTP 400). "
        "It said: m does not support tools"
    )


async def test_a_fault_of_the_server_teaches_nothing():
    error, bodies = await asked(no("reasoning_content stream image", 500))
    assert isinstance(error, ModelError) and error.kind == "server" and len(bodies) == 1
