"""A runtime whose process can die: real agent, keeper and store; a model that is fed, tools that count what they did.

The disk and the counters outlive the process (`World`); agent, keeper and log do not (`World.boot`).
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter, deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from agentcli.agent.agent import Agent
from agentcli.config.rules import RulesFile
from agentcli.errors import LogError, SessionError
from agentcli.ledger.block import TextBlock
from agentcli.ledger.message import Msg
from agentcli.ledger.rule import PermissionBehavior, PermissionContext, PermissionMode
from agentcli.ledger.state import AgentState, Started
from agentcli.model.base import Finish, ModelCard, TextPiece
from agentcli.model.openai_chat.format import wire_request
from agentcli.permission.engine import PermissionEngine
from agentcli.permission.subject import Kind, Subject, Target, Way
from agentcli.runtime.keeper import Keeper
from agentcli.runtime.restore import restore
from agentcli.session.loaded import Loaded
from agentcli.session.log import SessionLog
from agentcli.session.store import SessionStore
from agentcli.tool.base import ToolBase, ToolChunk
from agentcli.tool.preview import digest_of, plain_preview
from agentcli.tool.toolkit import Toolkit
from agentcli.workspace.root import Place
from tests.fakes.disk import Died, FakeDisk

SESSION = "abcdefghijkl2345"
HEADER = {"version": 1, "id": SESSION, "cwd": "/", "root": "/", "mode": "default", "model": "fed", "api": "chat"}


class Inline(ThreadPoolExecutor):
    """Does the work at once, in the caller's thread, so that every run of a test takes the same steps."""

    def submit(self, fn, /, *args, **kwargs):
        done = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except BaseException as error:
            done.set_exception(error)
        return done


class InlineStore(SessionStore):
    """A store whose logs write in the caller's thread."""

    def create(self, session_id, header) -> SessionLog:
        return self._inline(super().create(session_id, header))

    def open(self, session_id) -> tuple[SessionLog, Loaded]:
        log, loaded = super().open(session_id)
        return self._inline(log), loaded

    def _inline(self, log):
        log._writer.shutdown()
        log._writer = Inline()
        return log


class FedModel:
    """Plays the turns it is fed; after the last one it says `over`. Each request is looked at before it is answered.

    A step is a piece, an error to raise, or something to await.
    """

    def __init__(self, world: World) -> None:
        self.card = ModelCard(name="fed", provider="fed")
        self.turns, self.faults, self.world = world.turns, world.faults, world

    async def stream(self, request):
        self.world.requests.append(request)
        try:
            check_request(request)
        except AssertionError as fault:
            self.faults.append(f"a request breaks law 2: {fault}")
        self.world.turn_ended = False
        for step in self.turns.popleft() if self.turns else [TextPiece("over"), Finish("stop")]:
            if isinstance(step, Exception):
                raise step
            if callable(step):
                await step()
                continue
            if step == Finish("stop"):
                self.world.turn_ended = True
            yield step
            await asyncio.sleep(0)


class Act(ToolBase):
    """Counts itself by call id; lets others run before and after its effect."""

    description = "acts"

    def __init__(self, world: World, name: str, *, read_only: bool = False, external: bool = False) -> None:
        self.world, self.name, self.read_only, self.external = world, name, read_only, external
        self.concurrency_safe = read_only
        self.parameters = {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}

    async def run(self, arguments, context):
        await asyncio.sleep(0)
        if self.world.disk.dead:
            return
        await self.world.at("before the effect")
        self.world.takes_effect(self, arguments, context)
        self.effect(arguments, context)
        await self.world.at("after the effect")
        yield ToolChunk(content=[TextBlock(text="did ")], progress="live")
        await asyncio.sleep(0)
        if arguments["value"] == "fail":
            raise ZeroDivisionError("oops")
        yield ToolChunk(content=[TextBlock(text=arguments["value"])])

    def effect(self, arguments, context):
        """What is seen of it outside."""


class Put(Act):
    """Writes its call id into a file; tells by digest what a crash left."""

    def subject(self, arguments, place):
        return Subject(self.name, Kind.FILE, (Target(f"{place.root}/{arguments['value']}", Way.WRITE, inside=True),))

    def preview(self, arguments, context):
        path = Path(context.place.root, arguments["value"])
        digest = digest_of(self.name, arguments, path.read_bytes() if path.exists() else None)
        return plain_preview(self.name, arguments).model_copy(update={"kind": "diff", "digest": digest})

    def start_record(self, arguments, context):
        path = Path(context.place.root, arguments["value"])
        before = hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None
        after = hashlib.sha256(context.call_id.encode()).hexdigest()
        return Started(call_id=context.call_id, files={str(path): (before, after)})

    def effect(self, arguments, context):
        Path(context.place.root, arguments["value"]).write_text(context.call_id)


def tools_of(world: World) -> list[ToolBase]:
    """One tool of each kind."""
    return [Act(world, "Act"), Act(world, "Look", read_only=True), Act(world, "Out", external=True), Put(world, "Put")]


class Witness:
    """A journal that hands on to another and remembers what it owes the disk: what was taken, what was made durable."""

    def __init__(self, inner) -> None:
        self.inner = inner
        self.taken: dict[str, dict] = {}
        """Message id -> how the disk has it at least."""
        self.durable: dict[str, dict] = {}
        """The same, whatever happens to the machine."""
        self.tried: dict[str, list[dict]] = {}
        """Message id -> how the disk may have it, from writes that did not return well."""
        self.owed: set[str] = set()
        self.in_doubt: set[str] = set()
        """Messages that were refused; where only the sync failed they are on disk all the same."""
        self.refused = False

    def forget(self, msg_ids):
        """These were rewound."""
        for known in (self.taken, self.durable, self.tried):
            for msg_id in msg_ids & known.keys():
                del known[msg_id]
        self.owed -= msg_ids

    async def said(self, msg):
        await self._write(self.inner.said(msg), msg, durable=True, owed=False)

    async def kept(self, msg, *, durable=True):
        await self._write(self.inner.kept(msg, durable=durable), msg, durable=durable)

    async def record(self, kind, body, *, durable=False):
        await self._write(self.inner.record(kind, body, durable=durable), None, durable=durable)

    async def keep(self):
        return await self.inner.keep()

    async def granted(self, rules):
        await self._write(self.inner.granted(rules), None, durable=True)

    async def _write(self, work, msg, *, durable, owed=True):
        if msg is not None:
            self.tried.setdefault(msg.id, []).append(msg.model_dump(mode="json"))
            if owed:
                self.owed.add(msg.id)
        self.refused = True
        try:
            await work
        except LogError:
            if not owed:
                self.tried.pop(msg.id)
                self.in_doubt.add(msg.id)
            raise
        self.refused = False
        self.taken.update({key: self.tried.pop(key)[-1] for key in list(self.tried)})
        self.owed.clear()
        if durable:
            self.durable.update(self.taken)


class World:
    """What outlives a process, and the process of now."""

    def __init__(self, folder: Path) -> None:
        self.data, self.root = folder / "data", folder / "root"
        self.root.mkdir(parents=True)
        self.place = Place(cwd=str(self.root), root=str(self.root), home="/nobody")
        self.turns = deque()
        self.effects: Counter[str] = Counter()
        self.ran: dict[str, str] = {}
        self.yes: dict[str, str] = {}
        """Call id -> the input that was approved, until it ran or was asked again."""
        self.faults: list[str] = []
        self.turn_ended = True
        """The model's last answer came to its proper end; without one none of its calls may run."""
        self.requests: list = []
        """What the model was asked by all processes."""
        self.dies_at = ""
        self.more_tools: list[ToolBase] = []
        self.loaded: Loaded | None = None
        self.disk = FakeDisk()

    async def at(self, place: str) -> None:
        """A place at which the process may be made to die."""
        if place == self.dies_at:
            self.dies_at = ""
            await self.stop()

    async def stop(self) -> None:
        """The process dies here: nothing more comes of it."""
        self.disk.kill()
        await asyncio.Event().wait()

    def takes_effect(self, tool, arguments, context):
        """A tool runs now: count it, and look whether it may."""
        call_id = context.call_id
        if not tool.read_only:
            self.effects[call_id] += 1
        self.ran[call_id] = arguments["value"]
        if not self.turn_ended:
            self.faults.append(f"{tool.name} {call_id} runs, and the answer that called it never ended")
        state = self.agent.state
        decision = PermissionEngine(state.permission_context).decide(
            tool.subject(arguments, self.place), state.permission_context.mode
        )
        approved = self.yes.get(call_id)
        by_answer = approved is not None and json.loads(approved) == arguments and decision.behavior == PermissionBehavior.ASK
        if decision.behavior != PermissionBehavior.ALLOW and not by_answer:
            self.faults.append(f"without leave: {tool.name} {call_id} {arguments} {decision.behavior}: {decision.reason}")

    # -- processes -----------------------------------------------------------------------------

    def boot(self, mode: PermissionMode = PermissionMode.DEFAULT, *, disk_dies_at: int = 0) -> Loaded | None:
        """A new process: the session from disk, if there is one. `recover` is still to be awaited."""
        self.disk, self.turn_ended = FakeDisk(disk_dies_at, "die" if disk_dies_at else "error"), True
        self.store = InlineStore(self.data, self.disk)
        permission = PermissionContext(mode=mode, root=str(self.root), home="/nobody")
        log, loaded = None, None
        with suppress(SessionError):
            log, loaded = self.store.open(SESSION)
            state = restore(loaded, SESSION, permission)
        if loaded is None:
            self.log_path.unlink(missing_ok=True)  # cut in its first line: the next one has another id
            state = AgentState(session_id=SESSION, permission_context=permission)
        self.loaded = loaded
        self.keeper = Keeper(self.store, RulesFile(self.data / "config"), str(self.root), dict(HEADER), log)
        self.journal = Witness(self.keeper)
        self.agent = self.agent_of(state, self.journal)
        return loaded

    def agent_of(self, state: AgentState, journal=None) -> Agent:
        """An agent on this state."""
        tools = Toolkit([*tools_of(self), *self.more_tools])
        return Agent("agent", "be useful", FedModel(self), tools, state, place=self.place, journal=journal, max_iters=6)

    @property
    def log_path(self) -> Path:
        return self.data / "sessions" / f"{SESSION}.jsonl"

    async def leave(self) -> None:
        """The process ends properly."""
        await self.keeper.close()

    def die(self, *, power: bool) -> None:
        """It does not."""
        (self.disk.lose_power if power else self.disk.kill)()
        with suppress(Died, LogError):
            if self.keeper.log is not None:
                self.keeper.log.close()


# -- what must hold ----------------------------------------------------------------------------


def check_request(request) -> None:
    """Law 2 of a request: each call has one final result behind it, before the next turn; nothing is empty."""
    seen: set[str] = set()
    for msg in request.messages:
        assert msg.content, "an empty message is sent"
        check_message(msg)
        ids = {call.id for call in msg.calls}
        assert not ids & seen, "a call id occurs twice"
        seen |= ids
    check_wire(wire_request(request).messages)


def check_message(msg: Msg) -> None:
    """Each call has exactly one final result, after it; no result is alone."""
    places = {(block.type, block.id): place for place, block in enumerate(msg.content)}
    assert len(places) == len(msg.content), "a block occurs twice"
    calls = {call.id for call in msg.calls}
    results = {block.id: block for block in msg.content if block.type == "tool_result"}
    assert calls == set(results)
    for key, result in results.items():
        assert result.state != "running"
        assert places["tool_call", key] < places["tool_result", key]


def check_wire(messages) -> None:
    """As a provider reads it: the results of a turn's calls follow it at once, each once."""
    open_ids: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in open_ids
            open_ids.remove(message["tool_call_id"])
            continue
        assert open_ids == []
        open_ids = [call["id"] for call in message.get("tool_calls") or []]
        assert message.get("content") or open_ids
    assert open_ids == []
