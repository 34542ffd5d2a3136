"""The phases that measure parts of the program inside this process, and the sessions that others of them resume."""

import asyncio
import os
import time
from collections.abc import Iterator
from pathlib import Path

from answer import pieces
from world import Figure, World, quantile, ratio, times

from agentcli.ledger.block import TextBlock, ToolCallBlock, ToolCallState, ToolResultBlock, ToolResultState
from agentcli.ledger.event import (
    ReplyEndEvent,
    ReplyEndReason,
    ReplyStartEvent,
    TextBlockDeltaEvent,
    TextBlockEndEvent,
    TextBlockStartEvent,
    ToolCallEndEvent,
    ToolResultEndEvent,
)
from agentcli.ledger.message import AssistantMsg, Msg, UserMsg
from agentcli.ledger.unfold import unfold
from agentcli.session.log import SessionLog
from agentcli.session.store import SessionStore, new_session_id

# -- the session log ---------------------------------------------------------------------------


def durable(world: World, rounds: int = 5, records: int = 200) -> Iterator[Figure]:
    """A record that is on disk before the call returns, in turns with the same bytes through the bare system calls."""
    ours: list[float] = []
    bare: list[float] = []
    for number in range(rounds):
        session_id = new_session_id()
        log = SessionStore(world.data).create(session_id, {})
        try:
            ours += asyncio.run(_records(log, records))
        finally:
            log.close()
        lines = (world.data / "sessions" / f"{session_id}.jsonl").read_bytes().splitlines(keepends=True)[1:]
        bare += _bare(world.data / f"bare{number}", lines)
    for share in (0.5, 0.99):
        name = f"p{share * 100:.0f}"
        ours_took, bare_took = quantile(ours, share), quantile(bare, share)
        yield Figure("log", f"durable record {name}", times(ours_took, 1000), "ms", 0.2 if share == 0.5 else None, noisy=True)
        yield Figure("log", f"write and fdatasync of its bytes {name}", times(bare_took, 1000), "ms", noisy=True)
        yield Figure("log", f"durable record {name}, against the bare calls", ratio(ours_took, bare_took), "x", noisy=True)


async def _records(log: SessionLog, count: int) -> list[float]:
    took: list[float] = []
    for number in range(count):
        began = time.perf_counter()
        await log.record("started", {"call_id": str(number), "note": "x" * 700}, durable=True)
        took.append(time.perf_counter() - began)
    return took


def _bare(path: Path, lines: list[bytes]) -> list[float]:
    took: list[float] = []
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        for line in lines:
            began = time.perf_counter()
            os.write(fd, line)
            os.fdatasync(fd)
            took.append(time.perf_counter() - began)
    finally:
        os.close(fd)
    return took


# -- the fold ----------------------------------------------------------------------------------


def fold() -> Iterator[Figure]:
    """Deltas of 3 bytes folded into one message: the time a byte must not depend on how much there is."""
    small, large = (min(_folded(size) for _ in range(3)) / size for size in (100_000, 1_000_000))
    yield Figure("fold", "1 MB in deltas of 3 bytes", large * 1e6, "s")
    yield Figure("fold", "time a byte, 1 MB against 100 KB", ratio(large, small), "x", 1.3)


def _folded(size: int) -> float:
    msg = Msg(name="agent", role="assistant")
    ids = {"reply_id": msg.id, "block_id": "b"}
    deltas = [TextBlockDeltaEvent(**ids, delta="abc") for _ in range(size // 3)]
    began = time.process_time()
    msg.append_event(ReplyStartEvent(reply_id=msg.id, session_id="s", name="agent"))
    msg.append_event(TextBlockStartEvent(**ids))
    for delta in deltas:
        msg.append_event(delta)
    text = msg.get_text_content()
    took = time.process_time() - began
    assert text is not None and len(text) == size // 3 * 3
    return took


# -- sessions that never were ------------------------------------------------------------------


def synthetic(world: World, messages: int, last: str) -> str:
    """The id of a session of this many messages, every fourth of them with a call and its result; `last` ends it."""
    session_id = new_session_id()
    header = {"cwd": str(world.project), "root": str(world.project), "mode": "default", "model": "bench", "api": "chat"}
    log = SessionStore(world.data).create(session_id, header)
    try:
        asyncio.run(_write(log, messages, last))
    finally:
        log.close()
    return session_id


async def _write(log: SessionLog, messages: int, last: str) -> None:
    text = "".join(pieces(20_000)[:-1])
    for number in range(messages):
        at = number * 997 % 15_000
        words = text[at : at + 300] + (f"\n\n{last}" if number == messages - 1 else "")
        if number % 2 == 0:
            await log.kept(UserMsg(content=words), durable=False)
            continue
        calls = _call(number) if number % 4 == 3 and number != messages - 1 else []
        await _reply(log, AssistantMsg(content=[*calls, TextBlock(text=words)], finished_reason=ReplyEndReason.COMPLETED))


async def _reply(log: SessionLog, whole: Msg) -> None:
    """Write a reply in the steps in which it would have come: its log has a line for each, and not one for all."""
    msg = AssistantMsg(id=whole.id)
    call = {"reply_id": msg.id, "model": "bench"}
    await log.record("model_call", call)
    for event in unfold(whole, log.session_id):
        msg.append_event(event)
        if isinstance(event, ToolCallEndEvent | ToolResultEndEvent | TextBlockEndEvent | ReplyEndEvent):
            await log.kept(msg, durable=False)
        if isinstance(event, ToolResultEndEvent):
            await log.record("model_call", call)


def _call(number: int) -> list[ToolCallBlock | ToolResultBlock]:
    call = ToolCallBlock(id=f"call_{number}", name="Read", input='{"file_path": "README.md"}', state=ToolCallState.FINISHED)
    output = [TextBlock(text="1\tA line to read.\n" * 8)]
    result = ToolResultBlock(
        id=call.id, name="Read", output=output, state=ToolResultState.SUCCESS, metadata={"summary": "8 lines"}
    )
    return [call, result]
