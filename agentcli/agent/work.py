"""What the steps of one reply share: the parts of the agent, the ledger's message, and the wish to stop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from agentcli.agent.budget import Budget
from agentcli.agent.journal import Journal
from agentcli.agent.masking import Masks
from agentcli.agent.pump import Ended, Pump
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock, ToolCallState, ToolResultState
from agentcli.ledger.message import Msg
from agentcli.ledger.rule import PermissionBehavior, PermissionMode, PermissionRule
from agentcli.ledger.state import AgentState
from agentcli.model.base import ChatModel
from agentcli.permission.engine import PermissionEngine
from agentcli.permission.subject import Kind, Subject, Target, Way
from agentcli.tool.base import ToolContext
from agentcli.tool.toolkit import Toolkit
from agentcli.workspace.root import Place
from agentcli.workspace.secrets import MaskedSpool
from agentcli.workspace.whole import Spool

Item = TypeVar("Item")
EventT = TypeVar("EventT", bound=ev.EventBase)
WAITING = (ToolCallState.ASKING, ToolCallState.SUBMITTED)


class Work:
    """The parts of one agent, and what its current reply knows."""

    def __init__(
        self,
        name: str,
        system: Callable[[], str],
        model: ChatModel,
        toolkit: Toolkit,
        state: AgentState,
        journal: Journal,
        place: Place,
        max_iters: int,
    ) -> None:
        self.name, self.system, self.model, self.toolkit = name, system, model, toolkit
        self.state, self.place, self.max_iters = state, place, max_iters
        self.journal = _WholeJournal(self.whole, journal)
        self.engine = PermissionEngine(state.permission_context)
        self.budget = Budget()
        self.masks = Masks()
        self.call_ids = {*state.past_calls, *(call.id for msg in state.context for call in msg.calls)}
        self.stop_wanted = asyncio.Event()
        self.cancelled = False
        self.untold: deque[ev.AgentEvent] = deque()
        """What was folded and not yielded yet; told first where an error ends the reply (law 1)."""
        self._journal = journal
        self._pumps: set[Pump[Any]] = set()

    @property
    def msg(self) -> Msg:
        """The message of the current reply."""
        reply = self.state.reply
        assert reply is not None, "a reply has a message from its start on"
        return reply

    @property
    def answering(self) -> bool:
        """A model call has not ended properly: no call that it has declared may run (law 10)."""
        return self.state.answering

    @answering.setter
    def answering(self, value: bool) -> None:
        self.state.answering = value

    @property
    def stopped(self) -> bool:
        """An interrupt was asked for, or the consumer's task was cancelled."""
        return self.stop_wanted.is_set()

    def waiting(self) -> list[ToolCallBlock]:
        """The calls of the current reply that somebody outside has to answer."""
        reply = self.state.reply
        return [call for call in reply.calls if call.state in WAITING] if reply else []

    def fold(self, event: EventT) -> EventT:
        """Fold an event into the ledger; whoever calls this yields it afterwards."""
        self.msg.append_event(event)  # pyright: ignore[reportArgumentType]  # every EventT is a member of the union
        self.journal.durable = False
        self.untold.append(event)  # pyright: ignore[reportArgumentType]
        return event

    def tell(self, event: ev.AgentEvent) -> ev.AgentEvent:
        """Take note that an event is yielded now."""
        if self.untold and self.untold[0] is event:
            self.untold.popleft()
        return event

    async def spent(self, event: ev.ModelCallEndEvent) -> None:
        """Count what a model call took."""
        await self.whole(self.budget.take(event, self.model.card.name, self.journal))

    async def secure(self) -> None:
        """Make durable what is not yet; a pause may last longer than the machine runs (law 4)."""
        if not self.journal.durable:
            await self.journal.kept(self.msg)

    def tool_context(self, call: ToolCallBlock, subject: Subject) -> ToolContext:
        """What a tool is given for this call, as it was judged."""

        async def note(kind: str, body: dict[str, Any]) -> None:
            # Not the whole one: a stopped tool is no cancelled consumer.
            await self._journal.record(kind, {"call_id": call.id, **body})

        return ToolContext(
            place=self.place,
            memory=self.state.tool_context,
            call_id=call.id,
            mode=self.state.permission_context.mode,
            note=note,
            look=self.may_look_at,
            judged=frozenset(target.path for target in subject.targets),
            keep=self.keep,
        )

    async def keep(self) -> Spool | None:
        """A file for an output that is too long to be told."""
        spool = await self._journal.keep()
        mask = self.masks.plain()
        return spool if spool is None or mask is None else MaskedSpool(spool, mask)

    def may_look_at(self, path: str) -> bool:
        """Whether a walk may show a path: it is not protected, and no deny rule covers it."""
        located = self.place.locate(path)
        target = Target(located.path, Way.LOOK, inside=located.inside, protected=located.protected, fault=located.fault)
        if target.protected or target.fault:
            return False
        # In bypass only a deny rule denies a look.
        decision = self.engine.decide(Subject("Read", Kind.FILE, (target,)), PermissionMode.BYPASS)
        return decision.behavior != PermissionBehavior.DENY

    def result_events(
        self, call: ToolCallBlock, state: ToolResultState, text: str, metadata: dict[str, Any] | None = None
    ) -> list[ev.AgentEvent]:
        """A whole result at once, folded; the start is left out where the result had one."""
        key, reply = call.id, self.state.reply_id
        events: list[ev.AgentEvent] = []
        if self.msg.result(key) is None:
            events.append(ev.ToolResultStartEvent(reply_id=reply, tool_call_id=key, tool_call_name=call.name))
        if text:
            events.append(ev.ToolResultTextDeltaEvent(reply_id=reply, tool_call_id=key, delta=text))
        events.append(ev.ToolResultEndEvent(reply_id=reply, tool_call_id=key, state=state, metadata=metadata or {}))
        self.settle(key)
        return [self.fold(event) for event in events]

    def settle(self, call_id: str) -> None:
        """Forget what was only kept while the call was open."""
        self.state.questions.pop(call_id, None)
        self.state.started.pop(call_id, None)

    # -- stopping ------------------------------------------------------------------------------

    def stop(self) -> None:
        """Ask the running reply to end as interrupted."""
        self.stop_wanted.set()
        for pump in self._pumps:
            pump.stop()

    def pump(self, sources: Iterable[tuple[str, Any]] = ()) -> Pump[Any]:
        """A pump that an interrupt reaches; closed with `done`."""
        pump: Pump[Any] = Pump()
        self._pumps.add(pump)
        for key, source in sources:
            pump.start(key, source)
        return pump

    async def done(self, pump: Pump[Any]) -> None:
        """Stop what still runs in a pump and forget it."""
        self._pumps.discard(pump)
        await self.whole(pump.close())

    async def next(self, pump: Pump[Item]) -> tuple[str, Item | Ended]:
        """The next item of a pump."""
        while True:
            try:
                return await pump.next()
            except asyncio.CancelledError:
                self._consumer_cancelled()

    async def whole(self, step: Awaitable[Item]) -> Item:
        """Await a step to its end, whatever the consumer does."""
        task = asyncio.ensure_future(step)
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError:
                self._consumer_cancelled()
        return task.result()

    async def pause(self, delay: float) -> None:
        """Wait these seconds, or until the reply is to be stopped."""
        if delay <= 0:
            return
        with suppress(TimeoutError):
            await self.whole(asyncio.wait_for(self.stop_wanted.wait(), delay))

    def _consumer_cancelled(self) -> None:
        # A cancelled consumer is an interrupt: the reply ends properly, then the cancellation goes on.
        self.cancelled = True
        self.stop()


class _WholeJournal:
    """A journal no call of which is given up half-way: ledger and disk would part."""

    def __init__(self, whole: Callable[[Awaitable[None]], Awaitable[None]], journal: Journal) -> None:
        self._whole, self._journal = whole, journal
        self.durable = True
        """Nothing was folded or written since that a power cut could take away."""

    async def said(self, msg: Msg) -> None:
        await self._whole(self._journal.said(msg))
        self.durable = True

    async def kept(self, msg: Msg, *, durable: bool = True) -> None:
        await self._whole(self._journal.kept(msg, durable=durable))
        self.durable = durable

    async def record(self, kind: str, body: Mapping[str, Any], *, durable: bool = False) -> None:
        await self._whole(self._journal.record(kind, body, durable=durable))
        self.durable = durable

    async def granted(self, rules: Sequence[PermissionRule]) -> None:
        await self._whole(self._journal.granted(rules))
        self.durable = True

    async def keep(self) -> Spool | None:
        return await self._journal.keep()
