import pytest

from agentcli.agent.loops import loop_note, looped, repeats
from agentcli.ledger.block import DataBlock, TextBlock, ToolCallBlock, ToolResultBlock
from agentcli.ledger.message import AssistantMsg


def acts(*rounds, last='{"value": "a"}'):
    """A reply of calls and their results, and one call that has none yet."""
    content = []
    for number, given in enumerate(rounds):
        given = {"name": "Act", "input": '{"value": "a"}', "output": "same", "state": "success", **given}
        key = f"c{number}"
        content.append(ToolCallBlock(id=key, name=given["name"], input=given["input"], state="finished"))
        result = {name: given[name] for name in ("output", "state", "metadata") if name in given}
        content.append(ToolResultBlock(id=key, name=given["name"], **result))
    call = ToolCallBlock(id="now", name="Act", input=last)
    return AssistantMsg(content=[*content, call]), call


@pytest.mark.parametrize(
    ("rounds", "count"),
    [
        ([], 0),
        ([{}], 1),
        ([{}, {}], 2),
        ([{}, {}, {}], 3),
        ([{}, {"name": "Other"}, {}], 2),
        ([{}, {"input": '{"value": "b"}'}, {}], 2),
        ([{"output": "first"}, {}], 1),
        ([{}, {"output": "another"}], 1),
        ([{}, {"output": "another"}, {}], 1),
        ([{}, {"state": "error"}], 1),
        ([{"state": "denied"}, {"state": "denied"}], 2),
        ([{}, {"state": "interrupted"}], 1),
        ([{}, {"metadata": {"repaired": True}, "state": "error"}], 1),
    ],
)
def test_a_repeat_is_the_same_tool_the_same_arguments_and_the_same_result(rounds, count):
    assert repeats(*acts(*rounds)) == count


@pytest.mark.parametrize("same", ['{"value":"a"}', ' {"value" : "\\u0061"}\n'])
def test_white_space_and_escapes_do_not_tell_arguments_apart(same):
    assert repeats(*acts({}, {"input": same})) == 2


def test_the_order_of_names_does_not_tell_arguments_apart():
    msg, call = acts({"input": '{"a": 1, "b": 2}'}, last='{"b": 2, "a": 1}')
    assert repeats(msg, call) == 1


def test_arguments_that_are_no_json_are_compared_as_they_stand():
    assert repeats(*acts({"input": '{"value": '}, {"input": '{"value"'}, last='{"value": ')) == 1


def test_the_blocks_of_a_result_are_compared_by_what_they_say():
    def image(data):
        return [
            TextBlock(text="x"),
            DataBlock.model_validate({"source": {"type": "base64", "data": data, "media_type": "image/png"}}),
        ]

    assert repeats(*acts({"output": image("AAAA")}, {"output": image("AAAA")})) == 2
    assert repeats(*acts({"output": image("AAAA")}, {"output": image("BBBB")})) == 1


def test_only_what_went_before_a_call_counts():
    msg, _ = acts({}, {}, {})
    assert [repeats(msg, call) for call in msg.calls] == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("count", "note"),
    [
        (1, ""),
        (2, "This is the third identical call; both earlier ones gave the same result."),
        (3, "This is identical call number 4; the 3 earlier ones gave the same result."),
    ],
)
def test_the_note_counts(count, note):
    assert loop_note(*acts(*[{}] * count)) == note


def test_a_loop_that_was_refused_is_found_in_the_last_turn_only():
    msg, _ = acts({}, {}, {"state": "denied"})
    msg.content.pop()
    assert [call.id for call, _ in looped(msg)] == ["c2"]
    msg.content.append(TextBlock(text="then I do something else"))
    assert list(looped(msg)) == []


def test_a_first_denial_is_no_loop():
    msg, _ = acts({}, {"state": "denied"})
    msg.content.pop()
    assert list(looped(msg)) == []
