from __future__ import annotations

import re
from typing import Any

import pytest
from pydantic import TypeAdapter

from agentcli.ledger.block import (
    Base64Source,
    DataBlock,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolResultBlock,
    ToolResultState,
    UnknownBlock,
    URLSource,
)
from agentcli.ledger.message import AssistantMsg, Msg, SystemMsg, UserMsg
from agentcli.model.base import ModelRequest, ToolSchema
from agentcli.model.openai_responses.format import wire_request
from tests.fakes.wire import response_faults

HERE, ELSEWHERE = "here|m", "elsewhere|m"
PNG = DataBlock(source=Base64Source(data="YQ==", media_type="image/png"))
PNG_PART = {"type": "input_image", "image_url": "data:image/png;base64,YQ==", "detail": "auto"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


def sent(*messages: Msg, system: str = "", origin: str = HERE) -> list[dict[str, Any]]:
    """The items, without the ids of messages."""
    items = wire_request(ModelRequest(system, messages), origin).items
    assert response_faults(items) == []
    ids = [item.pop("id") for item in items if item["type"] == "message" and item["role"] == "assistant"]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"msg_[0-9a-f]{32}", key) for key in ids)
    return items


def reply(*blocks: Any) -> list[dict[str, Any]]:
    return sent(AssistantMsg(content=list(blocks)))


def call(key: str, arguments: str = '{"a": 1}', name: str = "Read") -> ToolCallBlock:
    return ToolCallBlock(id=key, name=name, input=arguments)


def result(key: str, output: Any = "ok") -> ToolResultBlock:
    return ToolResultBlock(id=key, name="Read", output=output, state=ToolResultState.SUCCESS)


def rs(number: int, **fields: Any) -> dict[str, Any]:
    return {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": f"E{number}", **fields}


def thought(item: dict[str, Any] | None = None, origin: str = HERE, **fields: Any) -> ThinkingBlock:
    extra = {"origin": origin, **({} if item is None else {"item": item}), **fields}
    return ThinkingBlock(thinking="", **extra)


def said(text: str, role: str = "assistant", **fields: Any) -> dict[str, Any]:
    if role != "assistant":
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "status": "completed", "role": role, "content": [part], **fields}


def called(key: str, arguments: str = '{"a": 1}', name: str = "Read") -> dict[str, Any]:
    return {"type": "function_call", "call_id": key, "name": name, "arguments": arguments}


def output(key: str, text: str = "ok") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": key, "output": text}


def test_messages_are_items_of_typed_parts():
    messages = [UserMsg(content="hi"), AssistantMsg(content="hello"), SystemMsg(content="note"), UserMsg(content="bye")]
    assert sent(*messages, system="be good") == [
        said("be good", "system"),
        said("hi", "user"),
        said("hello"),
        said("note", "system"),
        said("bye", "user"),
    ]


def test_a_reply_of_several_turns_keeps_its_order():
    blocks = [
        thought(rs(1)),
        TextBlock(text="I look."),
        thought(rs(2)),
        call("c1"),
        call("c2"),
        result("c2", "two"),
        result("c1"),
    ]
    assert reply(*blocks, thought(rs(3)), call("c3"), result("c3"), TextBlock(text="Done.")) == [
        rs(1),
        said("I look."),
        rs(2),
        called("c1"),
        called("c2"),
        output("c1"),
        output("c2", "two"),
        rs(3),
        called("c3"),
        output("c3"),
        said("Done."),
    ]


def test_text_between_calls_stands_before_them_with_its_reasoning():
    blocks = [thought(rs(1)), call("c1"), thought(rs(2)), TextBlock(text="and"), call("c2"), result("c1"), result("c2")]
    assert reply(*blocks) == [rs(2), said("and"), rs(1), called("c1"), called("c2"), output("c1"), output("c2")]


def test_arguments_that_are_no_object_go_back_as_an_empty_one():
    for broken in ['{"a": ', "[1]", "", "null", '{"a": NaN}', '{"a": 1}{', "[" * 100_000]:
        assert reply(call("c", broken), result("c")) == [called("c", "{}"), output("c")]
    assert reply(call("c", ' {"é": 1.0}'), result("c"))[0] == called("c", ' {"é": 1.0}')


def test_no_empty_message_is_sent():
    empty = [AssistantMsg(), AssistantMsg(content=[thought(rs(1))]), AssistantMsg(content=[TextBlock(text=" ")])]
    assert sent(*empty, UserMsg(content=[TextBlock(text="")]), UserMsg()) == []


def test_a_call_without_its_result_gets_one_and_a_result_without_its_call_is_left_out():
    assert reply(call("c1"), result("c9")) == [called("c1"), output("c1", "never started")]


def test_a_call_id_that_comes_twice_is_sent_once():
    assert reply(call("c1"), call("c1"), result("c1")) == [called("c1"), output("c1")]


def test_an_id_that_is_too_long_for_this_wire_is_one_of_ours_on_both_sides():
    [first, second] = reply(call("c" * 65), result("c" * 65))
    assert first["call_id"] == second["call_id"] != "c" * 65 and len(first["call_id"]) <= 64
    assert reply(call("c" * 64), result("c" * 64))[0] == called("c" * 64)


def test_a_hint_is_a_user_item_in_its_place():
    assert reply(call("c1"), result("c1"), HintBlock(hint="and quickly", source="user"), TextBlock(text="Yes.")) == [
        called("c1"),
        output("c1"),
        said("and quickly", "user"),
        said("Yes."),
    ]


def test_images_of_results_follow_after_the_last_output():
    pictures = [TextBlock(text="a picture"), PNG]
    assert reply(call("c1"), call("c2"), result("c1", pictures), result("c2")) == [
        called("c1"),
        called("c2"),
        output("c1", "a picture\n[image: see the next user message]"),
        output("c2"),
        {
            "type": "message",
            "role": "user",
            "content": [{"type": "input_text", "text": "From the result of Read (c1):"}, PNG_PART],
        },
    ]


def test_images_of_the_user_are_sent_and_other_data_is_named():
    web = DataBlock(source=URLSource.model_validate({"url": "https://x.org/a.png", "media_type": "image/png"}))
    sound = DataBlock(source=Base64Source(data="YQ==", media_type="audio/wav"))
    [item] = sent(UserMsg(content=[TextBlock(text="look"), PNG, web, sound]))
    assert item["content"] == [
        {"type": "input_text", "text": "look"},
        PNG_PART,
        {"type": "input_image", "image_url": "https://x.org/a.png", "detail": "auto"},
        {"type": "input_text", "text": "[data of type audio/wav is not sent: this model does not take it]"},
    ]
    assert reply(PNG) == [said("[data of type image/png, made by the model, is not sent back]")]


def test_reasoning_goes_back_to_its_origin_only():
    message = AssistantMsg(content=[thought(rs(1)), call("c1"), result("c1")])
    assert sent(message) == [rs(1), called("c1"), output("c1")]
    assert sent(message, origin=ELSEWHERE) == sent(message, origin="") == [called("c1"), output("c1")]
    unstamped = ThinkingBlock.model_validate({"thinking": "hm", "item": rs(1)})
    assert reply(unstamped, thought(rs(2), origin=""), TextBlock(text="a")) == [said("a")]


@pytest.mark.parametrize(
    ("item", "back"),
    [
        (rs(1), True),
        (rs(1, encrypted_content="", content=[{"type": "reasoning_text", "text": "hm"}]), True),
        (rs(1, encrypted_content="", summary=[{"type": "summary_text", "text": "hm"}]), True),
        ({"type": "reasoning", "id": "rs_1", "summary": []}, False),
        ({"id": "no type"}, False),
        ("no item", False),
        (None, False),
    ],
)
def test_reasoning_that_says_nothing_does_not_go_back(item: Any, back: bool):
    block = ThinkingBlock.model_validate({"thinking": "hm", "origin": HERE, "item": item})
    assert reply(block, TextBlock(text="a")) == [*([item] if back else []), said("a")]


def test_reasoning_without_its_follower_does_not_go_back():
    assert reply(thought(rs(1)), TextBlock(text="a"), thought(rs(2))) == [rs(1), said("a")]
    assert reply(thought(rs(1)), HintBlock(hint="go on"), TextBlock(text="a")) == [said("go on", "user"), said("a")]


def test_late_items_stand_before_their_turn():
    late = thought(rs(1), late=True)
    assert reply(call("c1"), late, result("c1"), TextBlock(text="a")) == [rs(1), called("c1"), output("c1"), said("a")]
    assert reply(TextBlock(text="a"), thought(SEARCH, late=True)) == [SEARCH, said("a")]


def test_items_of_the_providers_own_tools_go_back_in_their_place():
    assert reply(TextBlock(text="I look."), thought(SEARCH), TextBlock(text="Found.")) == [
        said("I look."),
        SEARCH,
        said("Found."),
    ]
    assert sent(AssistantMsg(content=[thought(SEARCH), TextBlock(text="a")]), origin=ELSEWHERE) == [said("a")]


def test_a_chain_of_reasoning_and_tools_of_the_provider_is_left_out_whole():
    blocks = [thought(rs(1)), thought(SEARCH), thought(SEARCH), thought(rs(2)), TextBlock(text="a")]
    assert reply(*blocks) == [rs(2), said("a")]


def test_an_item_that_wants_an_answer_nobody_gives_does_not_go_back():
    custom = {"type": "custom_tool_call", "call_id": "c1", "name": "sql", "input": "SELECT"}
    assert reply(thought(rs(1)), thought(custom), TextBlock(text="a")) == [rs(1), said("a")]
    assert reply(thought({"type": "mcp_approval_request", "id": "m"})) == []


def test_the_place_of_a_message_goes_back_to_its_origin():
    text = TextBlock.model_validate({"text": "a", "origin": HERE, "phase": "commentary"})
    message = AssistantMsg(content=[text])
    assert sent(message) == [said("a", phase="commentary")]
    assert sent(message, origin=ELSEWHERE) == [said("a")]


def test_what_only_a_later_version_knows_is_left_out():
    assert reply(UnknownBlock(type="hologram"), TextBlock(text="a")) == [said("a")]


def test_names_are_made_legal_and_can_be_told_apart():
    tools = [ToolSchema(name, "does", {"type": "object"}) for name in ("mcp.a", "mcp_a")]
    wire = wire_request(ModelRequest("", [AssistantMsg(content=[call("c", name="mcp.a"), result("c")])], tools))
    assert wire.names == {"mcp_a_2": "mcp.a"}
    assert wire.items[0] == called("c", name="mcp_a_2")
    assert wire.tools[1] == {
        "type": "function",
        "name": "mcp_a",
        "description": "does",
        "parameters": {"type": "object"},
        "strict": False,
    }


def test_every_item_is_one_that_the_sdk_knows():
    from openai.types.responses import ResponseInputItemParam, ToolParam

    texts = [TextBlock(text="a"), TextBlock(id="of/another form", text="b"), PNG]
    reply = AssistantMsg(content=[thought(rs(1)), *texts, call("c"), result("c", [PNG])])
    messages = [UserMsg(content=[TextBlock(text="x"), PNG]), reply]
    wire = wire_request(ModelRequest("be good", messages, [ToolSchema("t", "d", {})]), HERE)
    assert len(wire.items) == 9
    for kind, rows in ((ResponseInputItemParam, wire.items), (ToolParam, wire.tools)):
        adapter: TypeAdapter[Any] = TypeAdapter(kind)
        for row in rows:
            assert plain(adapter.validate_python(row)) == row


def plain(value: Any) -> Any:
    """A validated value; what is validated only when it is read is read."""
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return value if isinstance(value, str | int | float | None) else [plain(inner) for inner in value]
