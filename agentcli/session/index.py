"""What can be said of all sessions without loading one: a light pass over their lines, no pydantic, no lock."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

from agentcli.errors import SessionError, UsageError
from agentcli.session.codec import read_line
from agentcli.session.lock import holder

ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
PLAIN_MSG = re.compile(
    rb'\{"seq":\d+,"ts":"([^"\\]*)","type":"msg","msg":\{"id":"([^"\\]*)","name":"[^"\\]*","role":"assistant",'
)
"""The head of a line of our own whose message needs no parsing to be counted."""
MOVED = b'"type":"cwd"'
TITLE_LENGTH = 60
NAMES_SHOWN = 5
WAITING = ("asking", "submitted")
ASKED_AGAIN = ("asking", "allowed")


class SessionRow(BaseModel):
    """A session in a list."""

    model_config = ConfigDict(frozen=True)

    id: str
    title: str
    cwd: str
    created_at: str
    updated_at: str
    messages: int
    mode: str | None
    model: str | None
    waiting: int
    """Calls that wait for an answer or an external result."""
    held_by: str | None = None
    """The process id of the living writer."""

    def to_json(self) -> dict[str, Any]:
        """The row for scripts; `held_by` only where it is held."""
        return self.model_dump(exclude={"held_by"} if self.held_by is None else None)


@dataclass(slots=True)
class Tally:
    """What the light pass has counted so far."""

    header: dict[str, Any] = field(default_factory=dict[str, Any])
    latest: dict[str, str] = field(default_factory=dict[str, str])
    """The last value of `title`, `mode`, `model` and `cwd`."""
    said: str = ""
    """The first text of the user that stands."""
    said_in: str = ""
    """The id of its message."""
    messages: dict[str, None] = field(default_factory=dict[str, None])
    """The ids of those that stand, in their order."""
    past: set[str] = field(default_factory=set[str])
    """The ids of those that were rewound."""
    calls: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """(Message id, call id) -> its state."""
    first_ts: str = ""
    last_ts: str = ""


def logs(folder: Path) -> list[Path]:
    """The logs of a folder, the last written first; folders, links and other names are none."""
    found: list[tuple[int, Path]] = []
    try:
        entries = list(os.scandir(folder))
    except (FileNotFoundError, NotADirectoryError):
        return []  # nothing was saved yet
    except OSError as exc:
        raise SessionError(f"the saved sessions in {folder} cannot be read: {exc.strerror}") from exc
    for entry in entries:
        stem, _, suffix = entry.name.partition(".")
        if suffix != "jsonl" or not ID.fullmatch(stem):
            continue
        try:
            status = entry.stat(follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode):
            found.append((status.st_mtime_ns, Path(entry.path)))
    return [path for _, path in sorted(found, key=lambda item: (-item[0], item[1].name))]


def strays(folder: Path, known: Container[str]) -> list[str]:
    """What looks like a log by its name and is none, by the sessions that are known."""
    try:
        names = sorted(entry.name for entry in os.scandir(folder))
    except OSError:
        return []  # `logs` has said why
    return [name for name in names if name.endswith(".jsonl") and name.removesuffix(".jsonl") not in known]


def find(folder: Path, prefix: str) -> str:
    """The one session whose id starts so."""
    if not prefix:
        raise UsageError("an empty text is no beginning of a session id")
    paths = [path for path in logs(folder) if path.stem.startswith(prefix)]
    names = sorted(path.stem for path in paths)
    if prefix in names:
        return prefix
    if len(names) > 1:
        names = [path.stem for path in sorted(paths) if first_record(path)] or names
    if not names:
        raise UsageError(f"no session starts with {prefix!r}")
    if len(names) > 1:
        more = ", ..." if len(names) > NAMES_SHOWN else ""
        raise UsageError(f"{prefix!r} is not unique: {', '.join(names[:NAMES_SHOWN])}{more}")
    return names[0]


def last_of(folder: Path, cwd: str) -> str | None:
    """The last used session of a working folder."""
    for path in logs(folder):
        first = first_record(path)
        if first is not None and first.get("type") == "session" and (_moved_to(path) or first.get("cwd")) == cwd:
            return path.stem
    return None


def _moved_to(path: Path) -> str | None:
    """The folder that a session was moved to; few were, so the log is only looked through for the word."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    at = raw.rfind(MOVED)
    while at >= 0:
        start = raw.rfind(b"\n", 0, at) + 1
        record = read_line(raw[start:].split(b"\n", 1)[0])
        if isinstance(record, dict) and record["type"] == "cwd" and isinstance(record.get("cwd"), str):
            return record["cwd"]
        at = raw.rfind(MOVED, 0, start)
    return None


def rows(folder: Path) -> list[SessionRow]:
    """One row a session, the last written first."""
    return [row for path in logs(folder) if (row := row_of(path)) is not None]


def row_of(path: Path) -> SessionRow | None:
    """The row of a log; None where it has no whole first line."""
    tally = _tally(path)
    if tally is None:
        return None
    header, latest = tally.header, tally.latest
    return SessionRow(
        id=path.stem,
        title=latest.get("title") or one_line(tally.said),
        cwd=latest.get("cwd") or str(header.get("cwd") or ""),
        created_at=str(header.get("created_at") or tally.first_ts),
        updated_at=tally.last_ts,
        messages=len(tally.messages),
        mode=latest.get("mode"),
        model=latest.get("model"),
        waiting=sum(state in WAITING for state in tally.calls.values()),
        held_by=holder(path),
    )


def may_ask(path: Path) -> bool:
    """Whether a resume of this log may open a question: a call waits, or was allowed and may not have been started."""
    tally = _tally(path)
    return tally is not None and any(state in ASKED_AGAIN for state in tally.calls.values())


def first_record(path: Path) -> dict[str, Any] | None:
    """The first line of a log, if it is whole."""
    try:
        with path.open("rb") as file:
            line = file.readline()
    except OSError:
        return None
    record = read_line(line) if line.endswith(b"\n") else ""
    return record if isinstance(record, dict) else None


def one_line(text: str) -> str:
    """A text as a title: one line of at most 60 characters. What hides or turns text stays: whoever shows it marks it."""
    seen = "".join(" " if unicodedata.category(char) == "Cc" else char for char in text[: 50 * TITLE_LENGTH])
    line = " ".join(seen.split())
    return line if len(line) <= TITLE_LENGTH else line[: TITLE_LENGTH - 1].rstrip() + "…"


def _tally(path: Path) -> Tally | None:
    tally = Tally()
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if number > 1 or line.endswith(b"\n"):
                    _count(tally, line)
    except OSError:
        return None
    return tally if tally.first_ts else None


def _count(tally: Tally, line: bytes) -> None:
    head = PLAIN_MSG.match(line)
    if head and b'"type":"tool_call"' not in line and b'{"seq":' not in line[1:] and line.endswith(b"}}\n") and line.isascii():
        _tell_of(tally, head[2].decode())
        _see(tally, head[1].decode())
        return
    record = read_line(line)
    if isinstance(record, dict):
        _see(tally, str(record.get("ts", "")))
        _take(tally, record)


def _see(tally: Tally, ts: str) -> None:
    tally.first_ts = tally.first_ts or ts
    tally.last_ts = ts


def _take(tally: Tally, record: dict[str, Any]) -> None:
    match record["type"]:
        case "msg":
            _take_msg(tally, record.get("msg"))
        case "session" if not tally.header:
            tally.header = record
            for key in ("title", "mode", "model"):
                _latest(tally, key, record.get(key))
        case "rewind":
            _rewind(tally, record.get("to"))
        case "title" | "mode" | "model" | "cwd" as key:
            _latest(tally, key, record.get(key))
        case _:
            return


def _latest(tally: Tally, key: str, value: object) -> None:
    if isinstance(value, str):
        tally.latest[key] = one_line(value) if key == "title" else value


def _tell_of(tally: Tally, msg_id: str) -> bool:
    """Count a message; whether it stands."""
    if msg_id in tally.past:
        return False
    tally.messages[msg_id] = None
    return True


def _rewind(tally: Tally, to: object) -> None:
    ids = list(tally.messages)
    past = set(ids[ids.index(str(to)) :] if to in tally.messages else ())
    tally.past |= past
    tally.messages = dict.fromkeys(msg_id for msg_id in ids if msg_id not in past)
    tally.calls = {key: state for key, state in tally.calls.items() if key[0] not in past}
    if tally.said_in in past:
        tally.said = tally.said_in = ""


def _take_msg(tally: Tally, msg: object) -> None:
    if not isinstance(msg, dict):
        return
    known = cast("dict[str, Any]", msg)
    msg_id = str(known.get("id"))
    if not _tell_of(tally, msg_id):
        return
    for block in _blocks(known.get("content")):
        if block.get("type") == "tool_call":
            tally.calls[msg_id, str(block.get("id"))] = str(block.get("state"))
        elif known.get("role") == "user" and not tally.said and isinstance(block.get("text"), str):
            tally.said, tally.said_in = block["text"], msg_id


def _blocks(content: object) -> Iterator[dict[str, Any]]:
    if isinstance(content, list):
        yield from (block for block in cast("list[Any]", content) if isinstance(block, dict))
