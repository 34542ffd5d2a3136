"""One reply of N iterations over a model that answers at once, in this process; what an iteration takes, as one JSON line.

`python iterations.py cpu|blocks|bytes N FOLDER`: processor seconds, blocks of the allocator that stay, or bytes that stay
(tracemalloc, which makes all else slow). FOLDER gets the session.
"""

import asyncio
import gc
import json
import sys
import time
import tracemalloc
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from agentcli.agent.agent import Agent
from agentcli.config.rules import RulesFile
from agentcli.ledger.message import UserMsg
from agentcli.ledger.rule import PermissionContext, PermissionMode
from agentcli.ledger.state import AgentState
from agentcli.model.base import CallPiece, Finish, ModelCard, ModelRequest, Piece, TextPiece, UsagePiece
from agentcli.runtime.keeper import Keeper
from agentcli.session.store import SessionStore, new_session_id
from agentcli.tool.builtin import builtin_tools
from agentcli.tool.toolkit import Toolkit

WARM = 20
"""Iterations that import, compile and fill caches."""


class Instant:
    """Calls the task list, each time with another title: a third identical call would be asked about."""

    card = ModelCard(name="instant")

    def __init__(self, count: int) -> None:
        self.left = count

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        self.left -= 1
        if self.left < 0:
            yield TextPiece("over")
        else:
            arguments = json.dumps({"tasks": [{"title": f"step {self.left}", "state": "pending"}]})
            yield CallPiece("0", "Tasks", f"call_{self.left}", arguments)
        yield UsagePiece(100, 10)
        yield Finish("stop")

    async def warm(self) -> None: ...

    async def close(self) -> None: ...


async def measured(count: int, look: Callable[[], float], folder: Path) -> list[float]:
    """What `look` gives after the warm-up, in the middle and at the end; events are read and dropped."""
    keeper = Keeper(SessionStore(folder), RulesFile(folder), str(folder), {"id": new_session_id()})
    state = AgentState(permission_context=PermissionContext(mode=PermissionMode.BYPASS))
    tools = Toolkit(builtin_tools())
    agent = Agent("agent", "be useful", Instant(count), tools, state, journal=keeper, max_iters=count + 1)
    marks = {WARM, WARM + (count - WARM) // 2, count}
    seen: list[float] = []
    done = 0
    async for event in agent.reply_stream(UserMsg(content="go")):
        if event.type == "MODEL_CALL_END":
            done += 1
            if done in marks:
                seen.append(look())
    await keeper.close()
    return seen


def blocks() -> float:
    gc.collect()
    return sys.getallocatedblocks()


def size() -> float:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def main() -> None:
    how, count, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
    if how == "bytes":
        tracemalloc.start()
    first, middle, last = asyncio.run(measured(count, {"cpu": time.process_time, "blocks": blocks, "bytes": size}[how], folder))
    half = (count - WARM) // 2
    print(json.dumps({"mean": (last - first) / (2 * half), "early": (middle - first) / half, "late": (last - middle) / half}))


if __name__ == "__main__":
    main()
