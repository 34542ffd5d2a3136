import pytest

from tests.fakes.agent import FakeTool, Stand, answer, call, refold, results_of, rule, types

NOTE = "This is the third identical call; both earlier ones gave the same result."


def circle(count, *rest, name="Act"):
    return [*([call(f"c{n}", name, value="a")] for n in range(count)), *rest]


@pytest.mark.parametrize("mode", ["bypass", "accept_edits"])
async def test_the_third_identical_call_with_the_identical_result_is_asked_about(mode):
    stand = Stand(circle(3, [{"text": "over"}]), FakeTool(), mode=mode, rules=[rule("Act")])
    first = await stand.run()
    assert types(first)[-2:] == ["REQUIRE_USER_CONFIRM", "REPLY_PAUSED"]
    (block,) = first[-1].waiting
    assert (block.id, block.suggested_rules) == ("c2", [])
    assert first[-2].previews["c2"].notes == [NOTE]
    second = await stand.run(answer(first))
    assert second[-1].finished_reason == "completed"
    assert stand.tools["Act"].effects == ["a"] * 3
    assert refold(first, second) == stand.state.context[-1]


async def test_the_question_of_a_loop_is_the_same_after_a_restart():
    stand = Stand(circle(3), FakeTool(), mode="bypass")
    await stand.run()
    announced = await stand.again([]).run(None)
    assert announced[0].previews["c2"].notes == [NOTE]


async def test_a_fourth_identical_call_is_asked_about_again():
    stand = Stand(circle(4, [{"text": "over"}]), FakeTool(), mode="bypass")
    again = await stand.run(answer(await stand.run()))
    assert again[-1].type == "REPLY_PAUSED"
    assert again[-2].previews["c3"].notes == ["This is identical call number 4; the 3 earlier ones gave the same result."]


async def test_three_identical_calls_of_one_answer_are_a_loop_too():
    turn = [call(f"c{n}", value="a") for n in range(3)]
    stand = Stand([turn, [{"text": "over"}]], FakeTool(), mode="bypass")
    first = await stand.run()
    assert [block.id for block in first[-1].waiting] == ["c2"]
    assert stand.tools["Act"].effects == ["a"] * 2


async def test_a_new_reply_counts_anew():
    stand = Stand(circle(2, [{"text": "over"}], [call("d", value="a")], [{"text": "over"}]), FakeTool(), mode="bypass")
    await stand.run()
    assert (await stand.run("on"))[-1].type == "REPLY_END"


async def test_a_call_that_is_allowed_for_ever_ends_all_the_same():
    stand = Stand(circle(40), FakeTool(), mode="bypass")
    events = await stand.run()
    while events[-1].type == "REPLY_PAUSED":
        events = await stand.run(answer(events))
    assert (events[-1].finished_reason, stand.tools["Act"].effects) == ("exceed_max_iters", ["a"] * 20)
    assert "the same call 20 times" in events[-1].metadata["notice"]
    assert (await stand.again([[{"text": "over"}]]).run("on"))[-1].finished_reason == "completed"


async def test_dont_ask_denies_a_loop_with_its_reason():
    stand = Stand(circle(3, [{"text": "over"}]), FakeTool(), mode="dont_ask", rules=[rule("Act")])
    events = await stand.run()
    assert events[-1].finished_reason == "completed"
    assert results_of(stand.state.context[-1])["c2"] == ("denied", f"Denied: {NOTE}")
    assert stand.tools["Act"].effects == ["a"] * 2


async def test_explore_ends_the_reply_at_a_loop():
    tool = FakeTool("Look", read_only=True)
    stand = Stand(circle(3, [{"text": "never"}], name="Look"), tool, mode="explore")
    events = await stand.run()
    assert (events[-1].finished_reason, events[-1].error) == ("exceed_max_iters", None)
    assert "same call a third time" in events[-1].metadata["notice"]
    assert results_of(stand.state.context[-1])["c2"] == ("denied", f"Denied: {NOTE}")
    assert len(stand.model.requests) == 3
    assert refold(events) == stand.state.context[-1]


async def test_explore_ends_the_reply_of_a_model_that_knocks_at_a_closed_door():
    stand = Stand(circle(3, [{"text": "never"}]), FakeTool(), mode="explore")
    events = await stand.run()
    assert events[-1].finished_reason == "exceed_max_iters"
    assert stand.tools["Act"].effects == []
