"""The title of a session: what may be one, and how to give one without a conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from agentcli import paths
from agentcli.errors import UsageError
from agentcli.session.index import one_line
from agentcli.session.store import SessionStore


@dataclass(slots=True, frozen=True)
class Entitled:
    """A session and its new title."""

    id: str
    title: str
    lost: Sequence[str]
    """What of its log could not be read, a sentence each."""


def title_of(text: str) -> str:
    """A text as a title: one short line."""
    title = one_line(text)
    if not title:
        raise UsageError("a title cannot be empty")
    return title


async def entitle(prefix: str, text: str) -> Entitled:
    """Give a session a title; durable when this returns. `SessionHeld` where another process writes it."""
    title, store = title_of(text), SessionStore(paths.data_dir())
    session_id = store.find(prefix)
    log, loaded = await asyncio.to_thread(store.open, session_id)
    try:
        await log.record("title", {"title": title}, durable=True)
    finally:
        await asyncio.to_thread(log.close)
    return Entitled(session_id, title, loaded.lost)
