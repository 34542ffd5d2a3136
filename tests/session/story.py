"""A short session that has a bit of everything, and ways to damage its log."""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

from agentcli.ledger import event as ev
from agentcli.ledger.block import Base64Source, DataBlock, TextBlock, ToolResultState
from agentcli.ledger.message import Msg, UserMsg
from agentcli.session.log import SessionLog
from agentcli.session.store import SessionStore
from tests.fakes.disk import FakeDisk

ID = "abcdefghijkl2345"
AT = "2026-01-01T00:00:00+00:00"
HEADER = {"cwd": "/srv/place", "root": "/srv", "mode": "default", "model": "demo", "api": "chat", "x_later": {"a": None}}
IMAGE = base64.b64encode(bytes(range(256)) * 400).decode()


def reply(reply_id: str = "r1") -> Msg:
    msg = Msg(id=reply_id, name="agentcli", role="assistant")
    return msg.append_event(ev.ReplyStartEvent(reply_id=reply_id, session_id=ID, name="agentcli", created_at=AT))


def say(msg: Msg, block_id: str, *pieces: str) -> None:
    msg.append_event(ev.TextBlockStartEvent(reply_id=msg.id, block_id=block_id, created_at=AT))
    for piece in pieces:
        msg.append_event(ev.TextBlockDeltaEvent(reply_id=msg.id, block_id=block_id, delta=piece))
    msg.append_event(ev.TextBlockEndEvent(reply_id=msg.id, block_id=block_id, created_at=AT))


def call(msg: Msg, call_id: str, text: str) -> None:
    msg.append_event(ev.ToolCallStartEvent(reply_id=msg.id, tool_call_id=call_id, tool_call_name="Bash", created_at=AT))
    msg.append_event(ev.ToolCallDeltaEvent(reply_id=msg.id, tool_call_id=call_id, delta=text))


def result(msg: Msg, call_id: str, text: str, **metadata: object) -> None:
    start = ev.ToolResultStartEvent(reply_id=msg.id, tool_call_id=call_id, tool_call_name="Bash", created_at=AT)
    delta = ev.ToolResultTextDeltaEvent(reply_id=msg.id, tool_call_id=call_id, delta=text)
    end = ev.ToolResultEndEvent(
        reply_id=msg.id, tool_call_id=call_id, state=ToolResultState.SUCCESS, metadata=metadata, created_at=AT
    )
    for event in (start, delta, end):
        msg.append_event(event)


def finish(msg: Msg) -> None:
    msg.append_event(ev.ReplyEndEvent(reply_id=msg.id, session_id=ID, finished_reason=ev.ReplyEndReason.COMPLETED, created_at=AT))


def picture(data: str = IMAGE) -> DataBlock:
    return DataBlock(id="d1", source=Base64Source(data=data, media_type="image/png"))


Step = Callable[[SessionLog], Awaitable[None]]


def steps(messages: list[Msg]) -> list[tuple[str, Step]]:
    """Named steps; each changes `messages` as an agent's ledger would be, then writes."""
    answer = reply()

    async def ask(log: SessionLog) -> None:
        messages.append(UserMsg(id="u1", content="do it \ud800 \u2028 \U0001f600"))
        await log.said(messages[-1])

    async def declare(log: SessionLog) -> None:
        messages.append(answer)
        say(answer, "t1", "I ", "will")
        call(answer, "c1", '{"command": "ls"}')
        await log.kept(answer)

    async def start(log: SessionLog) -> None:
        await log.record("started", {"call_id": "c1", "files": {"/a": [None, "00"]}}, durable=True)

    async def process(log: SessionLog) -> None:
        await log.record("process", {"pid": 7})

    async def done(log: SessionLog) -> None:
        result(answer, "c1", "a.txt\n", summary="1 line")
        await log.kept(answer)

    async def end(log: SessionLog) -> None:
        say(answer, "t2", "done")
        finish(answer)
        await log.kept(answer, durable=False)

    async def show(log: SessionLog) -> None:
        messages.append(UserMsg(id="u2", content=[TextBlock(id="x1", text="look"), picture()]))
        await log.said(messages[-1])

    return [
        ("ask", ask),
        ("declare", declare),
        ("start", start),
        ("process", process),
        ("done", done),
        ("end", end),
        ("show", show),
    ]


async def write_story(data: Path) -> tuple[bytes, list[Msg]]:
    """The bytes of an undamaged log, and its messages."""
    store, messages = SessionStore(data, FakeDisk()), list[Msg]()
    log = store.create(ID, HEADER)
    for _, step in steps(messages):
        await step(log)
    log.close()
    return log_path(data).read_bytes(), messages


def log_path(data: Path) -> Path:
    return data / "sessions" / f"{ID}.jsonl"


def records(raw: bytes) -> list[dict[str, object]]:
    """The records of a sound log; fails where it is none."""
    assert raw.endswith(b"\n") and raw.isascii()
    found = [json.loads(line) for line in raw.split(b"\n")[:-1]]
    numbers = [record["seq"] for record in found]
    assert numbers == sorted(set(numbers))
    assert all({"ts", "type"} <= set(record) for record in found)
    return found
