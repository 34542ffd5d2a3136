from __future__ import annotations

from typing import Any

from agentcli.ledger.block import (
    Base64Source,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolResultState,
    URLSource,
)
from agentcli.ledger.message import AssistantMsg, Msg, SystemMsg, UserMsg
from agentcli.model.base import ModelRequest, ToolSchema
from agentcli.model.openai_chat.format import wire_request

PNG = DataBlock(source=Base64Source(data="YQ==", media_type="image/png"))
PNG_PART = {"type": "image_url", "image_url": {"url": "data:image/png;base64,YQ=="}}


def sent(*messages: Msg, system: str = "") -> list[dict[str, Any]]:
    return wire_request(ModelRequest(system, messages)).messages


def call(key: str, arguments: str = '{"a": 1}', name: str = "Read") -> ToolCallBlock:
    return ToolCallBlock(id=key, name=name, input=arguments)


def result(key: str, output: Any = "ok") -> ToolResultBlock:
    return ToolResultBlock(id=key, name="Read", output=output, state=ToolResultState.SUCCESS)


def wire_call(key: str, arguments: str = '{"a": 1}', name: str = "Read") -> dict[str, Any]:
    return {"id": key, "type": "function", "function": {"name": name, "arguments": arguments}}


def turn(text: str | None, *calls: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": text, "tool_calls": list(calls)}


def tool(key: str, text: str = "ok") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": key, "content": text}


def test_plain_messages_are_plain_strings():
    messages = [UserMsg(content="hi"), AssistantMsg(content="hello"), SystemMsg(content="note"), UserMsg(content="bye")]
    assert sent(*messages, system="be good") == [
        {"role": "system", "content": "be good"},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
        {"role": "system", "content": "note"},
        {"role": "user", "content": "bye"},
    ]


def test_a_reply_of_several_turns_becomes_several_messages():
    reply = [
        ThinkingBlock(thinking="hm"),
        TextBlock(text="I look."),
        call("c1"),
        result("c1"),
        ThinkingBlock(thinking="hm"),
        call("c2"),
        call("c3"),
        result("c3", "three"),
        result("c2", "two"),
        TextBlock(text="Done."),
    ]
    assert sent(AssistantMsg(content=reply)) == [
        turn("I look.", wire_call("c1")),
        tool("c1"),
        turn(None, wire_call("c2"), wire_call("c3")),
        tool("c2", "two"),
        tool("c3", "three"),
        {"role": "assistant", "content": "Done."},
    ]


def test_texts_around_calls_of_one_turn_stay_in_that_turn():
    reply = [TextBlock(text="a"), call("c1"), TextBlock(text="b"), call("c2"), result("c1"), result("c2")]
    assert sent(AssistantMsg(content=reply)) == [turn("a\n\nb", wire_call("c1"), wire_call("c2")), tool("c1"), tool("c2")]


def test_arguments_that_are_no_object_go_back_as_an_empty_one():
    broken = ['{"a": ', "[1]", "", "null", '{"a": NaN}', '{"a": 1}{', "[" * 100_000]
    for arguments in broken:
        [message, _] = sent(AssistantMsg(content=[call("c", arguments), result("c")]))
        assert message["tool_calls"] == [wire_call("c", "{}")]
    [message, _] = sent(AssistantMsg(content=[call("c", ' {"é": 1.0}'), result("c")]))
    assert message["tool_calls"] == [wire_call("c", ' {"é": 1.0}')]


def test_no_empty_message_is_sent():
    empty = [AssistantMsg(), AssistantMsg(content=[ThinkingBlock(thinking="x")]), AssistantMsg(content=[TextBlock(text=" ")])]
    assert sent(*empty, UserMsg(content=[TextBlock(text="")]), UserMsg()) == []


def test_a_call_without_its_result_gets_one_and_a_result_without_its_call_is_left_out():
    assert sent(AssistantMsg(content=[call("c1"), result("c9")])) == [turn(None, wire_call("c1")), tool("c1", "never started")]


def test_a_hint_is_a_user_message_in_its_place():
    reply = [call("c1"), result("c1"), HintBlock(hint="and quickly", source="user"), TextBlock(text="Yes.")]
    assert sent(AssistantMsg(content=reply)) == [
        turn(None, wire_call("c1")),
        tool("c1"),
        {"role": "user", "content": "and quickly"},
        {"role": "assistant", "content": "Yes."},
    ]


def test_images_of_results_follow_after_the_last_result_in_one_message():
    pictures = [TextBlock(text="a picture"), PNG]
    reply = [call("c1"), call("c2"), call("c3"), result("c1", pictures), result("c2"), result("c3", [PNG])]
    assert sent(AssistantMsg(content=reply)) == [
        turn(None, wire_call("c1"), wire_call("c2"), wire_call("c3")),
        tool("c1", "a picture\n[image: see the next user message]"),
        tool("c2"),
        tool("c3", "[image: see the next user message]"),
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "From the result of Read (c1):"},
                PNG_PART,
                {"type": "text", "text": "From the result of Read (c3):"},
                PNG_PART,
            ],
        },
    ]


def test_images_of_the_user_are_sent_and_other_data_is_named():
    web = DataBlock(source=URLSource.model_validate({"url": "https://x.org/a.png", "media_type": "image/png"}))
    local = DataBlock(name="a.png", source=URLSource.model_validate({"url": "file:///a.png", "media_type": "image/png"}))
    sound = DataBlock(source=Base64Source(data="YQ==", media_type="audio/wav"))
    [message] = sent(UserMsg(content=[TextBlock(text="look"), PNG, web, local, sound]))
    assert message["content"] == [
        {"type": "text", "text": "look"},
        PNG_PART,
        {"type": "image_url", "image_url": {"url": "https://x.org/a.png"}},
        {"type": "text", "text": "[a.png (image/png) is not sent: this model takes text and images]"},
        {"type": "text", "text": "[data of type audio/wav is not sent: this model takes text and images]"},
    ]


def test_names_are_made_legal_and_can_be_told_apart():
    tools = [ToolSchema(name, "does", {"type": "object"}) for name in ("mcp.a", "mcp_a", "mcp a", "x" * 70)]
    wire = wire_request(ModelRequest("", [AssistantMsg(content=[call("c", name="mcp.a"), result("c")])], tools))
    names = [tool["function"]["name"] for tool in wire.tools]
    assert names == ["mcp_a_2", "mcp_a", "mcp_a_3", "x" * 64]
    assert wire.names == {"mcp_a_2": "mcp.a", "mcp_a_3": "mcp a", "x" * 64: "x" * 70}
    assert wire.messages[0] == turn(None, wire_call("c", name="mcp_a_2"))
    assert wire.tools[1] == {
        "type": "function",
        "function": {"name": "mcp_a", "description": "does", "parameters": {"type": "object"}},
    }


def test_a_call_of_a_name_that_never_existed_is_legal_too():
    [message, _] = sent(AssistantMsg(content=[call("c", name="was/ist das?"), result("c")]))
    assert message["tool_calls"] == [wire_call("c", name="was_ist_das_")]
    [message, _] = sent(AssistantMsg(content=[call("c", name=""), result("c")]))
    assert message["tool_calls"] == [wire_call("c", name="unnamed")]
