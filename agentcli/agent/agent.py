"""The agent: one reply at a time, as a stream of events; inputs are checked before the first of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import aclosing, contextmanager
from typing import Any, TypeAlias, cast

from agentcli.agent import answers, recovery
from agentcli.agent.announce import announce
from agentcli.agent.budget import Budget
from agentcli.agent.context import close_holes
from agentcli.agent.journal import Journal, NoJournal
from agentcli.agent.masking import Masks
from agentcli.agent.reply import end, go_on
from agentcli.agent.rewind import rewind
from agentcli.agent.window import Window
from agentcli.agent.work import Work
from agentcli.errors import AgentcliError, LogError, NothingWaiting, StillWaiting
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
        budget: what a reply may take before somebody is asked; counts what is spent.
        masks: what is taken out of the results of tools; by default what has the form of a well-known key.
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
        budget: Budget | None = None,
        masks: Masks | None = None,
    ) -> None:
        state = state or AgentState()
        state.session_id = state.session_id or new_id()
        place = place or Place.find(os.getcwd())
        state.permission_context.root = state.permission_context.root or place.root
        state.permission_context.home = state.permission_context.home or place.home
        system = system_prompt if callable(system_prompt) else lambda: system_prompt
        self._work = Work(name, system, model, toolkit or Toolkit(), state, journal or NoJournal(), place, max_iters)
        self._work.budget = budget or self._work.budget
        self._work.masks = masks or self._work.masks
        self.window = Window(self._work, self._alone)
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

    @property
    def budget(self) -> Budget:
        """What was spent, and the limits of a reply."""
        return self._work.budget

    @property
    def masks(self) -> Masks:
        """What is taken out of the results of tools."""
        return self._work.masks

    @model.setter
    def model(self, model: ChatModel) -> None:
        self._work.model = model

    def steer(self, content: str) -> None:
        """Say something while a reply runs: taken in before its next model call."""
        self.state.steering.append(content)

    def note(self, text: str) -> None:
        """Have the model know something with the next model call."""
        self.state.notes.append(text)

    def interrupt(self) -> None:
        """End the running reply as interrupted; nothing where none runs."""
        if self._running:
            self._work.stop()

    async def recover(self, *, from_log: bool = False, records: Sequence[Mapping[str, Any]] = ()) -> list[str]:
        """Bring what a crash left into a state that can go on; part of no stream. Sentences for the user: what still runs.

        Args:
            from_log: the state was read from a session's log, `records` is what that holds beside messages.
        """
        with self._alone():
            return await recovery.recover(self._work, from_log=from_log, records=records)

    async def rewind(self, msg_id: str) -> list[Msg]:
        """Take a user message and all behind it out of the context; what was taken out. The log keeps it."""
        with self._alone():
            return await rewind(self._work, msg_id)

    async def observe(self, msgs: Msg | Sequence[Msg]) -> None:
        """Put messages into the context without answering them."""
        with self._alone():
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
        with self._alone():
            async with aclosing(self._stream(inputs)) as events:
                async for event in events:
                    yield event

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Nothing else may change the ledger meanwhile; a cancellation that came in goes on its way afterwards."""
        if self._running:
            raise AgentcliError("A reply runs; interrupt it, or wait for its end.")
        work = self._work
        self._running = True
        work.stop_wanted.clear()
        work.cancelled = False
        work.untold.clear()
        try:
            yield
            if work.cancelled:
                raise asyncio.CancelledError
        finally:
            self._running = False

    async def _stream(self, inputs: Input) -> AsyncGenerator[ev.AgentEvent, None]:
        """The events of an input; where the disk refuses a record the reply ends there, and all that was folded is told."""
        work, begun = self._work, False
        try:
            async with aclosing(self._source(inputs)) as events:
                async for event in events:
                    begun = True
                    if isinstance(event, ev.ReplyPausedEvent):
                        await work.secure()
                    elif isinstance(event, ev.ReplyEndEvent):
                        work.answering = False
                    yield work.tell(event)
        except LogError as error:
            if not begun and not work.untold:
                raise
            for event in await recovery.broken_off(work, error):
                yield event

    def _source(self, inputs: Input) -> AsyncGenerator[ev.AgentEvent, None]:
        work = self._work
        match inputs:
            case None:
                return self._continue()
            case ev.UserConfirmResultEvent():
                answers.check_confirmation(work, inputs)
                return self._after(answers.confirm(work, inputs))
            case ev.ExternalExecutionResultEvent():
                answers.check_results(work, inputs)
                return self._after(answers.accept_results(work, inputs))
            case ev.UserInterruptEvent():
                answers.check_interrupt(work, inputs)
                return self._interrupted(inputs)
            case _:
                return self._new(_messages(inputs))

    async def _new(self, msgs: list[Msg]) -> AsyncGenerator[ev.AgentEvent, None]:
        await self._take_in(msgs)
        async with aclosing(self._start()) as events:
            async for event in events:
                yield event

    async def _start(self) -> AsyncGenerator[ev.AgentEvent, None]:
        state = self.state
        state.reply_id, state.cur_iter, state.unfinished = new_id(), 0, True
        self._work.answering = False
        state.context.append(AssistantMsg(name=self.name, id=state.reply_id))
        start = ev.ReplyStartEvent(reply_id=state.reply_id, session_id=state.session_id, name=self.name)
        yield self._work.fold(start)
        async with aclosing(go_on(self._work)) as events:
            async for event in events:
                yield event

    async def _continue(self) -> AsyncGenerator[ev.AgentEvent, None]:
        await recovery.recover(self._work)
        if self.waiting:
            source = self._after(announce(self._work), go=False)
        elif self.state.unfinished and self.state.reply is not None:
            source = go_on(self._work)
        elif self.state.context and self.state.context[-1].role == "user":
            source = self._start()
        else:
            raise NothingWaiting("Nothing waits, and there is no reply to continue.")
        async with aclosing(source) as events:
            async for event in events:
                yield event

    async def _after(self, first: AsyncGenerator[ev.AgentEvent, None], *, go: bool = True) -> AsyncGenerator[ev.AgentEvent, None]:
        """What an answer causes, then the reply goes on; an announcement only pauses again."""
        async with aclosing(first) as events:
            async for event in events:
                yield event
        if go:
            async with aclosing(go_on(self._work)) as events:
                async for event in events:
                    yield event
        else:
            blocks = [call.model_copy(deep=True) for call in self.waiting]
            yield ev.ReplyPausedEvent(reply_id=self.state.reply_id, session_id=self.state.session_id, waiting=blocks)

    async def _interrupted(self, event: ev.UserInterruptEvent) -> AsyncGenerator[ev.AgentEvent, None]:
        if not self.waiting:
            return
        event = event.model_copy(update={"reply_id": self.state.reply_id})
        events = await answers.interrupted(self._work, event)
        # All of it before the first is told: a reply that was interrupted never goes on.
        for one in [*events, await end(self._work, ev.ReplyEndReason.INTERRUPTED)]:
            yield one

    async def _take_in(self, msgs: list[Msg]) -> None:
        if self.waiting:
            names = ", ".join(f"{call.name} ({call.id})" for call in self.waiting)
            raise StillWaiting(f"{len(self.waiting)} calls wait for an answer first: {names}.")
        await close_holes(self._work)
        await self._leave_off()
        steering = self.state.steering
        while steering:
            # What was said to an earlier reply, and came too late for it, is said now.
            await self._said(UserMsg(content=steering[0]))
            del steering[0]
        for msg in msgs:
            await self._said(msg.model_copy(deep=True))

    async def _said(self, msg: Msg) -> None:
        # Written first: what the disk refuses was not said.
        await self._work.journal.said(msg)
        self.state.context.append(msg)

    async def _leave_off(self) -> None:
        """End the reply that was cut off and is not gone on with."""
        state, reply = self.state, self.state.reply
        if not state.unfinished or reply is None:
            return
        if reply.content:
            end_event = ev.ReplyEndEvent(
                reply_id=reply.id, session_id=state.session_id, finished_reason=ev.ReplyEndReason.INTERRUPTED
            )
            reply.append_event(end_event)
            await self._work.journal.kept(reply, durable=False)
        else:
            state.context.remove(reply)
        state.unfinished = self._work.answering = False


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
