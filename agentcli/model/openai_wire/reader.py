"""Bytes of the network, joined: what has come while nobody looked is one piece. Knows no provider."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

MOST_WAITING = 1 << 20


async def joined(chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """The chunks of a source, neighbours joined; an error of the source comes after all its chunks.

    A server frames each event as a chunk of its own; without this a fast answer costs a step of the loop for each.
    """
    waiting: list[bytes] = []
    news, room = asyncio.Event(), asyncio.Event()

    async def read() -> None:
        size = 0
        async with aclosing(chunks):
            async for chunk in chunks:
                size = size + len(chunk) if waiting else len(chunk)
                waiting.append(chunk)
                news.set()
                if size > MOST_WAITING:
                    room.clear()
                    await room.wait()

    task = asyncio.create_task(read())
    task.add_done_callback(lambda _: news.set())
    try:
        while True:
            if not waiting and not task.done():
                await news.wait()
            news.clear()
            if waiting:
                chunk = b"".join(waiting)
                waiting.clear()
                room.set()
                yield chunk
            elif task.done():
                task.result()
                return
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # an error that nobody waits for any more
