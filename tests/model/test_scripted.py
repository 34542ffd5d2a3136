from __future__ import annotations

import json
import time

import pytest

from agentcli.errors import ModelError, UsageError
from agentcli.ledger.block import TextBlock
from agentcli.ledger.message import AssistantMsg, UserMsg
from agentcli.model.base import CallPiece, DataPiece, Finish, ModelRequest, TextPiece, ThinkingPiece, UsagePiece
from agentcli.model.registry import ModelSpec, make_model
from agentcli.model.scripted import ScriptedModel

REQUEST = ModelRequest("system", [UserMsg(content="hi")])


async def play(model: ScriptedModel, request: ModelRequest = REQUEST):
    return [piece async for piece in model.stream(request)]


async def test_every_step_becomes_its_pieces_in_order():
    model = ScriptedModel(
        [
            [
                {"thinking": "hm"},
                {"text": "a text of more than sixteen"},
                {"tool_call": {"id": "c1", "name": "Read", "input": {"file_path": "é"}}},
                {"tool_call": {"id": "c2", "name": "Read", "input": '{"file'}},
                {"data": {"media_type": "image/png", "data": "YQ=="}},
                {"usage": {"input_tokens": 3, "output_tokens": 4}},
            ]
        ]
    )
    assert await play(model) == [
        ThinkingPiece("hm", key="1"),
        TextPiece("a text of more t"),
        TextPiece("han sixteen"),
        CallPiece("3", name="Read", call_id="c1"),
        CallPiece("3", arguments='{"file_path": "é'),
        CallPiece("3", arguments='"}'),
        CallPiece("4", name="Read", call_id="c2"),
        CallPiece("4", arguments='{"file'),
        DataPiece("image/png", "YQ==", key="5"),
        UsagePiece(3, 4),
        Finish("stop"),
    ]


async def test_every_attempt_plays_the_next_turn():
    model = ScriptedModel({"turns": [[{"text": "one"}], [{"text": "two"}, {"finish": "length"}]]})
    assert await play(model) == [TextPiece("one"), Finish("stop")]
    assert await play(model) == [TextPiece("two"), Finish("length")]


async def test_a_call_past_the_last_turn_is_an_error_that_is_not_retried():
    model = ScriptedModel([])
    with pytest.raises(ModelError, match="0 turns; this is call 1") as caught:
        await play(model)
    assert (caught.value.kind, caught.value.retryable) == ("bad_request", False)


@pytest.mark.parametrize(
    ("kind", "retryable"),
    [
        ("auth", False),
        ("rate_limit", True),
        ("connection", True),
        ("context_length", False),
        ("server", True),
        ("content_filter", False),
    ],
)
async def test_an_error_breaks_off_after_what_came_before_it(kind: str, retryable: bool):
    model = ScriptedModel([[{"text": "half"}, {"error": kind}]])
    seen = []
    with pytest.raises(ModelError) as caught:
        async for piece in model.stream(REQUEST):
            seen.append(piece)
    assert seen == [TextPiece("half")]
    error = caught.value
    assert (error.kind, error.retryable, error.retry_after) == (kind, retryable, 0 if retryable else None)


async def test_delay_waits():
    start = time.monotonic()
    await play(ScriptedModel([[{"delay": 0.05}]]))
    assert time.monotonic() - start >= 0.05


async def test_requests_hold_what_each_call_was_given():
    model = ScriptedModel([[{"text": "x"}]])
    reply = AssistantMsg(content=[TextBlock(text="so far")])
    await play(model, ModelRequest("system", [reply]))
    reply.content.append(TextBlock(text="later"))
    assert [block.text for block in model.requests[0].messages[0].content] == ["so far"]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ({}, "a script is an object"),
        ([{"text": "x"}], "turn 1 is not a list of steps"),
        ([[{"text": "x"}], [{"text": "x", "usage": {}}]], "turn 2, step 1 must have exactly one of"),
        ([[{"txt": "x"}]], "turn 1, step 1: unknown step 'txt'; known are thinking, text"),
        ([[{"text": 1}]], "turn 1, step 1: text is not a string"),
        ([[{"tool_call": {"id": "c"}}]], "tool_call.name is not a string"),
        ([[{"tool_call": {"id": "c", "name": "Read", "input": 3}}]], "tool_call.input is not an object"),
        ([[{"tool_call": {"id": "c", "name": "Read", "args": {}}}]], "has no field 'args'"),
        ([[{"usage": {"input_tokens": -1}}]], "not input_tokens: -1"),
        ([[{"delay": "1"}]], "delay is a number of seconds"),
        ([[{"error": "oops"}]], "error is one of auth, rate_limit"),
        ([[{"finish": "done"}]], "finish is one of stop, length, content_filter"),
    ],
)
def test_a_fault_in_a_script_is_named_with_its_place(script: object, message: str):
    with pytest.raises(UsageError, match=message):
        ScriptedModel(script)


async def test_a_script_file_is_played(tmp_path):
    path = tmp_path / "script.json"
    path.write_text(json.dumps({"turns": [[{"text": "from a file"}]]}))
    model = make_model(ModelSpec(name=f"script:{path}"))
    assert model.card.name == f"script:{path}"
    assert [piece async for piece in model.stream(REQUEST)] == [TextPiece("from a file"), Finish("stop")]


def test_a_script_file_that_cannot_be_used_is_named(tmp_path):
    with pytest.raises(UsageError, match=r"nowhere\.json cannot be read: No such file"):
        make_model(ModelSpec(name=f"script:{tmp_path}/nowhere.json"))
    (tmp_path / "torn.json").write_text("{")
    with pytest.raises(UsageError, match=r"torn\.json is not JSON"):
        make_model(ModelSpec(name=f"script:{tmp_path}/torn.json"))


async def test_a_long_text_is_cut_into_a_bounded_number_of_pieces():
    assert len(await play(ScriptedModel([[{"text": "x" * 100_000}]]))) <= 202
