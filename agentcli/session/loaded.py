"""A session as it is read: the fold of its `msg` lines into messages, the other records, and what was lost."""

from __future__ import annotations

import gc
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from agentcli.errors import SessionError
from agentcli.ledger.block import ContentBlock, UnknownBlock
from agentcli.ledger.message import Msg
from agentcli.session.codec import Line, Scan

Fetch = Callable[[list[dict[str, Any]]], list[str]]
"""Puts the blobs back into blocks; gives the digests of those that are missing."""


@dataclass(slots=True)
class Loaded:
    """Everything that a log says."""

    header: dict[str, Any]
    """The first line; `cwd` is empty where that line is lost."""
    messages: list[Msg] = field(default_factory=list[Msg])
    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What is neither the first line nor a message, in order; kinds that we do not know included."""
    lost: list[str] = field(default_factory=list[str])
    """What cannot be read, a sentence each."""
    starts: dict[str, int] = field(default_factory=dict[str, int])
    """Message id -> the seq of its first line."""
    past_calls: list[str] = field(default_factory=list[str])
    """The ids of the calls in what was rewound."""


@dataclass(slots=True)
class Draft:
    """A message while its lines are folded."""

    number: int
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    content: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict[tuple[str, str], dict[str, Any]])
    """By type and id: the last line that gives a block wins, and leaves it where it first stood."""


def load(session_id: str, scan: Scan, fetch: Fetch) -> Loaded:
    """The session of a scanned log, whose lines are used up: a long one is not held twice. SessionError where there is none."""
    loaded = Loaded(header_of(session_id, scan))
    loaded.lost = [f"line {number} of the session log is lost: {why}" for number, why in scan.bad.items()]
    if scan.lines[0].number == 1 and scan.lines[0].record["type"] != "session":
        loaded.lost.insert(0, "the first line of the session log is missing: folder, mode and model are not known")
    drafts: dict[str, Draft] = {}
    past: dict[str, Draft] = {}
    for line in scan.lines:
        kind = line.record["type"]
        if kind == "msg":
            _fold(line, drafts, loaded, past)
        elif not (kind == "session" and line.number == 1):
            loaded.records.append(line.record)
        if kind == "rewind":
            _rewind(line.record.get("to"), drafts, past)
    scan.lines.clear()
    loaded.past_calls = [block_id for draft in past.values() for kind, block_id in draft.content if kind == "tool_call"]
    for msg_id in list(drafts):
        msg = _message(drafts.pop(msg_id), fetch, loaded.lost)
        if msg is not None:
            loaded.messages.append(msg)
    return loaded


def header_of(session_id: str, scan: Scan) -> dict[str, Any]:
    """The first line; a bare one where it is broken and others are not."""
    if not scan.lines or (scan.lines[0].number == 1 and scan.open_end and len(scan.lines) == 1):
        raise SessionError(f"there is no session {session_id}: its log is cut inside the first line")
    first = scan.lines[0]
    if first.number == 1 and first.record["type"] == "session":
        return first.record
    created = str(first.record.get("ts", ""))
    return {"type": "session", "version": 1, "id": session_id, "cwd": "", "parent": None, "created_at": created}


def _fold(line: Line, drafts: dict[str, Draft], loaded: Loaded, past: dict[str, Draft]) -> None:
    part = line.record.get("msg")
    if not isinstance(part, dict) or not isinstance(part.get("id"), str) or not isinstance(part.get("content", []), list):  # pyright: ignore[reportUnknownMemberType]
        loaded.lost.append(f"line {line.number} of the session log is lost: its message has no id or no content")
        return
    known = cast("dict[str, Any]", part)
    draft = drafts.get(known["id"]) or past.get(known["id"])
    if draft is None:
        draft = drafts[known["id"]] = Draft(line.number)
        loaded.starts[known["id"]] = line.record["seq"]
    for block in known.get("content", []):
        if not isinstance(block, dict) or not isinstance(block.get("type"), str) or not isinstance(block.get("id"), str):  # pyright: ignore[reportUnknownMemberType]
            loaded.lost.append(f"a block on line {line.number} of the session log is lost: it has no type or no id")
            continue
        sound = cast("dict[str, Any]", block)
        draft.content[sound["type"], sound["id"]] = sound
    draft.fields.update(known)


def _rewind(to: object, drafts: dict[str, Draft], past: dict[str, Draft]) -> None:
    """What began before this record, from a message on, stands no more."""
    ids = list(drafts)
    for msg_id in ids[ids.index(str(to)) :] if to in drafts else ():
        past[msg_id] = drafts.pop(msg_id)


def _message(draft: Draft, fetch: Fetch, lost: list[str]) -> Msg | None:
    content = list(draft.content.values())
    lost += [f"data of the message on line {draft.number} is missing: blob {digest}" for digest in fetch(content)]
    try:
        return Msg.model_validate({**draft.fields, "content": content})
    except ValidationError:
        return _what_is_sound(draft, content, lost)


def _what_is_sound(draft: Draft, content: list[dict[str, Any]], lost: list[str]) -> Msg | None:
    """The message without the blocks that cannot be read."""
    sound: list[dict[str, Any]] = []
    for block in content:
        if _fits(block, draft.fields.get("role")):
            sound.append(block)
        else:
            lost.append(f"a {block['type']} block of the message on line {draft.number} cannot be read and is not shown")
    try:
        return Msg.model_validate({**draft.fields, "content": sound})
    except ValidationError:
        lost.append(f"the message on line {draft.number} of the session log is lost: it cannot be read")
        return None


def _fits(block: dict[str, Any], role: object) -> bool:
    try:
        known: object = TypeAdapter[Any](ContentBlock).validate_python(block)
    except ValidationError:
        return False
    return role == "assistant" or not isinstance(known, UnknownBlock)


@contextmanager
def no_collection() -> Generator[None]:
    """Thousands of new objects and no garbage among them: the collector would only look at them again and again."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
