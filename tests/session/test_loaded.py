from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from agentcli.ledger.block import KNOWN_BLOCKS, TextBlock
from agentcli.ledger.message import Msg
from agentcli.session.blob import Blobs
from agentcli.session.codec import line_of, read_line, scan
from agentcli.session.disk import DiskIO
from agentcli.session.loaded import Loaded, header_of, load
from agentcli.session.store import SessionStore
from tests.session.story import AT, ID, write_story

FIRST = line_of(1, AT, "session", {"version": 1, "id": ID, "cwd": "/srv", "parent": None, "created_at": AT})
BLOB = {"type": "url", "url": f"blob:sha256/{'0' * 64}", "media_type": "image/png", "blob": "0" * 64}
DATUM = {"type": "data", "id": "d", "source": BLOB}

IDS = st.sampled_from(["a", "b", "b"])
TEXTS = st.sampled_from(["", "hi", "\u2028 \U0001f600", "\ud800", "\x7f\x00", '"}}\n{"seq":9'])
BLOCKS = st.one_of(
    st.builds(lambda key, text: {"type": "text", "id": key, "text": text}, IDS, TEXTS),
    st.builds(lambda key, text: {"type": "thinking", "id": key, "thinking": text, "origin": {"a": [1, None]}}, IDS, TEXTS),
    st.builds(
        lambda key, state: {"type": "tool_call", "id": key, "name": "Bash", "input": "{}", "state": state},
        IDS,
        st.sampled_from(["asking", "finished", "odd"]),
    ),
    st.builds(
        lambda key, output: {"type": "tool_result", "id": key, "name": "Bash", "output": output, "state": "success"},
        IDS,
        st.sampled_from(["", "text", [], [{"type": "text", "text": "t", "id": "i"}], [DATUM], [{"type": "odd"}]]),
    ),
    st.builds(lambda key, hint: {"type": "hint", "id": key, "hint": hint}, IDS, st.sampled_from(["h", [DATUM], 7])),
    st.sampled_from(
        [
            DATUM,
            {"type": "text", "id": "x", "text": "t", "output": [DATUM]},
            {"type": "text", "text": "no id"},
            {"type": "text", "id": 5, "text": "a number for an id"},
            {"id": "q", "text": "no type"},
            {"type": "text", "id": "u"},
            {"type": "hologram", "id": "z", "depth": 3, "output": [DATUM]},
            "no block",
        ]
    ),
)
FIELDS = st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["agent", "other", 5]),
        "role": st.sampled_from(["assistant", "assistant", "assistant", "user", "odd"]),
        "content": st.one_of(st.lists(BLOCKS, max_size=4), st.sampled_from([None, "text", {}])),
        "created_at": st.just(AT),
        "finished_at": st.sampled_from([None, AT, 7]),
        "finished_reason": st.sampled_from([None, "completed", "odd"]),
        "usage": st.sampled_from([None, {"input_tokens": 5, "later": 1.5}, {"input_tokens": 5.0}, {"input_tokens": "x"}]),
        "metadata": st.sampled_from([{}, {"k": [True, None, 1e3, 10**30]}, [], {"n": float("inf")}]),
        "x_new": st.sampled_from([1, None, {"deep": []}]),
    },
)


def sound(fields: dict[str, Any]) -> dict[str, Any]:
    return {"name": "agent", "role": "assistant", "created_at": AT, "content": [], **fields}


PLAIN_BLOCKS = st.sampled_from(
    [
        {"type": "text", "id": "a", "text": "one"},
        {"type": "text", "id": "a", "text": "two", "later": 1},
        {"type": "thinking", "id": "a", "thinking": "hm", "signature": "E"},
        {"type": "tool_call", "id": "b", "name": "Bash", "input": "{}", "state": "allowed"},
        {"type": "tool_call", "id": "b", "name": "Bash", "input": "{}", "state": "finished", "suggested_rules": []},
        {
            "type": "tool_result",
            "id": "b",
            "name": "Bash",
            "output": [{"type": "text", "text": "t", "id": "i"}],
            "state": "success",
        },
        {"type": "hint", "id": "h", "hint": "go north", "source": "user"},
    ]
)
PLAIN_FIELDS = st.fixed_dictionaries(
    {"content": st.lists(PLAIN_BLOCKS, max_size=4, unique_by=lambda block: (block["type"], block["id"]))},
    optional={
        "finished_at": st.sampled_from([None, AT]),
        "finished_reason": st.sampled_from([None, "completed"]),
        "usage": st.sampled_from([None, {"input_tokens": 5, "later": 1.5}]),
        "metadata": st.sampled_from([{}, {"k": [True, None, 1e3, 10**30]}]),
        "x_new": st.sampled_from([1, None, {"deep": []}]),
    },
)
PLAIN_MESSAGES = st.builds(lambda key, fields: {"id": key, **sound(fields)}, IDS, PLAIN_FIELDS)
MESSAGES = st.one_of(
    PLAIN_MESSAGES,
    PLAIN_MESSAGES,
    st.builds(lambda key, fields: {"id": key, **sound(fields)}, IDS, FIELDS),
    st.builds(lambda key, fields: {"id": key, "created_at": AT, **fields}, IDS, FIELDS),
    st.sampled_from(["no message", {"name": "no id"}, {"id": 7}, None]),
)
WAYS = ("plain", "plain", "plain", "spaced", "twice", "cut", "nul", "glued", "more", "again", "utf8", "cr")


def written(way: str, seq: int, message: Any) -> bytes:
    """The line of a message, damaged or spelled in a way."""
    line = json.dumps({"seq": seq, "ts": AT, "type": "msg", "msg": message}, separators=(",", ":")).encode()
    match way:
        case "spaced":
            return json.dumps(json.loads(line)).encode() + b"\n"
        case "twice":
            return line.replace(b'"content":', b'"content":[{"type":"text","id":"n","text":"overridden"}],"content":', 1) + b"\n"
        case "cut":
            return line[:-7]
        case "nul":
            return b"\0" * 40 + b"\n"
        case "glued":
            return line + line + b"\n"
        case "more":
            return line[:-1] + b',"x_later":{"msg":{}}}\n'
        case "again":
            return line.replace(b'"seq":%d' % seq, b'"seq":%d' % max(1, seq - 2), 1) + b"\n"
        case "utf8":
            return line.replace(b"agent", b"\xff\xfe", 1) + b"\n"
        case "cr":
            return line + b"\r\n"
        case _:
            return line + b"\n"


LINES = st.one_of(
    st.tuples(st.just("plain"), PLAIN_MESSAGES),
    st.tuples(st.sampled_from(WAYS), MESSAGES),
    st.tuples(st.just("record"), st.sampled_from(["mode", "asked", "kind_from_the_future"])),
)


def line(seq: int, way: str, what: Any) -> bytes:
    return line_of(seq, AT, what, {"v": seq}) if way == "record" else written(way, seq, what)


def missing(content: list[dict[str, Any]]) -> list[str]:
    return Blobs(DiskIO(), Path("nowhere.jsonl")).fetch(content)


def loaded(raw: bytes) -> Loaded:
    return load(ID, scan(raw), missing)


def slowly(line: bytes) -> Any:
    """The record of a line by the standard library; None where it is none."""
    try:
        record = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    sound = isinstance(record, dict) and isinstance(record.get("seq"), int) and isinstance(record.get("type"), str)
    return record if sound else None


def one_by_one(raw: bytes) -> Loaded:
    """The same log, a line and a block at a time: what the fold of the lines is meant to be."""
    scanned = scan(raw)
    found = Loaded(header_of(ID, scanned))
    found.lost = [f"line {number} of the session log is lost: {why}" for number, why in scanned.bad.items()]
    lines = {number: slowly(line) for number, line in enumerate(raw.split(b"\n"), 1)}
    messages: dict[str, tuple[int, dict[str, Any]]] = {}
    for number in [line.number for line in scanned.lines]:
        record, msg = lines[number], lines[number].get("msg")
        if record["type"] != "msg":
            found.records += [record] if number > 1 else []
        elif not isinstance(msg, dict) or not isinstance(msg.get("id"), str) or not isinstance(msg.get("content", []), list):
            found.lost.append(f"line {number} of the session log is lost: its message has no id or no content")
        else:
            found.starts.setdefault(msg["id"], record["seq"])
            whole = messages.setdefault(msg["id"], (number, {}))[1]
            found.lost += taken_over(whole, msg, number)
    for number, whole in messages.values():
        found.lost += [f"data of the message on line {number} is missing: blob {key}" for key in missing(whole["content"])]
        found.messages += readable(whole, number, found.lost)
    return found


def taken_over(whole: dict[str, Any], part: dict[str, Any], number: int) -> list[str]:
    content, lost = whole.get("content", []), list[str]()
    for block in part.get("content", []):
        if not isinstance(block, dict) or not all(isinstance(block.get(name), str) for name in ("type", "id")):
            lost.append(f"a block on line {number} of the session log is lost: it has no type or no id")
            continue
        same = [at for at, one in enumerate(content) if (one["type"], one["id"]) == (block["type"], block["id"])]
        if same:
            content[same[0]] = block
        else:
            content.append(block)
    whole.update({**part, "content": content})
    return lost


def readable(whole: dict[str, Any], number: int, lost: list[str]) -> list[Msg]:
    """The message of these fields, without the blocks that alone would make it unreadable."""
    try:
        return [Msg.model_validate(whole)]
    except ValidationError:
        pass
    sound: list[Any] = []
    for block in whole["content"]:
        try:
            Msg.model_validate({"name": "n", "role": "assistant", "content": [block]})
        except ValidationError:
            fits = False
        else:
            fits = whole.get("role") == "assistant" or block["type"] in KNOWN_BLOCKS
        if fits:
            sound.append(block)
        else:
            lost.append(f"a {block['type']} block of the message on line {number} cannot be read and is not shown")
    try:
        return [Msg.model_validate({**whole, "content": sound})]
    except ValidationError:
        lost.append(f"the message on line {number} of the session log is lost: it cannot be read")
        return []


def told(found: Loaded) -> Any:
    """All of it; infinities equal themselves, numbers that are none do not, so they are told by their spelling."""
    return json.dumps([msg.model_dump() for msg in found.messages], default=str), dataclasses.replace(found, messages=[])


@given(st.lists(LINES, max_size=8), st.integers(0, 60))
def test_law_8_a_log_is_read_as_if_it_were_read_line_by_line(lines: list[tuple[str, Any]], torn: int):
    raw = FIRST + b"".join(line(seq, *one) for seq, one in enumerate(lines, 2))
    raw = raw[: max(len(FIRST), len(raw) - torn)] if torn > 30 else raw
    assert told(loaded(raw)) == told(one_by_one(raw))


KEYS = st.text(st.characters(codec=None), max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(codec=None)),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)


def spelled(record: object) -> str:
    return repr(record) if isinstance(record, dict) else ""


@given(VALUES, st.booleans(), st.integers(0, 200), st.sampled_from([b"", b"\x00", b"}", b'"', b"\xff", b",", b" ", b"\r", b"\t"]))
def test_a_line_is_read_as_the_standard_library_reads_it(value: Any, ascii_only: bool, at: int, put: bytes):
    text = json.dumps({"seq": 1, "ts": AT, "type": "x", "v": value}, ensure_ascii=ascii_only)
    raw = text.encode("utf-8", "surrogatepass")
    raw = raw[:at] + put + raw[at:]
    assert spelled(read_line(raw)) == spelled(slowly(raw))


@pytest.mark.parametrize(
    "value",
    [
        b"1e400",
        b"-1e400",
        b"NaN",
        b"-Infinity",
        b"-0",
        b"-0.0",
        b"1.0000000000000000000001",
        b"5e-324",
        b"0123",
        b"1" * 400,
        b"1" * 5000,
        b"[" * 300 + b"]" * 300,
        b"[" * 100_000,
        b'{"a":1,"b":2,"a":3}',
        b'"\\ud800"',
        b'"\\ud83d\\ude00"',
        b'"\\u0000\\/"',
        b'"\\x"',
        b'"\x01"',
        b'"\x7f\xc2\x80"',
        b"'a'",
        b"nul",
        b"[1,]",
    ],
)
def test_odd_json_is_read_as_the_standard_library_reads_it(value: bytes):
    raw = b'{"seq":1,"type":"x","v":' + value + b"}"
    assert spelled(read_line(raw)) == spelled(slowly(raw))
    assert spelled(read_line(b"\xef\xbb\xbf" + raw)) == ""


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_a_block_stands_where_it_first_stood_and_says_what_was_said_last(parts: int):
    texts = [[{"type": "text", "id": str(n % 3), "text": f"{n}"}] for n in range(parts)]
    raw = FIRST + b"".join(written("plain", seq, {"id": "a", **sound({"content": one})}) for seq, one in enumerate(texts, 2))
    (msg,) = loaded(raw).messages
    wanted = {n % 3: str(n) for n in range(parts)}
    shown = [(block.id, block.text) for block in msg.content if isinstance(block, TextBlock)]
    assert shown == [(str(key), text) for key, text in wanted.items()]
    assert msg.take_changes() == []


async def test_the_first_line_of_each_message_is_known(tmp_path: Path):
    raw, messages = await write_story(tmp_path)
    assert loaded(raw).starts == {messages[0].id: 2, messages[1].id: 3, messages[2].id: 8}


def test_a_missing_first_line_is_told(tmp_path):
    lines = b'{"seq":2,"ts":"2026-01-01T00:00:00+00:00","type":"mode","mode":"explore"}\n'
    (tmp_path / "sessions").mkdir()
    (tmp_path / "sessions/abcdefghijkl2345.jsonl").write_bytes(lines)
    loaded = SessionStore(tmp_path).read("abcdefghijkl2345")
    assert loaded.lost == ["the first line of the session log is missing: folder, mode and model are not known"]
