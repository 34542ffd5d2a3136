"""What a model is given: system prompt, repaired history, tools. The one place that closes holes (law 2)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentcli.agent.work import WAITING, Work
from agentcli.errors import ToolError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolCallBlock, ToolCallState, ToolResultState
from agentcli.ledger.message import Msg, UserMsg
from agentcli.ledger.state import Started
from agentcli.model.base import ModelRequest
from agentcli.tool.schema import parse_arguments

NEVER_STARTED = "never started: the program ended, or the user went on, before this call ran."
CUT_OFF = "never started: its arguments were cut off."
UNKNOWN = "interrupted, effects unknown: the program ended during this call. Look at the present state before you repeat it."
LOOKED_ONLY = "interrupted: the program ended during this call. It changes nothing and can be asked for again."


def model_request(work: Work) -> ModelRequest:
    """The next request: every call in it has exactly one result."""
    state = work.state
    for msg, call in holes(state.context):
        # Only a bug or a foreign state gets here with a hole; a request with one would be refused for ever.
        for event in closing(work, msg, call):
            msg.append_event(event)
    messages = [msg for msg in state.context if msg.content]
    if state.summary:
        messages.insert(0, UserMsg(content=state.summary))
    return ModelRequest(system=work.system(), messages=messages, tools=work.toolkit.schemas())


def holes(context: list[Msg]) -> Iterator[tuple[Msg, ToolCallBlock]]:
    """The calls that have no final result and wait for nobody."""
    for msg in context:
        for call in msg.open_calls():
            if call.state not in WAITING:
                yield msg, call


async def close_holes(work: Work) -> None:
    """Close every hole, in the ledger and on disk, before something new begins."""
    for msg, call in list(holes(work.state.context)):
        for event in closing(work, msg, call):
            msg.append_event(event)
        work.settle(call.id)
        await work.journal.kept(msg, durable=False)


def closing(work: Work, msg: Msg, call: ToolCallBlock) -> list[ev.AgentEvent]:
    """The events that give a call without an end its honest result."""
    started = work.state.started.get(call.id)
    result = msg.result(call.id)
    state, text = ToolResultState.ERROR, NEVER_STARTED
    if started is not None and not started.read_only:
        state, text = ToolResultState.INTERRUPTED, effects_of(started)
    elif started is not None or (result is not None and call.state == ToolCallState.ALLOWED):
        state, text = ToolResultState.INTERRUPTED, LOOKED_ONLY
    elif not arguments_ended(call):
        text = CUT_OFF
    return _result(msg, call, state, text)


def _result(msg: Msg, call: ToolCallBlock, state: ToolResultState, text: str) -> list[ev.AgentEvent]:
    key, reply = call.id, msg.id
    events: list[ev.AgentEvent] = []
    result = msg.result(key)
    if result is None:
        events.append(ev.ToolResultStartEvent(reply_id=reply, tool_call_id=key, tool_call_name=call.name))
    elif result.text:
        text = "\n" + text
    events.append(ev.ToolResultTextDeltaEvent(reply_id=reply, tool_call_id=key, delta=text))
    events.append(ev.ToolResultEndEvent(reply_id=reply, tool_call_id=key, state=state, metadata={"repaired": True}))
    return events


def arguments_ended(call: ToolCallBlock) -> bool:
    """Whether the text of a call's arguments is whole."""
    try:
        parse_arguments(call.input)
    except ToolError:
        return False
    return True


@dataclass(slots=True, frozen=True)
class _Seen:
    """How the file of an own edit looks now."""

    path: str
    verdict: str


def effects_of(started: Started) -> str:
    """What is known of a call that was started and has no result: for our own edits, by digest."""
    if not started.files:
        return UNKNOWN
    seen = [_Seen(path, _verdict(path, before, after)) for path, (before, after) in started.files.items()]
    words = "; ".join(f"{one.path}: {one.verdict}" for one in seen)
    return f"interrupted: the program ended during this call. {words}."


def _verdict(path: str, before: str | None, after: str | None) -> str:
    try:
        present = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except FileNotFoundError:
        present = None
    except OSError:
        return "effects unknown"
    if present == after:
        return "applied"
    return "not applied" if present == before else "effects unknown, the file is neither as before nor as wanted"
