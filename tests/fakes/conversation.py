"""A conversation that plays a list of streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from typing import Any

from agentcli.ledger.block import ToolCallBlock
from agentcli.ledger.event import ReplyEndEvent, ReplyEndReason, ReplyPausedEvent

HOLD = "hold"
"""In a stream: nothing comes until an interrupt ends the reply, or a steering text lets it go on."""


@dataclass(slots=True, frozen=True)
class FakeStatus:
    session_id: str = "s" * 16
    reply_id: str = "r1"
    waiting: tuple[ToolCallBlock, ...] = ()
    unfinished: bool = False
    notices: tuple[str, ...] = ()


@dataclass(slots=True)
class FakeConversation:
    """Each input plays the next stream: events, `HOLD`, or an exception to raise."""

    streams: list[list[Any]]
    status: FakeStatus = field(default_factory=FakeStatus)
    inputs: list[Any] = field(default_factory=list[Any])
    queued: list[str] = field(default_factory=list[str])
    takes_in: bool = False
    """The running reply takes in what it is told; nothing is left over."""
    interrupted: asyncio.Event = field(default_factory=asyncio.Event)
    steered: asyncio.Event = field(default_factory=asyncio.Event)
    started: asyncio.Event = field(default_factory=asyncio.Event)

    async def stream(self, inputs: Any) -> AsyncIterator[Any]:
        self.interrupted.clear()
        self.inputs.append(inputs)
        for step in self.streams.pop(0):
            if isinstance(step, Exception):
                raise step
            if step == HOLD:
                self.started.set()
                if not await self._go_on():
                    self.status = replace(self.status, waiting=())
                    yield ReplyEndEvent(reply_id="r1", session_id="s", finished_reason=ReplyEndReason.INTERRUPTED)
                    return
                continue
            if isinstance(step, ReplyPausedEvent):
                self.status = replace(self.status, waiting=tuple(step.waiting))
            elif isinstance(step, ReplyEndEvent):
                self.status = replace(self.status, waiting=())
            yield step

    async def _go_on(self) -> bool:
        waits = [asyncio.create_task(event.wait()) for event in (self.interrupted, self.steered)]
        done, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        for task in waits:
            task.cancel()
        return waits[0] not in done

    def steer(self, text: str) -> None:
        if not self.takes_in:
            self.queued.append(text)
        self.steered.set()

    def take_back(self) -> list[str]:
        queued, self.queued = self.queued, []
        return queued

    def interrupt(self) -> None:
        self.interrupted.set()
