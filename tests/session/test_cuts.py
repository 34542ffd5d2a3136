from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentcli.errors import SessionError
from agentcli.ledger.message import Msg
from agentcli.session.loaded import Loaded
from agentcli.session.store import SessionStore
from tests.fakes.disk import FakeDisk
from tests.session.story import HEADER, ID, log_path, write_story


@pytest.fixture
async def story(tmp_path: Path) -> tuple[bytes, list[Msg]]:
    return await write_story(tmp_path)


def put(data: Path, raw: bytes) -> None:
    """A log of these bytes; a new file, because ext4 flushes one that is cut to nothing and written again."""
    log_path(data).unlink(missing_ok=True)
    log_path(data).write_bytes(raw)


def opened(data: Path) -> Loaded:
    log, loaded = SessionStore(data, FakeDisk()).open(ID)
    log.close()
    return loaded


def content(loaded: Loaded) -> tuple[object, ...]:
    return loaded.header, loaded.messages, loaded.records


def sound_prefixes(data: Path, raw: bytes) -> dict[int, tuple[object, ...]]:
    """What is loaded after each whole line."""
    found: dict[int, tuple[object, ...]] = {}
    at = 0
    for line in raw.split(b"\n")[:-1]:
        at += len(line) + 1
        put(data, raw[:at])
        loaded = SessionStore(data).read(ID)
        assert loaded.lost == []
        found[at] = content(loaded)
    return found


def test_law_8_every_cut_loads_tells_and_loads_again_the_same(tmp_path: Path, story: tuple[bytes, list[Msg]]):
    raw, messages = story
    states = sound_prefixes(tmp_path, raw)
    assert states[len(raw)][1] == messages
    path, torn = log_path(tmp_path), tmp_path / "sessions" / f"{ID}.torn"
    first = min(states)
    for length in range(first, len(raw) + 1):
        put(tmp_path, raw[:length])
        torn.unlink(missing_ok=True)
        missing_newline = length + 1 in states
        end = length + 1 if missing_newline else max(at for at in states if at <= length)
        lost = length - end if not missing_newline else 0

        read = SessionStore(tmp_path).read(ID)
        assert (content(read), len(read.lost)) == (states[end], 1 if lost else 0)
        assert path.read_bytes() == raw[:length]
        if length % 4 and length not in states and length < len(raw) - 300:
            continue  # what is on disk afterwards is looked at for each length at the end, and for each fourth before

        loaded = opened(tmp_path)
        assert (content(loaded), len(loaded.lost)) == (states[end], 1 if lost else 0)
        assert path.read_bytes() == raw[:end]
        assert (torn.read_bytes() if lost else b"\n") == raw[end:length] + b"\n"

        again = opened(tmp_path)
        assert (content(again), again.lost, path.read_bytes()) == (states[end], [], raw[:end])


def test_a_cut_inside_the_first_line_leaves_no_session(tmp_path: Path, story: tuple[bytes, list[Msg]]):
    raw, _ = story
    for length in range(raw.index(b"\n") + 1):
        put(tmp_path, raw[:length])
        for attempt in (opened, lambda data: SessionStore(data).read(ID)):
            with pytest.raises(SessionError, match=f"there is no session {ID}"):
                attempt(tmp_path)
        assert log_path(tmp_path).read_bytes() == raw[:length]
        assert SessionStore(tmp_path).rows() == []


def test_an_unsynced_end_filled_with_nul_is_set_aside(tmp_path: Path, story: tuple[bytes, list[Msg]]):
    raw, _ = story
    states = sound_prefixes(tmp_path, raw)
    for length in range(min(states), len(raw) - 1, 7):
        put(tmp_path, raw[:length] + b"\0" * (len(raw) - length))
        loaded = opened(tmp_path)
        assert (content(loaded), len(loaded.lost)) == (states[max(at for at in states if at <= length)], 1)


async def test_writing_goes_on_behind_every_cut(tmp_path: Path, story: tuple[bytes, list[Msg]]):
    raw, _ = story
    for length in range(raw.index(b"\n") + 1, len(raw), 41):
        put(tmp_path, raw[:length])
        log, before = SessionStore(tmp_path, FakeDisk()).open(ID)
        await log.record("mode", {"mode": "explore"})
        log.close()
        after = SessionStore(tmp_path).read(ID)
        assert (after.messages, after.lost) == (before.messages, [])
        assert after.records[:-1] == before.records
        assert after.records[-1]["mode"] == "explore"


def test_torn_ends_are_collected_and_never_overwritten(tmp_path: Path, story: tuple[bytes, list[Msg]]):
    raw, _ = story
    torn = tmp_path / "sessions" / f"{ID}.torn"
    for tail in (b'{"seq":', b"\0\0\0", b'{"seq":'):
        put(tmp_path, raw + tail)
        opened(tmp_path)
    assert torn.read_bytes() == b'{"seq":\n\0\0\0\n{"seq":\n'


BREAK = {
    "half": lambda line: line[: len(line) // 2],
    "nul": lambda line: b"\0" * len(line),
    "utf8": lambda line: line[:20] + b"\xff\xfe" + line[20:],
    "no object": lambda line: b"[1]",
    "deep": lambda line: b"[" * 100_000,
    "no seq": lambda line: b'{"type":"msg"}',
    "seq of before": lambda line: json.dumps({**json.loads(line), "seq": 1}).encode(),
    "seq far ahead": lambda line: json.dumps({**json.loads(line), "seq": 10**30}).encode(),
}


@pytest.mark.parametrize("way", BREAK)
def test_law_8_a_broken_inner_line_costs_itself_and_nothing_else(tmp_path: Path, story: tuple[bytes, list[Msg]], way: str):
    raw, _ = story
    lines = raw.split(b"\n")[:-1]
    for number in range(2, len(lines)):
        without = [line for place, line in enumerate(lines, 1) if place != number]
        put(tmp_path, b"\n".join(without) + b"\n")
        wanted = content(SessionStore(tmp_path).read(ID))
        damaged = b"\n".join(BREAK[way](line) if place == number else line for place, line in enumerate(lines, 1)) + b"\n"
        put(tmp_path, damaged)
        for loaded in (SessionStore(tmp_path).read(ID), opened(tmp_path), opened(tmp_path)):
            assert content(loaded) == wanted
            assert [sentence.partition(":")[0] for sentence in loaded.lost] == [f"line {number} of the session log is lost"]
        assert log_path(tmp_path).read_bytes() == damaged


def test_two_records_glued_to_one_line_are_told_as_one_lost_line(tmp_path: Path, story: tuple[bytes, list[Msg]]):
    raw, _ = story
    lines = raw.split(b"\n")
    put(tmp_path, b"\n".join([*lines[:3], lines[3] + lines[4], *lines[5:]]))
    assert opened(tmp_path).lost == ["line 4 of the session log is lost: it is no JSON"]


def test_a_broken_first_line_costs_the_header_and_not_the_messages(tmp_path: Path, story: tuple[bytes, list[Msg]]):
    raw, messages = story
    put(tmp_path, b"\0" * 30 + raw[raw.index(b"\n") :])
    loaded = opened(tmp_path)
    assert loaded.messages == messages
    assert (loaded.header["id"], loaded.header["cwd"]) == (ID, "")
    assert loaded.lost == ["line 1 of the session log is lost: it is a run of NUL bytes"]
    assert [row.id for row in SessionStore(tmp_path).rows()] == [ID]


async def test_law_8_unknown_records_fields_and_blocks_are_kept(tmp_path: Path):
    SessionStore(tmp_path).create(ID, HEADER).close()
    block = {"type": "hologram", "id": "z", "depth": 3}
    msg = {"id": "m", "name": "a", "role": "assistant", "created_at": "t", "content": [block], "x_new": [1]}
    later = [
        {"seq": 5, "ts": "t", "type": "kind_from_the_future", "v": 99},
        {"seq": 9, "ts": "t", "type": "msg", "msg": msg, "x_new": None},
    ]
    with log_path(tmp_path).open("ab") as file:
        file.write(b"".join(json.dumps(record).encode() + b"\n" for record in later))
    before = log_path(tmp_path).read_bytes()
    log, loaded = SessionStore(tmp_path).open(ID)
    (kept,) = loaded.messages
    assert (loaded.lost, loaded.records) == ([], later[:1])
    assert kept.model_dump(exclude_none=True)["content"] == [block]
    assert kept.model_extra == {"x_new": [1]}
    await log.record("mode", {"mode": "default"})
    log.close()
    after = log_path(tmp_path).read_bytes()
    assert after.startswith(before)
    assert json.loads(after[len(before) :])["seq"] == 10


def test_a_block_that_cannot_be_read_costs_itself(tmp_path: Path, story: tuple[bytes, list[Msg]]):
    raw, messages = story
    bad = [{"type": "text", "id": "no"}, {"type": "text", "text": "no id"}, 7]
    line = {"seq": 99, "ts": "t", "type": "msg", "msg": {"id": "r1", "content": bad}}
    for extra in (line, {**line, "seq": 100, "msg": "nothing"}):
        raw += json.dumps(extra).encode() + b"\n"
    put(tmp_path, raw)
    loaded = opened(tmp_path)
    assert loaded.messages == messages
    assert len(loaded.lost) == 4


@pytest.mark.parametrize("how", ["folder", "link", "fifo", "missing"])
def test_what_is_no_log_is_refused_in_one_line(tmp_path: Path, how: str):
    store = SessionStore(tmp_path)
    log_path(tmp_path).parent.mkdir()
    match how:
        case "folder":
            log_path(tmp_path).mkdir()
        case "link":
            (tmp_path / "other").write_bytes(b"{}\n")
            log_path(tmp_path).symlink_to(tmp_path / "other")
        case "fifo":
            os.mkfifo(log_path(tmp_path))
    for attempt in (store.open, store.read):
        with pytest.raises(SessionError, match=ID) as refused:
            attempt(ID)
        assert "\n" not in str(refused.value)
    assert store.rows() == []
