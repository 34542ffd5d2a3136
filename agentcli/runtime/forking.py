"""A session that begins with the messages of another one. No model is needed, and the other one is not touched."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentcli import paths
from agentcli.agent.context import NEVER_STARTED
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock, ToolCallState, now
from agentcli.ledger.message import Msg
from agentcli.ledger.rule import PermissionContext
from agentcli.ledger.state import AgentState, Started
from agentcli.runtime.restore import restore, saved_of
from agentcli.session.store import Loaded, SessionLog, SessionStore, new_session_id

FORKED = "never started (the question stays with the parent)."
RUNNING = "interrupted, effects unknown: this call had started when the fork was made, and its end is not known here."


CARRIED = ("reply", "title", "cost")
"""Records that go over as they are; questions, starts and rules stay with the parent."""


@dataclass(slots=True, frozen=True)
class Fork:
    """A new session, and the one it comes from."""

    id: str
    parent: str
    lost: Sequence[str]
    """What of the parent could not be read, a sentence each."""


async def fork_session(prefix: str) -> Fork:
    """Write a fork of a session as it stands; durable when this returns, and nothing is left of one that failed."""
    store = SessionStore(paths.data_dir())
    parent = store.find(prefix)
    loaded = await asyncio.to_thread(store.read, parent)
    fork = Fork(new_session_id(), parent, loaded.lost)
    log = await asyncio.to_thread(store.create, fork.id, _header(loaded, fork))
    try:
        await write_fork(log, restore(loaded, parent, PermissionContext()), loaded.records, parent)
    except BaseException:
        log.close()
        store.remove(fork.id)
        raise
    await asyncio.to_thread(log.close)
    return fork


def _header(loaded: Loaded, fork: Fork) -> dict[str, Any]:
    saved = saved_of(loaded)
    return {
        "id": fork.id,
        "cwd": saved.cwd,
        "title": saved.title or None,
        "root": saved.root,
        "parent": fork.parent,
        "created_at": now(),
        "mode": saved.mode.value if saved.mode else None,
        "model": saved.model or None,
        "api": saved.api,
    }


async def write_fork(log: SessionLog, state: AgentState, records: Sequence[Mapping[str, Any]], parent: str) -> None:
    """Write the messages of a parent, and what is said of them, as the beginning of another session.

    What waits stays with the parent; `state` is then that of the fork.
    """
    for msg in state.context:
        for call in msg.open_calls():
            for event in _closing(msg, call, state.started.get(call.id)):
                msg.append_event(event)
        await asyncio.to_thread(log.blobs.carry, msg, parent)
        await log.kept(msg, durable=False)
    state.questions.clear()
    state.started.clear()
    state.past_calls.clear()
    for record in records:
        if record["type"] in CARRIED:
            await log.record(record["type"], record)
    if state.compressed is not None:
        await log.record("summary", {"summary": state.summary, **state.compressed.model_dump(mode="json")})
    # The last record makes all before it durable.
    await log.record("forked", {"parent": parent, "usage": state.apart.model_dump()}, durable=True)


def _closing(msg: Msg, call: ToolCallBlock, started: Started | None) -> list[ev.AgentEvent]:
    """The result of a call that a fork leaves to its parent."""
    if started is None or started.read_only:
        waits = call.state in (ToolCallState.ASKING, ToolCallState.SUBMITTED)
        state, text = "error", FORKED if waits else NEVER_STARTED
    else:
        state, text = "interrupted", RUNNING
    ids: dict[str, Any] = {"reply_id": msg.id, "tool_call_id": call.id}
    events: list[ev.AgentEvent] = []
    if msg.result(call.id) is None:
        events.append(ev.ToolResultStartEvent(**ids, tool_call_name=call.name))
    events.append(ev.ToolResultTextDeltaEvent(**ids, delta=text))
    events.append(ev.ToolResultEndEvent.model_validate({**ids, "state": state}))
    return events
