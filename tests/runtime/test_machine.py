"""Random legal and illegal inputs, crashes and disk errors against the real runtime; the laws hold after each step.

`AGENTCLI_STEPS=10000` runs that many steps instead of a few hundred, `AGENTCLI_SEED` begins with another seed.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import shutil
import tempfile
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from agentcli.agent.announce import asked_again
from agentcli.agent.context import model_request
from agentcli.agent.gate import ALLOWED_BEFORE, CHANGED, MOVED
from agentcli.errors import AgentcliError, LogError, NothingWaiting, RefusedInput, StaleAnswer, StillWaiting
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallState, ToolResultBlock
from agentcli.ledger.message import AssistantMsg, UserMsg
from agentcli.ledger.rule import PermissionBehavior, PermissionMode, PermissionRule
from agentcli.ledger.state import AgentState
from agentcli.model.scripted import read_turns
from tests.fakes.agent import answer, call
from tests.fakes.disk import Died
from tests.fakes.stage import Stage
from tests.fakes.world import SESSION, Inline, InlineStore, World, check_message, check_request

STEPS = int(os.environ.get("AGENTCLI_STEPS", "400"))
SEED = int(os.environ.get("AGENTCLI_SEED", "0"))
STEPS_EACH = 40
TERMINAL = {"REPLY_END", "REPLY_PAUSED"}
VALUES = ["a", "b", "a/b", "fail"]

# -- what is drawn -----------------------------------------------------------------------------

call_ids = st.sampled_from(["c1", "c2", "c3", ""])
sound_calls = st.builds(
    lambda key, name, value: {"tool_call": {"id": key, "name": name, "input": {"value": value}}},
    call_ids,
    st.sampled_from(["Act", "Look", "Out", "Put"]),
    st.sampled_from(["a", "b", "c", "fail"]),
)
odd_calls = st.builds(
    lambda key, name, text: {"tool_call": {"id": key, "name": name, "input": text}},
    call_ids,
    st.sampled_from(["Act", "Put", "Nope", ""]),
    st.sampled_from(["", "[]", '{"value": "a"}', '{"value": "a', '{"value": 7}', '{"value": "a", "value": "b"}']),
)
words = st.sampled_from(
    [{"text": "words"}, {"text": ""}, {"thinking": "hm"}, {"data": {"media_type": "image/png", "data": "AAAA"}}]
)
ends = st.sampled_from(
    [
        *[[]] * 20,
        [{"usage": {"input_tokens": 5, "output_tokens": 2}}],
        [{"finish": "length"}],
        [{"finish": "content_filter"}],
        [{"error": "connection"}],
        [{"error": "auth"}],
        [{"finish": "cut"}],
    ]
)
turns = st.builds(
    lambda said, calls, end: [*said, *calls, *end],
    st.lists(words, max_size=2),
    st.lists(st.one_of(sound_calls, sound_calls, sound_calls, odd_calls), max_size=3),
    ends,
)
scripts = st.lists(turns, max_size=3)


@dataclass(frozen=True)
class Way:
    """How a stream is consumed: to its end, or until something happens after some events or turns of the loop."""

    how: str = "all"
    after: int = 0


WAYS = [
    "close",
    "close",
    "kill",
    "kill",
    "power",
    "cancel",
    "interrupt",
    "stop",
    "steer",
    "observe",
    "second",
    "recover",
    "kill",
    "power",
    "dump",
]
ways = st.one_of(st.just(Way()), st.builds(Way, st.sampled_from(WAYS), st.one_of(st.integers(0, 6), st.integers(0, 25))))


@dataclass(frozen=True)
class Reply:
    """One answer of a confirmation, before it is known what waits."""

    yes: bool = True
    edit: str | None = None
    digest: str = "none"
    rules: str = "none"


replies = st.builds(
    Reply,
    st.sampled_from([True, True, True, False]),
    st.sampled_from([None, None, None, '{"value": "c"}', "{"]),
    st.sampled_from(["none", "right", "right", "wrong"]),
    st.sampled_from(["none", "none", "none", "offered", "foreign", "deny"]),
)
modes = st.sampled_from([*[PermissionMode.DEFAULT] * 6, PermissionMode.BYPASS, *PermissionMode])
twists = st.sampled_from(["none"] * 8 + ["reply", "foreign", "double", "empty", "settled"])
parts = st.sampled_from(["all", "all", "first", "last"])


ACTIONS = {
    "say": st.fixed_dictionaries({"script": scripts, "way": ways, "many": st.booleans()}),
    "go_on": st.fixed_dictionaries({"script": scripts, "way": ways}),
    "allow": st.fixed_dictionaries({"script": scripts, "way": ways}),
    "answer": st.fixed_dictionaries(
        {"given": st.lists(replies, min_size=3, max_size=3), "part": parts, "twist": twists, "way": ways, "script": scripts}
    ),
    "deliver": st.fixed_dictionaries(
        {
            "part": parts,
            "twist": twists,
            "way": ways,
            "script": scripts,
            "state": st.sampled_from(["success", "error", "denied", "running"]),
        }
    ),
    "interrupt": st.fixed_dictionaries({"named": st.booleans(), "way": ways}),
    "refused": st.fixed_dictionaries(
        {
            "what": st.sampled_from(
                ["say", "observe", "str", "block", "number", "answer", "idle", "interrupt", "result", "nothing"]
            ),
            "yes": st.booleans(),
        }
    ),
    "meanwhile": st.fixed_dictionaries(
        {
            "what": st.sampled_from(["touch", "touch", "mode", "steer", "observe"]),
            "mode": modes,
            "name": st.sampled_from(["a", "b", "c"]),
            "text": st.sampled_from(["1", "2"]),
        }
    ),
    "break_disk": st.fixed_dictionaries(
        {
            "after": st.integers(1, 12),
            "how": st.sampled_from(["error", "short", "torn", "die"]),
            "only": st.sampled_from(["", "write", "fdatasync"]),
        }
    ),
    "restart": st.fixed_dictionaries({"how": st.sampled_from(["leave", "leave", "kill", "power", "json", "json", "mend"])}),
    "cut": st.fixed_dictionaries({"share": st.floats(0, 1)}),
    "rewind": st.fixed_dictionaries({"share": st.floats(0, 1)}),
}
"""What may be done -> what is drawn for it."""
IDLE = {"say": 8, "rewind": 1, "refused": 1, "meanwhile": 2, "break_disk": 1, "restart": 1, "cut": 1}
LEFT_OFF = {"go_on": 6, "rewind": 1, "say": 3, "refused": 1, "meanwhile": 1, "restart": 1}
WAITS = {"interrupt": 1, "rewind": 1, "go_on": 1, "refused": 2, "meanwhile": 2, "break_disk": 1, "restart": 2, "cut": 1}
ASKS = {**WAITS, "allow": 6, "answer": 7}
HANDED_OUT = {**WAITS, "deliver": 8}
BOTH = {**ASKS, **HANDED_OUT}


def play(script):
    """The script as steps; `cut` is a stream without an end."""
    found = []
    for turn in script:
        cut = {"finish": "cut"} in turn
        steps = read_turns([[step for step in turn if step != {"finish": "cut"}]], "fed")[0]
        found.append(steps[:-1] if cut else steps)
    return found


def allowed_by(events):
    """The calls that an answer, told as accepted, allowed."""
    taken = [event for event in events if event.type == "USER_CONFIRM_RESULT"]
    return {one.tool_call.id for event in taken for one in event.confirm_results if one.confirmed}


@dataclass
class Heard:
    """What came of one stream."""

    events: list = field(default_factory=list)
    error: BaseException | None = None
    closed: bool = False


# -- the machine -------------------------------------------------------------------------------


class Machine(RuleBasedStateMachine):
    steps = 0

    @initialize(mode=modes)
    def begin(self, mode):
        self.loop = asyncio.new_event_loop()
        self.loop.set_default_executor(Inline())
        self.loop.set_exception_handler(self.unheard)
        self.unheard_of: list[dict] = []
        self.folder = Path(tempfile.mkdtemp(prefix="machine-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None))
        self.world = World(self.folder)
        self.world.boot(mode)
        self.paused: dict[str, tuple[str, str]] = {}
        self.accepted: set[str] = set()
        self.judged: set[str] = set()

    def unheard(self, loop, context):
        self.unheard_of.append(context)

    def teardown(self):
        if not hasattr(self, "loop"):
            return
        self.world.die(power=False)
        self.drop_tasks()
        self.loop.close()
        shutil.rmtree(self.folder)

    def drop_tasks(self):
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks))
        # generators that the dead process left in the middle are finalised by tasks of their own
        for _ in range(20):
            self.loop.run_until_complete(asyncio.sleep(0))

    @property
    def agent(self):
        return self.world.agent

    @property
    def state(self):
        return self.world.agent.state

    def run(self, work):
        async def bounded():
            async with asyncio.timeout(5):
                return await work

        return self.loop.run_until_complete(bounded())

    # -- streams ------------------------------------------------------------------------------

    def hear(self, inputs, way):
        """Consume a stream; afterwards the laws of streams are asserted."""
        if inputs is None and not self.agent.running:
            try:
                self.run(self.agent.recover())  # what it repairs is part of no stream
            except LogError:
                return Heard(error=LogError("recover"))
            except Died:
                self.die(power=False)
                return Heard(error=Died())
        reply = self.state.reply
        base = reply.model_copy(deep=True) if reply is not None else None
        before = self.image()
        heard = Heard()
        try:
            self.run(self.consume(inputs, way, heard))
        except Died as death:
            heard.error = death
            self.accepted |= allowed_by(heard.events)
            if inputs is not None:
                self.paused = {}  # what it changed may be on disk, or not
            self.die(power=way.how == "power")
            return heard
        if inputs is not None and (heard.events or isinstance(heard.error, LogError)):
            self.paused = {}  # an answer that was written and could not be synced is in doubt
        self.check_stream(heard, base, before)
        return heard

    async def consume(self, inputs, way, heard):
        task = asyncio.create_task(self.read(inputs, way, heard))
        if way.how in ("cancel", "stop"):
            for _ in range(way.after + 1):  # one that is cancelled before its first step asks for nothing
                await asyncio.sleep(0)
            task.cancel() if way.how == "cancel" else self.agent.interrupt()
        await asyncio.wait([task])
        if task.cancelled():
            heard.error = asyncio.CancelledError()
        elif task.exception() is not None:
            raise task.exception()

    async def read(self, inputs, way, heard):
        try:
            async with aclosing(self.agent.reply_stream(inputs)) as events:
                async for event in events:
                    heard.events.append(event)
                    if len(heard.events) == way.after + 1 and await self.disturb(way):
                        heard.closed = True
                        break
        except (AgentcliError, TypeError) as error:
            heard.error = error

    async def disturb(self, way):
        """What happens while the consumer holds an event; whether it then leaves."""
        match way.how:
            case "close":
                return True
            case "kill" | "power":
                raise Died
            case "interrupt":
                self.agent.interrupt()
            case "steer":
                self.agent.steer("and this")
            case "observe" | "second" | "recover":
                await self.refused_while_running(way.how)
            case "dump":
                self.reborn()
        return False

    async def refused_while_running(self, how):
        before = self.image()
        try:
            if how == "observe":
                await self.agent.observe(UserMsg("user", "seen"))
            elif how == "recover":
                await self.agent.recover()
            else:
                async with aclosing(self.agent.reply_stream(UserMsg("user", "second"))) as events:
                    async for _ in events:
                        raise AssertionError("a second reply runs")
        except AgentcliError:
            assert self.image() == before
        else:
            raise AssertionError(f"{how} was taken while a reply runs")

    def check_stream(self, heard, base, before):
        kinds = [event.type for event in heard.events]
        self.accepted |= allowed_by(heard.events)
        if isinstance(heard.error, RefusedInput | TypeError):
            assert kinds == []
            assert self.image() == before, "a refused input changed something"
        if isinstance(heard.error, LogError):
            assert kinds == []
        if heard.error is not None and not kinds:
            return
        if heard.closed:
            return
        if kinds:
            assert [kind for kind in kinds if kind in TERMINAL] == kinds[-1:], kinds
            self.check_fold(heard.events, base)
            end = heard.events[-1]
            if end.type == "REPLY_PAUSED":
                assert [call.id for call in end.waiting] == [call.id for call in self.agent.waiting] != []
                self.paused = {call.id: (end.reply_id, call.input, self.digest_of(call)) for call in end.waiting}
            else:
                assert not self.agent.waiting
                assert not self.state.unfinished
                self.paused = {}

    def check_fold(self, events, base):
        """Law 1: these events, on what was there, give the message of the ledger."""
        reply_id = events[-1].reply_id
        msg = base if base is not None and base.id == reply_id else AssistantMsg(id=reply_id)
        for event in events:
            msg.append_event(event)
        ledger = next((found for found in self.state.context if found.id == reply_id), None)
        if ledger is None:
            assert msg.content == []
        else:
            assert msg.model_dump() == ledger.model_dump()

    def image(self):
        """All that an input could change."""
        log = self.world.log_path
        return self.state.model_dump_json(), log.read_bytes() if log.exists() else b""

    # -- inputs -------------------------------------------------------------------------------

    @rule(data=st.data())
    def step(self, data):
        likely = self.possible()
        action = data.draw(st.sampled_from([name for name, weight in likely.items() for _ in range(weight)]), label="what")
        getattr(self, action)(**data.draw(ACTIONS[action], label=action))

    def possible(self):
        states = {call.state for call in self.agent.waiting}
        if states:
            return BOTH if len(states) > 1 else ASKS if ToolCallState.ASKING in states else HANDED_OUT
        last = self.state.context[-1] if self.state.context else None
        return LEFT_OFF if last is not None and (self.state.unfinished or last.role == "user") else IDLE

    def say(self, script, way, many):
        self.world.turns.clear()
        self.world.turns.extend(play(script))
        known = len(self.state.context)
        inputs = [UserMsg("user", "one"), UserMsg("user", "two")] if many else UserMsg("user", "go")
        heard = self.hear(inputs, way)
        if isinstance(heard.error, LogError) and not many:
            assert all(msg.get_text_content() != "go" for msg in self.state.context[known:])

    def go_on(self, script, way):
        self.world.turns.extend(play(script))
        heard = self.hear(None, way)
        assert not isinstance(heard.error, StaleAnswer | StillWaiting)

    def answer(self, given, part, twist, way, script):
        self.world.turns.extend(play(script))
        asking = [call for call in self.agent.waiting if call.state == ToolCallState.ASKING]
        chosen = {"all": asking, "first": asking[:1], "last": asking[-1:]}[part]
        pairs = [(call, given[place % len(given)]) for place, call in enumerate(chosen)]
        results = [self.result(call, reply) for call, reply in pairs]
        wrong = not results
        match twist:
            case "foreign":
                results, wrong = [*results, self.foreign()], True
            case "double":
                results, wrong = results * 2, True
            case "empty":
                results, wrong = [], True
            case "settled":
                done = [call for msg in self.state.context for call in msg.calls if call.state == ToolCallState.FINISHED]
                if done:
                    results, wrong = [*results, ev.ConfirmResult(confirmed=True, tool_call=done[0].model_copy(deep=True))], True
            case _:
                pass
        wrong = wrong or twist == "reply" or any(reply.rules in ("foreign", "deny") for _, reply in pairs)
        event = ev.UserConfirmResultEvent(
            reply_id="another" if twist == "reply" else self.state.reply_id, confirm_results=results
        )
        fresh = {call.id for call, reply in pairs if reply.digest != "wrong" and self.is_fresh(call)}
        if not wrong:
            for one in results:
                if one.confirmed and one.tool_call.id in fresh:
                    self.world.yes[one.tool_call.id] = one.tool_call.input
        heard = self.hear(event, way)
        if wrong:
            assert isinstance(heard.error, StaleAnswer | NothingWaiting), heard
        elif heard.events and heard.events[0].type == "USER_CONFIRM_RESULT":
            taken = {one.tool_call.id for one in heard.events[0].confirm_results}
            assert taken == {call.id for call, reply in pairs if not reply.yes or call.id in fresh}

    def allow(self, way, script):
        self.answer([Reply()], "all", "none", way, script)

    def result(self, call, reply):
        block = call.model_copy(deep=True)
        if reply.edit is not None and reply.yes:
            block = block.model_copy(update={"input": reply.edit})
        question = self.state.questions.get(call.id)
        digest = {"none": None, "wrong": "0" * 64, "right": self.present_digest(call) if question else None}[reply.digest]
        rules = {
            "none": None,
            "offered": [one.model_copy(update={"source": "session"}) for one in call.suggested_rules],
            "foreign": [PermissionRule(tool_name="*")],
            "deny": [PermissionRule(tool_name=call.name, behavior=PermissionBehavior.DENY)],
        }[reply.rules]
        return ev.ConfirmResult(confirmed=reply.yes, tool_call=block, digest=digest, rules=rules)

    def foreign(self):
        call = ev.ToolCallBlock(id="nobody", name="Act", input='{"value": "a"}')
        return ev.ConfirmResult(confirmed=True, tool_call=call)

    def present_digest(self, call):
        return self.run(asked_again(self.agent._work, call)).preview.digest

    def is_fresh(self, call):
        """The question that was put is still the one of now."""
        known = self.state.questions[call.id].digest if call.id in self.state.questions else ""
        return known in ("", self.present_digest(call))

    def deliver(self, part, twist, way, script, state):
        self.world.turns.extend(play(script))
        out = [call for call in self.agent.waiting if call.state == ToolCallState.SUBMITTED]
        chosen = {"all": out, "first": out[:1], "last": out[-1:]}[part]
        results = [ToolResultBlock(id=call.id, name=call.name, output="from outside", state=state) for call in chosen]
        if twist == "double":
            results *= 2
        if twist == "foreign":
            results.append(ToolResultBlock(id="nobody", name="Out", output="", state=state))
        wrong = not results or state == "running" or twist in ("double", "foreign", "reply")
        reply_id = "another" if twist == "reply" else self.state.reply_id
        heard = self.hear(ev.ExternalExecutionResultEvent(reply_id=reply_id, execution_results=results), way)
        if wrong:
            assert isinstance(heard.error, StaleAnswer | NothingWaiting)

    def interrupt(self, named, way):
        heard = self.hear(ev.UserInterruptEvent(reply_id=self.state.reply_id if named else ""), way)
        assert heard.error is not None or heard.closed or heard.events[-1].type == "REPLY_END"

    def refused(self, what, yes):
        """What must be refused, or change nothing, whenever it comes."""
        waiting, wanted = bool(self.agent.waiting), StaleAnswer | NothingWaiting
        match what:
            case "say" | "observe" if not waiting:
                return
            case "say":
                inputs, wanted = UserMsg("user", "go"), StillWaiting
            case "observe":
                self.refuse(self.agent.observe(UserMsg("user", "seen")), StillWaiting)
                return
            case "str" | "number" | "block":
                block = ToolResultBlock(name="x", output="")
                inputs = {"str": "hello", "number": 7, "block": AssistantMsg("x", [block])}[what]
                self.refuse(self.agent.reply(inputs), (TypeError, ValueError))
                return
            case "answer":
                asking = [call for call in self.agent.waiting if call.state == ToolCallState.ASKING]
                known = [call for msg in self.state.context for call in msg.calls if call.state != ToolCallState.ASKING]
                calls = [*asking, *known[-1:]] if known else []
                results = [ev.ConfirmResult(confirmed=yes, tool_call=call.model_copy(deep=True)) for call in calls]
                inputs = ev.UserConfirmResultEvent(reply_id=self.state.reply_id, confirm_results=results)
            case "interrupt":
                inputs, wanted = ev.UserInterruptEvent(reply_id="another"), StaleAnswer
            case "idle" if not waiting:
                inputs, wanted = ev.UserInterruptEvent(), None
            case "nothing" if (
                not waiting
                and not self.state.unfinished
                and self.state.context[-1:]
                and self.state.context[-1].role == "assistant"
            ):
                inputs = None
            case "result" if not waiting:
                inputs = ev.ExternalExecutionResultEvent(reply_id=self.state.reply_id, execution_results=[])
            case _:
                return
        before = self.image()
        heard = self.hear(inputs, Way())
        assert heard.events == []
        assert heard.error is None if wanted is None else isinstance(heard.error, wanted)
        assert self.image() == before

    def refuse(self, work, wanted):
        before = self.image()
        try:
            self.run(work)
        except wanted:
            assert self.image() == before
        else:
            raise AssertionError("it was taken")

    def meanwhile(self, what, mode, name, text):
        match what:
            case "touch":
                (self.world.root / name).write_text(text)
            case "mode":
                self.state.permission_context.mode = mode
            case "steer":
                self.agent.steer("also this")
            case _:
                self.observe()

    def observe(self):
        if self.agent.waiting:
            return
        with suppress(LogError):
            try:
                self.run(self.agent.observe(UserMsg("user", "seen")))
            except Died:
                self.die(power=False)

    def rewind(self, share):
        """Back to before any message of the user; where that is refused it may or may not be on disk."""
        said = [msg.id for msg in self.state.context if msg.role == "user"]
        if not said:
            return
        msg_id = said[round(share * (len(said) - 1))]
        ids = [msg.id for msg in self.state.context]
        kept = ids[: ids.index(msg_id)]
        gone, journal = set(ids) - set(kept), self.world.journal
        self.paused, self.accepted = {}, set()
        try:
            self.run(self.agent.rewind(msg_id))
        except Died:
            journal.forget(gone)
            self.die(power=False)
        except LogError:
            journal.forget(gone)
            journal.in_doubt |= gone
        else:
            journal.forget(gone)
            assert [msg.id for msg in self.state.context] == kept
            assert not self.agent.waiting and not self.agent.unfinished

    # -- the disk and the process -------------------------------------------------------------

    def break_disk(self, after, how, only):
        disk = self.world.disk
        disk.at, disk.how, disk.only, disk.code = disk._count + after, how, only, errno.ENOSPC

    def restart(self, how):
        match how:
            case "mend":
                self.world.disk.mend()
            case "leave":
                self.leave()
            case "json":
                self.reload_json()
            case _:
                self.die(power=how == "power")

    def leave(self):
        try:
            self.run(self.world.leave())
        except Died:
            self.die(power=False)
            return
        except LogError:
            pass
        self.come_back(self.world.journal.taken)

    def cut(self, share):
        """Any cut: what is behind it never was."""
        self.world.die(power=False)
        if not self.world.log_path.exists():
            return self.come_back({})
        raw = self.world.log_path.read_bytes()
        first = raw.index(b"\n") + 1 if b"\n" in raw else len(raw)
        if first == len(raw):
            return self.come_back({})
        length = first + int((len(raw) - first) * share)
        self.world.log_path.write_bytes(raw[:length])
        started = {
            record["call_id"] for record in InlineStore(self.world.data).read(SESSION).records if record["type"] == "started"
        }
        for call_id in set(self.world.effects) - started:
            del self.world.effects[call_id]
        self.paused, self.accepted = {}, set()
        return self.come_back({})

    def reload_json(self):
        """Another process with the state from JSON, where nothing is still to be written."""
        if self.world.journal.owed or any(msg._changed for msg in self.state.context):
            self.reborn()
            return
        state = self.reborn()
        self.world.agent = self.world.agent_of(state, self.world.journal)

    def reborn(self):
        state = AgentState.model_validate_json(self.state.model_dump_json())
        assert state == self.state
        return state

    def die(self, *, power):
        journal = self.world.journal
        self.world.die(power=power)
        self.drop_tasks()
        self.come_back(journal.durable if power else journal.taken)

    def come_back(self, known):
        """A new process. Law 8: what was acknowledged is there, and nothing that never was."""
        tried, ledger = self.world.journal.tried, {msg.id: msg.model_dump(mode="json") for msg in self.state.context}
        taken = self.world.journal.taken
        mode = self.state.permission_context.mode
        paused, self.paused = self.paused, {}
        accepted, self.accepted = self.accepted, set()
        self.world.yes.clear()
        loaded = self.world.boot(mode)
        assert loaded is not None or not known
        found = {} if loaded is None else {msg.id: msg.model_dump(mode="json") for msg in loaded.messages}
        for msg_id, dump in known.items():
            assert msg_id in found, "an acknowledged message is lost"
            assert found[msg_id] in [dump, taken[msg_id], *tried.get(msg_id, []), ledger.get(msg_id)], (
                "an acknowledged part is lost"
            )
        assert loaded is None or not [line for line in loaded.lost if "line" in line]
        self.run(self.agent.recover(from_log=True, records=loaded.records if loaded is not None else ()))
        for block in (block for msg in self.state.context for block in msg.open_calls()):
            assert block.state in (ToolCallState.PENDING, ToolCallState.ASKING, ToolCallState.SUBMITTED)
        self.said_again(accepted)
        if paused and known:
            self.same_question(paused)

    def same_question(self, paused):
        """Law 4."""
        waiting = {call.id: (self.state.reply_id, call.input, self.digest_of(call)) for call in self.agent.waiting}
        assert waiting == paused
        heard = self.hear(None, Way())
        kinds = [event.type for event in heard.events]
        assert kinds[-1] == "REPLY_PAUSED"
        assert set(kinds[:-1]) <= {"REQUIRE_USER_CONFIRM", "REQUIRE_EXTERNAL_EXECUTION"}
        announced = [call.id for event in heard.events[:-1] for call in event.tool_calls]
        assert sorted(announced) == sorted(paused)
        previews = [event.previews for event in heard.events if event.type == "REQUIRE_USER_CONFIRM"]
        for call_id, preview in previews[0].items() if previews else ():
            assert preview.digest == paused[call_id][2] or {CHANGED, MOVED} & set(preview.notes)

    def digest_of(self, call):
        question = self.state.questions.get(call.id)
        return question.digest if question is not None and call.state == ToolCallState.ASKING else None

    def said_again(self, accepted):
        """Law 5: what was allowed and did not start is asked again, and says so."""
        for block in self.agent.waiting:
            if block.state == ToolCallState.ASKING and block.id in accepted and block.id not in self.world.ran:
                assert ALLOWED_BEFORE in self.state.questions[block.id].notes

    def told_by_digest(self, result):
        """Law 5: of our own edits it is told whether they were made."""
        if result.name != "Put" or result.id not in self.world.effects or result.id in self.judged:
            return
        self.judged.add(result.id)
        path = self.world.root / self.world.ran[result.id]
        applied = path.exists() and path.read_text() == result.id
        assert (": applied" in result.text) == applied, result.text

    # -- what holds after each step -----------------------------------------------------------

    @invariant()
    def laws(self):
        if not hasattr(self, "loop"):
            return
        Machine.steps += 1
        assert self.unheard_of == []
        world, state = self.world, self.state
        assert world.faults == []
        assert {key: count for key, count in world.effects.items() if count > 1} == {}
        assert not self.agent.running
        waiting = self.agent.waiting
        for msg in state.context:
            assert msg.content or (msg is state.reply and state.unfinished)
            if not (msg is state.reply and (state.unfinished or waiting)) and not msg.open_calls() and msg.role == "assistant":
                check_message(msg)
            for result in (block for block in msg.content if block.type == "tool_result" and block.metadata.get("repaired")):
                self.told_by_digest(result)
        if not waiting:
            copy = world.agent_of(AgentState.model_validate_json(state.model_dump_json()))
            check_request(model_request(copy._work))
        self.log_is_ledger()

    def log_is_ledger(self):
        world = self.world
        if world.journal.refused or world.journal.tried or not world.log_path.exists() or world.disk.dead:
            return
        saved = InlineStore(world.data).read(SESSION)
        ledger = [msg for msg in self.state.context if msg.content and msg.id not in world.journal.in_doubt]
        if any(msg._changed for msg in ledger):
            return
        saved.messages = [msg for msg in saved.messages if msg.id not in world.journal.in_doubt]
        assert [msg.model_dump() for msg in saved.messages] == [msg.model_dump() for msg in ledger]


def test_the_laws_hold_after_each_step_whatever_comes():
    logging.disable(logging.CRITICAL)
    Machine.steps, run = 0, 0
    try:
        while Machine.steps < STEPS:
            run_state_machine_as_test(seed(SEED + run)(Machine), settings=a_hundred_runs())
            run += 1
    finally:
        logging.disable(logging.NOTSET)
    print(f"{Machine.steps} steps, seeds {SEED} to {SEED + run - 1}")


def a_hundred_runs():
    return settings(
        max_examples=min(100, max(1, STEPS // STEPS_EACH)),
        stateful_step_count=STEPS_EACH,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
    )


# -- what it has found -------------------------------------------------------------------------


@pytest.fixture
def stage(tmp_path):
    return Stage(tmp_path)


async def closed_after(stage, kind, inputs="go", then=None):
    """The events up to the first of a kind; then the consumer goes away, or does something and hears the rest."""
    events = []
    inputs = UserMsg("user", inputs) if isinstance(inputs, str) else inputs
    async with aclosing(stage.agent.reply_stream(inputs)) as stream:
        async for event in stream:
            events.append(event)
            if event.type == kind and then is None:
                break
            if event.type == kind:
                then()
    return events


async def test_an_interrupt_before_the_first_step_of_a_tool_ends_the_reply(stage):
    stage.mode("bypass")
    stage.feed([call("c1", value="a"), call("c2", value="b")])
    events = await asyncio.wait_for(closed_after(stage, "TOOL_RESULT_START", then=stage.agent.interrupt), 5)
    assert events[-1].finished_reason == "interrupted"
    assert stage.world.effects == {}


@pytest.mark.parametrize("what", ["observe", "recover"])
async def test_a_running_reply_is_not_changed_from_beside(stage, what):
    stage.feed([{"text": "words"}])
    async with aclosing(stage.agent.reply_stream(UserMsg("user", "go"))) as stream:
        await anext(stream)
        before = stage.state.model_dump_json()
        with pytest.raises(AgentcliError):
            await (stage.agent.observe(UserMsg("user", "seen")) if what == "observe" else stage.agent.recover())
        assert stage.state.model_dump_json() == before
        assert [event async for event in stream][-1].type == "REPLY_END"


async def test_a_consumer_that_is_cancelled_while_the_disk_is_written_hears_the_end(stage):
    events = []

    async def listen():
        async for event in stage.agent.reply_stream(UserMsg("user", "go")):
            events.append(event)

    for turns in range(1, 12):
        events.clear()
        task = asyncio.create_task(listen())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert [event.type for event in events if event.type in TERMINAL] == [event.type for event in events[-1:]]


async def test_a_call_of_an_answer_that_never_ended_does_not_run_when_the_reply_goes_on(stage):
    stage.mode("bypass")
    stage.feed([call("c1", value="a"), {"text": "and"}])
    await closed_after(stage, "TEXT_BLOCK_START")
    await stage.run(None)
    assert (stage.result("c1"), stage.world.effects) == (("error", "never started: the answer broke off."), {})


async def test_a_call_that_ran_when_the_consumer_left_is_not_run_again_by_the_answer_to_another(stage):
    stage.feed([call("c1", value="a"), call("c2", "Put", value="b")])
    first = await stage.run()
    await closed_after(stage, "TOOL_PROGRESS", answer(first, only=["c1"]))
    await stage.run(answer(first, only=["c2"]))
    assert stage.world.effects == {"c1": 1, "c2": 1}
    assert "effects unknown" in stage.result("c1")[1]


async def test_a_message_that_the_disk_refused_was_not_said(stage):
    await stage.run("first")
    disk = stage.world.disk
    disk.at, disk.only = disk._count + 1, "write"
    with pytest.raises(LogError):
        await stage.run("second")
    await stage.run("third")
    assert [msg.get_text_content() for msg in stage.state.context] == ["first", "over", "third", "over"]
    assert InlineStore(stage.world.data).read(SESSION).messages == stage.state.context


@pytest.mark.parametrize("turn", [[], [{"text": "words"}], [call("c1", value="a")], [call("c1", "Out", value="a")]])
@pytest.mark.parametrize("mode", ["default", "bypass"])
async def test_wherever_the_disk_fails_the_stream_ends_once_and_folds_to_the_ledger(tmp_path, turn, mode):
    for at in range(1, 16):
        stage = Stage(tmp_path / str(at))
        stage.mode(mode)
        await stage.run()
        stage.feed(turn)
        disk = stage.world.disk
        disk.at = disk._count + at
        try:
            events = await stage.run()
        except LogError:
            continue
        assert [event.type for event in events if event.type in TERMINAL] == [events[-1].type]
        msg = AssistantMsg(id=events[-1].reply_id)
        for event in events:
            msg.append_event(event)
        assert [found for found in stage.state.context if found.id == msg.id] == ([msg] if msg.content else [])


async def test_an_interrupted_pause_never_goes_on(stage):
    stage.feed([call("c1", value="a")])
    await stage.run()
    await closed_after(stage, "USER_INTERRUPT", ev.UserInterruptEvent())
    with pytest.raises(NothingWaiting):
        await stage.run(None)
    assert stage.state.context[-1].finished_reason == "interrupted"


async def test_a_reply_that_is_left_for_a_new_message_ends_as_interrupted(stage):
    stage.feed([{"text": "half of it"}])
    await closed_after(stage, "TEXT_BLOCK_DELTA")
    await closed_after(stage, "REPLY_START")
    await stage.run("on")
    assert [msg.finished_reason for msg in stage.state.context if msg.role == "assistant"] == ["interrupted", "completed"]
    assert InlineStore(stage.world.data).read(SESSION).messages == stage.state.context


async def test_all_that_was_settled_before_a_pause_outlives_the_power(stage):
    stage.feed([call("c1", value="a"), call("c2", "Out", value="b"), call("c3", value="c")])
    given = answer(await stage.run())
    blocks = [
        one.tool_call.model_copy(update={"input": "{"} if one.tool_call.id == "c3" else {}) for one in given.confirm_results
    ]
    edited = [one.model_copy(update={"tool_call": block}) for one, block in zip(given.confirm_results, blocks, strict=True)]
    stage.world.yes["c1"] = blocks[0].input
    paused = await stage.run(given.model_copy(update={"confirm_results": edited}))
    stage.world.die(power=True)
    await stage.reborn()
    assert [block.id for block in stage.agent.waiting] == [block.id for block in paused[-1].waiting] == ["c2"]
