from __future__ import annotations

import json

import pytest

from agentcli.ledger.block import HintBlock, TextBlock, ToolCallBlock, ToolCallState, ToolResultBlock, ToolResultState
from agentcli.ledger.message import AssistantMsg, Msg, UserMsg
from agentcli.model.base import CallPiece, Finish, ModelRequest, TextPiece, ToolSchema
from agentcli.model.demo import DemoModel

TOOLS = [ToolSchema(name, "", {"type": "object"}) for name in ("Read", "Glob", "Bash")]


async def step(*messages: Msg, tools: list[ToolSchema] = TOOLS) -> tuple[str, tuple[str, dict[str, str]] | None]:
    pieces = [piece async for piece in DemoModel(pace=0).stream(ModelRequest("", messages, tools))]
    assert pieces[-1] == Finish("stop")
    text = "".join(piece.text for piece in pieces if isinstance(piece, TextPiece))
    calls = [(piece.name, json.loads(piece.arguments)) for piece in pieces if isinstance(piece, CallPiece)]
    return text, calls[0] if calls else None


def done(name: str, given: dict[str, str], output: str, state: ToolResultState = ToolResultState.SUCCESS) -> list[object]:
    call = ToolCallBlock(id=name, name=name, input=json.dumps(given), state=ToolCallState.FINISHED)
    return [call, ToolResultBlock(id=name, name=name, output=output, state=state)]


HI = UserMsg(content="hi")
LISTED = done("Glob", {"pattern": "*"}, "src/\nmain.py\nREADME.md\npyproject.toml\n(3 left out)")


async def test_the_first_message_is_answered_by_a_tour_of_real_calls():
    text, call = await step(HI)
    assert "This is the demo" in text and call == ("Glob", {"pattern": "*"})
    text, call = await step(HI, AssistantMsg(content=LISTED))
    assert "4 entries" in text and call == ("Read", {"file_path": "README.md"})
    read = done("Read", {"file_path": "README.md"}, "     1\t# Title\n     2\ttext")
    text, call = await step(HI, AssistantMsg(content=[*LISTED, *read]))
    assert "README.md" in text and "“Title”" in text and call is None
    assert all(word in text for word in ("demo", "OPENAI_API_KEY", "OPENAI_BASE_URL", "agentcli chat --model"))


@pytest.mark.parametrize("state", [ToolResultState.DENIED, ToolResultState.ERROR, ToolResultState.INTERRUPTED])
async def test_a_call_that_did_not_run_ends_the_tour_gracefully(state: ToolResultState):
    text, call = await step(HI, AssistantMsg(content=done("Glob", {"pattern": "*"}, "no", state)))
    assert "demo" in text and "OPENAI_API_KEY" in text and call is None


async def test_an_empty_folder_is_said():
    text, call = await step(HI, AssistantMsg(content=done("Glob", {"pattern": "*"}, "No files found")))
    assert "sees no file" in text and call is None


async def test_a_further_message_gets_an_honest_answer():
    text, call = await step(HI, AssistantMsg(content=LISTED), UserMsg(content="rewrite it all"))
    assert "still the demo" in text and call is None


async def test_a_further_message_can_ask_for_a_command():
    _, call = await step(HI, AssistantMsg(content=LISTED), UserMsg(content="status"))
    assert call is not None and call[0] == "Bash" and call[1]["command"] == "git status"
    reply = AssistantMsg(content=done("Bash", call[1], "clean"))
    text, call = await step(HI, UserMsg(content="status"), reply)
    assert "demo" in text and call is None


async def test_steering_is_answered_too():
    reply = AssistantMsg(content=[*LISTED, HintBlock(hint="stop that", source="user")])
    text, call = await step(HI, reply)
    assert "still the demo" in text and call is None


async def test_without_tools_it_makes_no_call():
    text, call = await step(HI, tools=[])
    assert "demo" in text and call is None


async def test_an_unfinished_reply_without_a_call_is_taken_up():
    text, _ = await step(HI, AssistantMsg(content=[TextBlock(text="Hel")]))
    assert "demo" in text
