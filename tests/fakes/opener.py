"""Saved sessions that a test has made up, and what is opened of them."""

import asyncio

from agentcli.runtime.catalogue import Choice


def choice(session_id, **more):
    values = dict(
        title=f"the work of {session_id}", cwd="/home/me/shop", updated_at="2026-01-01T10:00:00+00:00", messages=2, here=True
    )
    return Choice(session_id, **{**values, **more})


class FakeOpener:
    """Opens what it was given, in order; an error in its place is raised."""

    def __init__(self, *steps, opens=()):
        self.steps, self.opens = steps, list(opens)
        self.asked, self.closed = [], []
        self.ready = asyncio.Event()
        self.ready.set()

    def choices(self):
        return iter(self.steps)

    async def resume(self, session_id, *, fork):
        self.asked.append((session_id, fork))
        await self.ready.wait()
        opened = self.opens.pop(0)
        if isinstance(opened, Exception):
            raise opened
        return opened

    async def begin(self):
        self.asked.append("begin")
        opened = self.opens.pop(0)
        if isinstance(opened, Exception):
            raise opened
        return opened

    async def close(self, conversation):
        self.closed.append(conversation)
