from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentcli.errors import UsageError
from agentcli.ledger import event as ev
from agentcli.ledger.message import UserMsg
from agentcli.session.index import SessionRow, one_line
from agentcli.session.store import SessionStore
from tests.session.story import HEADER, ID, call, log_path, records, reply, result, say, write_story

OTHER = "abcdzzzzzzzz2345"


async def test_a_row_says_what_a_list_shows(tmp_path: Path):
    log = SessionStore(tmp_path).create(ID, HEADER)
    await log.said(UserMsg(content="fix\n the \x1b[31m bug\u202e " + "x" * 80))
    msg = reply()
    say(msg, "t", "I may?")
    for name in ("c1", "c2", "c3"):
        call(msg, name, "{}")
    msg.append_event(ev.RequireUserConfirmEvent(reply_id=msg.id, tool_calls=msg.calls[:2], previews={}))
    await log.kept(msg)
    result(msg, "c1", "done")
    await log.kept(msg)
    await log.record("mode", {"mode": "explore"})
    await log.record("model", {"model": "gpt-5"})
    log.close()
    found = records(log_path(tmp_path).read_bytes())
    row = SessionRow(
        id=ID,
        title="fix the [31m bug\u202e " + "x" * 41 + "…",
        cwd="/srv/place",
        created_at=str(found[0]["created_at"]),
        updated_at=str(found[-1]["ts"]),
        messages=2,
        mode="explore",
        model="gpt-5",
        waiting=1,
    )
    assert SessionStore(tmp_path).rows() == [row]
    assert list(row.to_json()) == ["id", "title", "cwd", "created_at", "updated_at", "messages", "mode", "model", "waiting"]
    assert list(row.model_copy(update={"held_by": "7"}).to_json())[-1] == "held_by"


async def test_the_last_title_wins_over_the_first_words(tmp_path: Path):
    log = SessionStore(tmp_path).create(ID, HEADER)
    await log.said(UserMsg(content="hello"))
    for title in ("one", "two\nlines"):
        await log.record("title", {"title": title})
    log.close()
    assert SessionStore(tmp_path).rows()[0].title == "two lines"


async def test_what_was_rewound_counts_no_more_and_gives_no_title(tmp_path: Path):
    log = SessionStore(tmp_path).create(ID, HEADER)
    first, second = UserMsg(content="first"), UserMsg(content="second")
    await log.said(first)
    msg = reply()
    call(msg, "c1", "{}")
    msg.append_event(ev.RequireUserConfirmEvent(reply_id=msg.id, tool_calls=msg.calls, previews={}))
    await log.kept(msg)
    await log.record("rewind", {"to": first.id})
    await log.kept(msg)  # a late line of what was rewound
    row = SessionStore(tmp_path).rows()[0]
    assert (row.messages, row.title, row.waiting, SessionStore(tmp_path).may_ask()) == (0, "", 0, [])
    await log.said(second)
    await log.record("rewind", {"to": "nowhere"})
    log.close()
    store = SessionStore(tmp_path)
    assert (store.rows()[0].messages, store.rows()[0].title) == (1, "second")
    assert [one.id for one in store.read(ID).messages] == [second.id]


async def test_the_last_folder_wins_and_a_word_of_a_message_is_none(tmp_path: Path):
    store = SessionStore(tmp_path)
    log = store.create(ID, HEADER)
    await log.record("cwd", {"cwd": "/srv/new", "root": "/srv"})
    await log.record("cwd", {"cwd": "/srv/newer", "root": "/srv"})
    await log.record("later", {"x": {"type": "cwd", "cwd": "/srv/none"}})
    await log.said(UserMsg(content='{"type":"cwd","cwd":"/srv/none"}'))
    log.close()
    assert store.rows()[0].cwd == "/srv/newer"
    assert [store.last_of(cwd) for cwd in ("/srv/newer", "/srv/new", "/srv/none", "/srv/place")] == [ID, None, None, None]


def test_a_title_is_at_most_60_characters():
    assert one_line("a" * 60) == "a" * 60
    assert one_line("a" * 61) == "a" * 59 + "…"
    assert one_line(" \n\0 ") == ""


async def test_the_light_pass_counts_what_a_load_gives(tmp_path: Path):
    raw, messages = await write_story(tmp_path)
    assert SessionStore(tmp_path).rows()[0].messages == len(messages)
    ends = [at + 1 for at, byte in enumerate(raw) if byte == 10]
    for end in ends:
        log_path(tmp_path).write_bytes(raw[: end + 9])
        store = SessionStore(tmp_path)
        assert store.rows()[0].messages == len(store.read(ID).messages)


def test_the_last_written_comes_first_and_junk_is_no_session(tmp_path: Path):
    store = SessionStore(tmp_path)
    for age, name in ((30, ID), (10, OTHER)):
        store.create(name, {**HEADER, "cwd": f"/{name}"}).close()
        path = store.folder / f"{name}.jsonl"
        os.utime(path, (path.stat().st_atime, path.stat().st_mtime - age))
    (store.folder / "abcdefghijkl23.jsonl").mkdir()
    (store.folder / "abcdefghijkl24.jsonl").symlink_to("nowhere")
    (store.folder / "abcdefghijkl25.jsonl").write_bytes(b"")
    (store.folder / "abcdefghijkl26.jsonl").write_bytes(os.urandom(2000))
    (store.folder / "README").write_text("hi")
    assert [row.id for row in store.rows()] == [OTHER, ID]
    assert (store.last_of(f"/{ID}"), store.last_of("/elsewhere")) == (ID, None)


def test_a_unique_prefix_finds(tmp_path: Path):
    store = SessionStore(tmp_path)
    with pytest.raises(UsageError, match="no session starts with 'abc'"):
        store.find("abc")
    for name in (ID, OTHER):
        store.create(name, HEADER).close()
    assert (store.find("abcde"), store.find(OTHER)) == (ID, OTHER)
    with pytest.raises(UsageError, match=f"'abcd' is not unique: {ID}, {OTHER}"):
        store.find("abcd")
    (store.folder / "abcdez.jsonl").write_bytes(b"")
    assert store.find("abcde") == ID
