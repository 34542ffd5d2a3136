"""`agentcli run`: streams of one conversation to stdout, notices to stderr, an exit code at the end.

Knows a conversation by the few methods of `Door`; neither the agent nor how a call is judged.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Generator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from agentcli.errors import NothingWaiting, RefusedInput
from agentcli.frontend.headless.inbox import Inbox
from agentcli.frontend.headless.lines import Input, listen, read_input
from agentcli.frontend.headless.output import Form, Output, Pipe, Terminal, form_of, tell
from agentcli.ledger.block import ToolCallBlock, ToolCallState
from agentcli.ledger.event import (
    AgentEvent,
    ConfirmResult,
    ModelCallRetryEvent,
    ReplyEndEvent,
    ReplyEndReason,
    ReplyPausedEvent,
    RequireUserConfirmEvent,
    UserConfirmResultEvent,
    UserInterruptEvent,
)
from agentcli.ledger.message import Msg, UserMsg
from agentcli.view.summary import call_target, error_sentences

DONE, INTERNAL, REFUSED, MODEL, LIMIT, CONFIRM, EXTERNAL, INTERRUPTED, BROKEN = 0, 1, 2, 3, 4, 10, 11, 130, 141
LAST_WORDS = 2.0  # seconds for the running reply to end after SIGTERM or SIGHUP


@dataclass(slots=True, frozen=True)
class Request:
    """What the command line asks for."""

    prompt: str | None = None
    output: Output = "text"
    input_events: bool = False
    on_ask: Literal["stop", "deny", "allow"] = "stop"
    answer: Literal["allow", "deny"] | None = None


class Standing(Protocol):
    """What is asked about a conversation."""

    @property
    def session_id(self) -> str: ...
    @property
    def reply_id(self) -> str: ...
    @property
    def waiting(self) -> Sequence[ToolCallBlock]: ...
    @property
    def unfinished(self) -> bool: ...
    @property
    def notices(self) -> Sequence[str]: ...


class Door(Protocol):
    """The part of `runtime.conversation.Conversation` that is used here."""

    @property
    def status(self) -> Standing: ...
    def stream(self, inputs: Input | None) -> AsyncIterator[AgentEvent]: ...
    def steer(self, text: str) -> None: ...
    def take_back(self) -> list[str]: ...
    def interrupt(self) -> None: ...


async def run_headless(conversation: Door, request: Request) -> int:
    """Do what the request asks for; the exit code."""
    return await Headless(conversation, request, Pipe(1)).run()


class Headless:
    """One run."""

    def __init__(self, conversation: Door, request: Request, pipe: Pipe) -> None:
        self.conversation, self.request, self.pipe = conversation, request, pipe
        self.form: Form = form_of(request.output, pipe)
        self.inbox = Inbox()
        self.running = False
        self.reply_id = ""
        self.digests: dict[str, str] = {}
        """Call id -> the digest of the last preview."""
        self.stopped: int | None = None
        """The exit code, once a signal asked for the end."""
        self.deadline: asyncio.TimerHandle | None = None

    async def run(self) -> int:
        """Play everything; the exit code."""
        for notice in self.conversation.status.notices:
            tell(notice)
        with self._signals():
            try:
                code = await (self._serve() if self.request.input_events else self._once())
            except asyncio.CancelledError:
                if self.stopped is None:
                    raise
                return self.stopped
        return self.stopped or (BROKEN if self.pipe.broken else code)

    # -- one reply -----------------------------------------------------------------------------

    async def _once(self) -> int:
        prompt, waiting = self.request.prompt, self.conversation.status.waiting
        if self.request.answer and not _asked(waiting):
            raise NothingWaiting("nothing is waiting for this answer")
        if waiting:
            code = await self._resume(last=prompt is None)
            if prompt is None or code not in (DONE, LIMIT):
                return code if prompt is None else self._unsent(code)
        if prompt is not None:
            return await self._play(UserMsg(content=prompt))
        if self.conversation.status.unfinished:
            return await self._play(None)
        raise NothingWaiting("there is nothing to do: nothing waits and no reply was cut off; give a PROMPT")

    def _unsent(self, code: int) -> int:
        tell("the prompt was not sent")
        return code

    async def _resume(self, *, last: bool = True) -> int:
        """What waits is announced again, or answered as the flags say."""
        how = self.request.answer or self.request.on_ask
        if how == "stop" or not _asked(self.conversation.status.waiting):
            return await self._play(None, last=last)
        # It is not announced anew: whoever answers saw the preview of then, and the runtime compares it with now.
        status = self.conversation.status
        return await self._play(self._answer(status.reply_id, status.waiting, how == "allow", f"--answer {how}"), last=last)

    async def _play(self, inputs: Input | None, *, last: bool = True) -> int:
        """One stream, and those that our own answers cause, with one terminal event; the exit code.

        Args:
            last: what stdout is given in the end, where it is given one thing only.
        """
        end = await self._pass_on(inputs)
        while isinstance(end, ReplyPausedEvent) and self._answers_by_itself(end):
            allow = self.request.on_ask == "allow"
            end = await self._pass_on(self._answer(end.reply_id, end.waiting, allow, f"--on-ask {self.request.on_ask}"))
        if end is None:
            return DONE
        code = exit_code(end)
        if last or code not in (DONE, LIMIT) or self.request.output == "events":
            await self.form.end(self.conversation.status.session_id, end)
        self._tell_end(end)
        return code

    async def _pass_on(self, inputs: Input | None) -> Terminal | None:
        """Give the events of a stream to stdout; the terminal one is handed back."""
        end: Terminal | None = None
        self.running = True
        try:
            async for event in self.conversation.stream(inputs):
                self.reply_id = getattr(event, "reply_id", None) or self.reply_id
                match event:
                    case ReplyEndEvent() | ReplyPausedEvent():
                        end = event
                        continue
                    case RequireUserConfirmEvent():
                        self._note(event)
                    case ModelCallRetryEvent():
                        tell(f"{event.error.message}; attempt {event.attempt} in {event.delay_s:.0f} s")
                    case _:
                        pass
                await self.form.event(event)
                if self.pipe.broken:
                    self.conversation.interrupt()
        finally:
            self.running = False
        return end

    def _note(self, event: RequireUserConfirmEvent) -> None:
        """Keep what an answer is given to, and say what the previews say beside it: a loop, a budget, a changed file."""
        self.digests |= {call: preview.digest for call, preview in event.previews.items()}
        for note in dict.fromkeys(note for preview in event.previews.values() for note in preview.notes):
            tell(note)

    def _answers_by_itself(self, paused: ReplyPausedEvent) -> bool:
        free = self.stopped is None and not self.pipe.broken
        return free and self.request.on_ask != "stop" and bool(_asked(paused.waiting))

    def _answer(self, reply_id: str, waiting: Sequence[ToolCallBlock], allow: bool, by: str) -> UserConfirmResultEvent:
        results = [ConfirmResult(confirmed=allow, tool_call=call, digest=self.digests.get(call.id)) for call in _asked(waiting)]
        return UserConfirmResultEvent(reply_id=reply_id, confirm_results=results, metadata={"by": by})

    def _tell_end(self, end: Terminal) -> None:
        if isinstance(end, ReplyPausedEvent):
            names = ", ".join(f"{call.name} {call_target(call.name, call.input)}" for call in end.waiting)
            ways = "--answer allow|deny" if _asked(end.waiting) else "--input events"
            tell(f"waiting: {names}; go on with: agentcli run --resume {end.session_id} {ways}")
            return
        notice = end.metadata.get("notice")
        if notice:
            tell(str(notice))
        if end.error:
            what, remedy = error_sentences(end.error)
            tell(f"{what} {remedy} {end.error.kind}: {end.error.message}")
        elif not notice and end.finished_reason is ReplyEndReason.EXCEED_MAX_ITERS:
            tell("stopped at the limit of model calls (--max-iters)")

    # -- lines of stdin ------------------------------------------------------------------------

    async def _serve(self) -> int:
        """Streams as the lines of stdin ask for them, until their end; the code of the last."""
        code = await self._resume() if self.conversation.status.waiting else None
        if self.request.prompt is not None:
            self.inbox.add(UserMsg(content=self.request.prompt))
        listen(sys.stdin.fileno(), self._arrived)
        caused: int | None = None
        while self.stopped is None and not self.pipe.broken and (item := await self.inbox.next()) is not None:
            try:
                caused = await self._play(item)
            except RefusedInput as error:
                self._refuse(error)
            self._settle_steered()
        for msg in self.inbox.steered():
            tell(f"not sent: {msg.get_text_content()}")
        if caused is not None:
            return caused
        if self.inbox.refused or code is None:
            if not self.inbox.refused:
                tell("there was nothing to do")
            return REFUSED
        return code

    def _arrived(self, line: bytes | None) -> None:
        if line is None:
            self.inbox.close()
        elif line.strip():
            try:
                self._take(read_input(line))
            except RefusedInput as error:
                self._refuse(error)

    def _take(self, item: Input) -> None:
        """An interrupt and a text act on the running reply; all else waits for its end."""
        if self.running and isinstance(item, UserInterruptEvent):
            if item.reply_id not in ("", self.reply_id):
                raise RefusedInput(f"an interrupt for reply {item.reply_id}, which does not run")
            self.conversation.interrupt()
            return
        text = item.get_text_content() if self.running and isinstance(item, Msg) else None
        if text:
            self.conversation.steer(text)
        self.inbox.add(item, steered=bool(text))

    def _settle_steered(self) -> None:
        """What a reply has not taken in comes next; at a pause it stays with the conversation."""
        if not self.conversation.status.waiting:
            self.inbox.give_back(len(self.conversation.take_back()))

    def _refuse(self, error: RefusedInput) -> None:
        self.inbox.refused = True
        tell(f"refused: {error}")

    # -- signals -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def _signals(self) -> Generator[None]:
        if sys.platform == "win32":
            yield
            return
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        for number in numbers:
            loop.add_signal_handler(number, self._stop, number, task)
        try:
            yield
        finally:
            if self.deadline is not None:
                self.deadline.cancel()
            for number in numbers:
                loop.remove_signal_handler(number)

    def _stop(self, number: int, task: asyncio.Task[int]) -> None:
        if self.stopped is not None:
            task.cancel()  # asked twice: end without the last words
            return
        self.stopped = 128 + number
        self.pipe.ending.set()
        self.inbox.close()
        if not self.running:
            return
        self.conversation.interrupt()
        if number != signal.SIGINT:
            self.deadline = asyncio.get_running_loop().call_later(LAST_WORDS, task.cancel)


def exit_code(end: Terminal) -> int:
    """The exit code of a stream."""
    if isinstance(end, ReplyPausedEvent):
        return CONFIRM if _asked(end.waiting) else EXTERNAL
    match end.finished_reason:
        case ReplyEndReason.COMPLETED:
            return DONE
        case ReplyEndReason.INTERRUPTED:
            return INTERRUPTED
        case ReplyEndReason.EXCEED_MAX_ITERS:
            return LIMIT
        case ReplyEndReason.ERROR:
            return INTERNAL if end.error is None or end.error.kind == "internal" else MODEL


def _asked(waiting: Sequence[ToolCallBlock]) -> list[ToolCallBlock]:
    return [call for call in waiting if call.state == ToolCallState.ASKING]
