from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentcli.ledger import event as ev
from agentcli.ledger.message import UserMsg
from agentcli.session.search import BLOCK, Found, Needle, search
from agentcli.session.store import SessionStore
from tests.session.story import HEADER, ID, call, log_path, reply, result, say


async def write(data: Path, said: str = "hello", answer: str = "", command: str = "{}", output: str = "") -> Path:
    log = SessionStore(data).create(ID, HEADER)
    await log.said(UserMsg(id="u1", content=said))
    msg = reply()
    say(msg, "t1", answer)
    call(msg, "c1", command)
    result(msg, "c1", output)
    await log.kept(msg)
    log.close()
    return log_path(data)


def texts(path: Path, words: str) -> list[str]:
    return [found.text for found in search(path, Needle(words))]


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Fix the Parser", "the parser"),
        ("Fix the Parser", "FIX THE"),
        ("Grüße aus Köln", "GRÜßE AUS"),
        ("Grüße aus Köln", "köln"),
        ("GRÖSSE", "größe"),
        ("Stra\u00dfe", "straße"),
        ("STRASSE", "straße"),
        ("Cafe\u0301", "caf\u00e9"),
        ("Caf\u00e9", "cafe\u0301"),
        ("a \U0001f600 b", "\U0001f600"),
        ("中文 text", "中文"),
        ("a\nb", "a b"),
        ("a \u00a0\t\n b", "a b"),
        ('say "hi"', 'say "hi"'),
        ("C:\\new\\table", "c:\\new"),
        ("a/b", "A/B"),
        ("x \ud800 y", "x \ud800 y"),
        ("\x1b[2J here", "\x1b[2j"),
    ],
)
async def test_words_are_found_however_the_log_escapes_them(tmp_path: Path, said: str, words: str):
    assert texts(await write(tmp_path, said), words) == [said]


async def test_the_place_of_the_words_is_told(tmp_path: Path):
    path = await write(tmp_path, "look at THIS")
    at = json.loads(path.read_bytes().splitlines()[1])["ts"]
    assert search(path, Needle("this")) == [Found("u1", "user", at, "text", "look at THIS", 8, 12)]


@pytest.mark.parametrize(
    "command",
    ['{"command": "echo \\"gr\\u00fc\\u00dfe\\" > a&b"}', json.dumps({"command": 'echo "grüße" > a&b'}, ensure_ascii=False)],
)
@pytest.mark.parametrize("words", ['echo "Grüße"', 'ße" >', "a&b"])
async def test_arguments_of_a_call_are_searched_as_they_are_meant(tmp_path: Path, command: str, words: str):
    assert texts(await write(tmp_path, command=command), words) == ['echo "grüße" > a&b']


async def test_names_of_fields_and_ids_are_not_searched(tmp_path: Path):
    path = await write(tmp_path, command='{"command": "ls"}')
    assert [texts(path, words) for words in ("command", "assistant", "c1", "tool_call", "\\u00fc")] == [[]] * 5


async def test_results_are_searched_and_a_block_is_found_once_as_it_was_last(tmp_path: Path):
    log = SessionStore(tmp_path).create(ID, HEADER)
    msg = reply()
    say(msg, "t1", "needle one")
    await log.kept(msg)
    msg.append_event(ev.TextBlockDeltaEvent(reply_id=msg.id, block_id="t1", delta=", needle two"))
    call(msg, "c1", "{}")
    result(msg, "c1", "in\nthe needle output")
    await log.kept(msg)
    log.close()
    assert texts(log_path(tmp_path), "needle") == ["needle one, needle two", "in\nthe needle output"]


async def test_titles_are_searched(tmp_path: Path):
    log = SessionStore(tmp_path).create(ID, HEADER)
    await log.record("title", {"title": "The Blue One"})
    log.close()
    assert [found.role for found in search(log_path(tmp_path), Needle("blue"))] == ["title"]


async def test_broken_lines_hide_nothing_behind_them(tmp_path: Path):
    path = await write(tmp_path, "first needle", answer="second needle")
    lines = path.read_bytes().splitlines()
    path.write_bytes(b"\n".join([*lines[:2], b'{"broken needle', b"\0\0needle\xff", *lines[2:], b'{"seq": 9, "needle']))
    assert texts(path, "needle") == ["first needle", "second needle"]


async def test_a_line_is_found_wherever_the_blocks_of_reading_end(tmp_path: Path):
    path = await write(tmp_path, "x" * (BLOCK - 700) + "needle" + "y" * BLOCK, answer="needle again")
    assert [len(text) for text in texts(path, "NEEDLE")] == [2 * BLOCK - 694, 12]


def test_a_log_that_cannot_be_read_holds_nothing(tmp_path: Path):
    assert search(tmp_path / "none.jsonl", Needle("x")) == []


def test_blanks_do_not_make_the_search_slow(tmp_path: Path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'"a' + b"\\u00a0\\n " * 20_000 + b'c"\n')
    assert search(path, Needle("a b")) == []


async def test_the_store_searches_the_last_used_session_first(tmp_path: Path):
    await write(tmp_path, "one needle")
    store = SessionStore(tmp_path)
    store.create("zzzzyyyyxxxxwwww", HEADER).close()
    assert [(row.id, [one.text for one in found]) for row, found in store.search("needle")] == [(ID, ["one needle"])]
