"""Does a model go round in a circle: the same call again and again, with the same result. Pure; decides nothing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import lru_cache

from agentcli.ledger.block import ToolCallBlock, ToolResultBlock, ToolResultState
from agentcli.ledger.message import Msg

MOST_ALLOWED = 20
"""So often an identical call with one result is run, even where each is allowed."""
MOST_REPEATS = 2
"""Identical calls with one result that may go before; the next one is asked about."""
NEVER_RAN = (ToolResultState.RUNNING, ToolResultState.INTERRUPTED)


def repeats(msg: Msg, call: ToolCallBlock) -> int:
    """How many calls of this reply before this one were the same, and gave the same result as the last of them."""
    wanted = canonical(call.input)
    count, first = 0, None
    for other in reversed(_before(msg, call)):
        if other.name != call.name or canonical(other.input) != wanted:
            continue
        result = msg.result(other.id)
        if result is None or result.state in NEVER_RAN or result.metadata.get("repaired"):
            continue
        found = _print_of(result)
        if first is not None and found != first:
            break
        first, count = found, count + 1
    return count


def is_loop(msg: Msg, call: ToolCallBlock) -> bool:
    """Whether this is at least the third identical call, and the earlier ones gave one result."""
    return repeats(msg, call) >= MOST_REPEATS


def loop_note(msg: Msg, call: ToolCallBlock) -> str:
    """What a person should know of a call that is a loop; empty for any other."""
    count = repeats(msg, call)
    if count < MOST_REPEATS:
        return ""
    if count == MOST_REPEATS:
        return "This is the third identical call; both earlier ones gave the same result."
    return f"This is identical call number {count + 1}; the {count} earlier ones gave the same result."


def looped(msg: Msg) -> Iterator[tuple[ToolCallBlock, ToolResultBlock]]:
    """The calls of the last turn that were loops, with what came of them."""
    for block in reversed(msg.content):
        if not isinstance(block, ToolResultBlock):
            return  # what came before this was seen by the model
        call = msg.call(block.id)
        if call is not None and is_loop(msg, call):
            yield call, block


def _before(msg: Msg, call: ToolCallBlock) -> list[ToolCallBlock]:
    calls = msg.calls
    return calls[: next((at for at, other in enumerate(calls) if other.id == call.id), len(calls))]


def _print_of(result: ToolResultBlock) -> tuple[str, str]:
    """All that a result says: state, text and data, without ids and times."""
    if isinstance(result.output, str):
        return result.state, result.output
    if all(block.type == "text" for block in result.output):
        return result.state, result.text
    parts = [block.model_dump(include={"text", "source"}, mode="json") for block in result.output]
    return result.state, json.dumps(parts, sort_keys=True)


@lru_cache(maxsize=4096)
def canonical(text: str) -> bytes:
    """The same for arguments that say the same: white space, order of names and escapes do not count."""
    try:
        text = json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        text = text.strip()
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
