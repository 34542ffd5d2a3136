"""A world with one session in it: turns are fed, inputs are run, and the process dies where a test wants it."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from pathlib import Path

import pytest

from agentcli.agent.context import model_request
from agentcli.ledger.message import UserMsg
from agentcli.ledger.rule import PermissionMode
from agentcli.ledger.state import AgentState
from agentcli.model.scripted import read_turns
from tests.fakes.agent import results_of, until
from tests.fakes.disk import Died
from tests.fakes.world import SESSION, InlineStore, World, check_request


class Stage:
    """A world, and the ways in which its process dies."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder)
        self.world.boot()
        self.lost: list[str] = []
        self.notices: list[str] = []
        self.before = b""

    @property
    def agent(self):
        return self.world.agent

    @property
    def state(self):
        return self.world.agent.state

    @property
    def kinds(self):
        """The records on disk."""
        store = InlineStore(self.world.data)
        return [record["type"] for record in store.read(SESSION).records]

    def mode(self, mode):
        self.state.permission_context.mode = PermissionMode(mode)

    def feed(self, *turns):
        self.world.turns.extend(turn if any(map(callable, turn)) else read_turns([turn], "fed")[0] for turn in turns)

    async def run(self, inputs="go"):
        inputs = UserMsg("user", inputs) if isinstance(inputs, str) else inputs
        async with aclosing(self.agent.reply_stream(inputs)) as events:
            return [event async for event in events]

    async def die_at(self, kind, inputs="go", *, power=False, nth=1):
        """Die while the consumer holds the n-th event of this kind."""
        inputs = UserMsg("user", inputs) if isinstance(inputs, str) else inputs
        with suppress(Died, StopAsyncIteration):
            async with aclosing(self.agent.reply_stream(inputs)) as events:
                async for event in events:
                    nth -= event.type == kind
                    if nth == 0:
                        self.world.die(power=power)
                        break
                else:
                    raise AssertionError(f"no {kind}")
        return await self.reborn()

    async def die_in_write(self, kind, inputs="go", *, nth=1, how="die", power=False):
        """Die in the n-th write of a record of this kind; half of it is on disk."""
        disk, wanted = self.world.disk, f'"type":"{kind}"'.encode()
        write = disk.write

        def watched(fd, data):
            nonlocal nth
            if wanted in data[:200]:
                nth -= 1
                if nth == 0:
                    disk.at, disk.how, disk.only = disk._count + 1, how, "write"
            return write(fd, data)

        disk.write, disk.only = watched, "write"
        with pytest.raises(Died):
            await self.run(inputs)
        self.world.die(power=power)
        return await self.reborn()

    async def die_inside(self, inputs="go", *, power=False):
        """Die where the world is told to: within a tool, or within the model's answer."""
        task = asyncio.create_task(self.run(inputs))
        await until(lambda: self.world.disk.dead)
        self.world.die(power=power)
        task.cancel()
        with suppress(Died, asyncio.CancelledError):
            await task
        return await self.reborn()

    async def reborn(self):
        """Another process; what the matrix says of every crash is asserted."""
        self.before = self.world.log_path.read_bytes() if self.world.log_path.exists() else b""
        self.world.yes.clear()
        loaded = self.world.boot(self.state.permission_context.mode)
        self.lost = loaded.lost if loaded else []
        self.notices = await self.agent.recover(from_log=True, records=loaded.records if loaded else ())
        await self.settled()
        return self

    async def settled(self):
        world = self.world
        assert world.faults == []
        assert all(count == 1 for count in world.effects.values())
        sound = self.before[: self.before.rfind(b"\n") + 1] if self.lost else self.before
        assert not world.loaded or world.log_path.read_bytes().startswith(sound)
        copy = world.agent_of(AgentState.model_validate_json(self.state.model_dump_json()))
        if not copy.waiting:
            check_request(model_request(copy._work))

    async def leave(self):
        await self.world.leave()
        return await self.reborn()

    def result(self, call_id):
        return results_of(self.state.context[-1])[call_id]
