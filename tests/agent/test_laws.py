import asyncio
import hashlib

import pytest

from agentcli.errors import AgentcliError, NothingWaiting, StaleAnswer, StillWaiting
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallState, ToolResultBlock
from agentcli.ledger.message import UserMsg
from agentcli.ledger.rule import PermissionMode
from tests.fakes.agent import FakeTool, FakeWriter, Stand, answer, call, refold, results_of, rule, types, until

TERMINAL = {"REPLY_END", "REPLY_PAUSED"}


def one_end(events):
    assert [kind for kind in types(events) if kind in TERMINAL] == [types(events)[-1]]
    return events[-1]


# -- law 1 -------------------------------------------------------------------------------------


async def test_law_1_the_stream_folds_to_the_stored_message_field_for_field():
    turns = [
        [
            {"thinking": "hm"},
            {"text": "two"},
            call("c1", value="a"),
            call("c2", value="b"),
            {"usage": {"input_tokens": 5, "output_tokens": 2}},
        ],
        [{"text": "over"}, {"usage": {"input_tokens": 7, "output_tokens": 3}}],
    ]
    stand = Stand(turns, FakeTool(), mode="bypass")
    events = await stand.run()
    assert one_end(events).finished_reason == "completed"
    assert refold(events) == stand.state.context[-1]
    assert stand.state.context[-1].usage.input_tokens == 12


async def test_law_1_the_streams_around_a_pause_fold_to_one_message():
    stand = Stand([[call("c1", value="a")], [{"text": "over"}]], FakeTool())
    first = await stand.run()
    second = await stand.run(answer(first))
    assert "REPLY_START" not in types(second)
    assert refold(first, second) == stand.state.context[-1]


async def test_law_1_what_is_kept_of_a_result_is_what_the_stream_carried():
    tool = FakeTool()
    stand = Stand([[call("c1", value="x" * 150_000)], [{"text": "over"}]], tool, mode="bypass")
    events = await stand.run()
    carried = "".join(event.delta for event in events if event.type == "TOOL_RESULT_TEXT_DELTA")
    assert carried == stand.state.context[-1].result("c1").text
    assert "characters left out from line 1 on; they are not kept]" in carried and carried.endswith("xx")
    assert len(carried) < 101_000


# -- law 2 -------------------------------------------------------------------------------------


async def test_law_2_every_call_of_a_request_has_one_result_after_it():
    stand = Stand([[call("c1", value="a")], [{"text": "over"}]], FakeTool(), mode="bypass")
    await stand.run()
    sent = stand.model.requests[1].messages[-1]
    assert [block.type for block in sent.content] == ["tool_call", "tool_result"] or "tool_result" in [
        b.type for b in sent.content
    ]


@pytest.mark.parametrize("what", ["message", "observe"])
async def test_law_2_while_a_call_is_asked_a_new_message_is_refused_and_changes_nothing(what):
    stand = Stand([[call("c1", value="a")]], FakeTool())
    await stand.run()
    before = stand.state.model_dump_json()
    with pytest.raises(StillWaiting):
        await (stand.run("next") if what == "message" else stand.agent.observe(UserMsg("user", "next")))
    assert stand.state.model_dump_json() == before


async def test_law_2_an_interrupt_closes_what_waits():
    stand = Stand([[call("c1", value="a"), call("c2", value="b")], [{"text": "next"}]], FakeTool())
    paused = await stand.run()
    events = await stand.run(ev.UserInterruptEvent(reply_id=paused[-1].reply_id))
    assert events[0].type == "USER_INTERRUPT"
    assert one_end(events).finished_reason == "interrupted"
    assert {state for state, _ in results_of(refold(paused, events)).values()} == {"interrupted"}
    assert one_end(await stand.run("on")).finished_reason == "completed"


async def test_law_2_a_closed_generator_leaves_no_hole_for_the_next_message():
    stand = Stand([[call("c1", value="a"), call("c2", value="b")], [{"text": "next"}]], FakeTool(), mode="bypass")
    stream = stand.agent.reply_stream(UserMsg("user", "go"))
    async for event in stream:
        if event.type == "MODEL_CALL_END":
            break
    await stream.aclose()
    await stand.run("on")
    results = results_of(stand.state.context[1])
    assert {key: state for key, (state, _) in results.items()} == {"c1": "error", "c2": "error"}
    assert all("never started" in text for _, text in results.values())
    assert stand.tools["Act"].effects == []


async def test_law_2_a_call_that_ran_when_the_generator_closed_has_unknown_effects():
    stand = Stand([[call("c1", value="a")], [{"text": "next"}]], FakeTool(gate=asyncio.Event()), mode="bypass")
    stream = stand.agent.reply_stream(UserMsg("user", "go"))
    async for event in stream:
        if event.type == "TOOL_PROGRESS":
            break
    await stream.aclose()
    await stand.run("on")
    state, text = results_of(stand.state.context[1])["c1"]
    assert state == "interrupted"
    assert "effects unknown" in text
    assert stand.tools["Act"].effects == ["a"]


async def test_law_2_a_cut_call_stays_visible_and_is_answered():
    cut = {"tool_call": {"id": "c1", "name": "Act", "input": '{"value": "a'}}
    stand = Stand([[{"text": "so"}, cut, {"finish": "length"}], [{"text": "next"}]], FakeTool(), mode="bypass")
    events = await stand.run()
    end = one_end(events)
    assert (end.finished_reason, "cut" in end.metadata["notice"]) == ("completed", True)
    assert stand.state.context[-1].call("c1").input == '{"value": "a'
    assert results_of(stand.state.context[-1])["c1"] == ("error", "never started: its arguments were cut off.")
    assert stand.tools["Act"].effects == []


async def test_law_2_no_empty_message_is_kept():
    stand = Stand([[{"usage": {"input_tokens": 1, "output_tokens": 0}}]], FakeTool())
    end = one_end(await stand.run())
    assert (end.finished_reason, bool(end.metadata["notice"])) == ("completed", True)
    assert [msg.role for msg in stand.state.context] == ["user"]
    assert stand.journal.kinds[-1] == "reply"


# -- law 3 -------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", ["auth", "rate_limit", "connection", "context_length", "server", "content_filter"])
async def test_law_3_an_error_is_a_classified_end(error):
    stand = Stand([[{"error": error}]] * 9, FakeTool())
    end = one_end(await stand.run())
    assert (end.finished_reason, end.error.kind) == ("error", error)


async def test_law_3_an_error_keeps_the_partial_text():
    stand = Stand([[{"text": "the first half"}, {"error": "connection"}], [{"text": "again"}]], FakeTool())
    end = one_end(await stand.run())
    assert end.finished_reason == "error"
    assert stand.state.context[-1].get_text_content() == "the first half"
    assert len(stand.model.requests) == 1


async def test_law_3_a_failing_model_that_is_no_model_error_is_an_internal_end():
    class Broken:
        def __init__(self, model):
            self.card = model.card

        async def stream(self, request):
            raise ZeroDivisionError("oops")
            yield

    stand = Stand([], FakeTool())
    stand.agent.model = Broken(stand.model)
    assert one_end(await stand.run()).error.kind == "internal"


async def test_law_3_the_iteration_limit_is_an_end():
    stand = Stand([[call(f"c{n}", value="a")] for n in range(5)], FakeTool(), mode="bypass", max_iters=2)
    events = await stand.run()
    assert types(events)[-2:] == ["EXCEED_MAX_ITERS", "REPLY_END"]
    assert one_end(events).finished_reason == "exceed_max_iters"
    assert stand.tools["Act"].effects == ["a", "a"]


async def test_law_3_the_interrupt_of_an_idle_agent_is_an_empty_stream():
    stand = Stand([], FakeTool())
    assert await stand.run(ev.UserInterruptEvent()) == []


async def test_law_3_a_str_is_a_type_error_that_names_user_msg():
    stand = Stand([], FakeTool())
    with pytest.raises(TypeError, match="UserMsg"):
        async for _ in stand.agent.reply_stream("hello"):
            pass
    assert stand.state.context == []


async def test_law_3_a_second_reply_while_one_runs_is_an_error_and_changes_nothing():
    stand = Stand([[{"text": "slow"}, {"delay": 5}]], FakeTool())
    stream = stand.agent.reply_stream(UserMsg("user", "go"))
    await anext(stream)
    before = stand.state.model_dump_json()
    with pytest.raises(AgentcliError):
        await stand.run("me too")
    assert stand.state.model_dump_json() == before
    await stream.aclose()


@pytest.mark.parametrize("how", ["interrupt", "cancel"])
async def test_law_3_an_interrupt_in_the_middle_of_a_text_keeps_it_and_ends_interrupted(how):
    stand = Stand([[{"text": "first words "}, {"delay": 60}, {"text": "never"}]], FakeTool())
    events = []

    async def consume():
        async for event in stand.agent.reply_stream(UserMsg("user", "go")):
            events.append(event)

    task = asyncio.create_task(consume())
    await until(lambda: any(event.type == "TEXT_BLOCK_DELTA" for event in events))
    stand.agent.interrupt() if how == "interrupt" else task.cancel()
    done, _ = await asyncio.wait([task], timeout=2)
    assert done
    assert task.cancelled() == (how == "cancel")
    assert one_end(events).finished_reason == "interrupted"
    assert stand.state.context[-1].get_text_content().startswith("first")
    assert refold(events) == stand.state.context[-1]


async def test_law_3_an_interrupt_of_a_running_call_closes_it_and_those_behind_it():
    stand = Stand([[call("c1", value="a"), call("c2", value="b")]], FakeTool(gate=asyncio.Event()), mode="bypass")
    task = asyncio.create_task(stand.run())
    await until(lambda: stand.tools["Act"].effects)
    stand.agent.interrupt()
    events = await asyncio.wait_for(task, 2)
    assert one_end(events).finished_reason == "interrupted"
    results = results_of(stand.state.context[-1])
    assert results["c1"][0] == results["c2"][0] == "interrupted"
    assert results["c1"][1].startswith("did ")
    assert "never started" in results["c2"][1]
    assert stand.tools["Act"].effects == ["a"]


# -- retries -----------------------------------------------------------------------------------


async def test_a_retry_before_any_text_withdraws_its_thinking_inside_one_model_call():
    turns = [[{"thinking": "first try"}, {"error": "connection"}], [{"thinking": "second try"}, {"text": "fine"}]]
    stand = Stand(turns, FakeTool())
    events = await stand.run()
    assert types(events).count("MODEL_CALL_RETRY") == types(events).count("MODEL_CALL_START") == 1
    assert [block.thinking for block in stand.state.context[-1].content if block.type == "thinking"] == ["second try"]
    assert refold(events) == stand.state.context[-1]


# -- law 4 -------------------------------------------------------------------------------------


async def test_law_4_a_question_is_on_disk_before_it_is_yielded():
    stand = Stand([[call("c1", value="a")]], FakeTool())
    async for event in stand.agent.reply_stream(UserMsg("user", "go")):
        if event.type == "REQUIRE_USER_CONFIRM":
            assert stand.journal.kinds[-2:] == ["asked", "kept"]
            assert stand.journal.lines[-1][2] == {"c1": "asking"}
            assert stand.state.questions["c1"].digest == event.previews["c1"].digest
            break


async def test_law_4_a_parked_call_survives_json_and_is_announced_again_under_the_same_ids():
    first = Stand([[call("c1", value="a")]], FakeTool())
    paused = await first.run()
    second = first.again([[{"text": "over"}]])
    events = await second.run(None)
    assert types(events) == ["REQUIRE_USER_CONFIRM", "REPLY_PAUSED"]
    assert events[-1].reply_id == paused[-1].reply_id
    assert events[0].previews == paused[-2].previews
    assert second.model.requests == []
    done = await second.run(answer(events))
    assert one_end(done).finished_reason == "completed"
    assert second.tools["Act"].effects == ["a"]


async def test_law_4_a_changed_target_is_said_when_it_is_announced_again():
    first = Stand([[call("c1", value="a")]], FakeTool())
    paused = await first.run()
    first.tools["Act"].target = b"changed"
    second = first.again([])
    events = await second.run(None)
    assert any("changed" in note for note in events[0].previews["c1"].notes)
    assert events[0].previews["c1"].digest != paused[-2].previews["c1"].digest


async def test_law_4_stale_foreign_and_second_answers_are_refused_and_change_nothing():
    stand = Stand([[call("c1", value="a")], [{"text": "over"}]], FakeTool())
    paused = await stand.run()
    right = answer(paused)
    foreign = right.confirm_results[0].model_copy(update={"tool_call": paused[-1].waiting[0].model_copy(update={"id": "c9"})})
    before = stand.state.model_dump_json()
    for wrong in (
        right.model_copy(update={"reply_id": "another"}),
        right.model_copy(update={"confirm_results": [foreign]}),
        right.model_copy(update={"confirm_results": [*right.confirm_results, foreign]}),
        right.model_copy(update={"confirm_results": right.confirm_results * 2}),
        right.model_copy(update={"confirm_results": []}),
    ):
        with pytest.raises(StaleAnswer):
            await stand.run(wrong)
        assert stand.state.model_dump_json() == before
    await stand.run(right)
    with pytest.raises(NothingWaiting):
        await stand.run(right)
    assert stand.tools["Act"].effects == ["a"]


async def test_law_4_a_partial_answer_leaves_the_rest_waiting():
    stand = Stand([[call("c1", value="a"), call("c2", value="b")], [{"text": "over"}]], FakeTool())
    paused = await stand.run()
    part = await stand.run(answer(paused, only=["c2"]))
    assert types(part)[0] == "USER_CONFIRM_RESULT"
    assert [block.id for block in one_end(part).waiting] == ["c1"]
    assert stand.tools["Act"].effects == ["b"]
    rest = await stand.run(answer(part))
    assert one_end(rest).finished_reason == "completed"
    assert stand.tools["Act"].effects == ["b", "a"]


# -- law 5 -------------------------------------------------------------------------------------


async def test_law_5_a_start_is_on_disk_before_the_effect_begins():
    tool = FakeTool()
    stand = Stand([[call("c1", value="a")], [{"text": "over"}]], tool, mode="bypass")
    seen = []
    run = tool.run

    async def watched(arguments, context):
        seen.append(stand.journal.kinds[-1])
        async for chunk in run(arguments, context):
            yield chunk

    tool.run = watched
    await stand.run()
    assert seen == ["started"]


async def test_law_5_what_was_started_and_has_no_result_is_never_run_again():
    first = Stand([[call("c1", value="a")]], FakeTool(gate=asyncio.Event()), mode="bypass")
    task = asyncio.create_task(first.run())
    await until(lambda: first.tools["Act"].effects)
    second = first.again([[{"text": "I see"}]])
    await second.agent.recover()
    assert results_of(second.state.context[-1])["c1"][0] == "interrupted"
    events = await second.run(None)
    assert one_end(events).finished_reason == "completed"
    assert "effects unknown" in results_of(second.model.requests[0].messages[-1])["c1"][1]
    assert second.tools["Act"].effects == ["a"]
    first.agent.interrupt()
    await task


async def test_law_5_an_approval_that_was_not_started_is_asked_again_and_says_so():
    first = Stand([[call("c1", value="a")]], FakeTool())
    paused = await first.run()
    stream = first.agent.reply_stream(answer(paused))
    assert (await anext(stream)).type == "USER_CONFIRM_RESULT"
    second = first.again([[{"text": "over"}]])
    await stream.aclose()
    await second.agent.recover()
    events = await second.run(None)
    assert any("Allowed before the restart" in note for note in events[0].previews["c1"].notes)
    assert second.tools["Act"].effects == []
    await second.run(answer(events))
    assert second.tools["Act"].effects == ["a"]


@pytest.mark.parametrize(("present", "word"), [(b"new", "applied"), (None, "not applied"), (b"other", "effects unknown")])
async def test_law_5_an_own_edit_is_told_by_digest(tmp_path, present, word):
    after = hashlib.sha256(b"new").hexdigest()

    class Writer(FakeWriter):
        def start_record(self, arguments, context):
            record = super().start_record(arguments, context)
            return record.model_copy(update={"files": {path: (None, after) for path in record.files}})

    first = Stand([[call("c1", "Write", value="f")]], Writer("Write", gate=asyncio.Event()), mode="bypass", root=str(tmp_path))
    task = asyncio.create_task(first.run())
    await until(lambda: first.tools["Write"].effects)
    if present is not None:
        (tmp_path / "f").write_bytes(present)
    second = first.again([])
    await second.agent.recover()
    text = results_of(second.state.context[-1])["c1"][1]
    assert f": {word}" in text
    first.agent.interrupt()
    await task


async def test_law_5_a_full_disk_stops_the_reply_before_the_side_effect():
    stand = Stand([[call("c1", value="a")]], FakeTool(), mode="bypass")
    stand.journal.breaks_at = "started"
    end = one_end(await stand.run())
    assert (end.finished_reason, "disk is full" in end.error.message) == ("error", True)
    assert stand.tools["Act"].effects == []


# -- law 6 -------------------------------------------------------------------------------------


def edited(paused, value):
    right = answer(paused)
    block = right.confirm_results[0].tool_call.model_copy(update={"input": f'{{"value": "{value}"}}'})
    return right.model_copy(update={"confirm_results": [right.confirm_results[0].model_copy(update={"tool_call": block})]})


async def test_law_6_edited_arguments_are_what_runs():
    stand = Stand([[call("c1", value="a")], [{"text": "over"}]], FakeTool())
    await stand.run(edited(await stand.run(), "b"))
    assert stand.tools["Act"].effects == ["b"]
    assert stand.state.context[-1].call("c1").input == '{"value": "b"}'


async def test_law_6_arguments_edited_into_a_denied_target_are_denied():
    rules = [rule("Edit(secret)", "deny")]
    stand = Stand([[call("c1", "Write", value="a")], [{"text": "over"}]], FakeWriter("Write"), rules=rules)
    await stand.run(edited(await stand.run(), "secret"))
    assert results_of(stand.state.context[-1])["c1"][0] == "denied"
    assert stand.tools["Write"].effects == []


async def test_law_6_an_answer_after_a_change_to_explore_runs_nothing():
    stand = Stand([[call("c1", value="a")], [{"text": "over"}]], FakeTool())
    paused = await stand.run()
    stand.state.permission_context.mode = PermissionMode.EXPLORE
    events = await stand.run(answer(paused))
    assert one_end(events).finished_reason == "completed"
    assert results_of(stand.state.context[-1])["c1"][0] == "denied"
    assert stand.tools["Act"].effects == []


async def test_law_6_a_target_that_changed_since_the_question_is_asked_again():
    stand = Stand([[call("c1", value="a")], [{"text": "over"}]], FakeTool())
    paused = await stand.run()
    stand.tools["Act"].target = b"changed"
    again = await stand.run(answer(paused))
    assert types(again) == ["REQUIRE_USER_CONFIRM", "REPLY_PAUSED"]
    assert any("changed" in note for note in again[0].previews["c1"].notes)
    assert stand.tools["Act"].effects == []
    await stand.run(answer(again))
    assert stand.tools["Act"].effects == ["a"]


async def test_law_6_a_digest_that_is_not_the_present_one_is_asked_again():
    stand = Stand([[call("c1", value="a")], [{"text": "over"}]], FakeTool())
    paused = await stand.run()
    again = await stand.run(answer(paused, digest="0" * 64))
    assert one_end(again).type == "REPLY_PAUSED"
    await stand.run(answer(again, digest=again[0].previews["c1"].digest))
    assert stand.tools["Act"].effects == ["a"]


@pytest.mark.parametrize("given", [rule("Act"), rule("Write(**)", "deny"), rule("Write")])
async def test_law_6_a_rule_that_was_not_offered_makes_the_answer_refused(given):
    stand = Stand([[call("c1", "Write", value="src/a")], [{"text": "over"}]], FakeWriter("Write"))
    paused = await stand.run()
    with pytest.raises(StaleAnswer):
        await stand.run(answer(paused, rules=[given]))
    assert stand.agent.waiting


async def test_law_6_always_settles_the_siblings_that_the_rule_covers():
    calls = [call("c1", "Write", value="src/a"), call("c2", "Write", value="src/b"), call("c3", "Write", value="other/c")]
    stand = Stand([calls, [{"text": "over"}]], FakeWriter("Write"))
    paused = await stand.run()
    rules = [given.model_copy(update={"source": "session"}) for given in paused[-1].waiting[0].suggested_rules]
    assert rules
    events = await stand.run(answer(paused, only=["c1"], rules=rules))
    assert sorted(stand.tools["Write"].effects) == ["src/a", "src/b"]
    assert [block.id for block in one_end(events).waiting] == ["c3"]
    assert "granted" in stand.journal.kinds


# -- what is asked together --------------------------------------------------------------------


async def test_all_asks_of_one_answer_are_asked_in_one_pause_and_allowed_ones_behind_wait():
    steps = [
        call("c0", "Look", value="first"),
        {"tool_call": {"id": "c1", "name": "Act", "input": '{"value": '}},
        call("c2", value="two"),
        call("c3", "Look", value="behind"),
        call("c4", value="four"),
    ]
    stand = Stand([steps, [{"text": "over"}]], FakeTool(), FakeTool("Look", read_only=True), rules=[rule("Look")])
    paused = await stand.run()
    assert [block.id for block in one_end(paused).waiting] == ["c2", "c4"]
    assert {key: state for key, (state, _) in results_of(refold(paused)).items()} == {"c0": "success", "c1": "error"}
    await stand.run(answer(paused))
    assert stand.tools["Look"].effects == ["first", "behind"]


async def test_a_later_call_on_a_file_that_a_waiting_call_changes_is_asked_after_it():
    steps = [call("c1", "Write", value="a"), call("c2", "Write", value="a"), call("c3", "Write", value="b")]
    stand = Stand([steps, [{"text": "over"}]], FakeWriter("Write"))
    first = await stand.run()
    assert [block.id for block in one_end(first).waiting] == ["c1", "c3"]
    second = await stand.run(answer(first))
    assert [block.id for block in one_end(second).waiting] == ["c2"]


async def test_a_denial_gives_its_reason_to_the_model_and_the_reply_goes_on():
    stand = Stand([[call("c1", value="a")], [{"text": "over"}]], FakeTool())
    paused = await stand.run()
    events = await stand.run(answer(paused, yes=False, reason="use the staging copy"))
    assert one_end(events).finished_reason == "completed"
    state, text = results_of(stand.model.requests[1].messages[-1])["c1"]
    assert (state, "use the staging copy" in text) == ("denied", True)


async def test_unknown_tools_and_wrong_arguments_are_error_results_that_the_model_reads():
    steps = [
        call("c1", "Atc", value="a"),
        {"tool_call": {"id": "c2", "name": "Act", "input": "[]"}},
        {"tool_call": {"id": "c3", "name": "Act", "input": {"value": 7}}},
        {"tool_call": {"id": "c4", "name": "Act", "input": '{"value": "a", "value": "b"}'}},
    ]
    stand = Stand([steps, [{"text": "over"}]], FakeTool(), mode="bypass")
    await stand.run()
    results = results_of(stand.state.context[-1])
    assert {state for state, _ in results.values()} == {"error"}
    assert "Act" in results["c1"][1]
    assert stand.tools["Act"].effects == []


# -- external execution ------------------------------------------------------------------------


async def test_an_external_call_is_handed_out_and_its_result_is_taken_once():
    stand = Stand([[call("c1", "Out", value="a")], [{"text": "over"}]], FakeTool("Out", external=True), mode="bypass")
    paused = await stand.run()
    assert "REQUIRE_EXTERNAL_EXECUTION" in types(paused)
    assert [block.state for block in one_end(paused).waiting] == [ToolCallState.SUBMITTED]
    result = ToolResultBlock(id="c1", name="Out", output="seven is open", state="success")
    event = ev.ExternalExecutionResultEvent(reply_id=paused[-1].reply_id, execution_results=[result])
    with pytest.raises(NothingWaiting):
        await stand.run(answer(paused))
    events = await stand.run(event)
    assert types(events)[0] == "EXTERNAL_EXECUTION_RESULT"
    both = [*paused, *events]
    assert types(both).count("TOOL_RESULT_START") == types(both).count("TOOL_RESULT_END") == 1
    assert results_of(stand.model.requests[1].messages[-1])["c1"] == ("success", "seven is open")
    assert refold(paused, events) == stand.state.context[-1]
    with pytest.raises(NothingWaiting):
        await stand.run(event)


async def test_the_interrupt_of_a_submitted_call_has_one_start_over_both_streams():
    stand = Stand([[call("c1", "Out", value="a")]], FakeTool("Out", external=True), mode="bypass")
    paused = await stand.run()
    events = await stand.run(ev.UserInterruptEvent(reply_id=paused[-1].reply_id))
    both = [*paused, *events]
    assert types(both).count("TOOL_RESULT_START") == types(both).count("TOOL_RESULT_END") == 1


# -- steering ----------------------------------------------------------------------------------


async def test_steering_is_taken_in_before_the_next_model_call_and_sent_once():
    tool = FakeTool(gate=asyncio.Event())
    stand = Stand([[call("c1", value="a")], [{"text": "over"}]], tool, mode="bypass")
    task = asyncio.create_task(stand.run())
    await until(lambda: tool.effects)
    stand.agent.steer("only the northern part")
    tool.gate.set()
    events = await task
    hints = [event for event in events if event.type == "HINT_BLOCK"]
    assert [(hint.source, hint.hint) for hint in hints] == [("user", "only the northern part")]
    assert stand.state.context[-1].content[-2].type == "hint"
    assert stand.state.steering == []


async def test_steering_that_came_too_late_is_the_next_user_message():
    stand = Stand([[{"text": "over"}], [{"text": "and this"}]], FakeTool())
    async for event in stand.agent.reply_stream(UserMsg("user", "go")):
        if event.type == "MODEL_CALL_END":
            stand.agent.steer("too late")
    await stand.run("next")
    assert [msg.get_text_content() for msg in stand.state.context] == ["go", "over", "too late", "next", "and this"]


async def test_calls_that_only_look_run_beside_each_other():
    gate = asyncio.Event()
    tool = FakeTool("Look", read_only=True, gate=gate)
    stand = Stand([[call("c1", "Look", value="a"), call("c2", "Look", value="b")], [{"text": "over"}]], tool, mode="bypass")
    task = asyncio.create_task(stand.run())
    await until(lambda: len(tool.effects) == 2)
    gate.set()
    assert refold(await task) == stand.state.context[-1]


async def test_a_tool_that_fails_is_an_error_result():
    tool = FakeTool()
    tool.breaks_with = ZeroDivisionError("oops")
    stand = Stand([[call("c1", value="a")], [{"text": "over"}]], tool, mode="bypass")
    assert one_end(await stand.run()).finished_reason == "completed"
    assert results_of(stand.state.context[-1])["c1"] == ("error", "did \nThe tool failed: ZeroDivisionError: oops")
