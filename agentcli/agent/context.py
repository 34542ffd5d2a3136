"""What a model is given: system prompt, summary, repaired history, tools. The one place that closes holes (law 2)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from agentcli.agent.work import WAITING, Work
from agentcli.errors import ToolError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ContentBlock, ToolCallBlock, ToolCallState, ToolResultBlock, ToolResultState
from agentcli.ledger.message import Msg, UserMsg
from agentcli.ledger.state import AgentState, Mark, Started
from agentcli.model.base import ModelRequest
from agentcli.tool.schema import parse_arguments

NEVER_STARTED = "never started: the program ended, or the user went on, before this call ran."
CUT_OFF = "never started: its arguments were cut off."
UNKNOWN = "interrupted, effects unknown: the program ended during this call. Look at the present state before you repeat it."
LOOKED_ONLY = "interrupted: the program ended during this call. It changes nothing and can be asked for again."


Place: TypeAlias = tuple[int, int]
"""How many messages, and how many blocks of the next one, lie before a place in the context."""

BEGINNING: Place = (0, 0)
LEFT_OUT = "[This result ({state}, {count:,} characters) is left out here to save room. The session keeps it.]"
SHORT = 240
"""Characters of a result that is not worth leaving out."""


def model_request(work: Work) -> ModelRequest:
    """The next request: every call in it has exactly one result."""
    state = work.state
    for msg, call in holes(state.context[covered(state)[0] :]):
        # Only a bug or a foreign state gets here with a hole; a request with one would be refused for ever.
        for event in closing(work, msg, call):
            msg.append_event(event)
    return ModelRequest(system=work.system(), messages=sent(state), tools=work.toolkit.schemas())


# -- what is sent of the context -----------------------------------------------------------------


def place_of(context: Sequence[Msg], mark: Mark) -> Place | None:
    """Where a mark lies; None where its message or block is not there (lost, or rewound)."""
    for at in range(len(context) - 1, -1, -1):
        msg = context[at]
        if msg.id != mark.msg_id:
            continue
        if mark.block is None:
            return at + 1, 0
        places = (index for index, block in enumerate(msg.content) if (block.type, block.id) == mark.block)
        index = next(places, None)
        return None if index is None else (at, index + 1)
    return None


def covered(state: AgentState) -> Place:
    """Up to where the summary stands for the context."""
    return _marked(state, state.compressed.covers if state.compressed else None)


def trimmed(state: AgentState) -> Place:
    """Up to where results are left out."""
    return _marked(state, state.compressed.trims if state.compressed else None)


def _marked(state: AgentState, mark: Mark | None) -> Place:
    return (place_of(state.context, mark) if mark else None) or BEGINNING


def summary_msg(state: AgentState) -> Msg | None:
    """The summary as it is sent; None where there is none, or where what it stands for cannot be told any more."""
    compressed = state.compressed
    if not state.summary or (compressed and compressed.covers and place_of(state.context, compressed.covers) is None):
        return None
    return as_summary(state.summary)


def as_summary(text: str) -> Msg:
    """A summary as a message of the user."""
    return UserMsg(content=f"{prompt('summary.md')}\n\n{text}")


def sent(state: AgentState, *, end: Place | None = None, trims: Place | None = None) -> list[Msg]:
    """The messages of a request: the summary, then what it does not stand for. The ledger itself is never cut.

    Args:
        end: send nothing behind this place.
        trims: leave out results up to here, instead of where the state says.
    """
    summary = summary_msg(state)
    rest = list(kept(state.context, covered(state), end, trimmed(state) if trims is None else trims))
    return [summary, *rest] if summary else rest


def kept(context: Sequence[Msg], start: Place, end: Place | None, trims: Place) -> Iterator[Msg]:
    """The messages between two places; what is cut or left out is a copy."""
    for at in range(start[0], len(context) if end is None else min(len(context), end[0] + 1)):
        msg = context[at]
        content = msg.content
        if (at, 0) < trims:
            stop = trims[1] if trims[0] == at else len(content)
            content = [*map(without_output, content[:stop]), *content[stop:]]
        first, last = start[1] if at == start[0] else 0, end[1] if end is not None and at == end[0] else len(content)
        if first or last < len(content):
            content = content[first:last]
        if content:
            yield msg if content is msg.content else _with(msg, content)


def _with(msg: Msg, content: list[ContentBlock]) -> Msg:
    # No copy: one would share the index of blocks with the ledger's own message.
    fields: dict[str, Any] = {**vars(msg), "content": content}
    return Msg.model_construct(**fields)


def without_output(block: ContentBlock) -> ContentBlock:
    """A long result as the note that it is left out; any other block as it is."""
    if not isinstance(block, ToolResultBlock):
        return block
    text = block.text
    if len(text) <= SHORT and (isinstance(block.output, str) or all(part.type == "text" for part in block.output)):
        return block
    return block.model_copy(update={"output": LEFT_OUT.format(state=block.state.value, count=len(text))})


@lru_cache
def prompt(name: str) -> str:
    """A prompt of ours."""
    return files("agentcli.agent.prompt").joinpath(name).read_text(encoding="utf-8").strip()


# -- holes ---------------------------------------------------------------------------------------


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
