"""A conversation that plays lists of events, with pauses; what the screen sends down is kept."""

from __future__ import annotations

import asyncio
import dataclasses

from agentcli.errors import AgentcliError, ConfigError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock
from agentcli.ledger.message import Msg
from agentcli.ledger.preview import Preview
from agentcli.ledger.rule import PermissionMode, PermissionRule
from agentcli.runtime.command import Compact, Connect, Redo, Rewind, SetMode, SetModel, SetTitle, Undo
from agentcli.runtime.conversation import ContextReport, Status
from agentcli.runtime.probe import Answer

REPLY = "r1"


@dataclasses.dataclass(frozen=True)
class FakeEarlier:
    msg_id: str
    text: str
    at: str = "2020-01-01T10:00:00+00:00"  # so long ago that its age is shown as a day


def status(**changes):
    values = dict(
        session_id="k7f3abcdefgh2345",
        title="",
        reply_id="",
        mode=PermissionMode.DEFAULT,
        model="gpt-5.1",
        demo=False,
        cwd="/home/me/shop",
        root="/home/me/shop",
        input_tokens=0,
        output_tokens=0,
        cached_tokens=0,
        reasoning_tokens=0,
        cost=None,
        context_tokens=0,
        context_size=400_000,
        running=False,
        waiting=(),
        unfinished=False,
        notices=(),
    )
    return Status(**{**values, **changes})


class FakeReplay:
    """A history that is shown as if it were one message."""

    def __init__(self, history):
        self.history = history

    def __len__(self):
        return 1 if self.history else 0

    def part(self, start, end):
        return iter(self.history if end > start else [])


class FakeConversation:
    """Each stream plays the next script: events, numbers (seconds to wait) and asyncio.Events."""

    def __init__(self, *scripts, history=(), **changes):
        self.scripts = list(scripts)
        self.history = list(history)
        self._status = status(**changes)
        self.inputs = []
        self.commands = []
        self.steered = []
        self.interrupted = asyncio.Event()
        self.closed = False
        self.said_before = []
        """What can be gone back to, newest first; each with the history that stands then."""
        self.asked = []
        """The endpoints that were asked for their models."""
        self.lists = []
        """What they answer: an `Answer`, or an error."""
        self.refuses = []
        """Why endpoints cannot be connected, one after the other."""

    @property
    def status(self):
        return self._status

    def context(self):
        return ContextReport(100, 200, 0, 300, 400, 500, 10_000, 8000, 4, 0, "")

    def change(self, **changes):
        self._status = dataclasses.replace(self._status, **changes)

    def replay(self):
        return FakeReplay(self.history)

    def earlier(self):
        return [earlier for earlier, _ in self.said_before]

    async def stream(self, inputs):
        self.inputs.append(inputs)
        self.interrupted.clear()
        if isinstance(inputs, ev.UserConfirmResultEvent):
            yield inputs
        for step in self.scripts.pop(0) if self.scripts else [end()]:
            if isinstance(step, (int, float)):
                await self._wait(asyncio.sleep(step))
            elif isinstance(step, asyncio.Event):
                await self._wait(step.wait())
            else:
                yield step
            if self.interrupted.is_set():
                yield end(ev.ReplyEndReason.INTERRUPTED)
                return

    async def _wait(self, something):
        tasks = [asyncio.ensure_future(something), asyncio.ensure_future(self.interrupted.wait())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()

    def steer(self, text):
        self.steered.append(text)

    def take_back(self):
        left, self.steered = self.steered, []
        return left

    def interrupt(self):
        self.interrupted.set()

    async def do(self, command):
        self.commands.append(command)
        match command:
            case SetMode(mode):
                self.change(mode=mode)
                return f"Mode: {mode.value}"
            case SetModel(name):
                self.change(model=name)
                return f"Model: {name}"
            case Connect():
                if self.refuses:
                    raise ConfigError(self.refuses.pop(0))
                name = "/".join(filter(None, [command.provider, command.model]))
                self.change(model=name, demo=False)
                return f"Model: {name}.\nThe key is kept in memory."
            case Compact():
                return "Compressed: about 9,000 -> 900 tokens."
            case Rewind(msg_id):
                at = next(place for place, (earlier, _) in enumerate(self.said_before) if earlier.msg_id == msg_id)
                self.history = self.said_before[at][1]
                del self.said_before[: at + 1]
                return "Gone back; files are as they are."
            case Undo() | Redo():
                if self.refuses:
                    raise AgentcliError(self.refuses.pop(0))
                return "Undone." if isinstance(command, Undo) else "Made again."
            case SetTitle(title):
                self._status = dataclasses.replace(self._status, title=title)
                return f"Title: {title}"

    async def offered(self, wanted):
        self.asked.append(wanted)
        answer = self.lists.pop(0) if self.lists else Answer(False, "nobody answers")
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def warm(self):
        pass

    async def close(self):
        self.closed = True


def start():
    return ev.ReplyStartEvent(reply_id=REPLY, session_id="s", name="agent")


def end(reason=ev.ReplyEndReason.COMPLETED, **more):
    return ev.ReplyEndEvent(reply_id=REPLY, session_id="s", finished_reason=reason, **more)


def text(words, block="t1", size=12, open_=False):
    steps = [ev.TextBlockStartEvent(reply_id=REPLY, block_id=block)]
    steps += [
        ev.TextBlockDeltaEvent(reply_id=REPLY, block_id=block, delta=words[at : at + size]) for at in range(0, len(words), size)
    ]
    return steps if open_ else [*steps, ev.TextBlockEndEvent(reply_id=REPLY, block_id=block)]


def thinking(words, block="th1", seconds=2, open_=False):
    steps = [
        ev.ThinkingBlockStartEvent(reply_id=REPLY, block_id=block, created_at="2026-01-01T10:00:00+00:00"),
        ev.ThinkingBlockDeltaEvent(reply_id=REPLY, block_id=block, delta=words),
    ]
    over = ev.ThinkingBlockEndEvent(reply_id=REPLY, block_id=block, created_at=f"2026-01-01T10:00:{seconds:02}+00:00")
    return steps if open_ else [*steps, over]


def call(name, arguments, call_id="c1"):
    return [
        ev.ToolCallStartEvent(reply_id=REPLY, tool_call_id=call_id, tool_call_name=name),
        ev.ToolCallDeltaEvent(reply_id=REPLY, tool_call_id=call_id, delta=arguments),
        ev.ToolCallEndEvent(reply_id=REPLY, tool_call_id=call_id),
    ]


def begun(name, call_id="c1"):
    return ev.ToolResultStartEvent(
        reply_id=REPLY, tool_call_id=call_id, tool_call_name=name, created_at="2026-01-01T10:00:00+00:00"
    )


def result(name, words, call_id="c1", state="success", **metadata):
    return [
        begun(name, call_id),
        ev.ToolResultTextDeltaEvent(reply_id=REPLY, tool_call_id=call_id, delta=words),
        ev.ToolResultEndEvent(
            reply_id=REPLY, tool_call_id=call_id, state=state, metadata=metadata, created_at="2026-01-01T10:00:00.003+00:00"
        ),
    ]


def question(name, arguments, preview, call_id="c1", rules=()):
    block = ToolCallBlock(
        id=call_id,
        name=name,
        input=arguments,
        state="asking",
        suggested_rules=[PermissionRule.parse(rule, "allow", "suggested") for rule in rules],
    )
    return block, Preview(**{"digest": "d" * 64, **preview})


def asks(*questions):
    calls = [block for block, _ in questions]
    return [
        ev.RequireUserConfirmEvent(
            reply_id=REPLY, tool_calls=calls, previews={block.id: preview for block, preview in questions}
        ),
        ev.ReplyPausedEvent(reply_id=REPLY, session_id="s", waiting=calls),
    ]


def user(words):
    return Msg(name="user", role="user", content=[{"type": "text", "text": words}])
