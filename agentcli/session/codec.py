"""A record and its line: one JSON object, ASCII, with `seq`, `ts` and `type` first.

Knows no file. Reading never raises: what cannot be read is told with its line number.
"""

from __future__ import annotations

import json
import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import from_json, to_jsonable_python

from agentcli.ledger.block import BlockBase
from agentcli.ledger.message import Msg

ENVELOPE = ("seq", "ts", "type")
MAY_BE_NULL = ("finished_at", "usage", "finished_reason", "error")


# -- writing -----------------------------------------------------------------------------------


def line_of(seq: int, ts: str, kind: str, body: Mapping[str, Any]) -> bytes:
    """The line of a record; ValueError where the body is no JSON."""
    record = {"seq": seq, "ts": ts, "type": kind, **body}
    try:
        text = _dumps(record)
    except ValueError:
        # NaN and the infinities come in with foreign metadata; JSON has no word for them.
        text = _dumps(_finite(json.loads(json.dumps(record, default=_plain))))
    except (TypeError, RecursionError) as exc:
        raise ValueError(str(exc)) from exc
    return text.encode("ascii") + b"\n"


def msg_body(msg: Msg, blocks: Sequence[BlockBase], given: set[str]) -> dict[str, Any]:
    """The body of a `msg` record: a snapshot of these blocks and of every other field.

    Fields that are null are left out, except those that an earlier line of the message gave (`given`).
    """
    fields = msg.model_dump(exclude={"content"})
    for name in MAY_BE_NULL:
        if fields[name] is None and name not in given:
            del fields[name]
    head = {"id": fields.pop("id"), "name": fields.pop("name"), "role": fields.pop("role")}
    return {"msg": {**head, "content": [block.model_dump() for block in blocks], **fields}}


def given_by(body: Mapping[str, Any]) -> set[str]:
    """Which of the fields that may be null a `msg` body gives a value."""
    return {name for name in MAY_BE_NULL if body["msg"].get(name) is not None}


def _dumps(value: object) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"), default=_plain)


def _plain(value: object) -> Any:
    return value.model_dump() if isinstance(value, BaseModel) else to_jsonable_python(value, fallback=str)


def _finite(value: Any) -> Any:
    match value:
        case float():
            return value if math.isfinite(value) else None
        case dict():
            return {key: _finite(item) for key, item in cast("dict[str, Any]", value).items()}
        case list():
            return [_finite(item) for item in cast("list[Any]", value)]
        case _:
            return value


# -- reading -----------------------------------------------------------------------------------


@dataclass(slots=True, frozen=True)
class Line:
    """A record and the line it stands on, counted from 1."""

    number: int
    record: dict[str, Any]


@dataclass(slots=True)
class Scan:
    """What the bytes of a log hold."""

    lines: list[Line] = field(default_factory=list[Line])
    bad: dict[int, str] = field(default_factory=dict[int, str])
    """Line number -> why an inner line was skipped."""
    tail: bytes = b""
    """Bytes at the end that are no record; they begin at `sound`."""
    sound: int = 0
    """The length of what stays in the log."""
    open_end: bool = False
    """The last record is complete but for its newline."""
    last_seq: int = 0
    """The highest number in use."""


def scan(raw: bytes) -> Scan:
    """Read a log that may be cut or broken anywhere."""
    found, at = Scan(), 0
    whole = raw.split(b"\n")
    for number, line in enumerate(whole, 1):
        at = min(at + len(line) + 1, len(raw))
        record = read_line(line)
        if isinstance(record, dict):
            found.lines.append(Line(number, record))
            found.sound = at
        elif line.strip():  # an empty line loses nothing
            found.bad[number] = record
    last = found.lines[-1].number if found.lines else 0
    found.open_end = bool(found.lines) and last == len(whole)
    if any(number > last for number in found.bad):
        found.tail = raw[found.sound :]
        found.bad = {number: why for number, why in found.bad.items() if number < last}
    _check_order(found)
    found.last_seq = found.lines[-1].record["seq"] if found.lines else 0
    return found


def read_line(line: bytes) -> dict[str, Any] | str:
    """The record of a line, or why it is none."""
    if line.strip(b"\0 \t\r") == b"":
        return "it is a run of NUL bytes" if b"\0" in line else "it is empty"
    try:
        record = _loads(line)
    except (ValueError, RecursionError):
        return "it is no JSON"
    if not isinstance(record, dict):
        return "it is no JSON object"
    known = cast("dict[str, Any]", record)
    if not isinstance(known.get("seq"), int) or not isinstance(known.get("type"), str):
        return "it has no seq or no type"
    return known


def _loads(line: bytes) -> Any:
    try:
        return from_json(line)  # half the time of json.loads
    except ValueError:
        # It is stricter: half a surrogate pair, and what is nested deeper than 200, are JSON all the same.
        return json.loads(line.decode("utf-8"))


def _check_order(found: Scan) -> None:
    """Skip the fewest records that make the rest rise: one wrong number must not cost those behind it."""
    numbers = [line.record["seq"] for line in found.lines]
    if all(a < b for a, b in pairwise(numbers)):
        return
    keep = set(_rising(numbers))
    for place, line in enumerate(found.lines):
        if place not in keep:
            found.bad[line.number] = f"its seq {line.record['seq']} does not rise"
    found.lines = [line for place, line in enumerate(found.lines) if place in keep]
    found.bad = dict(sorted(found.bad.items()))


def _rising(numbers: list[int]) -> list[int]:
    """The places of a longest rising selection."""
    ends: list[int] = []  # the smallest number that ends a selection of each length, and its place
    places: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(ends, number)
        before.append(places[length - 1] if length else -1)
        if length < len(ends) and ends[length] == number:
            continue  # of two with one number the first one is believed
        ends[length : length + 1] = [number]
        places[length : length + 1] = [place]
    chosen: list[int] = []
    place = places[-1]
    while place >= 0:
        chosen.append(place)
        place = before[place]
    return chosen[::-1]
