from __future__ import annotations

import errno
from pathlib import Path

import pytest

from agentcli.errors import LogError, SessionError
from agentcli.ledger.message import Msg, UserMsg
from agentcli.session.loaded import Loaded
from agentcli.session.store import SessionStore
from tests.fakes.disk import Died, FakeDisk, How
from tests.session.story import HEADER, ID, log_path, records, reply, say, steps, write_story


async def play(data: Path, disk: FakeDisk) -> tuple[list[str], list[Msg]]:
    """The story on a faulty disk: the steps that returned, and the ledger."""
    messages: list[Msg] = []
    done: list[str] = []
    try:
        log = SessionStore(data, disk).create(ID, HEADER)
        done.append("create")
        for name, step in steps(messages):
            try:
                await step(log)
                done.append(name)
            except LogError:
                disk.mend()
        log.close()
    except (LogError, Died):
        pass
    disk.kill()
    return done, messages


@pytest.fixture
async def calls(tmp_path: Path) -> list[str]:
    probe = FakeDisk()
    await play(tmp_path / "probe", probe)
    return probe.calls


def reopened(data: Path) -> Loaded:
    log, loaded = SessionStore(data, FakeDisk()).open(ID)
    log.close()
    records(log_path(data).read_bytes())
    return loaded


def assert_all_there(loaded: Loaded, done: list[str], messages: list[Msg]) -> None:
    """What was acknowledged is there, and nothing is there that never was."""
    ledger = {(msg.id, block.type, block.id): block for msg in messages for block in msg.content}
    saved = {(msg.id, block.type, block.id): block for msg in loaded.messages for block in msg.content}
    assert all(ledger[key] == block for key, block in saved.items() if key[1] != "tool_call")
    wanted = {
        "ask": {key for key in ledger if key[0] == "u1"},
        "declare": {("r1", "text", "t1"), ("r1", "tool_call", "c1")},
        "done": {("r1", "tool_result", "c1")},
        "show": {key for key in ledger if key[0] == "u2"},
    }
    assert set().union(*(wanted.get(name, set()) for name in done)) <= set(saved)
    assert "start" not in done or "started" in [record["type"] for record in loaded.records]


@pytest.mark.parametrize("how", ["error", "torn"])
async def test_a_call_that_fails_costs_only_what_was_refused(tmp_path: Path, calls: list[str], how: How):
    for at, call in enumerate(calls, 1):
        data = tmp_path / f"{how}{at}"
        done, messages = await play(data, FakeDisk(at, how, errno.EIO))
        if "create" not in done:
            continue
        loaded = reopened(data)
        assert loaded.lost == []
        assert_all_there(loaded, done, messages)
        if call not in ("fsync", "fdatasync") and "show" in done:
            refused = {"u1"} if "ask" not in done else set()
            assert loaded.messages == [msg for msg in messages if msg.id not in refused]


async def test_short_writes_are_finished(tmp_path: Path, calls: list[str]):
    for at in range(1, len(calls) + 1):
        data = tmp_path / str(at)
        _, messages = await play(data, FakeDisk(at, "short"))
        loaded = reopened(data)
        assert (loaded.messages, loaded.lost) == (messages, [])


@pytest.mark.parametrize("power", [True, False])
async def test_law_8_wherever_the_process_dies_everything_acknowledged_is_there(tmp_path: Path, calls: list[str], power: bool):
    for at in range(1, len(calls) + 1):
        data, disk = tmp_path / f"{power}{at}", FakeDisk(at, "die")
        done, messages = await play(data, disk)
        if power:
            disk.lose_power()
        if "create" in done:
            assert_all_there(reopened(data), done, messages)
            assert reopened(data).lost == []


async def test_what_a_full_disk_refused_of_a_reply_is_written_when_there_is_room(tmp_path: Path):
    disk = FakeDisk()
    log = SessionStore(tmp_path, disk).create(ID, HEADER)
    msg = reply()
    say(msg, "t1", "first")
    disk.at, disk.how = disk._count + 1, "torn"
    with pytest.raises(LogError, match=r"could not be saved to .*jsonl: No space left on device; make room on that disk"):
        await log.kept(msg)
    say(msg, "t2", "second")
    with pytest.raises(LogError):
        await log.kept(msg)
    assert len(log.held) == 2
    assert len(records(log_path(tmp_path).read_bytes())) == 1
    disk.mend()
    await log.said(UserMsg(id="u", content="again"))
    log.close()
    loaded = SessionStore(tmp_path).read(ID)
    assert loaded.messages[0] == msg
    assert [found.id for found in loaded.messages] == ["r1", "u"]


async def test_half_a_record_that_cannot_be_cut_back_is_never_glued_to(tmp_path: Path):
    disk = FakeDisk()
    log = SessionStore(tmp_path, disk).create(ID, HEADER)
    disk.at, disk.how = disk._count + 1, "torn"
    truncate, disk.truncate = disk.truncate, lambda fd, length: (_ for _ in ()).throw(OSError(errno.EIO, "no"))
    for _ in range(2):
        with pytest.raises(LogError):
            await log.record("mode", {"mode": "explore"})
    disk.truncate = truncate
    disk.mend()
    await log.record("mode", {"mode": "default"})
    log.close()
    assert [record.get("mode") for record in records(log_path(tmp_path).read_bytes())] == ["default", "default"]


async def test_an_fsync_error_is_final(tmp_path: Path):
    disk = FakeDisk()
    log = SessionStore(tmp_path, disk).create(ID, HEADER)
    disk.at, disk.how, disk.code = disk._count + 2, "error", errno.EIO
    for _ in range(3):
        with pytest.raises(LogError, match="Input/output error"):
            await log.record("started", {"call_id": "c1"}, durable=True)
    await log.record("mode", {"mode": "default"})
    assert disk.calls.count("fdatasync") == 1
    log.close()
    assert [record["type"] for record in records(log_path(tmp_path).read_bytes())] == ["session", "started", "mode"]


def test_a_session_that_could_not_be_made_leaves_nothing(tmp_path: Path):
    for at in range(1, 20):
        disk = FakeDisk(at, "error", errno.EROFS)
        try:
            SessionStore(tmp_path / str(at), disk).create(ID, HEADER)
        except LogError as refused:
            assert "could not be saved" in str(refused)
            assert not log_path(tmp_path / str(at)).exists()
        disk.kill()


def test_a_data_folder_that_cannot_be_made_is_told_in_one_line(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(LogError, match="AGENTCLI_DATA_DIR"):
        SessionStore(tmp_path / "file" / "data").create(ID, HEADER)


async def torn_log(data: Path) -> tuple[bytes, bytes, Path]:
    """A log with half a record at its end: its sound bytes, the half record, and where that is set aside."""
    raw, _ = await write_story(data)
    tail = raw[-30:-1]
    log_path(data).write_bytes(raw + tail)
    return raw, tail, log_path(data).with_suffix(".torn")


@pytest.mark.parametrize("how", ["error", "die"])
@pytest.mark.parametrize("power", [True, False])
async def test_a_recovery_that_fails_anywhere_can_be_done_again(tmp_path: Path, how: How, power: bool):
    for at in range(1, 12):
        data = tmp_path / str(at)
        raw, tail, torn = await torn_log(data)
        disk = FakeDisk(at, how, errno.EIO)
        try:
            SessionStore(data, disk).open(ID)
        except (SessionError, Died):
            assert log_path(data).read_bytes() in (raw, raw + tail)
        disk.lose_power() if power else disk.kill()
        SessionStore(data, FakeDisk()).open(ID)[0].close()
        assert log_path(data).read_bytes() == raw
        assert torn.read_bytes().count(tail) == 1


async def test_a_torn_end_is_safe_elsewhere_before_it_is_cut_off(tmp_path: Path):
    await torn_log(tmp_path)
    disk = FakeDisk()
    SessionStore(tmp_path, disk).open(ID)[0].close()
    repair = disk.calls[disk.calls.index("fsync") - 2 : disk.calls.index("truncate") + 2]
    assert repair == ["open", "write", "fsync", "close", "fsync_folder", "truncate", "fsync"]
