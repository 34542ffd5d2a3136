from __future__ import annotations

import asyncio
import stat
from pathlib import Path

import pytest

from agentcli.errors import LogError, SessionError
from agentcli.ledger import event as ev
from agentcli.ledger.block import HintBlock, ThinkingBlock, ToolResultBlock, UnknownBlock
from agentcli.ledger.message import Msg, UserMsg
from agentcli.session.store import SessionStore, new_session_id
from tests.fakes.disk import FakeDisk
from tests.session.story import AT, HEADER, ID, finish, log_path, picture, records, reply, result, say, write_story


async def test_first_line_is_the_header_kept_whole(tmp_path: Path):
    SessionStore(tmp_path).create(ID, HEADER).close()
    (first,) = records(log_path(tmp_path).read_bytes())
    created = first.pop("created_at")
    assert first.pop("ts") == created
    assert first == {"seq": 1, "type": "session", "version": 1, "id": ID, "parent": None, **HEADER}


def test_folder_and_files_are_for_the_user_alone(tmp_path: Path):
    log = SessionStore(tmp_path / "deep" / "data").create(ID, HEADER)
    folder = tmp_path / "deep" / "data" / "sessions"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [folder, *folder.iterdir()]}
    assert modes == {"sessions": 0o700, f"{ID}.jsonl": 0o600, f"{ID}.held": 0o600}
    log.close()


def test_a_session_id_is_16_base32_characters():
    ids = {new_session_id() for _ in range(50)}
    assert len(ids) == 50
    assert all(len(name) == 16 and set(name) <= set("abcdefghijklmnopqrstuvwxyz234567") for name in ids)


def test_an_id_is_no_path(tmp_path: Path):
    store = SessionStore(tmp_path)
    for name in ("../x", "", "A", "a/b", "a\nb", "a" * 65):
        with pytest.raises(SessionError):
            store.create(name, {})


def test_a_session_is_never_made_over_another(tmp_path: Path):
    store = SessionStore(tmp_path)
    store.create(ID, HEADER).close()
    before = log_path(tmp_path).read_bytes()
    with pytest.raises(SessionError, match="exists already"):
        store.create(ID, HEADER)
    assert log_path(tmp_path).read_bytes() == before


async def test_messages_come_back_equal(tmp_path: Path):
    _, messages = await write_story(tmp_path)
    log, loaded = SessionStore(tmp_path).open(ID)
    log.close()
    assert loaded.messages == messages
    assert [record["type"] for record in loaded.records] == ["started", "process"]
    assert loaded.lost == []
    assert SessionStore(tmp_path).read(ID).messages == messages


async def test_every_kind_of_block_and_field_comes_back_equal(tmp_path: Path):
    whole = Msg(
        id="m1",
        name="agentcli",
        role="assistant",
        content=[
            ThinkingBlock(id="k", thinking="hm", created_at=AT, signature="E1", origin={"a": [1, None]}),
            HintBlock(id="h", hint=[picture()], source="user"),
            ToolResultBlock(id="c", name="Read", output=[picture()], metadata={"diff": "\udc80", "\ud800": 1.5}),
            UnknownBlock(id="z", type="from_the_future", more={"x": True}),
        ],
        metadata={"deep": {"list": [1, "two", None]}},
        finished_at=AT,
        finished_reason=ev.ReplyEndReason.ERROR,
        error=ev.ErrorInfo(kind="rate_limit", message="slow down", status=429),
        x_future=7,
    )
    log = SessionStore(tmp_path).create(ID, HEADER)
    await log.said(whole)
    log.close()
    assert SessionStore(tmp_path).read(ID).messages == [whole]


async def test_a_field_that_is_null_again_is_null_after_loading(tmp_path: Path):
    log = SessionStore(tmp_path).create(ID, HEADER)
    msg = reply()
    finish(msg)
    await log.kept(msg)
    msg.finished_at = msg.finished_reason = None
    await log.kept(msg)
    log.close()
    assert SessionStore(tmp_path).read(ID).messages == [msg]


async def test_numbers_that_json_cannot_say_become_null(tmp_path: Path):
    log = SessionStore(tmp_path).create(ID, HEADER)
    await log.record("odd", {"values": [float("nan"), float("inf"), 1.5]})
    log.close()
    assert records(log_path(tmp_path).read_bytes())[-1]["values"] == [None, None, 1.5]


async def test_a_record_cannot_pose_as_another(tmp_path: Path):
    log = SessionStore(tmp_path).create(ID, HEADER)
    for kind in ("msg", "session"):
        with pytest.raises(ValueError, match="a method of its own"):
            await log.record(kind, {})
    await log.record("decided", {"seq": 99, "ts": "never", "type": "msg", "a": 1})
    log.close()
    found = records(log_path(tmp_path).read_bytes())[-1]
    assert found.pop("ts") != "never"
    assert found == {"seq": 2, "type": "decided", "a": 1}


async def test_a_later_change_of_a_body_does_not_reach_the_record(tmp_path: Path):
    log = SessionStore(tmp_path).create(ID, HEADER)
    body = {"rules": ["one"]}
    writing = asyncio.ensure_future(log.record("rule", body))
    await asyncio.sleep(0)
    body["rules"].append("two")
    await writing
    log.close()
    assert records(log_path(tmp_path).read_bytes())[-1]["rules"] == ["one"]


async def test_a_long_reply_costs_linear_space(tmp_path: Path):
    log = SessionStore(tmp_path, FakeDisk()).create(ID, HEADER)
    path, msg = log_path(tmp_path), reply()
    costs: list[int] = []
    for n in range(100, 160):
        before = path.stat().st_size
        say(msg, f"t{n}", "word " * 20)
        result(msg, f"c{n}", "x" * 200)
        await log.kept(msg)
        costs.append(path.stat().st_size - before)
    log.close()
    assert max(costs[1:]) - min(costs[1:]) <= 16  # the seq and the clock grow by a digit


async def test_synced_exactly_where_promised(tmp_path: Path):
    disk = FakeDisk()
    log = SessionStore(tmp_path, disk).create(ID, HEADER)
    assert disk.calls[-2:] == ["fsync", "fsync_folder"]
    disk.calls.clear()
    msg = reply()
    await log.record("mode", {"mode": "explore"})
    await log.kept(msg, durable=False)
    assert disk.calls == ["write", "write"]
    disk.calls.clear()
    await log.said(UserMsg(content="hi"))
    await log.kept(msg)
    await log.record("started", {}, durable=True)
    assert disk.calls == ["write", "fdatasync"] * 3
    log.close()


async def test_order_is_the_order_of_the_calls(tmp_path: Path):
    log = SessionStore(tmp_path, FakeDisk()).create(ID, HEADER)
    await asyncio.gather(*(log.record("n", {"n": n}, durable=n % 3 == 0) for n in range(60)))
    log.close()
    assert [record["n"] for record in records(log_path(tmp_path).read_bytes())[1:]] == list(range(60))


async def test_a_cancelled_caller_tears_neither_order_nor_record(tmp_path: Path):
    log = SessionStore(tmp_path, FakeDisk()).create(ID, HEADER)
    tasks = [asyncio.ensure_future(log.record("n", {"n": n, "fill": "x" * 20_000})) for n in range(20)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await log.record("n", {"n": 20})
    log.close()
    assert [record["n"] for record in records(log_path(tmp_path).read_bytes())[1:]] == list(range(21))


async def test_a_closed_log_takes_nothing(tmp_path: Path):
    log = SessionStore(tmp_path).create(ID, HEADER)
    log.close()
    log.close()
    with pytest.raises(LogError, match="closed"):
        await log.record("mode", {"mode": "default"})


async def test_a_large_datum_lies_beside_the_log(tmp_path: Path):
    raw, messages = await write_story(tmp_path)
    assert len(raw) < 5_000
    (blob,) = (tmp_path / "sessions" / f"{ID}.blobs").iterdir()
    source = records(raw)[-1]["msg"]["content"][1]["source"]
    assert source["url"] == f"blob:sha256/{blob.name}"
    blob.with_suffix(".tmp").write_bytes(b"half")
    SessionStore(tmp_path).open(ID)[0].close()
    assert list(blob.parent.iterdir()) == [blob]
    blob.unlink()
    loaded = SessionStore(tmp_path).read(ID)
    assert loaded.messages[:2] == messages[:2]
    assert loaded.lost == [f"data of the message on line {len(records(raw))} is missing: blob {blob.name}"]
