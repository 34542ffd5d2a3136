"""Small real parts for tests of the agent: a tool that counts its effects, a journal that remembers, a stand of both."""

import asyncio
import json
import time
from contextlib import aclosing

from agentcli.agent.agent import Agent
from agentcli.ledger import event as ev
from agentcli.ledger.block import TextBlock
from agentcli.ledger.message import AssistantMsg, UserMsg
from agentcli.ledger.rule import PermissionBehavior, PermissionContext, PermissionMode, PermissionRule
from agentcli.ledger.state import AgentState, Started
from agentcli.model.scripted import ScriptedModel
from agentcli.permission.subject import Kind, Subject, Target, Way
from agentcli.tool.base import ToolBase, ToolChunk
from agentcli.tool.preview import digest_of, plain_preview
from agentcli.tool.toolkit import Toolkit
from agentcli.workspace.root import Place


class FakeTool(ToolBase):
    """Appends its `value` to `effects`; may wait before and after."""

    def __init__(self, name="Act", read_only=False, external=False, gate=None):
        self.name, self.description = name, "acts"
        self.parameters = {"type": "object", "properties": {"value": {"type": "string"}}, "required": ["value"]}
        self.read_only, self.external, self.gate = read_only, external, gate
        self.concurrency_safe = read_only
        self.effects = []
        self.target = b"as it was"
        self.breaks_with = None

    def preview(self, arguments, context):
        return plain_preview(self.name, arguments).model_copy(update={"digest": digest_of(self.name, arguments, self.target)})

    async def run(self, arguments, context):
        self.effects.append(arguments["value"])
        yield ToolChunk(content=[TextBlock(text="did ")], progress="live")
        if self.gate is not None:
            await self.gate.wait()
        if self.breaks_with is not None:
            raise self.breaks_with
        yield ToolChunk(content=[TextBlock(text=arguments["value"])])


class FakeWriter(FakeTool):
    """A tool with a file as its target."""

    def subject(self, arguments, place):
        return Subject(self.name, Kind.FILE, (Target(f"{place.root}/{arguments['value']}", Way.WRITE, inside=True),))

    def start_record(self, arguments, context):
        return Started(call_id=context.call_id, files={f"{context.place.root}/{arguments['value']}": (None, "0" * 64)})


class FakeJournal:
    """Remembers what was made durable, in order; may refuse."""

    def __init__(self):
        self.lines = []
        self.breaks_at = None

    def _write(self, *line):
        if self.breaks_at is not None and line[0] == self.breaks_at:
            from agentcli.errors import LogError

            raise LogError("the disk is full")
        self.lines.append(line)

    async def said(self, msg):
        msg.take_changes()
        self._write("said", msg.get_text_content())

    async def kept(self, msg, *, durable=True):
        states = {call.id: call.state.value for call in msg.calls}
        results = {block.id: block.state.value for block in msg.content if block.type == "tool_result"}
        self._write("kept", [block.id for block in msg.take_changes()], states, results)

    async def record(self, kind, body, *, durable=False):
        self._write(kind, json.loads(json.dumps(body)))

    async def granted(self, rules):
        self._write("granted", [rule.text for rule in rules])

    async def keep(self):
        return None

    @property
    def kinds(self):
        return [line[0] for line in self.lines]


def call(key, name="Act", **arguments):
    return {"tool_call": {"id": key, "name": name, "input": arguments}}


class Stand:
    """An agent with a script, tools and a journal."""

    def __init__(self, turns, *tools, mode="default", rules=(), state=None, root="/nowhere", max_iters=200, journal=None):
        self.tools = {tool.name: tool for tool in tools}
        self.place = Place(cwd=root, root=root, home="/nobody")
        context = PermissionContext(mode=PermissionMode(mode), rules=list(rules))
        self.model = turns if isinstance(turns, ScriptedModel) else ScriptedModel(turns)
        self.journal = journal or FakeJournal()
        self.agent = Agent(
            "agent",
            "be useful",
            self.model,
            Toolkit(tools),
            state or AgentState(session_id="s", permission_context=context),
            place=self.place,
            journal=self.journal,
            max_iters=max_iters,
        )

    @property
    def state(self):
        return self.agent.state

    async def run(self, inputs="go"):
        inputs = UserMsg("user", inputs) if isinstance(inputs, str) else inputs
        async with aclosing(self.agent.reply_stream(inputs)) as events:
            return [event async for event in events]

    def again(self, turns, *, journal=None):
        """Another process: the state through JSON, new parts."""
        state = AgentState.model_validate_json(self.state.model_dump_json())
        return Stand(turns, *self.tools.values(), state=state, root=self.place.root, journal=journal)


def rule(text, behavior="allow", source="user"):
    return PermissionRule.parse(text, PermissionBehavior(behavior), source)


def types(events):
    return [event.type for event in events]


def refold(*streams):
    """The message that these streams give."""
    events = [event for stream in streams for event in stream]
    msg = AssistantMsg(id=next(event.reply_id for event in events if event.reply_id))
    for event in events:
        msg.append_event(event)
    return msg


def answer(paused, *, yes=True, only=None, **more):
    """Confirm or deny what a paused stream waits for."""
    end = paused[-1]
    blocks = [block for block in end.waiting if only is None or block.id in only]
    results = [ev.ConfirmResult(confirmed=yes, tool_call=block, **more) for block in blocks]
    return ev.UserConfirmResultEvent(reply_id=end.reply_id, confirm_results=results)


def results_of(msg):
    return {block.id: (block.state.value, block.text) for block in msg.content if block.type == "tool_result"}


async def until(condition, seconds=20):
    """Let other tasks, and other processes, run until something holds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return
        await asyncio.sleep(0.001)
    raise AssertionError("it never came")
