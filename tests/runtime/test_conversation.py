import asyncio
import json
from contextlib import aclosing

import pytest

from agentcli.errors import AgentcliError, ConfigError, NothingWaiting, SessionHeld, UsageError
from agentcli.ledger import event as ev
from agentcli.ledger.message import Msg, UserMsg
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.assemble import Options, open_conversation
from agentcli.runtime.catalogue import session_rows, session_story
from agentcli.runtime.command import Compact, SetMode
from tests.fakes.agent import answer, call, refold, types

READ = [[{"text": "I look."}, call("c1", "Read", file_path="a.txt")], [{"text": "It says hello."}]]


@pytest.fixture
def desk(tmp_path, monkeypatch):
    """A project, folders of its own, and no model in the environment."""
    for name in ("data", "config", "project/.git"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "AGENTCLI_MODEL", "AGENTCLI_MODE", "AGENTCLI_API"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTCLI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("AGENTCLI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "project")
    (tmp_path / "project/a.txt").write_text("hello\n")
    return tmp_path


def script(desk, turns):
    path = desk / f"script-{len(list(desk.glob('script-*')))}.json"
    path.write_text(json.dumps({"turns": turns}))
    return f"script:{path}"


async def opened(desk, turns, **options):
    return await open_conversation(Options(model=script(desk, turns), headless=True, **options))


async def run(conversation, inputs="go"):
    inputs = UserMsg("user", inputs) if isinstance(inputs, str) else inputs
    async with aclosing(conversation.stream(inputs)) as events:
        return [event async for event in events]


async def test_no_session_is_made_before_the_first_message(desk):
    conversation = await opened(desk, READ)
    assert conversation.status.session_id == ""
    await conversation.close()
    assert not list((desk / "data").rglob("*.jsonl"))


async def test_the_main_job_asks_reads_after_the_answer_and_is_saved(desk):
    conversation = await opened(desk, READ)
    first = await run(conversation)
    assert types(first)[-2:] == ["REQUIRE_USER_CONFIRM", "REPLY_PAUSED"]
    second = await run(conversation, answer(first))
    session = conversation.status.session_id
    await conversation.close()
    saved = session_story(session[:10]).messages
    assert [msg.role for msg in saved] == ["user", "assistant"]
    assert saved[-1] == refold(first, second)
    assert "hello" in saved[-1].result("c1").text


async def test_a_killed_question_is_open_again_and_is_answered_once(desk):
    conversation = await opened(desk, READ)
    first = await run(conversation)
    session = conversation.status.session_id
    await conversation.close()
    again = await opened(desk, [[{"text": "It says hello."}]], resume=session)
    assert [block.id for block in again.status.waiting] == ["c1"]
    announced = await run(again, None)
    assert types(announced) == ["REQUIRE_USER_CONFIRM", "REPLY_PAUSED"]
    assert announced[-1].reply_id == first[-1].reply_id
    done = await run(again, answer(announced))
    assert done[-1].finished_reason == "completed"
    with pytest.raises(NothingWaiting):
        await run(again, answer(announced))
    await again.close()


async def test_law_6_a_file_that_changed_since_it_was_shown_is_asked_again_whoever_answers_blindly(desk):
    turns = [
        [call("r1", "Read", file_path="a.txt")],
        [call("c1", "Edit", file_path="a.txt", old_string="hello", new_string="bye")],
    ]
    conversation = await opened(desk, turns, mode=PermissionMode.DEFAULT)
    first = await run(conversation)
    paused = await run(conversation, answer(first))
    session = conversation.status.session_id
    await conversation.close()
    (desk / "project/a.txt").write_text("hello\nhello again\n")
    again = await opened(desk, [[{"text": "over"}]], resume=session)
    blind = answer(paused).model_copy(update={"reply_id": again.status.reply_id})
    events = await run(again, blind)
    assert types(events) == ["REQUIRE_USER_CONFIRM", "REPLY_PAUSED"]
    assert (desk / "project/a.txt").read_text() == "hello\nhello again\n"
    await again.close()


async def test_a_second_process_is_told_who_holds_the_session(desk):
    conversation = await opened(desk, READ)
    await run(conversation)
    with pytest.raises(SessionHeld, match="held by"):
        await opened(desk, READ, resume=conversation.status.session_id)
    await conversation.close()


async def test_a_resumed_session_keeps_mode_and_folder_and_never_loses_explore_to_the_environment(desk, monkeypatch):
    inner = desk / "project/inner"
    inner.mkdir()
    conversation = await opened(desk, [[{"text": "ok"}]], cwd=str(inner), mode=PermissionMode.EXPLORE)
    await run(conversation)
    session = conversation.status.session_id
    await conversation.close()
    monkeypatch.setenv("AGENTCLI_MODE", "bypass")
    again = await opened(desk, [], resume=session)
    assert (again.status.mode, again.status.cwd) == (PermissionMode.EXPLORE, str(inner))
    await again.close()


async def test_a_mode_set_in_a_conversation_is_kept(desk):
    conversation = await opened(desk, [[{"text": "ok"}]])
    await conversation.do(SetMode(PermissionMode.ACCEPT_EDITS))
    await run(conversation)
    await conversation.do(SetMode(PermissionMode.EXPLORE))
    session = conversation.status.session_id
    await conversation.close()
    assert session_rows()[0].mode == "explore"
    again = await opened(desk, [], resume=session)
    assert again.status.mode == PermissionMode.EXPLORE
    await again.close()


async def test_a_rule_for_the_project_holds_in_its_next_session_and_lies_outside_the_repository(desk):
    conversation = await opened(desk, READ)
    first = await run(conversation)
    rules = [rule.model_copy(update={"source": "project"}) for rule in first[-1].waiting[0].suggested_rules]
    assert [rule.text for rule in rules] == ["Read(**)"]
    await run(conversation, answer(first, rules=rules))
    await conversation.close()
    assert not list((desk / "project").glob(".agentcli*"))
    again = await opened(desk, READ)
    events = await run(again)
    assert events[-1].type == "REPLY_END"
    await again.close()


async def test_a_rule_for_the_session_holds_after_its_resume_only(desk):
    conversation = await opened(desk, READ)
    first = await run(conversation)
    rules = [rule.model_copy(update={"source": "session"}) for rule in first[-1].waiting[0].suggested_rules]
    await run(conversation, answer(first, rules=rules))
    session = conversation.status.session_id
    await conversation.close()
    more = [[call("c2", "Read", file_path="a.txt")], [{"text": "again"}]]
    again = await opened(desk, more, resume=session)
    assert (await run(again))[-1].type == "REPLY_END"
    await again.close()
    other = await opened(desk, READ)
    assert (await run(other))[-1].type == "REPLY_PAUSED"
    await other.close()


async def test_replay_gives_the_saved_messages_again(desk):
    conversation = await opened(desk, [[{"thinking": "hm"}, {"text": "ok"}]])
    await run(conversation)
    shown = list(conversation.replay())
    assert isinstance(shown[0], Msg)
    assert shown[0].get_text_content() == "go"
    assert types(shown[1:])[0] == "REPLY_START"
    assert types(shown[1:])[-1] == "REPLY_END"
    await conversation.close()


async def test_a_fork_closes_what_waits_and_leaves_the_question_with_its_parent(desk):
    conversation = await opened(desk, READ)
    await run(conversation)
    session = conversation.status.session_id
    await conversation.close()
    fork = await opened(desk, [[{"text": "another way"}]], resume=session, fork=True)
    assert fork.status.session_id not in ("", session)
    assert not fork.status.waiting
    assert (await run(fork, "another"))[-1].finished_reason == "completed"
    await fork.close()
    again = await opened(desk, [], resume=session)
    assert [block.id for block in again.status.waiting] == ["c1"]
    await again.close()


async def test_nothing_configured_starts_a_screen_on_the_demo_and_stops_a_run(desk):
    with pytest.raises(ConfigError, match="OPENAI_API_KEY"):
        await open_conversation(Options(headless=True))
    conversation = await open_conversation(Options())
    assert conversation.status.demo
    assert "OPENAI_API_KEY" in " ".join(conversation.status.notices)
    await conversation.close()


async def test_a_key_without_a_model_names_the_variable_and_the_flag(desk, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(ConfigError, match=r"OPENAI_MODEL.*--model"):
        await open_conversation(Options(headless=True))


@pytest.mark.parametrize("options", [{"resume": "aaaa"}, {"continue_": True}, {"fork": True}, {"cwd": "/no/such/folder"}])
async def test_wrong_wishes_are_usage_errors(desk, options):
    with pytest.raises(UsageError):
        await opened(desk, [], **options)


async def test_a_reply_that_a_crash_cut_off_goes_on_without_a_second_start(desk):
    conversation = await opened(desk, READ, mode=PermissionMode.BYPASS)
    stream = conversation.stream(UserMsg("user", "go"))
    async for event in stream:
        if event.type == "TOOL_RESULT_END":
            break
    session = conversation.status.session_id
    log = next((desk / "data/sessions").glob("*.jsonl")).read_bytes()
    await stream.aclose()
    await conversation.close()
    next((desk / "data/sessions").glob("*.jsonl")).write_bytes(log)
    again = await opened(desk, [[{"text": "It says hello."}]], resume=session)
    assert again.status.unfinished
    events = await run(again, None)
    assert "REPLY_START" not in types(events)
    assert events[-1].finished_reason == "completed"
    assert isinstance(events[-1], ev.ReplyEndEvent)
    await again.close()


async def test_law_7_explore_changes_nothing_whatever_rules_and_answers_say(desk):
    (desk / "config/config.toml").write_text('[permissions]\nallow = ["Bash", "Write", "Edit", "Write(**)", "Edit(**)"]\n')
    calls = [
        call("c1", "Write", file_path="new.txt", content="x"),
        call("c2", "Edit", file_path="a.txt", old_string="hello", new_string="bye"),
        call("c3", "Bash", command="touch new.txt"),
        call("c4", "Bash", command="ls & touch new.txt"),
        call("c5", "Bash", command="find . -name a.txt -delete"),
        call("c6", "Bash", command="ls"),
    ]
    turns = [[call("r1", "Read", file_path="a.txt")], calls, [{"text": "over"}]]
    conversation = await opened(desk, turns, mode=PermissionMode.EXPLORE)
    events = await run(conversation)
    msg = refold(events)
    assert events[-1].finished_reason == "completed"
    assert {block.id: block.state.value for block in msg.content if block.type == "tool_result"} == {
        "r1": "success",
        **{f"c{n}": "denied" for n in range(1, 7)},
    }
    assert sorted(path.name for path in (desk / "project").iterdir()) == [".git", "a.txt"]
    assert (desk / "project/a.txt").read_text() == "hello\n"
    await conversation.close()


async def test_law_6_an_answer_is_for_the_target_that_was_shown(desk):
    (desk / "project/sub").mkdir()
    conversation = await opened(desk, [[call("c1", "Write", file_path="sub/new.txt", content="x")], [{"text": "over"}]])
    first = await run(conversation)
    (desk / "project/sub").rmdir()
    (desk / "project/sub").symlink_to(".git")
    again = await run(conversation, answer(first))
    assert types(again) == ["REQUIRE_USER_CONFIRM", "REPLY_PAUSED"]
    assert not (desk / "project/.git/new.txt").exists()
    assert again[0].previews["c1"].target == str(desk / "project/.git/new.txt")
    assert any("changed" in note for note in again[0].previews["c1"].notes)
    await conversation.close()


async def test_law_6_a_command_is_asked_again_where_its_folder_is_another_one(desk, monkeypatch):
    inner = desk / "project/inner"
    inner.mkdir()
    conversation = await opened(desk, [[call("c1", "Bash", command="touch made")], [{"text": "over"}]], cwd=str(inner))
    await run(conversation)
    session = conversation.status.session_id
    await conversation.close()
    inner.rmdir()
    again = await opened(desk, [[{"text": "over"}]], resume=session)
    status = again.status
    blind = ev.UserConfirmResultEvent(
        reply_id=status.reply_id, confirm_results=[ev.ConfirmResult(confirmed=True, tool_call=status.waiting[0])]
    )
    events = await run(again, blind)
    assert types(events) == ["REQUIRE_USER_CONFIRM", "REPLY_PAUSED"]
    assert not list(desk.rglob("made"))
    await again.close()


async def test_law_7_a_log_that_no_longer_says_its_mode_goes_on_in_explore(desk):
    conversation = await opened(desk, [[{"text": "ok"}]], mode=PermissionMode.EXPLORE)
    await run(conversation)
    session = conversation.status.session_id
    await conversation.close()
    log = next((desk / "data/sessions").glob("*.jsonl"))
    log.write_bytes(b"{broken\n" + log.read_bytes().partition(b"\n")[2])
    again = await opened(desk, [], resume=session)
    assert again.status.mode == PermissionMode.EXPLORE
    assert any("explore" in notice for notice in again.status.notices)
    await again.close()


async def test_an_external_tool_cannot_take_the_name_of_a_built_in_one(desk):
    (desk / "tools.json").write_text(json.dumps([{"name": "Read", "description": "x", "parameters": {"type": "object"}}]))
    with pytest.raises(UsageError, match="Read"):
        await opened(desk, [], external_tools=str(desk / "tools.json"))


# -- the context -----------------------------------------------------------------------------------

STORY = {"text": "a long story " * 200}
SUMMARY = [{"text": "## The request\na story"}, {"usage": {"input_tokens": 900, "output_tokens": 20}}]


def lines_of(desk, kind):
    raw = next((desk / "data/sessions").glob("*.jsonl")).read_text()
    return [record for record in map(json.loads, raw.splitlines()) if record["type"] == kind]


async def test_compact_puts_a_summary_in_place_of_what_is_sent_and_the_log_keeps_all(desk):
    conversation = await opened(desk, [[STORY], SUMMARY])
    await run(conversation)
    said = await conversation.do(Compact())
    assert said.startswith("Compressed: about ")
    report = conversation.context()
    assert (report.user, report.assistant, report.covered, report.messages) == (0, 0, 2, 2)
    assert report.summary_text.startswith("## The request\na story")
    assert (conversation.status.input_tokens, conversation.status.output_tokens) == (900, 20)
    session = conversation.status.session_id
    await conversation.close()
    assert session_story(session).messages[-1].get_text_content() == STORY["text"]
    (record,) = lines_of(desk, "summary")
    assert record["usage"] == {"input_tokens": 900, "output_tokens": 20, "cached_tokens": 0, "reasoning_tokens": 0}


async def test_a_resumed_session_sends_the_same_compressed_context_and_counts_the_same_tokens(desk):
    conversation = await opened(desk, [[STORY], SUMMARY])
    await run(conversation)
    await conversation.do(Compact())
    before, spent = conversation.context(), conversation.status.input_tokens
    session = conversation.status.session_id
    await conversation.close()
    again = await opened(desk, [[{"text": "on"}]], resume=session)
    assert (again.context(), again.status.input_tokens) == (before, spent)
    shown = list(again.replay())
    assert [type(item).__name__ for item in shown][-1] == "ContextCompressedEvent"
    assert (await run(again))[-1].finished_reason == "completed"
    assert again.context().covered == 2
    await again.close()


async def test_a_summary_made_within_a_reply_is_read_back_from_the_log(desk):
    turns = [
        [{"text": "I look."}, call("c1", "Read", file_path="a.txt")],
        [{"text": "word " * 400}, call("c2", "Read", file_path="a.txt", offset=1)],
        [{"error": "context_length"}],
        [{"text": "so far"}],
        [{"text": "over"}],
    ]
    conversation = await opened(desk, turns, mode=PermissionMode.BYPASS)
    events = await run(conversation)
    assert (events[-1].finished_reason, types(events).count("CONTEXT_COMPRESSED")) == ("completed", 1)
    report, session = conversation.context(), conversation.status.session_id
    await conversation.close()
    again = await opened(desk, [], resume=session)
    assert again.context() == report
    assert "so far" in again.context().summary_text
    await again.close()


async def test_a_fork_of_a_compressed_session_is_compressed_too_and_stays_so(desk):
    conversation = await opened(desk, [[STORY], SUMMARY])
    await run(conversation)
    await conversation.do(Compact())
    report, session = conversation.context(), conversation.status.session_id
    await conversation.close()
    fork = await opened(desk, [], resume=session, fork=True)
    assert fork.context() == report
    own = fork.status.session_id
    await fork.close()
    again = await opened(desk, [], resume=own or session)
    assert again.context() == report
    await again.close()


async def test_a_summary_whose_message_is_lost_is_not_sent(desk):
    conversation = await opened(desk, [[STORY], SUMMARY])
    await run(conversation)
    await conversation.do(Compact())
    session = conversation.status.session_id
    await conversation.close()
    path = next((desk / "data/sessions").glob("*.jsonl"))
    kept = [line for line in path.read_text().splitlines() if '"role":"assistant"' not in line]
    path.write_text("\n".join(kept) + "\n")
    again = await opened(desk, [], resume=session)
    assert (again.context().summary_text, again.context().covered, again.context().messages) == ("", 0, 1)
    await again.close()


async def test_nothing_to_compact_is_said_and_asks_no_model(desk):
    conversation = await opened(desk, [])
    assert await conversation.do(Compact()) == "There is too little in the context to compress."
    await conversation.close()


async def test_while_a_reply_runs_the_context_is_not_compressed(desk):
    conversation = await opened(desk, [[{"text": "a"}, {"delay": 0.01}, {"text": "b"}]])
    async with aclosing(conversation.stream(UserMsg("user", "go"))) as events:
        async for event in events:
            if event.type == "TEXT_BLOCK_DELTA":
                with pytest.raises(AgentcliError, match="A reply runs"):
                    await conversation.do(Compact())
                break
    await conversation.close()


async def test_while_the_context_is_compressed_a_message_is_refused_and_an_interrupt_gives_it_up(desk):
    conversation = await opened(desk, [[STORY], [{"delay": 30}], [{"text": "on"}]])
    await run(conversation)
    task = asyncio.create_task(conversation.do(Compact()))
    await asyncio.sleep(0.05)
    with pytest.raises(AgentcliError, match="is being compressed"):
        await run(conversation)
    conversation.interrupt()
    assert await task == "Interrupted; the context is as it was."
    assert (await run(conversation, "on"))[-1].finished_reason == "completed"
    await conversation.close()


async def test_the_report_tells_the_parts_of_the_context(desk):
    conversation = await opened(desk, READ, mode=PermissionMode.BYPASS)
    await run(conversation)
    report = conversation.context()
    assert report.total == sum(tokens for _, tokens in report.rows)
    assert min(report.system, report.tools, report.user, report.assistant, report.results) > 0
    assert (report.summary, report.size, report.trigger, report.messages) == (0, None, None, 2)
    await conversation.close()


async def test_a_rule_for_a_tool_that_does_not_exist_is_told_at_start(desk):
    (desk / "config/config.toml").write_text('[permissions]\ndeny = ["Bsh(curl:*)"]\n')
    conversation = await opened(desk, [])
    assert any("Bsh" in notice and "Bash" in notice for notice in conversation.status.notices)
    await conversation.close()
