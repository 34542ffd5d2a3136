"""Where a context can be cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentcli.agent.context import (
    Place,
    without_output,
)
from agentcli.agent.estimate import OF_MESSAGE, tokens_of_block
from agentcli.ledger.block import ToolCallBlock, ToolResultBlock, ToolResultState
from agentcli.ledger.message import Msg
from agentcli.ledger.state import Mark


@dataclass(slots=True, frozen=True)
class Cut:
    """Where the context can be cut without parting a call from its result."""

    place: Place
    mark: Mark
    covered: float
    """Tokens before it."""


def cuts(context: Sequence[Msg], start: Place, trims: Place) -> Iterator[Cut]:
    """Every place behind `start` where all calls before it are answered before it, in order.

    What the user said last, and nobody has answered, stays whole.
    """
    end = _answered(context)
    tokens = 0.0
    for at in range(start[0], end):
        msg = context[at]
        tokens += OF_MESSAGE
        waiting: set[str] = set()
        first = start[1] if at == start[0] else 0
        for index in range(first, len(msg.content)):
            block = msg.content[index]
            tokens += tokens_of_block(without_output(block) if (at, index) < trims else block)
            if isinstance(block, ToolCallBlock):
                waiting.add(block.id)
            elif isinstance(block, ToolResultBlock) and block.state != ToolResultState.RUNNING:
                waiting.discard(block.id)
                if not waiting and not _more_results(msg, index):
                    yield Cut((at, index + 1), Mark(msg_id=msg.id, block=(block.type, block.id)), tokens)
        if waiting:
            return
        if len(msg.content) > first and (msg is not context[-1] or msg.finished_at is not None):
            yield Cut((at + 1, 0), Mark(msg_id=msg.id), tokens)


def _more_results(msg: Msg, index: int) -> bool:
    return index + 1 < len(msg.content) and isinstance(msg.content[index + 1], ToolResultBlock)


def _answered(context: Sequence[Msg]) -> int:
    """How many messages lie before what the user said last and nobody has answered."""
    end = len(context)
    while end and (context[end - 1].role != "assistant" or not context[end - 1].content):
        end -= 1
    return end
