import pytest

from agentcli.agent.budget import Budget, Limits, no_price
from agentcli.ledger import event as ev
from agentcli.ledger.message import AssistantMsg, Usage
from tests.fakes.agent import FakeJournal, FakeTool, Stand, answer, call, refold, results_of, rule, types

NOTE = "This reply has taken 120 tokens; its budget is 100 (--max-tokens). Allowed, it goes on to 200 tokens."
STOPPED = "Stopped. This reply has taken 120 tokens; its budget is 100 (--max-tokens)."
OVER = [{"text": "over"}]


def usage(taken, made=0):
    return {"usage": {"input_tokens": taken, "output_tokens": made}}


def acts(key, taken, made=0, *, name="Act"):
    return [call(key, name, value=key), usage(taken, made)]


def stand_with(turns, *tools, tokens=None, cost=None, price=None, mode="bypass", **more):
    stand = Stand(turns, *(tools or [FakeTool()]), mode=mode, **more)
    hold(stand, tokens=tokens, cost=cost, price=price)
    return stand


def hold(stand, *, tokens=None, cost=None, price=None, records=()):
    stand.agent._work.budget = Budget(Limits(cost, tokens), price or no_price, records)


def records_of(stand):
    return [{"type": line[0], **line[1]} for line in stand.journal.lines if line[0] in ("cost", "budget")]


async def test_a_reply_within_its_budget_is_not_asked_about():
    stand = stand_with([acts("c1", 90, 9), OVER], tokens=100)
    assert (await stand.run())[-1].finished_reason == "completed"


async def test_the_call_before_the_model_call_that_would_go_beyond_the_budget_is_asked_about():
    stand = stand_with([acts("c1", 100, 20), OVER], tokens=100, rules=[rule("Act")])
    first = await stand.run()
    assert types(first)[-2:] == ["REQUIRE_USER_CONFIRM", "REPLY_PAUSED"]
    assert first[-2].previews["c1"].notes == [NOTE]
    assert first[-1].waiting[0].suggested_rules == []
    assert stand.tools["Act"].effects == []
    second = await stand.run(answer(first))
    assert second[-1].finished_reason == "completed"
    assert stand.tools["Act"].effects == ["c1"]
    assert refold(first, second) == stand.state.context[-1]


async def test_an_allowed_call_gives_one_further_part_and_the_next_is_asked_about():
    stand = stand_with([acts("c1", 120), acts("c2", 60), acts("c3", 60), OVER], tokens=100)
    again = await stand.run(answer(await stand.run()))
    assert again[-1].waiting[0].id == "c3"
    assert again[-2].previews["c3"].notes == [
        "This reply has taken 240 tokens; its budget is 200 (--max-tokens). Allowed, it goes on to 300 tokens."
    ]


async def test_a_call_that_took_several_parts_at_once_is_asked_about_once():
    stand = stand_with([acts("c1", 950), acts("c2", 49), OVER], tokens=100)
    first = await stand.run()
    assert first[-2].previews["c1"].notes[0].endswith("Allowed, it goes on to 1,000 tokens.")
    assert (await stand.run(answer(first)))[-1].finished_reason == "completed"


async def test_a_denied_budget_ends_the_reply_with_its_reason_and_no_further_model_call():
    stand = stand_with([acts("c1", 120), OVER], tokens=100)
    end = (await stand.run(answer(await stand.run(), yes=False)))[-1]
    assert (end.finished_reason, end.error, end.metadata) == ("exceed_max_iters", None, {"notice": STOPPED})
    assert len(stand.model.requests) == 1
    assert results_of(stand.state.context[-1])["c1"] == ("denied", "Denied by the user.")


async def test_one_allowed_call_of_several_settles_the_budget_of_the_others():
    turn = [call("c1", value="a"), call("c2", value="b"), usage(120)]
    stand = stand_with([turn, OVER], tokens=100)
    first = await stand.run()
    assert [block.id for block in first[-1].waiting] == ["c1", "c2"]
    end = (await stand.run(answer(first, only=["c2"])))[-1]
    assert end.finished_reason == "completed"
    assert sorted(stand.tools["Act"].effects) == ["a", "b"]


async def test_dont_ask_denies_and_ends_the_reply():
    stand = stand_with([acts("c1", 120), OVER], tokens=100, mode="dont_ask", rules=[rule("Act")])
    end = (await stand.run())[-1]
    assert (end.finished_reason, end.metadata) == ("exceed_max_iters", {"notice": STOPPED})
    assert results_of(stand.state.context[-1])["c1"] == ("denied", f"Denied: {NOTE}")
    assert stand.tools["Act"].effects == []


async def test_explore_asks_about_a_look_beyond_the_budget():
    stand = stand_with([acts("c1", 120, name="Look"), OVER], FakeTool("Look", read_only=True), tokens=100, mode="explore")
    first = await stand.run()
    assert first[-1].type == "REPLY_PAUSED"
    assert (await stand.run(answer(first)))[-1].finished_reason == "completed"


async def test_an_answer_without_calls_is_told_however_much_it_took():
    stand = stand_with([[{"text": "long"}, usage(500)]], tokens=100)
    end = (await stand.run())[-1]
    assert (end.finished_reason, end.metadata) == ("completed", {})


async def test_every_reply_has_the_whole_budget():
    stand = stand_with([acts("c1", 60), [{"text": "over"}, usage(30)], acts("c2", 60), OVER], tokens=100)
    assert (await stand.run())[-1].finished_reason == "completed"
    assert (await stand.run("on"))[-1].finished_reason == "completed"


async def test_a_call_that_can_never_run_leaves_the_budget_to_the_loop():
    stand = stand_with([[call("c1", "Nothing"), usage(120)], OVER], tokens=100)
    end = (await stand.run())[-1]
    assert (end.finished_reason, end.metadata) == ("exceed_max_iters", {"notice": STOPPED})


async def test_the_question_of_a_budget_is_the_same_after_a_restart():
    stand = stand_with([acts("c1", 120)], tokens=100)
    first = await stand.run()
    later = stand.again([OVER])
    hold(later, tokens=100, records=records_of(stand))
    announced = await later.run(None)
    assert (announced[0].previews, announced[-1].waiting) == (first[-2].previews, first[-1].waiting)
    assert (await later.run(answer(announced)))[-1].finished_reason == "completed"


async def test_what_was_given_outlives_the_process():
    stand = stand_with([acts("c1", 120), acts("c2", 10)], tokens=100)
    await stand.run(answer(await stand.run()))
    given = [line for line in stand.journal.lines if line[0] == "budget"]
    assert given == [("budget", {"reply_id": stand.state.reply_id, "cost": None, "tokens": 200})]
    budget = Budget(Limits(tokens=100), records=records_of(stand))
    assert budget.used_up(stand.state.context[-1]) == ""


async def test_an_answer_to_a_question_that_did_not_speak_of_the_budget_gives_nothing():
    stand = stand_with([acts("c1", 120), OVER], mode="default")
    first = await stand.run()
    hold(stand, tokens=100)
    end = (await stand.run(answer(first)))[-1]
    assert (end.finished_reason, end.metadata) == ("exceed_max_iters", {"notice": STOPPED})
    assert stand.tools["Act"].effects == ["c1"]


def cents(name, usage):
    return usage.input_tokens / 100


async def test_a_budget_of_money_is_asked_about_and_its_cost_is_on_disk():
    stand = stand_with([acts("c1", 60), acts("c2", 60), OVER], cost=1.0, price=cents)
    first = await stand.run()
    note = "This reply has cost $1.20; its budget is $1.00 (--max-cost). Allowed, it goes on to $2.00."
    assert first[-2].previews["c2"].notes == [note]
    reply_id = stand.state.reply_id
    assert records_of(stand) == [{"type": "cost", "reply_id": reply_id, "model": "script", "cost": 0.6}] * 2
    later = stand.again([OVER])
    hold(later, cost=1.0, price=cents, records=records_of(stand))
    announced = await later.run(None)
    assert announced[0].previews["c2"].notes == [note]
    assert (await later.run(answer(announced)))[-1].finished_reason == "completed"
    assert later.agent.budget.cost == pytest.approx(1.2)


async def test_where_no_price_is_known_a_budget_of_money_holds_nobody_up():
    stand = stand_with([acts("c1", 10**9), OVER], cost=0.01)
    assert (await stand.run())[-1].finished_reason == "completed"
    assert (stand.agent.budget.cost, records_of(stand)) == (None, [])


def test_records_of_another_version_say_nothing():
    odd = [
        {"type": "cost"},
        {"type": "cost", "reply_id": "r", "cost": "much"},
        {"type": "budget", "reply_id": "r", "tokens": "x"},
    ]
    budget = Budget(Limits(tokens=10), records=odd)
    took = AssistantMsg(id="r", usage=Usage(input_tokens=10))
    assert (budget.cost, budget.used_up(took)) == (None, "This reply has taken 10 tokens; its budget is 10 (--max-tokens).")


async def test_a_price_is_asked_for_all_four_kinds_of_tokens():
    event = ev.ModelCallEndEvent(reply_id="r", input_tokens=4, output_tokens=3, cached_tokens=2, reasoning_tokens=1)
    asked, journal = [], FakeJournal()
    budget = Budget(price=lambda name, usage: asked.append((name, usage)) or 0.5)
    await budget.take(event, "m", journal)
    assert asked == [("m", Usage(input_tokens=4, output_tokens=3, cached_tokens=2, reasoning_tokens=1))]
    assert journal.lines == [("cost", {"reply_id": "r", "model": "m", "cost": 0.5})]
    assert (budget.last, budget.cost) == (0.5, 0.5)
