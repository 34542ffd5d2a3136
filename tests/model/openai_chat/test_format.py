from __future__ import annotations

from typing import Any

import pytest

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
from agentcli.model.openai_chat.format import REASONING, SIGNED, UNREASONED, Manner, wire_request
from tests.fakes.wire import chat_faults

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
    sound = DataBlock(source=Base64Source(data="YQ==", media_type="audio/ogg"))
    [message] = sent(UserMsg(content=[TextBlock(text="look"), PNG, web, local, sound]))
    assert message["content"] == [
        {"type": "text", "text": "look"},
        PNG_PART,
        {"type": "image_url", "image_url": {"url": "https://x.org/a.png"}},
        {"type": "text", "text": "[a.png (image/png) is not sent: this model does not take it]"},
        {"type": "text", "text": "[data of type audio/ogg is not sent: this model does not take it]"},
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


HERE = "here|m"
BACK = Manner(HERE, reasoning=True)


def thought(text: str, origin: str = HERE, **extra: Any) -> ThinkingBlock:
    return ThinkingBlock.model_validate({"thinking": text, "origin": origin, **extra})


def given(manner: Manner, *blocks: Any) -> tuple[list[dict[str, Any]], set[str]]:
    wire = wire_request(ModelRequest("", [AssistantMsg(content=list(blocks))]), manner)
    return wire.messages, set(wire.holds)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_goes_back_in_its_field_with_the_calls_it_led_to(field: str):
    reply = [
        thought("a", field=field),
        thought("b", field=field),
        call("c1"),
        result("c1"),
        thought("c", field=field),
        TextBlock(text="Done."),
    ]
    assert given(BACK, *reply) == (
        [
            {"role": "assistant", "content": None, field: "ab", "tool_calls": [wire_call("c1")]},
            tool("c1"),
            {"role": "assistant", "content": "Done."},
        ],
        {REASONING},
    )


@pytest.mark.parametrize(
    "block",
    [
        thought("a", "there|m", field="reasoning"),
        thought("a", "here|n", field="reasoning"),
        thought("a"),
        thought("a", field="content"),
        thought("a", field="tool_calls"),
        thought("", field="reasoning"),
        ThinkingBlock(thinking="a"),
        thought("", details="x", calls=["x"]),
    ],
)
def test_reasoning_of_another_or_of_no_known_field_stays_here(block: ThinkingBlock):
    assert given(BACK, block, call("c1"), result("c1")) == ([turn(None, wire_call("c1")), tool("c1")], {UNREASONED})


def test_reasoning_goes_to_no_endpoint_that_does_not_want_it():
    messages, holds = given(Manner(HERE), thought("a", field="reasoning"), call("c1"), result("c1"))
    assert (messages[0], holds) == (turn(None, wire_call("c1")), {UNREASONED})


def test_an_endpoint_that_takes_no_call_without_reasoning_gets_an_empty_one_for_those_of_others():
    messages, _ = given(Manner(HERE, reasoning=True, fill=True), call("c1"), result("c1"))
    assert messages[0] == {**turn(None, wire_call("c1")), "reasoning_content": ""}


def test_details_go_back_whole_in_place_of_their_text():
    details = [{"type": "reasoning.encrypted", "data": "X"}]
    messages, holds = given(BACK, thought("a", field="reasoning"), call("c1"), thought("", details=details), result("c1"))
    assert (messages[0], holds) == ({**turn(None, wire_call("c1")), "reasoning_details": details}, {REASONING})


def test_what_a_provider_added_to_its_calls_goes_back_to_it_alone():
    added = {"google": {"thought_signature": "S"}}
    reply = [call("c1"), call("c2"), thought("", calls={"1": added, "7": added, "x": added}), result("c1"), result("c2")]
    signed = [turn(None, wire_call("c1"), {**wire_call("c2"), "extra_content": added}), tool("c1"), tool("c2")]
    plain = [turn(None, wire_call("c1"), wire_call("c2")), tool("c1"), tool("c2")]
    assert given(Manner(HERE), *reply) == (signed, {SIGNED, UNREASONED})
    assert given(Manner("there|m"), *reply) == given(Manner(HERE, without={SIGNED}), *reply) == (plain, {UNREASONED})


WAV = DataBlock(source=Base64Source(data="YQ==", media_type="audio/x-wav; rate=8000"))
MP3 = DataBlock(source=Base64Source(data="YQ==", media_type="audio/mpeg"))
DOCUMENT = DataBlock(name="a.pdf", source=Base64Source(data="YQ==", media_type="application/pdf"))


def test_sounds_and_documents_are_sent_as_what_they_are():
    wire = wire_request(ModelRequest("", [UserMsg(content=[PNG, WAV, MP3, DOCUMENT])]))
    assert wire.messages[0]["content"] == [
        PNG_PART,
        {"type": "input_audio", "input_audio": {"data": "YQ==", "format": "wav"}},
        {"type": "input_audio", "input_audio": {"data": "YQ==", "format": "mp3"}},
        {"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,YQ=="}},
    ]
    assert wire.holds == {"image", "audio", "file"}


def test_data_that_a_model_does_not_take_is_named():
    request = ModelRequest("", [UserMsg(content=[PNG, WAV, DOCUMENT])])
    wire = wire_request(request, Manner(without={"image", "audio", "file"}))
    assert wire.messages == [
        {
            "role": "user",
            "content": "[data of type image/png is not sent: this model does not take it]\n"
            "[data of type audio/x-wav; rate=8000 is not sent: this model does not take it]\n"
            "[a.pdf (application/pdf) is not sent: this model does not take it]",
        }
    ]
    assert not wire.holds


def test_data_of_the_results_of_parallel_calls_leaves_the_results_together():
    reply = [call("c1"), call("c2"), result("c2", [DOCUMENT]), result("c1", [TextBlock(text="look"), PNG]), TextBlock(text="Hm.")]
    messages = sent(AssistantMsg(content=reply))
    assert [message["role"] for message in messages] == ["assistant", "tool", "tool", "user", "assistant"]
    assert [part["type"] for part in messages[3]["content"]] == ["text", "image_url", "text", "file"]
    assert chat_faults(messages) == []
    without = wire_request(ModelRequest("", [AssistantMsg(content=reply)]), Manner(without={"image", "file"})).messages
    assert [message["role"] for message in without] == ["assistant", "tool", "tool", "assistant"]
