"""stdout in one of three forms: the answer's text, one JSON object, or the events. Knows no conversation."""

from __future__ import annotations

import asyncio
import json
import os
import select
import sys
import threading
from typing import Literal, Protocol, TypeAlias

from agentcli.ledger.event import (
    AgentEvent,
    ModelCallEndEvent,
    ModelCallStartEvent,
    ReplyEndEvent,
    ReplyPausedEvent,
    ReplyStartEvent,
    TextBlockDeltaEvent,
)
from agentcli.ledger.message import Usage
from agentcli.view.clean import clean

Output: TypeAlias = Literal["text", "json", "events"]
Terminal: TypeAlias = ReplyEndEvent | ReplyPausedEvent

AT_ONCE = 512  # bytes that a pipe takes whole wherever `select` calls it writable (POSIX: PIPE_BUF)
PATIENCE = 1.0  # seconds that a reader who does not read may still hold up an end that was asked for


class Pipe:
    """A descriptor that is written in order, and that never holds up the event loop."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.broken = False
        """The reader has gone, or did not read when it was time to end."""
        self.ending = asyncio.Event()

    async def write(self, data: bytes) -> None:
        """Write all of it; nothing, once broken."""
        if self.broken:
            return
        if len(data) <= AT_ONCE and select.select((), (self.fd,), (), 0)[1]:
            self.broken = not _write(self.fd, data)
            return
        await self._write_aside(data)

    async def _write_aside(self, data: bytes) -> None:
        loop = asyncio.get_running_loop()
        done: asyncio.Future[bool] = loop.create_future()

        def finish(whole: bool) -> None:
            if not done.done():
                done.set_result(whole)

        def write() -> None:
            whole = _write(self.fd, data)
            if not loop.is_closed():
                loop.call_soon_threadsafe(finish, whole)

        # A thread of its own, as a daemon: one of the pool would be waited for at the end of the process.
        threading.Thread(target=write, name="stdout", daemon=True).start()
        ending = asyncio.create_task(self.ending.wait())
        try:
            await asyncio.wait((done, ending), return_when=asyncio.FIRST_COMPLETED)
            if not done.done():
                await asyncio.wait((done,), timeout=PATIENCE)
        finally:
            ending.cancel()
        self.broken = not (done.done() and done.result())


def _write(fd: int, data: bytes) -> bool:
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view) :]
    except OSError:
        return False
    return True


class Form(Protocol):
    """What stdout is given of a stream."""

    async def event(self, event: AgentEvent) -> None:
        """Any event but the terminal one."""
        ...

    async def end(self, session_id: str, end: Terminal) -> None:
        """The terminal event."""
        ...


class EventForm:
    """One event a line, as it comes."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe = pipe

    async def event(self, event: AgentEvent) -> None:
        # By json and in ASCII: half a surrogate pair, which a model may send, is no reason to fail.
        await self.pipe.write(json.dumps(event.model_dump(mode="json")).encode() + b"\n")

    async def end(self, session_id: str, end: Terminal) -> None:
        await self.event(end)


class Answer:
    """The text of the last model call that gave one, and the tokens so far."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.cost: float | None = None
        """US dollars; None where no price is known."""
        self._blocks: dict[str, list[str]] = {}
        self._fresh = True

    @property
    def text(self) -> str:
        return "\n".join("".join(pieces) for pieces in self._blocks.values())

    def take(self, event: AgentEvent) -> None:
        """Note what belongs to the answer."""
        match event:
            case ReplyStartEvent():
                self.usage, self.cost, self._blocks = Usage(), None, {}
            case ModelCallStartEvent():
                self._fresh = True
            case TextBlockDeltaEvent():
                if self._fresh:
                    self._blocks, self._fresh = {}, False
                self._blocks.setdefault(event.block_id, []).append(event.delta)
            case ModelCallEndEvent():
                tokens = {name: getattr(self.usage, name) + getattr(event, name) for name in Usage.model_fields}
                self.usage = Usage(**tokens)
                cost = event.metadata.get("cost")
                if isinstance(cost, int | float):
                    self.cost = (self.cost or 0.0) + cost
            case _:
                pass


class TextForm:
    """The text of the final answer."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe, self.answer = pipe, Answer()

    async def event(self, event: AgentEvent) -> None:
        self.answer.take(event)

    async def end(self, session_id: str, end: Terminal) -> None:
        text = self.answer.text
        if not text or isinstance(end, ReplyPausedEvent):
            return
        shown = clean(text) if os.isatty(self.pipe.fd) else text
        await self.pipe.write(f"{shown}\n".encode("utf-8", "replace"))


class JsonForm:
    """One object for each stream."""

    def __init__(self, pipe: Pipe) -> None:
        self.pipe, self.answer = pipe, Answer()

    async def event(self, event: AgentEvent) -> None:
        self.answer.take(event)

    async def end(self, session_id: str, end: Terminal) -> None:
        ended = isinstance(end, ReplyEndEvent)
        whole = {
            "session_id": session_id,
            "reply_id": end.reply_id,
            "finished_reason": end.finished_reason if ended else None,
            "text": self.answer.text,
            "usage": self.answer.usage.model_dump(mode="json"),
            **({} if self.answer.cost is None else {"cost": round(self.answer.cost, 9)}),
            "waiting": [] if ended else [call.model_dump(mode="json") for call in end.waiting],
            "error": end.error.model_dump(mode="json") if ended and end.error else None,
        }
        await self.pipe.write(json.dumps(whole).encode() + b"\n")


def form_of(output: Output, pipe: Pipe) -> Form:
    """The form by its name."""
    forms: dict[Output, type[EventForm] | type[TextForm] | type[JsonForm]] = {
        "text": TextForm,
        "json": JsonForm,
        "events": EventForm,
    }
    return forms[output](pipe)


def tell(text: str) -> None:
    """A sentence for the person, on stderr, as one line."""
    try:
        print(clean(text, newlines=False), file=sys.stderr, flush=True)
    except OSError:
        return  # nobody listens; what matters stands in the exit code
