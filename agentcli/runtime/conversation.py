"""The door: what a frontend sends down and hears. It holds one agent and its session, and knows no screen."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, assert_never, cast

from agentcli.agent.agent import Agent, Input
from agentcli.agent.compact import NO_SUMMARY, PURPOSE, TRIGGER
from agentcli.agent.context import covered
from agentcli.agent.window import BUSY
from agentcli.config.load import resolve_model
from agentcli.config.settings import Settings
from agentcli.errors import AgentcliError, ConfigError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock
from agentcli.ledger.message import Usage, UserMsg
from agentcli.ledger.rule import PermissionMode
from agentcli.model.base import ModelRequest
from agentcli.model.price import has_price, prices_of
from agentcli.model.registry import ModelSpec, make_model
from agentcli.runtime.command import Command, Compact, Connect, Redo, Rewind, SetMode, SetModel, SetTitle, Undo
from agentcli.runtime.keeper import Keeper
from agentcli.runtime.replay import Replay
from agentcli.runtime.title import title_of
from agentcli.runtime.undo import REDO, UNDO, Plan, carry_out
from agentcli.view.summary import plural
from agentcli.workspace.root import Place

if TYPE_CHECKING:
    from agentcli.runtime.probe import Answer


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
    """Of all model calls of the session, as the next ones."""
    output_tokens: int
    cached_tokens: int
    """Of the input."""
    reasoning_tokens: int
    """Of the output."""
    cost: float | None
    """US dollars so far; None where no price is known."""
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
        self._env: Mapping[str, str] = os.environ
        """The environment, with what the user has connected to meanwhile."""
        self._usage, self._context = Usage(), 0
        for usage in (agent.state.apart, *(msg.usage for msg in agent.state.context)):
            if usage is not None:
                self._usage += usage
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
            input_tokens=self._usage.input_tokens,
            output_tokens=self._usage.output_tokens,
            cached_tokens=self._usage.cached_tokens,
            reasoning_tokens=self._usage.reasoning_tokens,
            cost=agent.budget.cost,
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

    @property
    def spec(self) -> ModelSpec:
        """The model of now, as it was named."""
        return self._spec

    def next_request(self, prompt: str | None = None) -> ModelRequest:
        """What the model would be given next, after this prompt; nothing is changed."""
        return self._agent.window.request([UserMsg(content=prompt)] if prompt else [])

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
                    event = self._count(event)
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
            case Connect():
                return await self._connect(command)
            case Compact(focus):
                return await self._compact(focus)
            case SetTitle(title):
                return await self._set_title(title)
            case Rewind(msg_id):
                return await self._rewind(msg_id)
            case Undo(call_id):
                return await self._put_back(lambda: self._keeper.changes.to_undo(call_id))
            case Redo():
                return await self._put_back(self._keeper.changes.to_redo)
            case _:
                assert_never(command)

    async def offered(self, wanted: Connect) -> Answer:
        """The models that an endpoint lists; it is asked, with its key, and nobody else."""
        from agentcli.runtime.connect import offered

        return await asyncio.to_thread(offered, self._settings, self._env, wanted)

    async def warm(self) -> None:
        """Load what the first model call needs, beside the event loop."""
        await self._agent.model.warm()

    async def close(self) -> None:
        """Leave: the model's connection and the session's lock are given back."""
        await self._agent.model.close()
        await self._keeper.close()

    def _count(self, event: ev.ModelCallEndEvent) -> ev.ModelCallEndEvent:
        """Add a model call to the figures; the event says what it has cost."""
        self._usage += Usage(**{name: getattr(event, name) for name in Usage.model_fields})
        if event.metadata.get("purpose") != PURPOSE:
            self._context = event.input_tokens + event.output_tokens
        cost = self._agent.budget.last
        return event if cost is None else event.model_copy(update={"metadata": {**event.metadata, "cost": cost}})

    async def _compact(self, focus: str) -> str:
        agent, apart = self._agent, self._agent.state.apart
        if agent.running and not agent.window.busy:
            raise AgentcliError("A reply runs; interrupt it, or compress the context after its end.")
        done = await agent.window.compress(focus)
        spent = {name: getattr(agent.state.apart, name) - getattr(apart, name) for name in Usage.model_fields}
        self._usage += Usage(**spent)
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

    async def _put_back(self, find: Callable[[], Plan]) -> str:
        agent = self._agent
        if agent.running:
            raise AgentcliError("A reply runs; interrupt it, or wait for its end.")
        if agent.state.permission_context.mode == PermissionMode.EXPLORE:
            raise AgentcliError("EXPLORE changes nothing, so nothing is undone in it; /mode chooses another mode.")
        plan = await asyncio.to_thread(find)
        # Written first: should this process die in between, the files themselves tell how far it came.
        await self._keeper.record(plan.kind, plan.record, durable=True)
        if not plan.done:
            log = await self._keeper.opened()
            try:
                await asyncio.to_thread(carry_out, plan, log.blobs)
            except AgentcliError:
                await self._keeper.record(REDO if plan.kind == UNDO else UNDO, plan.record, durable=True)
                raise
        agent.note(plan.note)
        return plan.sentence

    async def _set_model(self, name: str, api: str | None) -> str:
        wanted = cast("Literal['chat', 'responses'] | None", api)
        spec = await asyncio.to_thread(resolve_model, self._settings, name, wanted, self._env)  # a key command may take long
        if spec is None:
            raise ConfigError(f"{name}: no endpoint is configured")
        return await self._answer_with(spec)

    async def _connect(self, wanted: Connect) -> str:
        from agentcli.runtime.connect import connected, told  # few connect; all would wait for it at start

        spec, self._env = await asyncio.to_thread(connected, self._settings, self._env, wanted)
        return told(await self._answer_with(spec), spec, wanted)

    async def _answer_with(self, spec: ModelSpec) -> str:
        model = make_model(spec)
        old, self._spec, self._agent.model = self._agent.model, spec, model
        self._agent.budget.price = prices_of(spec)
        self._agent.masks.add(spec.api_key)
        await old.close()
        await self._keeper.record("model", {"model": spec.name, "api": spec.api}, durable=True)
        unknown = self._agent.budget.limits.cost is not None and not await asyncio.to_thread(has_price, spec)
        return f"Model: {spec.name}" + (f". {no_limit(spec.name)}" if unknown else "")


def no_limit(name: str) -> str:
    """What to say where a limit of cost cannot be kept."""
    return f"The price of {name} is not known, so --max-cost cannot hold; price_input and price_output in config.toml say it."
