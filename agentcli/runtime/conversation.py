"""The door: what a frontend sends down and hears. It holds one agent and its session, and knows no screen."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal, assert_never, cast

from agentcli.agent.agent import Agent, Input
from agentcli.agent.context import NEVER_STARTED
from agentcli.config.load import resolve_model
from agentcli.config.settings import Settings
from agentcli.errors import ConfigError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock
from agentcli.ledger.message import Msg
from agentcli.ledger.rule import PermissionMode
from agentcli.ledger.unfold import unfold
from agentcli.model.registry import ModelSpec, make_model
from agentcli.runtime.command import Command, SetMode, SetModel
from agentcli.runtime.keeper import Keeper
from agentcli.workspace.root import Place

FORKED = "never started (the question stays with the parent)."


@dataclass(slots=True, frozen=True)
class Status:
    """A conversation at this moment."""

    session_id: str
    """Empty while no session was made."""
    reply_id: str
    """The current reply's; what an answer is for."""
    mode: PermissionMode
    model: str
    demo: bool
    cwd: str
    root: str
    input_tokens: int
    output_tokens: int
    context_tokens: int
    context_size: int | None
    running: bool
    waiting: tuple[ToolCallBlock, ...]
    unfinished: bool
    """A reply that was cut off; `stream(None)` continues it."""
    notices: tuple[str, ...]
    """Sentences for the user, to be shown once at start."""


class Conversation:
    """One session with its agent."""

    def __init__(
        self, agent: Agent, keeper: Keeper, place: Place, settings: Settings, spec: ModelSpec, notices: tuple[str, ...]
    ) -> None:
        self._agent, self._keeper, self._place, self._settings, self._spec = agent, keeper, place, settings, spec
        self._notices = notices
        self._spent = self._made = self._context = 0
        for msg in agent.state.context:
            if msg.usage is not None:
                self._spent += msg.usage.input_tokens
                self._made += msg.usage.output_tokens

    @property
    def status(self) -> Status:
        """Where the conversation stands."""
        agent, state = self._agent, self._agent.state
        return Status(
            session_id=state.session_id if self._keeper.made else "",
            reply_id=state.reply_id,
            mode=state.permission_context.mode,
            model=self._spec.name,
            demo=self._spec.name == "demo",
            cwd=self._place.cwd,
            root=self._place.root,
            input_tokens=self._spent,
            output_tokens=self._made,
            context_tokens=self._context,
            context_size=agent.model.card.context_size,
            running=agent.running,
            waiting=tuple(agent.waiting),
            unfinished=agent.unfinished,
            notices=self._notices,
        )

    def replay(self) -> Iterator[Msg | ev.AgentEvent]:
        """The saved history: user messages whole, replies as their events."""
        for msg in self._agent.state.context:
            if msg.role == "assistant":
                yield from unfold(msg, self._agent.state.session_id)
            else:
                yield msg

    async def stream(self, inputs: Input) -> AsyncIterator[ev.AgentEvent]:
        """What an input causes, as one stream. Refused inputs raise before the first event."""
        async with aclosing(self._agent.reply_stream(inputs)) as events:
            async for event in events:
                if isinstance(event, ev.ModelCallEndEvent):
                    self._count(event)
                yield event

    def steer(self, text: str) -> None:
        """Say something to the running reply."""
        self._agent.steer(text)

    def take_back(self) -> list[str]:
        """The texts that no model call has taken in, removed; the frontend sends them, or gives them back."""
        state = self._agent.state
        texts, state.steering = state.steering, []
        return texts

    def interrupt(self) -> None:
        """End the running reply as interrupted."""
        self._agent.interrupt()

    async def do(self, command: Command) -> str:
        """Carry out a command; a sentence for the user."""
        match command:
            case SetMode(mode):
                self._agent.state.permission_context.mode = mode
                await self._keeper.record("mode", {"mode": mode.value}, durable=True)
                return f"Mode: {mode.value}"
            case SetModel(name, api):
                return await self._set_model(name, api)
            case _:
                assert_never(command)

    async def warm(self) -> None:
        """Load what the first model call needs, beside the event loop."""
        await self._agent.model.warm()

    async def close(self) -> None:
        """Leave: the model's connection and the session's lock are given back."""
        await self._agent.model.close()
        await self._keeper.close()

    async def begin_as_fork(self) -> None:
        """Write the parent's messages as the beginning of a session of its own; what waits stays with the parent."""
        state = self._agent.state
        for msg in state.context:
            for call in msg.open_calls():
                for event in never_started(msg, call):
                    msg.append_event(event)
            msg.take_changes()
            await self._keeper.said(msg)
        state.questions.clear()
        state.started.clear()

    def _count(self, event: ev.ModelCallEndEvent) -> None:
        self._spent += event.input_tokens
        self._made += event.output_tokens
        self._context = event.input_tokens + event.output_tokens

    async def _set_model(self, name: str, api: str | None) -> str:
        wanted = cast("Literal['chat', 'responses'] | None", api)
        spec = resolve_model(self._settings, name, wanted, os.environ)
        if spec is None:
            raise ConfigError(f"{name}: no endpoint is configured")
        old, self._spec = self._agent.model, spec
        self._agent.model = make_model(spec)
        await old.close()
        await self._keeper.record("model", {"model": spec.name, "api": spec.api}, durable=True)
        return f"Model: {spec.name}"


def never_started(msg: Msg, call: ToolCallBlock) -> list[ev.AgentEvent]:
    """The result of a call that a fork leaves to its parent."""
    ids: dict[str, Any] = {"reply_id": msg.id, "tool_call_id": call.id}
    waits = call.state in ("asking", "submitted")
    events: list[ev.AgentEvent] = []
    if msg.result(call.id) is None:
        events.append(ev.ToolResultStartEvent(**ids, tool_call_name=call.name))
    events.append(ev.ToolResultTextDeltaEvent(**ids, delta=FORKED if waits else NEVER_STARTED))
    events.append(ev.ToolResultEndEvent.model_validate({**ids, "state": "error"}))
    return events
