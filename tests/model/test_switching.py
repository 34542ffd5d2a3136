"""A session that changes its model or its wire in the middle; each direction over one and the same history."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentcli.ledger.message import AssistantMsg, Msg
from agentcli.model.base import ModelRequest
from agentcli.model.openai_chat.format import wire_request as chat_request
from agentcli.model.openai_responses.format import wire_request
from agentcli.model.openai_responses.stream import ResponseFold
from agentcli.model.registry import ModelSpec, make_model
from tests.fakes.agent import FakeTool, Stand, refold
from tests.fakes.endpoint import FakeEndpoint, said, sse
from tests.fakes.wire import chat_faults, messages_of, response_faults

RS = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "SECRET"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}
TWO_CALLS = [
    {"type": "function_call", "id": "fc_1", "call_id": "r1", "name": "Act", "arguments": '{"value": "a"}'},
    {"type": "function_call", "id": "fc_2", "call_id": "r2", "name": "Act", "arguments": '{"value": "b"}'},
]
FROM_RESPONSES = [RS, *TWO_CALLS], [SEARCH, {"type": "message", "content": [{"type": "output_text", "text": "done by R"}]}]
CALLS = [{"index": 0, "id": "k1", "function": {"name": "Act", "arguments": '{"value": "c"}'}}]
FROM_CHAT = (
    [said(reasoning_content="hm over chat"), said(tool_calls=CALLS, finish="tool_calls"), "[DONE]"],
    [said("done by C", "stop"), "[DONE]"],
)
CUT = [{"type": "response.output_item.done", "item": item} for item in (RS, {**TWO_CALLS[0], "arguments": '{"value": "'})]


def response(output: list[dict[str, Any]]) -> list[Any]:
    return [{"type": "response.completed", "response": {"status": "completed", "output": output}}]


def body(events: list[Any]) -> tuple[int, dict[str, str], list[bytes]]:
    return 200, {}, [sse(*events)]


async def played(api: Any, url: str, history: list[Msg] | None = None, name: str = "m") -> list[Msg]:
    """One reply over this wire, after what was before; the stored message equals its stream."""
    stand = Stand([], FakeTool(), mode="bypass")
    stand.agent.model = model = make_model(ModelSpec(name=name, api=api, base_url=url))
    stand.state.context.extend(history or [])
    events = await stand.run("go")
    await model.close()
    assert events[-1].finished_reason == "completed", events[-1]
    assert refold(events) == stand.state.context[-1]
    state = type(stand.state).model_validate_json(stand.state.model_dump_json())
    assert state.context == stand.state.context
    return state.context


def faults_of(body: dict[str, Any]) -> list[str]:
    return chat_faults(body["messages"]) if "messages" in body else response_faults(body["input"])


def given(body: dict[str, Any]) -> str:
    return json.dumps(body["messages"] if "messages" in body else body["input"])


ANSWERS: dict[str, list[tuple[int, dict[str, str], list[bytes]]]] = {
    "chat": [body(events) for events in FROM_CHAT],
    "responses": [body(response(output)) for output in FROM_RESPONSES],
}


@pytest.mark.parametrize("first", ["chat", "responses"])
@pytest.mark.parametrize("second", ["chat", "responses"])
@pytest.mark.parametrize("name", ["m", "another"])
async def test_a_session_goes_on_over_any_wire_with_any_model(first: str, second: str, name: str):
    last = [(200, {}, [sse(*(FROM_CHAT[1] if second == "chat" else response(FROM_RESPONSES[1])))])]
    async with FakeEndpoint([*ANSWERS[first], *last]) as endpoint:
        history = await played(first, endpoint.url)
        await played(second, endpoint.url, history, name)
    assert [faults_of(sent) for sent in endpoint.requests] == [[], [], []]
    seen = given(endpoint.requests[-1])
    assert (
        ("r1" in seen and "r2" in seen and "done by R" in seen)
        if first == "responses"
        else ("k1" in seen and "done by C" in seen)
    )
    own = first == second == "responses" and name == "m"
    assert ("SECRET" in seen, "ws_1" in seen) == (own, own)
    assert "hm over chat" not in seen or second == "chat"


async def test_reasoning_goes_back_within_the_reply_before_the_calls_it_led_to():
    async with FakeEndpoint(ANSWERS["responses"]) as endpoint:
        await played("responses", endpoint.url)
    kinds = [item["type"] for item in endpoint.requests[1]["input"]]
    assert kinds[2:] == ["reasoning", "function_call", "function_call", "function_call_output", "function_call_output"]
    assert endpoint.requests[1]["input"][2] == RS


@pytest.mark.parametrize("events", [CUT, CUT[:1], [*CUT, {"type": "response.incomplete", "response": {}}]])
def test_an_answer_that_was_cut_leaves_a_history_for_both_wires(events: list[Any]):
    fold = ResponseFold({}, "here|m")
    [user, reply, last] = messages_of(fold.feed(sse(*events)))
    messages = [user, *([reply] if reply.content else []), last, AssistantMsg(content="ok")]
    request = ModelRequest("be good", messages)
    assert response_faults(wire_request(request, "here|m").items) == chat_faults(chat_request(request).messages) == []
