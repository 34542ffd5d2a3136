import asyncio
import errno
import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from agentcli.agent.gate import ALLOWED_BEFORE, CHANGED
from agentcli.errors import LogError, SessionHeld, StaleAnswer
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallState, ToolResultBlock
from agentcli.ledger.rule import PermissionMode
from agentcli.model.scripted import read_turns
from agentcli.tool.builtin.bash import Bash
from agentcli.workspace.environment import CALL_MARK, RUN_MARK
from agentcli.workspace.warden import start_time
from tests.fakes.agent import answer, call, results_of, rule, types, until
from tests.fakes.disk import Died
from tests.fakes.stage import Stage
from tests.fakes.world import SESSION, InlineStore

POWER = pytest.mark.parametrize("power", [False, True], ids=["killed", "power lost"])
ANSWER = [{"text": "words"}]


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


# -- a message, and an answer without calls ----------------------------------------------------


async def test_row_01_before_the_message_is_written_nothing_of_it_is_there(stage):
    await stage.run("first")
    await stage.die_in_write("msg", "second")
    assert [msg.get_text_content() for msg in stage.state.context] == ["first", "over"]
    assert (len(stage.lost), stage.agent.unfinished) == (1, False)


async def test_row_01_before_the_first_message_is_written_there_is_no_session(stage):
    await stage.die_in_write("session")
    assert stage.state.context == []


@POWER
async def test_row_02_after_the_message_nothing_is_sent_by_itself(stage, power):
    await stage.die_at("REPLY_START", power=power)
    assert [msg.get_text_content() for msg in stage.state.context] == ["go"]
    assert (stage.agent.unfinished, stage.world.requests) == (True, [])
    assert types(await stage.run(None))[-1] == "REPLY_END"
    assert len(stage.world.requests) == 1


@POWER
async def test_row_03_after_the_model_call_and_before_its_first_byte_it_is_as_before_the_call(stage, power):
    stage.feed([stage.world.stop])
    await stage.die_inside(power=power)
    assert [msg.role for msg in stage.state.context] == ["user"]
    assert (stage.agent.unfinished, len(stage.world.requests)) == (True, 1)


@pytest.mark.parametrize("said", [{"text": "half of it all"}, {"thinking": "half of it all"}])
async def test_row_04_a_half_message_is_neither_kept_nor_sent(stage, said):
    stage.feed([{**said}, *ANSWER])
    await stage.die_at(f"{next(iter(said)).upper()}_BLOCK_DELTA")
    assert [msg.role for msg in stage.state.context] == ["user"]
    await stage.run(None)
    assert [msg.role for msg in stage.world.requests[-1].messages] == ["user"]


async def test_row_05_a_call_whose_arguments_never_ended_does_not_exist(stage):
    stage.mode("bypass")
    stage.feed([call("c1", value="a")])
    await stage.die_at("TOOL_CALL_DELTA")
    assert [msg.role for msg in stage.state.context] == ["user"]
    await stage.run(None)
    assert stage.world.effects == {}


async def test_row_06_a_whole_answer_that_was_not_written_is_lost_without_an_effect(stage):
    stage.mode("bypass")
    steps = read_turns([[call("c1", value="a")]], "fed")[0]
    stage.feed([*steps, stage.world.stop])
    await stage.die_inside()
    assert [msg.role for msg in stage.state.context] == ["user"]
    assert stage.world.effects == {}


async def test_row_07_a_torn_answer_is_set_aside_and_told(stage):
    stage.mode("bypass")
    stage.feed([call("c1", value="a")])
    await stage.die_in_write("msg", nth=2)
    assert [msg.role for msg in stage.state.context] == ["user"]
    assert len(stage.lost) == 1
    assert b'"c1"' in stage.world.log_path.with_suffix(".torn").read_bytes()
    assert stage.world.effects == {}


# -- calls -------------------------------------------------------------------------------------


@POWER
async def test_row_08_a_call_that_was_not_judged_is_pending_and_is_judged_afresh(stage, power):
    stage.feed([call("c1", value="a")])
    await stage.die_at("MODEL_CALL_END", power=power)
    assert [block.state for block in stage.state.context[-1].calls] == [ToolCallState.PENDING]
    stage.mode("bypass")
    await stage.run(None)
    assert stage.world.effects == {"c1": 1}


async def test_row_08_a_new_message_closes_it_as_never_started(stage):
    stage.feed([call("c1", value="a")])
    await stage.die_at("MODEL_CALL_END")
    await stage.run("something else")
    assert "never started" in results_of(stage.state.context[1])["c1"][1]


async def test_row_09_after_the_first_of_several_calls_the_others_are_judged_afresh(stage):
    stage.mode("bypass")
    stage.feed([call("c1", value="a"), call("c2", value="b"), call("c3", value="c")])
    await stage.die_in_write("started", nth=2)
    assert [block.state.value for block in stage.state.context[-1].calls] == ["finished", "pending", "pending"]
    await stage.run(None)
    assert stage.world.effects == {"c1": 1, "c2": 1, "c3": 1}


@POWER
async def test_row_10_an_open_question_opens_again_the_same(stage, power):
    stage.feed([{"text": "so"}, call("c1", value="a"), call("c2", "Put", value="b")])
    first = await stage.run()
    stage.world.die(power=power)
    await stage.reborn()
    again = await stage.run(None)
    assert types(again) == ["REQUIRE_USER_CONFIRM", "REPLY_PAUSED"]
    assert again[-1].reply_id == first[-1].reply_id
    assert (again[0].previews, again[0].tool_calls) == (first[-2].previews, first[-2].tool_calls)
    assert stage.world.effects == {}


async def test_row_11_an_answer_that_was_not_written_was_not_given(stage):
    stage.feed([call("c1", value="a")])
    first = await stage.run()
    await stage.die_in_write("decided", answer(first))
    again = await stage.run(None)
    assert again[0].previews == first[-2].previews
    assert again[0].previews["c1"].notes == []
    assert stage.world.effects == {}


@POWER
@pytest.mark.parametrize("written", ["decision", "message too"])
async def test_row_12_an_allowed_call_that_did_not_start_is_asked_again_and_says_so(stage, power, written):
    stage.feed([call("c1", "Put", value="a")])
    first = await stage.run()
    if written == "decision":
        await stage.die_in_write("msg", answer(first), power=power)
    else:
        await stage.die_at("USER_CONFIRM_RESULT", answer(first), power=power)
    assert "decided" in stage.kinds
    (stage.world.root / "a").write_text("meanwhile")
    again = await stage.run(None)
    assert types(again) == ["REQUIRE_USER_CONFIRM", "REPLY_PAUSED"]
    assert {ALLOWED_BEFORE, CHANGED} <= set(again[0].previews["c1"].notes)
    assert stage.world.effects == {}
    stage.world.yes["c1"] = again[-1].waiting[0].input
    await stage.run(answer(again))
    assert stage.world.effects == {"c1": 1}


async def test_row_12_arguments_that_were_edited_stay_so_and_are_no_change_of_the_file(stage):
    stage.feed([call("c1", "Put", value="a")])
    first = answer(await stage.run())
    block = first.confirm_results[0].tool_call.model_copy(update={"input": '{"value": "b"}'})
    edited = first.model_copy(update={"confirm_results": [first.confirm_results[0].model_copy(update={"tool_call": block})]})
    await stage.die_in_write("msg", edited)
    again = await stage.run(None)
    assert again[-1].waiting[0].input == '{"value": "b"}'
    assert again[0].previews["c1"].notes == [ALLOWED_BEFORE]


@pytest.mark.parametrize("written", [True, False])
async def test_row_13_a_rule_holds_only_if_its_own_record_was_written(stage, written):
    stage.feed([call("c1", "Put", value="a")])
    first = await stage.run()
    rules = [one.model_copy(update={"source": "session"}) for one in first[-1].waiting[0].suggested_rules]
    given = answer(first, rules=rules)
    await (stage.die_in_write("decided", given) if written else stage.die_in_write("rule", given))
    assert [one.source for one in stage.state.permission_context.rules] == (["session"] if written else [])
    assert stage.world.effects == {}


@POWER
@pytest.mark.parametrize("written", ["decision", "result too"])
async def test_row_14_a_denial_gives_its_denied_result_once(stage, power, written):
    stage.feed([call("c1", value="a")])
    denial = answer(await stage.run(), yes=False, reason="not now")
    if written == "decision":
        await stage.die_in_write("msg", denial, power=power)
    else:
        await stage.die_at("USER_CONFIRM_RESULT", denial, power=power)
    for _ in range(2):
        assert stage.result("c1") == ("denied", "Denied by the user. Reason: not now")
        await stage.leave()
    assert stage.agent.unfinished
    await stage.run(None)
    assert stage.world.effects == {}


# -- effects -----------------------------------------------------------------------------------


@POWER
async def test_row_15_after_the_start_and_before_the_effect_the_outcome_is_unknown(stage, power):
    stage.mode("bypass")
    stage.feed([call("c1", value="a")])
    stage.world.dies_at = "before the effect"
    await stage.die_inside(power=power)
    state, text = stage.result("c1")
    assert (state, "effects unknown" in text) == ("interrupted", True)
    await stage.run(None)
    assert stage.world.effects == {}


async def test_row_15_what_only_looks_may_run_again(stage):
    stage.mode("bypass")
    stage.feed([call("c1", "Look", value="a")])
    stage.world.dies_at = "after the effect"
    await stage.die_inside()
    await stage.run(None)
    assert stage.result("c1") == ("success", "did a")


async def test_row_16_in_the_middle_of_the_effect_the_outcome_is_unknown_and_it_never_runs_again(stage):
    stage.mode("bypass")
    stage.feed([call("c1", value="a"), call("c2", value="b")])
    await stage.die_at("TOOL_PROGRESS")
    assert "effects unknown" in stage.result("c1")[1]
    await stage.run(None)
    assert stage.world.effects == {"c1": 1, "c2": 1}


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="finds processes in /proc")
@pytest.mark.parametrize("known", ["by its record", "by its mark", "by its call"])
async def test_row_16_a_process_that_outlived_us_is_named_to_the_model_and_to_the_user(stage, known):
    stage.world.more_tools = [Bash()]
    stage.world.boot(PermissionMode.BYPASS)
    call_id = f"c{os.getpid()}"  # other tests run at the same time
    stage.feed([call(call_id, "Bash", command="sleep 60 & wait")])
    task = asyncio.create_task(stage.run())
    log = stage.world.log_path
    await until(lambda: log.exists() and b'"type":"process"' in log.read_bytes())
    stage.world.die(power=False)
    marks = {"by its record": {}, "by its mark": {RUN_MARK: _process_of(stage)["mark"]}, "by its call": {CALL_MARK: call_id}}
    escaped = subprocess.Popen([shutil.which("sleep"), "61"], env={"PATH": os.environ["PATH"], **marks[known]})
    try:
        task.cancel()
        with suppress(Died, asyncio.CancelledError):
            await task
        if known == "by its record":
            _rewrite(stage, {"pid": escaped.pid, "start_time": start_time(escaped.pid)})
        elif known == "by its call":
            _rewrite(stage, {"type": "lost"})
        await stage.reborn()
        assert f"Still running of it: process {escaped.pid} ({shutil.which('sleep')} 61)." in stage.result(call_id)[1]
        assert ["effects unknown" in notice for notice in stage.notices] == [True, False]
        assert [f"process {escaped.pid}" in notice for notice in stage.notices] == [False, True]
    finally:
        escaped.kill()
        escaped.wait()
    await stage.leave()
    assert stage.notices == []


def _process_of(stage):
    return next(record for record in InlineStore(stage.world.data).read(SESSION).records if record["type"] == "process")


def _rewrite(stage, fields):
    log = stage.world.log_path
    lines = [json.loads(line) for line in log.read_bytes().splitlines()]
    for record in lines:
        if record["type"] == "process":
            record.update(fields)
    log.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in lines))


@POWER
@pytest.mark.parametrize(
    ("place", "afterwards", "verdict"),
    [
        ("after the effect", None, "applied"),
        ("before the effect", None, "not applied"),
        ("after the effect", "of somebody else", "effects unknown"),
    ],
)
async def test_row_17_an_own_edit_is_told_by_the_digest_of_its_file(stage, power, place, afterwards, verdict):
    stage.mode("bypass")
    stage.feed([call("c1", "Put", value="a")])
    stage.world.dies_at = place
    task = asyncio.create_task(stage.run())
    await until(lambda: stage.world.disk.dead)
    stage.world.die(power=power)
    task.cancel()
    with suppress(Died, asyncio.CancelledError):
        await task
    if afterwards:
        (stage.world.root / "a").write_text(afterwards)
    await stage.reborn()
    assert f"{stage.world.root / 'a'}: {verdict}" in stage.result("c1")[1]
    await stage.run(None)
    assert stage.world.effects == ({} if place.startswith("before") else {"c1": 1})


async def test_row_18_a_torn_result_is_as_none(stage):
    stage.mode("bypass")
    stage.feed([call("c1", "Put", value="a")])
    await stage.die_in_write("msg", nth=3)
    assert len(stage.lost) == 1
    assert ": applied" in stage.result("c1")[1]
    await stage.run(None)
    assert stage.world.effects == {"c1": 1}


@POWER
async def test_row_19_a_finished_result_is_there_and_the_reply_goes_on_without_the_tool(stage, power):
    stage.mode("bypass")
    stage.feed([call("c1", value="a")])
    await stage.die_at("MODEL_CALL_START", power=power, nth=2)
    assert stage.result("c1") == ("success", "did a")
    assert (stage.agent.unfinished, len(stage.world.requests)) == (True, 1)
    await stage.run(None)
    assert (stage.world.effects, len(stage.world.requests)) == ({"c1": 1}, 2)


# -- external execution ------------------------------------------------------------------------


def outside(events, text="from outside"):
    result = ToolResultBlock(id="c1", name="Out", output=text, state="success")
    return ev.ExternalExecutionResultEvent(reply_id=events[-1].reply_id, execution_results=[result])


@POWER
async def test_row_20_an_external_call_still_waits_and_takes_its_result_once(stage, power):
    stage.mode("bypass")
    stage.feed([call("c1", "Out", value="a"), call("c2", "Out", value="b")])
    first = await stage.run()
    stage.world.die(power=power)
    await stage.reborn()
    again = await stage.run(None)
    assert types(again) == ["REQUIRE_EXTERNAL_EXECUTION", "REPLY_PAUSED"]
    assert again[0].tool_calls == first[-1].waiting
    await stage.run(outside(again))
    with pytest.raises(StaleAnswer):
        await stage.run(outside(again, "once more"))
    assert stage.result("c1") == ("success", "from outside")


async def test_row_21_an_external_result_that_was_not_written_can_be_sent_again(stage):
    stage.mode("bypass")
    stage.feed([call("c1", "Out", value="a")])
    first = await stage.run()
    await stage.die_in_write("executed", outside(first))
    assert [block.id for block in stage.agent.waiting] == ["c1"]
    await stage.run(outside(first))
    assert stage.result("c1") == ("success", "from outside")


@POWER
async def test_row_21_an_external_result_that_was_acknowledged_is_kept(stage, power):
    stage.mode("bypass")
    stage.feed([call("c1", "Out", value="a")])
    first = await stage.run()
    await stage.die_at("EXTERNAL_EXECUTION_RESULT", outside(first), power=power)
    assert stage.result("c1") == ("success", "from outside")
    assert not stage.agent.waiting


# -- ends --------------------------------------------------------------------------------------


@POWER
async def test_row_22_an_interrupt_without_its_results_gives_each_open_call_one(stage, power):
    stage.feed([call("c1", value="a"), call("c2", "Put", value="b")])
    await stage.run()
    await stage.die_in_write("msg", ev.UserInterruptEvent(), power=power)
    for _ in range(2):
        assert {stage.result(key)[0] for key in ("c1", "c2")} == {"interrupted"}
        assert stage.state.context[-1].finished_reason == "interrupted"
        assert not stage.agent.waiting and not stage.agent.unfinished
        await stage.leave()
    assert stage.world.effects == {}


async def test_row_22_an_interrupt_that_was_not_written_was_not_given(stage):
    stage.feed([call("c1", value="a")])
    await stage.run()
    await stage.die_in_write("interrupt", ev.UserInterruptEvent())
    assert [block.id for block in stage.agent.waiting] == ["c1"]


@POWER
async def test_row_23_a_reply_whose_end_was_not_written_is_complete(stage, power):
    stage.feed(ANSWER)
    await stage.die_at("MODEL_CALL_END", power=power)
    last = stage.state.context[-1]
    assert (last.get_text_content(), last.finished_reason) == ("words", "completed")
    assert not stage.agent.unfinished
    assert stage.world.log_path.read_bytes().count(b'"finished_reason":"completed"') == 1
    await stage.leave()
    assert stage.world.log_path.read_bytes().count(b'"finished_reason":"completed"') == 1


@POWER
async def test_row_24_a_compression_that_did_not_end_leaves_the_old_log(stage, power):
    for number in range(8):
        stage.feed([{"text": f"a long answer {number} " * 400}])
        await stage.run()
    before, messages = stage.world.log_path.read_bytes(), stage.state.model_copy(deep=True).context
    stage.feed([{"text": "what was said before"}])
    disk = stage.world.disk
    disk.at, disk.how, disk.only = disk._count + 1, "die", "write"
    with pytest.raises(Died):
        await stage.agent.window.compress()
    stage.world.die(power=power)
    await stage.reborn()
    assert stage.state.context == messages
    assert (stage.state.summary, stage.state.compressed) == (None, None)
    assert stage.world.log_path.read_bytes() == before


async def test_row_24_a_half_written_blob_is_ignored_and_removed(stage):
    await stage.run()
    half = stage.world.log_path.with_suffix(".blobs") / "0.tmp"
    half.parent.mkdir()
    half.write_bytes(b"half")
    await stage.leave()
    assert [msg.get_text_content() for msg in stage.state.context] == ["go", "over"]
    assert not half.exists()


async def _left_by(stage, what):
    """A session that needs recovery."""
    match what:
        case "torn":
            stage.mode("bypass")
            stage.feed([call("c1", "Put", value="a")])
            await stage.die_in_write("msg", nth=3)
        case "started":
            stage.mode("bypass")
            stage.feed([call("c1", value="a"), call("c2", value="b")])
            await stage.die_at("TOOL_PROGRESS")
        case "allowed" | "denied":
            stage.feed([call("c1", value="a")])
            given = answer(await stage.run(), yes=what == "allowed")
            await stage.die_in_write("msg", given)
        case _:
            stage.feed(ANSWER)
            await stage.die_at("MODEL_CALL_END")


@POWER
@pytest.mark.parametrize("what", ["torn", "started", "allowed", "denied", "ended"])
async def test_row_25_recovery_that_dies_anywhere_gives_the_same_bytes(tmp_path, what, power):
    wanted = await _recovered(tmp_path / "wanted", what, 0, power)
    for at in range(1, 40):
        assert await _recovered(tmp_path / str(at), what, at, power) == wanted, f"died at call {at}"


async def _recovered(folder, what, at, power):
    """What a session holds whose recovery died at its n-th call and was done again; once more changes no byte."""
    stage = Stage(folder)

    async def no_recovery():
        return stage

    reborn, stage.reborn = stage.reborn, no_recovery
    await _left_by(stage, what)
    world, mode = stage.world, stage.state.permission_context.mode
    if at:
        with suppress(Died):
            world.boot(mode, disk_dies_at=at)
            await world.agent.recover(from_log=True, records=world.loaded.records)
        world.die(power=power)
    stage.reborn = reborn
    await stage.reborn()
    once = world.log_path.read_bytes()
    await stage.leave()
    assert world.log_path.read_bytes() == once
    msg = stage.state.context[-1]
    notes = [question.notes for question in stage.state.questions.values()]
    return msg.finished_reason, notes, [(block.type, getattr(block, "state", "")) for block in msg.content]


@pytest.mark.parametrize("how", ["error", "torn"])
async def test_row_27_a_full_disk_at_the_result_stops_the_reply_and_is_told(stage, how):
    stage.mode("bypass")
    stage.feed([call("c1", "Put", value="a"), call("c2", value="b")])
    disk, write, results = stage.world.disk, stage.world.disk.write, []

    def full_from_the_result_on(fd, data):
        if b'"tool_result"' in data:
            results.append(data)
        if results and how == "torn":
            os.write(fd, data[:10])
        if results:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(fd, data)

    disk.write = full_from_the_result_on
    events = await stage.run()
    assert [kind for kind in types(events) if kind in ("REPLY_END", "REPLY_PAUSED")] == ["REPLY_END"]
    assert (events[-1].finished_reason, "No space left" in events[-1].error.message) == ("error", True)
    assert stage.world.effects == {"c1": 1}
    assert stage.result("c1") == ("success", "did a")
    stage.world.die(power=False)
    await stage.reborn()
    assert ": applied" in stage.result("c1")[1]
    await stage.run(None)
    assert stage.world.effects == {"c1": 1, "c2": 1}


async def test_row_28_a_second_process_is_refused_and_told_who_holds_the_session(stage):
    await stage.run()
    before = stage.world.log_path.read_bytes()
    script = (
        "import sys, pathlib\n"
        "from agentcli.errors import SessionHeld\n"
        "from agentcli.session.store import SessionStore\n"
        "try:\n    SessionStore(pathlib.Path(sys.argv[1])).open(sys.argv[2])\n"
        "except SessionHeld as held:\n    print(held)\n"
    )
    words = [sys.executable, "-c", script, str(stage.world.data), SESSION]
    process = await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE)
    said, _ = await process.communicate()
    assert said.decode().strip() == f"session {SESSION} is held by process {os.getpid()}"
    with pytest.raises(SessionHeld):
        InlineStore(stage.world.data).open(SESSION)
    assert stage.world.log_path.read_bytes() == before


async def test_row_29_numbers_and_not_the_clock_order_the_records(stage):
    await stage.run("first")
    await stage.run("second")
    await stage.world.leave()
    lines = [json.loads(line) for line in stage.world.log_path.read_bytes().splitlines()]
    for record in lines:
        record["ts"] = f"2026-01-01T00:00:{59 - record['seq']:02}+00:00"
    stage.world.log_path.write_bytes(b"".join(json.dumps(record).encode() + b"\n" for record in lines))
    await stage.reborn()
    assert [msg.get_text_content() for msg in stage.state.context] == ["first", "over", "second", "over"]
    await stage.run("third")
    await stage.leave()
    assert [msg.get_text_content() for msg in stage.state.context][-2:] == ["third", "over"]


# -- for every row -----------------------------------------------------------------------------


async def test_no_call_starts_without_a_decision_or_a_rule(stage):
    stage.feed([call("c1", value="a")])
    await stage.run()
    await stage.leave()
    with suppress(LogError):
        await stage.run(None)
    assert (stage.world.effects, rule("Act") in stage.state.permission_context.rules) == ({}, False)


async def test_a_file_that_changed_under_its_edit_is_said_to_have_changed_and_an_old_reason_goes(stage):
    (stage.world.root / "a").write_text("one")
    stage.feed([call("c1", "Put", value="a")])
    await stage.run()
    await stage.leave()
    (stage.world.root / "a").write_text("two")
    assert (await stage.run(None))[0].previews["c1"].notes == [CHANGED]


@pytest.mark.parametrize("wrong", [call("c1", "Nope", value="a"), call("c1", "Act", valeu="a")])
@pytest.mark.parametrize("mode", ["default", "bypass", "explore", "dont_ask"])
async def test_a_call_that_can_never_run_ends_the_reply_at_its_third_time(stage, wrong, mode):
    stage.mode(mode)
    stage.feed(*[[wrong]] * 5)
    events = await stage.run()
    assert (events[-1].finished_reason, len(stage.world.requests)) == ("exceed_max_iters", 3)
    assert "never run" in events[-1].metadata["notice"]
