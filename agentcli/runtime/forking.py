"""A session that begins with the messages of another one. No model is needed, and the other one is not touched."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from agentcli import paths
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock, now
from agentcli.ledger.message import Msg
from agentcli.ledger.rule import PermissionContext
from agentcli.ledger.state import Started
from agentcli.runtime.conversation import never_started
from agentcli.runtime.restore import restore, saved_of
from agentcli.session.store import Loaded, SessionLog, SessionStore, new_session_id

RUNNING = "interrupted, effects unknown: this call had started when the fork was made, and its end is not known here."


CARRIED = ("reply", "summary", "title")
"""Records that say something of the messages; questions, starts and rules stay with the parent."""


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
        await _write(log, loaded, parent)
    except BaseException:
        log.close()
        store.remove(fork.id)
        raise
    await asyncio.to_thread(log.close)
    return fork


def _header(loaded: Loaded, fork: Fork) -> dict[str, Any]:
    saved, first = saved_of(loaded), loaded.header
    return {
        "id": fork.id,
        "cwd": saved.cwd,
        "root": first.get("root"),
        "parent": fork.parent,
        "created_at": now(),
        "mode": saved.mode.value if saved.mode else None,
        "model": saved.model or None,
        "api": saved.api,
    }


async def _write(log: SessionLog, loaded: Loaded, parent: str) -> None:
    state = restore(loaded, parent, PermissionContext())
    for msg in state.context:
        for call in msg.open_calls():
            for event in _closing(msg, call, state.started.get(call.id)):
                msg.append_event(event)
        await log.kept(msg, durable=False)
    for record in loaded.records:
        if record["type"] in CARRIED:
            await log.record(record["type"], record)
    # The last record makes all before it durable.
    await log.record("forked", {"parent": parent}, durable=True)


def _closing(msg: Msg, call: ToolCallBlock, started: Started | None) -> list[ev.AgentEvent]:
    if started is None or started.read_only:
        return never_started(msg, call)
    ids: dict[str, Any] = {"reply_id": msg.id, "tool_call_id": call.id}
    events: list[ev.AgentEvent] = []
    if msg.result(call.id) is None:
        events.append(ev.ToolResultStartEvent(**ids, tool_call_name=call.name))
    events.append(ev.ToolResultTextDeltaEvent(**ids, delta=RUNNING))
    events.append(ev.ToolResultEndEvent.model_validate({**ids, "state": "interrupted"}))
    return events
