"""Back to before an earlier message of the user: it and all behind it leaves the context. The log keeps every line."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError

from agentcli.agent.answers import interrupt_open
from agentcli.agent.context import close_holes, place_of
from agentcli.agent.reply import end
from agentcli.agent.work import Work
from agentcli.errors import AgentcliError
from agentcli.ledger import event as ev
from agentcli.ledger.block import ToolResultBlock
from agentcli.ledger.message import Msg, Usage
from agentcli.ledger.state import AgentState, Task, ToolMemory


async def rewind(work: Work, msg_id: str) -> list[Msg]:
    """Take a user message and all behind it out of the context; what was taken out. No reply may run.

    What waits is interrupted first, so that no question and no open call is left behind in the log.
    """
    state = work.state
    if not any(msg.id == msg_id and msg.role == "user" for msg in state.context):
        raise AgentcliError("That message is not in the context; nothing was changed.")
    await _end_reply(work)
    at = next(at for at, msg in enumerate(state.context) if msg.id == msg_id)
    past = state.context[at:]
    usage = spent(past)
    # On disk first: what the disk refuses did not happen.
    await work.journal.record("rewind", {"to": msg_id, "usage": usage.model_dump()}, durable=True)
    state.context = state.context[:at]
    state.past_calls += [call.id for msg in past for call in msg.calls]
    state.apart = state.apart + usage
    state.tool_context = memory_of(state.context)
    last = state.context[-1] if state.context else None
    state.reply_id, state.cur_iter = (last.id if last is not None and last.role == "assistant" else ""), 0
    state.unfinished = work.answering = False
    state.questions.clear()
    state.started.clear()
    forget_summary(state)
    return past


async def _end_reply(work: Work) -> None:
    """End a reply that waits, or was cut off."""
    state, reply = work.state, work.state.reply
    if reply is None or not state.unfinished:
        return
    # What was started gets the result that is known of it; then only what waits is open.
    await close_holes(work)
    interrupt_open(work)
    if reply.content:
        await end(work, ev.ReplyEndReason.INTERRUPTED)
    else:
        state.context.remove(reply)
    work.untold.clear()


def forget_summary(state: AgentState) -> None:
    """Send the context whole again, where what the summary stands for is no more."""
    compressed = state.compressed
    marks = [mark for mark in (compressed.covers, compressed.trims) if mark is not None] if compressed else []
    if any(place_of(state.context, mark) is None for mark in marks):
        state.summary = state.compressed = None


def spent(msgs: Iterable[Msg]) -> Usage:
    """The tokens of messages."""
    return sum((msg.usage for msg in msgs if msg.usage is not None), Usage())


def memory_of(context: Iterable[Msg]) -> ToolMemory:
    """What the results of a context say that tools have seen."""
    memory = ToolMemory()
    for msg in context:
        for block in msg.content:
            if isinstance(block, ToolResultBlock):
                _remember(memory, block.metadata)
    return memory


def _remember(memory: ToolMemory, metadata: dict[str, Any]) -> None:
    seen, tasks = metadata.get("seen"), metadata.get("tasks")
    if isinstance(seen, dict):
        memory.read_files.update({str(path): str(digest) for path, digest in seen.items()})  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(tasks, list):
        try:
            memory.tasks = [Task.model_validate(task) for task in tasks]  # pyright: ignore[reportUnknownVariableType]
        except ValidationError:
            return
