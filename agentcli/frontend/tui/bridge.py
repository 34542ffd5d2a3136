"""Between the conversation and the screen: reads streams, never waits for the drawing of them, sends inputs down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Protocol, cast

from agentcli.errors import AgentcliError, RefusedInput, StaleAnswer
from agentcli.frontend.tui.transcript.earlier import Earlier, show
from agentcli.frontend.tui.transcript.feed import Feed
from agentcli.frontend.tui.transcript.pages import Past
from agentcli.ledger import event as ev
from agentcli.ledger.block import TextBlock, ToolCallBlock
from agentcli.ledger.message import Msg, UserMsg
from agentcli.ledger.preview import Preview
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.command import Compact, SetMode, SetModel
from agentcli.runtime.conversation import Conversation

BREATH = 0.004
"""Seconds of reading after which keys and frames have their turn."""


@dataclass(slots=True, frozen=True)
class Question:
    """A call that waits for an answer, and all that would happen."""

    call: ToolCallBlock
    preview: Preview | None


@dataclass(slots=True, frozen=True)
class Verdict:
    """What the user answered to one question."""

    result: ev.ConfirmResult
    accept_edits: bool = False


class Face(Protocol):
    """What the bridge needs of the screen."""

    def state_changed(self) -> None:
        """Figures, mode or what is queued changed."""
        ...

    async def ask(self, questions: list[Question]) -> Verdict:
        """Show what waits in the open confirmation, or open one; the next answer. It stays open while others wait."""
        ...

    async def asked(self) -> None:
        """Nothing waits any more: the confirmation is closed, where one is open."""
        ...


@dataclass(slots=True)
class Pause:
    """What a stream left open; the questions of the streams before still stand where they were not answered."""

    reply_id: str = ""
    questions: dict[str, Question] = field(default_factory=dict[str, Question])
    paused: bool = False
    elsewhere: list[str] = field(default_factory=list[str])


class Bridge:
    """Runs one reply at a time."""

    def __init__(self, conversation: Conversation, feed: Feed, face: Face) -> None:
        self.conversation, self.feed, self.face = conversation, feed, face
        self.running = False
        self.steered: list[str] = []
        self.queued: list[str] = []
        self.limited = False
        """The last reply was stopped at its limit of model calls."""
        self._elsewhere = ""
        self._leaving = False
        self._quiet = asyncio.Event()
        self._quiet.set()

    # -- the beginning -------------------------------------------------------------------------

    async def replay(self) -> bool:
        """Show what was, its last message at once and the earlier ones where somebody looks; whether there was anything."""
        replay = self.conversation.replay()
        live = max(0, len(replay) - 1)
        if live:
            self.feed.page.add(Past(Earlier(replay, live)))
        found = live > 0
        breath = time.monotonic()
        for item in replay.part(live, len(replay)):
            found = True
            show(item, self.feed)
            self.limited = isinstance(item, ev.ReplyEndEvent) and item.finished_reason is ev.ReplyEndReason.EXCEED_MAX_ITERS
            if time.monotonic() - breath > 5 * BREATH:
                await asyncio.sleep(0)
                breath = time.monotonic()
        return found

    # -- inputs --------------------------------------------------------------------------------

    async def say(self, text: str) -> None:
        """Send a message and see its reply to the end, questions included."""
        msg = UserMsg(content=[TextBlock(text=text)])
        self.feed.say(msg)
        await self._reply(msg)

    async def go_on(self) -> None:
        """What waits is asked again, or a reply that was cut off goes on."""
        await self._reply(None)

    def steer(self, text: str) -> None:
        """Tell it to the running reply."""
        self.steered.append(text)
        self.conversation.steer(text)
        self.face.state_changed()

    def queue(self, text: str) -> None:
        """Keep it until the reply has ended."""
        self.queued.append(text)
        self.face.state_changed()

    def interrupt(self) -> str:
        """Stop the reply; the texts that were not taken in."""
        left = [*self.conversation.take_back(), *self.queued]
        self.steered, self.queued = [], []
        self.conversation.interrupt()
        self.face.state_changed()
        return "\n".join(left)

    async def end(self, seconds: float) -> None:
        """Stop what runs, begin nothing more, and wait until the stream has ended; at the latest after so many seconds."""
        self._leaving = True
        self.conversation.interrupt()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._quiet.wait(), seconds)

    @property
    def streaming(self) -> bool:
        """Whether a stream has not ended yet; a reply that waits for an answer has no stream."""
        return not self._quiet.is_set()

    async def withdraw(self) -> None:
        """End a reply that waits for somebody else."""
        reply_id, self._elsewhere = self._elsewhere, ""
        await self._reply(ev.UserInterruptEvent(reply_id=reply_id))

    @property
    def waits_elsewhere(self) -> bool:
        """Whether a call is executed by somebody else."""
        return bool(self._elsewhere)

    async def set_mode(self, mode: PermissionMode) -> str:
        """Another mode; a sentence."""
        return await self._do(SetMode(mode))

    async def set_model(self, name: str) -> str:
        """Another model; a sentence."""
        return await self._do(SetModel(name))

    async def compact(self, focus: str) -> None:
        """Summarise the older part of the context; what is said meanwhile is sent afterwards."""
        self.running = True
        self.face.state_changed()
        try:
            self.feed.notice(await self._do(Compact(focus)))
        finally:
            self.running = False
            self.face.state_changed()
        if text := self._next_text():
            await self.say(text)

    async def _do(self, command: SetMode | SetModel | Compact) -> str:
        try:
            said = await self.conversation.do(command)
        except AgentcliError as exc:
            said = str(exc)
        self.face.state_changed()
        return said

    # -- a reply -------------------------------------------------------------------------------

    async def _reply(self, inputs: Msg | ev.AnswerEvent | None) -> None:
        """Streams, until the reply has ended and nothing is queued."""
        self.running = True
        self.face.state_changed()
        pause = Pause()
        try:
            while not self._leaving:
                pause = await self._stream(inputs, Pause(questions=pause.questions))
                if pause.questions and pause.paused and not self._leaving:
                    inputs = await self._answer(pause)
                    continue
                if self._leaving:
                    return
                await self.face.asked()
                if pause.elsewhere:
                    self._elsewhere = pause.reply_id
                    self.feed.notice(
                        "Waits for a program outside to execute: " + ", ".join(pause.elsewhere) + ". Esc ends the reply."
                    )
                    return
                text = "" if self._leaving else self._next_text()
                if not text:
                    return
                inputs = UserMsg(content=[TextBlock(text=text)])
                self.feed.say(inputs)
        finally:
            self.running = False
            self.steered.clear()
            self.feed.flush()
            self.face.state_changed()

    def _next_text(self) -> str:
        """What was said while the reply ran and was not taken in."""
        texts = [*self.conversation.take_back(), *self.queued]
        self.steered, self.queued = [], []
        return "\n\n".join(texts)

    async def _stream(self, inputs: Msg | ev.AnswerEvent | None, pause: Pause) -> Pause:
        self._quiet.clear()
        try:
            stream = cast("AsyncGenerator[ev.AgentEvent]", self.conversation.stream(inputs))
            async with aclosing(stream) as events:
                breath = time.monotonic()
                async for event in events:
                    self.feed.take(event)
                    self._note(event, pause)
                    if time.monotonic() - breath > BREATH:
                        await asyncio.sleep(0)
                        breath = time.monotonic()
        except StaleAnswer as exc:
            self.feed.notice(f"The answer was not taken: {exc}")
            return pause if self._leaving else await self._stream(None, Pause())
        except (RefusedInput, AgentcliError) as exc:
            self.feed.notice(str(exc))
        finally:
            self._quiet.set()
        return pause

    def _note(self, event: ev.AgentEvent, pause: Pause) -> None:
        match event:
            case ev.RequireUserConfirmEvent():
                pause.reply_id = event.reply_id
                for call in event.tool_calls:
                    pause.questions[call.id] = Question(call, event.previews.get(call.id))
            case ev.ReplyPausedEvent():
                pause.reply_id, pause.paused = event.reply_id, True
                waiting = {call.id for call in event.waiting}
                pause.questions = {key: question for key, question in pause.questions.items() if key in waiting}
                pause.elsewhere = [call.name for call in event.waiting if call.id not in pause.questions]
            case ev.HintBlockEvent() if event.source == "user":
                self.steered = [text for text in self.steered if text != event.hint]
                self.face.state_changed()
            case ev.ReplyEndEvent():
                self.limited = event.finished_reason is ev.ReplyEndReason.EXCEED_MAX_ITERS
            case ev.ReplyStartEvent():
                self.limited = False
                self.face.state_changed()
            case ev.ModelCallStartEvent() | ev.ModelCallEndEvent() | ev.CustomEvent():
                self.face.state_changed()
            case ev.ToolResultStartEvent() | ev.ToolResultEndEvent():
                self.face.state_changed()
            case _:
                pass

    async def _answer(self, pause: Pause) -> ev.AnswerEvent:
        verdict = await self.face.ask(list(pause.questions.values()))
        if verdict.accept_edits:
            await self.set_mode(PermissionMode.ACCEPT_EDITS)
        return ev.UserConfirmResultEvent(reply_id=pause.reply_id, confirm_results=[verdict.result])
