"""The agent: one reply at a time, as a stream of events; inputs are checked before the first of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from typing import TypeAlias, cast

from agentcli.agent import resume
from agentcli.agent.context import close_holes
from agentcli.agent.journal import Journal, NoJournal
from agentcli.agent.reply import end, go_on
from agentcli.agent.work import Work
from agentcli.errors import AgentcliError, NothingWaiting, StillWaiting
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock, new_id
from agentcli.ledger.message import AssistantMsg, Msg, UserMsg
from agentcli.ledger.state import AgentState
from agentcli.model.base import ChatModel
from agentcli.tool.toolkit import Toolkit
from agentcli.workspace.root import Place

Input: TypeAlias = Msg | Sequence[Msg] | ev.AnswerEvent | None

MOST_ITERATIONS = 200


class Agent:
    """A model, its tools and its ledger.

    Args:
        name: who speaks; the name of its messages.
        system_prompt: a text, or a function that gives one for each model call.
        state: what an earlier agent left; its permission context decides what may run.
        place: the folders that tools work in; the process's by default.
        journal: where a reply is made durable; nowhere by default.
        max_iters: model calls of one reply at most.
    """

    def __init__(
        self,
        name: str,
        system_prompt: str | Callable[[], str],
        model: ChatModel,
        toolkit: Toolkit | None = None,
        state: AgentState | None = None,
        *,
        place: Place | None = None,
        journal: Journal | None = None,
        max_iters: int = MOST_ITERATIONS,
    ) -> None:
        state = state or AgentState()
        state.session_id = state.session_id or new_id()
        place = place or Place.find(os.getcwd())
        state.permission_context.root = state.permission_context.root or place.root
        state.permission_context.home = state.permission_context.home or place.home
        system = system_prompt if callable(system_prompt) else lambda: system_prompt
        self._work = Work(name, system, model, toolkit or Toolkit(), state, journal or NoJournal(), place, max_iters)
        self._running = False

    @property
    def name(self) -> str:
        return self._work.name

    @property
    def state(self) -> AgentState:
        """All that outlives the process."""
        return self._work.state

    @property
    def running(self) -> bool:
        """A reply runs."""
        return self._running

    @property
    def waiting(self) -> list[ToolCallBlock]:
        """The calls that wait for an answer."""
        return self._work.waiting()

    @property
    def unfinished(self) -> bool:
        """A reply was cut off (a crash, a closed generator); `reply_stream(None)` continues it."""
        return self.state.unfinished and not self._running and not self.waiting

    @property
    def model(self) -> ChatModel:
        return self._work.model

    @model.setter
    def model(self, model: ChatModel) -> None:
        self._work.model = model

    def steer(self, content: str) -> None:
        """Say something while a reply runs: taken in before its next model call."""
        self.state.steering.append(content)

    def interrupt(self) -> None:
        """End the running reply as interrupted; nothing where none runs."""
        if self._running:
            self._work.stop()

    async def recover(self, *, from_log: bool = False) -> None:
        """Bring what a crash left into a state that can go on; part of no stream."""
        await resume.recover(self._work, from_log=from_log)

    async def observe(self, msgs: Msg | Sequence[Msg]) -> None:
        """Put messages into the context without answering them."""
        await self._take_in(_messages(msgs))

    async def reply(self, inputs: Input = None) -> Msg:
        """The same as `reply_stream`; the message of the reply, as far as it came."""
        reply_id = ""
        async for event in self.reply_stream(inputs):
            reply_id = getattr(event, "reply_id", None) or reply_id
        found = next((msg for msg in reversed(self.state.context) if msg.id == reply_id), None)
        if found is None:
            raise AgentcliError("The input caused no message.")
        return found

    async def reply_stream(self, inputs: Input = None) -> AsyncGenerator[ev.AgentEvent, None]:
        """One reply, or what an answer causes, as events; ends with exactly one REPLY_END or REPLY_PAUSED.

        Raises `StaleAnswer`, `NothingWaiting` or `StillWaiting` before the first event; then nothing has changed.
        """
        if self._running:
            raise AgentcliError("A reply runs; interrupt it, or wait for its end.")
        self._running = True
        self._work.stop_wanted.clear()
        self._work.cancelled = False
        try:
            async for event in self._stream(inputs):
                yield event
            if self._work.cancelled:
                # The reply ended properly as interrupted; now the cancellation goes on its way.
                raise asyncio.CancelledError
        finally:
            self._running = False

    async def _stream(self, inputs: Input) -> AsyncIterator[ev.AgentEvent]:
        work = self._work
        match inputs:
            case None:
                source = self._continue()
            case ev.UserConfirmResultEvent():
                resume.check_confirmation(work, inputs)
                source = self._after(resume.confirm(work, inputs))
            case ev.ExternalExecutionResultEvent():
                resume.check_results(work, inputs)
                source = self._after(resume.accept_results(work, inputs))
            case ev.UserInterruptEvent():
                resume.check_interrupt(work, inputs)
                source = self._interrupted(inputs)
            case _:
                source = self._new(_messages(inputs))
        async for event in source:
            yield event

    async def _new(self, msgs: list[Msg]) -> AsyncIterator[ev.AgentEvent]:
        await self._take_in(msgs)
        async for event in self._start():
            yield event

    async def _start(self) -> AsyncIterator[ev.AgentEvent]:
        state = self.state
        state.reply_id, state.cur_iter, state.unfinished = new_id(), 0, True
        state.context.append(AssistantMsg(name=self.name, id=state.reply_id))
        start = ev.ReplyStartEvent(reply_id=state.reply_id, session_id=state.session_id, name=self.name)
        yield self._work.fold(start)
        async for event in go_on(self._work):
            yield event

    async def _continue(self) -> AsyncIterator[ev.AgentEvent]:
        await resume.recover(self._work)
        if self.waiting:
            async for event in self._after(resume.announce(self._work), go=False):
                yield event
        elif self.state.unfinished and self.state.reply is not None:
            async for event in go_on(self._work):
                yield event
        elif self.state.context and self.state.context[-1].role == "user":
            async for event in self._start():
                yield event
        else:
            raise NothingWaiting("Nothing waits, and there is no reply to continue.")

    async def _after(self, first: AsyncIterator[ev.AgentEvent], *, go: bool = True) -> AsyncIterator[ev.AgentEvent]:
        """What an answer causes, then the reply goes on; an announcement only pauses again."""
        async for event in first:
            yield event
        if go:
            async for event in go_on(self._work):
                yield event
        else:
            blocks = [call.model_copy(deep=True) for call in self.waiting]
            yield ev.ReplyPausedEvent(reply_id=self.state.reply_id, session_id=self.state.session_id, waiting=blocks)

    async def _interrupted(self, event: ev.UserInterruptEvent) -> AsyncIterator[ev.AgentEvent]:
        if not self.waiting:
            return
        work = self._work
        event = event.model_copy(update={"reply_id": self.state.reply_id})
        await work.journal.record("interrupt", {"reply_id": self.state.reply_id})
        yield work.fold(event)
        for one in resume.interrupt_open(work):
            yield one
        yield await end(work, ev.ReplyEndReason.INTERRUPTED)

    async def _take_in(self, msgs: list[Msg]) -> None:
        if self.waiting:
            names = ", ".join(f"{call.name} ({call.id})" for call in self.waiting)
            raise StillWaiting(f"{len(self.waiting)} calls wait for an answer first: {names}.")
        await close_holes(self._work)
        # What was said to an earlier reply, and came too late for it, is said now.
        late, self.state.steering = [UserMsg(content=text) for text in self.state.steering], []
        for msg in [*late, *msgs]:
            copy = msg.model_copy(deep=True)
            self.state.context.append(copy)
            await self._work.journal.said(copy)


def _messages(inputs: object) -> list[Msg]:
    if isinstance(inputs, str):
        raise TypeError("A str is no input; write UserMsg('user', text).")
    msgs = cast("list[object]", list(inputs) if isinstance(inputs, list | tuple) else [inputs])  # pyright: ignore[reportUnknownArgumentType]
    return [_message(msg) for msg in msgs]


def _message(msg: object) -> Msg:
    if not isinstance(msg, Msg):
        raise TypeError(f"{type(msg).__name__} is no input; give a Msg, such as UserMsg('user', text).")
    if msg.role == "system" or any(block.type in ("tool_call", "tool_result", "thinking") for block in msg.content):
        raise ValueError(f"A {msg.role} message with calls, results or thinking cannot be an input.")
    return msg
