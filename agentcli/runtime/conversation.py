"""The door: what a frontend sends down and hears. It holds one agent and its session, and knows no screen."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, assert_never, cast

from agentcli.agent.agent import Agent, Input
from agentcli.agent.compact import NO_SUMMARY, PURPOSE, TRIGGER
from agentcli.agent.context import covered
from agentcli.agent.window import BUSY
from agentcli.config.load import resolve_model
from agentcli.config.settings import Settings
from agentcli.errors import AgentcliError, ConfigError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock
from agentcli.ledger.rule import PermissionMode
from agentcli.model.registry import ModelSpec, make_model
from agentcli.runtime.command import Command, Compact, Rewind, SetMode, SetModel, SetTitle
from agentcli.runtime.keeper import Keeper
from agentcli.runtime.replay import Replay
from agentcli.runtime.title import title_of
from agentcli.view.summary import plural
from agentcli.workspace.root import Place


@dataclass(slots=True, frozen=True)
class Status:
    """A conversation at this moment."""

    session_id: str
    """Empty while no session was made."""
    title: str
    """As it was given; empty where none was."""
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


@dataclass(slots=True, frozen=True)
class Earlier:
    """A message of the user that can be gone back to."""

    msg_id: str
    text: str
    at: str
    """When it was said: ISO 8601, UTC."""


@dataclass(slots=True, frozen=True)
class ContextReport:
    """What the next request holds, in estimated tokens."""

    system: int
    tools: int
    summary: int
    user: int
    assistant: int
    results: int
    size: int | None
    """The context of the model; None where it is not known."""
    trigger: int | None
    """The tokens at which the older part is summarised by itself."""
    messages: int
    """All messages of the session; the ledger keeps every one."""
    covered: int
    """How many of them are sent as the summary only, the one that is cut in two included."""
    summary_text: str

    @property
    def total(self) -> int:
        """All of the request."""
        return sum(tokens for _, tokens in self.rows)

    @property
    def rows(self) -> tuple[tuple[str, int], ...]:
        """The parts, in the order in which they are sent."""
        return (
            ("system prompt", self.system),
            ("tools", self.tools),
            ("summary", self.summary),
            ("user", self.user),
            ("assistant", self.assistant),
            ("results of tools", self.results),
        )


class Conversation:
    """One session with its agent."""

    def __init__(
        self,
        agent: Agent,
        keeper: Keeper,
        place: Place,
        settings: Settings,
        spec: ModelSpec,
        notices: tuple[str, ...],
        title: str = "",
    ) -> None:
        self._agent, self._keeper, self._place, self._settings, self._spec = agent, keeper, place, settings, spec
        self._notices, self._title = notices, title
        self._spent = self._made = self._context = 0
        for usage in (agent.state.apart, *(msg.usage for msg in agent.state.context)):
            if usage is not None:
                self._spent += usage.input_tokens
                self._made += usage.output_tokens
        if agent.state.context and agent.model.card.context_size:
            self._context = round(agent.window.sizes().total)

    @property
    def status(self) -> Status:
        """Where the conversation stands."""
        agent, state = self._agent, self._agent.state
        return Status(
            session_id=state.session_id if self._keeper.made else "",
            title=self._title,
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

    def context(self) -> ContextReport:
        """What stands in the model's context, by what it is for."""
        state, sizes = self._agent.state, self._agent.window.sizes()
        size = self._agent.model.card.context_size
        whole, part = covered(state)
        return ContextReport(
            system=round(sizes.system),
            tools=round(sizes.tools),
            summary=round(sizes.summary),
            user=round(sizes.user),
            assistant=round(sizes.assistant),
            results=round(sizes.results),
            size=size,
            trigger=round(TRIGGER * size) if size else None,
            messages=len(state.context),
            covered=whole + (part > 0),
            summary_text=state.summary or "",
        )

    def replay(self) -> Replay:
        """The saved history as it stands now: user messages whole, replies as their events, and where it was compressed."""
        state = self._agent.state
        return Replay(state.context, state.session_id, self._cut())

    def earlier(self) -> list[Earlier]:
        """What the user said and still stands, newest first; each can be gone back to."""
        said = [msg for msg in reversed(self._agent.state.context) if msg.role == "user"]
        return [Earlier(msg.id, msg.get_text_content() or "", msg.created_at) for msg in said]

    def _cut(self) -> tuple[int, ev.ContextCompressedEvent] | None:
        """Before which message the part that is sent whole begins (the one that is cut in two counts to it)."""
        state = self._agent.state
        compressed = state.compressed
        if not compressed or not state.summary:
            return None
        event = ev.ContextCompressedEvent(
            reply_id="",
            tokens_before=compressed.tokens_before,
            tokens_after=compressed.tokens_after,
            summary=state.summary,
        )
        return covered(state)[0], event

    async def stream(self, inputs: Input) -> AsyncIterator[ev.AgentEvent]:
        """What an input causes, as one stream. Refused inputs raise before the first event."""
        if self._agent.window.busy:
            raise AgentcliError(BUSY)
        async with aclosing(self._agent.reply_stream(inputs)) as events:
            async for event in events:
                if isinstance(event, ev.ModelCallEndEvent):
                    self._count(event)
                elif isinstance(event, ev.ContextCompressedEvent):
                    self._context = event.tokens_after
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
        """End the running reply as interrupted, or give up the compression that is being made."""
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
            case Compact(focus):
                return await self._compact(focus)
            case SetTitle(title):
                return await self._set_title(title)
            case Rewind(msg_id):
                return await self._rewind(msg_id)
            case _:
                assert_never(command)

    async def warm(self) -> None:
        """Load what the first model call needs, beside the event loop."""
        await self._agent.model.warm()

    async def close(self) -> None:
        """Leave: the model's connection and the session's lock are given back."""
        await self._agent.model.close()
        await self._keeper.close()

    def _count(self, event: ev.ModelCallEndEvent) -> None:
        self._spent += event.input_tokens
        self._made += event.output_tokens
        if event.metadata.get("purpose") != PURPOSE:
            self._context = event.input_tokens + event.output_tokens

    async def _compact(self, focus: str) -> str:
        agent, apart = self._agent, self._agent.state.apart
        if agent.running and not agent.window.busy:
            raise AgentcliError("A reply runs; interrupt it, or compress the context after its end.")
        done = await agent.window.compress(focus)
        self._spent += agent.state.apart.input_tokens - apart.input_tokens
        self._made += agent.state.apart.output_tokens - apart.output_tokens
        if isinstance(done, str):
            return done
        self._context = done.tokens_after
        told = f" {done.summary}" if done.summary.startswith(NO_SUMMARY) else ""
        return f"Compressed: about {done.tokens_before:,} -> {done.tokens_after:,} tokens.{told}"

    async def _set_title(self, title: str) -> str:
        title = title_of(title)
        await self._keeper.record("title", {"title": title}, durable=True)
        self._title = title
        return f"Title: {title}"

    async def _rewind(self, msg_id: str) -> str:
        past = await self._agent.rewind(msg_id)
        self._context = round(self._agent.window.sizes().total)
        gone = plural(len(past), "message")
        return f"Back before this message: {gone} left the context, files stay as they are. The session keeps all of it."

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
