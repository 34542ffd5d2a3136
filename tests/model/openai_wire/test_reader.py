from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from agentcli.model.openai_wire.reader import joined


async def source(*chunks: bytes | float, error: Exception | None = None) -> AsyncGenerator[bytes]:
    for chunk in chunks:
        if isinstance(chunk, bytes):
            yield chunk
        else:
            await asyncio.sleep(chunk)
    if error is not None:
        raise error


async def test_what_came_at_once_is_one_piece():
    assert [chunk async for chunk in joined(source(b"a", b"b", 0.02, b"c", b"d"))] == [b"ab", b"cd"]


async def test_an_error_comes_after_all_that_came_before_it():
    seen = []
    with pytest.raises(ValueError, match="broken"):
        async for chunk in joined(source(b"a", b"b", error=ValueError("broken"))):
            seen.append(chunk)
    assert seen == [b"ab"]


async def test_an_empty_source_ends():
    assert [chunk async for chunk in joined(source())] == []


async def test_a_slow_consumer_holds_the_source_back():
    produced = 0

    async def endless() -> AsyncGenerator[bytes]:
        nonlocal produced
        while True:
            produced += 1
            yield b"x" * 65536

    async with aclosing(joined(endless())) as chunks:
        assert len(await anext(chunks)) < 1 << 21
        await asyncio.sleep(0.05)
        assert produced < 64
