"""Outputs above the limit: head and tail to the model, the whole in a file of the session that it may read."""

import asyncio
import hashlib
import os
import re
import stat
from pathlib import Path

import pytest

from agentcli.ledger.message import UserMsg
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.catalogue import remove_session, session_story, verify_sessions
from agentcli.runtime.forking import fork_session
from tests.fakes.agent import call, until

OVER = [{"text": "over"}]
LINES = "".join(f"{number}\n" for number in range(1, 20_001))
COUNT = call("c1", "Bash", command="seq 20000")
MODES = ["default", "accept_edits", "explore", "bypass", "dont_ask"]


def results(events):
    return {
        key: "".join(event.delta for event in events if event.type == "TOOL_RESULT_TEXT_DELTA" and event.tool_call_id == key)
        for key in {event.tool_call_id for event in events if event.type == "TOOL_RESULT_START"}
    }


def states(events):
    return {event.tool_call_id: event.state.value for event in events if event.type == "TOOL_RESULT_END"}


def path_in(text):
    return re.search(r"(/\S+\.blobs/[0-9a-f]{64})", text)[1]


@pytest.fixture
async def counted(home):
    """A session whose one command said more than is told; its id and the path of the whole."""
    session, events = await home.play([COUNT], OVER, mode=PermissionMode.BYPASS)
    return session, path_in(results(events)["c1"])


async def test_head_and_tail_are_told_and_the_whole_is_in_a_file(home):
    session, events = await home.play([COUNT], OVER, mode=PermissionMode.BYPASS)
    text = results(events)["c1"]
    path = Path(path_in(text))
    head, line, tail = re.split(r"\n(\[.*\])\n", text)
    first = head.count("\n") + 1
    lines = LINES.count("\n") - head.count("\n") - tail.count("\n")
    out = len(LINES) - len(head) - len(tail)
    assert line == (
        f"[{lines:,} lines, {out:,} characters left out from line {first:,} on; "
        f"the whole is in {path}: Read it with offset and limit]"
    )
    assert (LINES.startswith(head), LINES.endswith(tail), path.read_text()) == (True, True, LINES)
    assert path.parent == home.log(session).with_suffix(".blobs")
    assert (path.name, stat.S_IMODE(path.stat().st_mode)) == (hashlib.sha256(LINES.encode()).hexdigest(), 0o600)


async def test_law_1_the_stream_carries_what_is_stored(home):
    session, events = await home.play([COUNT], OVER, mode=PermissionMode.BYPASS)
    stored = session_story(session).messages[-1].result("c1")
    (end,) = (event for event in events if event.type == "TOOL_RESULT_END")
    assert (stored.text, stored.metadata) == (results(events)["c1"], end.metadata)
    assert stored.metadata["kept"] == {"blob": hashlib.sha256(LINES.encode()).hexdigest(), "bytes": len(LINES)}


@pytest.mark.parametrize("mode", MODES)
async def test_the_whole_is_read_without_a_question_in_every_mode(home, counted, mode):
    session, path = counted
    look = call("c2", "Read", file_path=path, offset=10_000, limit=2)
    _, events = await home.play([look], OVER, resume=session, mode=PermissionMode(mode))
    assert results(events)["c2"].startswith(" 10000\t10000\n 10001\t10001\n(lines 10000 to 10001 of 20000; go on")


@pytest.mark.parametrize("mode", MODES)
async def test_nothing_else_of_the_data_folder_is_opened_by_that(home, counted, mode):
    session, path = counted
    other, events = await home.play([COUNT], OVER, mode=PermissionMode.BYPASS)
    folder = os.path.dirname(path)
    hidden = Path(folder, "0" * 64)
    hidden.mkdir()
    (hidden / ("1" * 64)).write_text("x")
    asked = [
        ("Read", {"file_path": path_in(results(events)["c1"])}),
        ("Read", {"file_path": str(home.log(session))}),
        ("Read", {"file_path": f"{folder}/../{other}.jsonl"}),
        ("Read", {"file_path": str(hidden / ("1" * 64))}),
        ("Read", {"file_path": f"{folder}/half.tmp"}),
        ("Grep", {"pattern": "1", "path": folder}),
        ("Grep", {"pattern": "1", "path": str(hidden)}),
        ("Glob", {"pattern": "*", "path": folder}),
        ("Bash", {"command": f"grep -r 1 {folder}"}),
        ("Bash", {"command": f"grep -r 1 {hidden}"}),
        ("Bash", {"command": f"cat {folder}/*"}),
    ]
    calls = [call(f"d{place}", name, **arguments) for place, (name, arguments) in enumerate(asked)]
    _, events = await home.play(calls, OVER, resume=session, mode=PermissionMode(mode))
    (end,) = (event for event in events if event.type in ("REPLY_PAUSED", "REPLY_END"))
    denied = {key for key, state in states(events).items() if state == "denied"}
    waiting = {block.id for block in end.waiting} if end.type == "REPLY_PAUSED" else set()
    assert denied | waiting == {f"d{place}" for place in range(len(asked))}


@pytest.mark.parametrize("mode", MODES)
async def test_changing_it_is_never_waved_through(home, counted, mode):
    session, path = counted
    calls = [call("d0", "Write", file_path=path, content="x"), call("d1", "Bash", command=f"rm {path}")]
    _, events = await home.play([call("c2", "Read", file_path=path)], calls, OVER, resume=session, mode=PermissionMode(mode))
    (end,) = (event for event in events if event.type in ("REPLY_PAUSED", "REPLY_END"))
    waiting = {block.id for block in end.waiting} if end.type == "REPLY_PAUSED" else set()
    assert waiting | {key for key, state in states(events).items() if state == "denied"} == {"d0", "d1"}
    assert Path(path).read_text() == LINES


@pytest.mark.parametrize("mode", MODES)
async def test_a_link_among_the_outputs_does_not_lead_out(home, counted, mode):
    session, path = counted
    secret = home.path / "secret"
    secret.write_text("key")
    link = Path(path).with_name("0" * 64)
    link.symlink_to(secret)
    inside = home.project / "link"
    inside.symlink_to(path)
    calls = [call("c2", "Read", file_path=str(link)), call("c3", "Read", file_path=str(inside), limit=1)]
    _, events = await home.play(calls, OVER, resume=session, mode=PermissionMode(mode))
    told = results(events)
    assert told.get("c3", " 1\t1").strip().startswith("1\t1")
    assert "key" not in told.get("c2", "") or mode == "bypass"


async def test_a_deny_rule_beats_it(home, counted):
    session, path = counted
    (home.path / "config" / "config.toml").write_text(f'[permissions]\ndeny = ["Read({home.data}/**)"]\n')
    look = call("c2", "Read", file_path=path)
    _, events = await home.play([look], OVER, resume=session, mode=PermissionMode.BYPASS)
    assert states(events) == {"c2": "denied"}


async def test_a_fork_reads_outputs_of_its_own(home, counted):
    session, path = counted
    fork = await fork_session(session)
    flagged, _ = await home.play(OVER, resume=session, fork=True)
    remove_session(session)
    for one in (fork.id, flagged):
        mine = path_in(session_story(one).messages[1].result("c1").text)
        assert mine == path.replace(session, one)
        look = call("c2", "Read", file_path=mine, limit=1)
        _, events = await home.play([look], OVER, resume=one, mode=PermissionMode.DONT_ASK)
        assert results(events)["c2"].startswith("     1\t1\n")


async def test_verify_tells_an_output_that_is_missing(home, counted):
    session, path = counted
    assert [health.lost for health in verify_sessions(session)] == [[]]
    Path(path).unlink()
    (health,) = verify_sessions(session)
    assert health.lost == [f"the whole output of call c1 (Bash) is missing: blob {Path(path).name}"]


async def test_long_answers_of_a_search_are_kept_too(home):
    (home.project / "many.txt").write_text(LINES)
    for number in range(210):
        (home.project / f"f{number}").write_text("")
    calls = [call("c1", "Grep", pattern="9"), call("c2", "Glob", pattern="*")]
    _, events = await home.play(calls, OVER, mode=PermissionMode.BYPASS)
    found = results(events)
    (grep, *_), (glob, *_) = (re.findall(r"\(.*more.*\)", found[key]) for key in ("c1", "c2"))
    nines = [line for line in LINES.split("\n") if "9" in line]
    assert (f"({len(nines) - 250:,} more lines left out; the whole is in /" in grep, "11 more, older ones left out" in glob) == (
        True,
        True,
    )
    assert len(Path(path_in(grep)).read_text().splitlines()) == len(nines)
    assert len(Path(path_in(glob)).read_text().splitlines()) == 211


async def test_an_interrupted_command_gives_its_output_so_far(home):
    turns = [[call("c1", "Bash", command="seq 20000; touch said; sleep 60")], OVER]
    conversation = await home.open(*turns, mode=PermissionMode.BYPASS)
    events = []

    async def play():
        events.extend([event async for event in conversation.stream(UserMsg(content="go"))])

    playing = asyncio.create_task(play())
    await until((home.project / "said").exists)
    await asyncio.sleep(0.2)
    conversation.interrupt()
    await playing
    await conversation.close()
    text = results(events)["c1"]
    assert text.endswith("19999\n20000\ninterrupted by the user before its end; what it had done stays done.")
    assert Path(path_in(text)).read_text() == LINES
    assert [path.suffix for path in Path(path_in(text)).parent.iterdir()] == [""]


async def test_a_full_disk_costs_only_the_middle(home, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("agentcli.session.spool.write_all", full)
    session, events = await home.play([COUNT], OVER, mode=PermissionMode.BYPASS)
    text = results(events)["c1"]
    assert "; they could not be kept: No space left on device]" in text and text.endswith("20000\n")
    assert list(home.log(session).with_suffix(".blobs").iterdir()) == []
