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


@dataclass(slots=True)
class Draft:
    """A message while its lines are folded."""

    number: int
    fields: dict[str, Any] = field(default_factory=dict[str, Any])
    content: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    places: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])


def load(session_id: str, scan: Scan, fetch: Fetch) -> Loaded:
    """The session of a scanned log; SessionError where there is none."""
    with no_collection():
        return _load(session_id, scan, fetch)


def _load(session_id: str, scan: Scan, fetch: Fetch) -> Loaded:
    loaded = Loaded(header_of(session_id, scan))
    loaded.lost = [f"line {number} of the session log is lost: {why}" for number, why in scan.bad.items()]
    drafts: dict[str, Draft] = {}
    for line in scan.lines:
        kind = line.record["type"]
        if kind == "msg":
            _fold(line, drafts, loaded.lost)
        elif not (kind == "session" and line.number == 1):
            loaded.records.append(line.record)
    for draft in drafts.values():
        msg = _message(draft, fetch, loaded.lost)
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


def _fold(line: Line, drafts: dict[str, Draft], lost: list[str]) -> None:
    part = line.record.get("msg")
    if not isinstance(part, dict) or not isinstance(part.get("id"), str) or not isinstance(part.get("content", []), list):  # pyright: ignore[reportUnknownMemberType]
        lost.append(f"line {line.number} of the session log is lost: its message has no id or no content")
        return
    known = cast("dict[str, Any]", part)
    draft = drafts.setdefault(known["id"], Draft(line.number))
    for block in known.get("content", []):
        if not isinstance(block, dict) or not isinstance(block.get("type"), str) or not isinstance(block.get("id"), str):  # pyright: ignore[reportUnknownMemberType]
            lost.append(f"a block on line {line.number} of the session log is lost: it has no type or no id")
            continue
        sound = cast("dict[str, Any]", block)
        place = draft.places.setdefault((sound["type"], sound["id"]), len(draft.content))
        draft.content[place : place + 1] = [sound]
    draft.fields.update(known)


def _message(draft: Draft, fetch: Fetch, lost: list[str]) -> Msg | None:
    lost += [f"data of the message on line {draft.number} is missing: blob {digest}" for digest in fetch(draft.content)]
    try:
        return Msg.model_validate({**draft.fields, "content": draft.content})
    except ValidationError:
        return _what_is_sound(draft, lost)


def _what_is_sound(draft: Draft, lost: list[str]) -> Msg | None:
    """The message without the blocks that cannot be read."""
    content: list[dict[str, Any]] = []
    for block in draft.content:
        if _fits(block, draft.fields.get("role")):
            content.append(block)
        else:
            lost.append(f"a {block['type']} block of the message on line {draft.number} cannot be read and is not shown")
    try:
        return Msg.model_validate({**draft.fields, "content": content})
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
