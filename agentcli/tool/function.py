"""Tools made of Python functions, and tools that somebody outside executes."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator, Mapping
from contextlib import aclosing, suppress
from functools import partial
from typing import Any, TypeAlias

from pydantic_core import to_jsonable_python

from agentcli.ledger.block import DataBlock, TextBlock
from agentcli.tool.base import Arguments, ToolBase, ToolChunk, ToolContext
from agentcli.tool.schema import Signature

Given: TypeAlias = str | TextBlock | DataBlock | ToolChunk | Mapping[str, Any] | None
"""What a function may return or yield; all else that JSON can write is accepted too."""
FINISHED = object()


class FunctionTool(ToolBase):
    """A function as a tool: its signature is the schema, its docstring the description.

    Args:
        read_only: it changes nothing, by the word of whoever adds it.
        concurrency_safe: it may run beside other calls.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        name: str | None = None,
        description: str | None = None,
        read_only: bool = False,
        concurrency_safe: bool = False,
    ) -> None:
        self.function = function
        self.signature = Signature.of(function)
        self.name = name or function.__name__
        self.description = description if description is not None else self.signature.description
        self.parameters = self.signature.schema
        self.read_only, self.concurrency_safe = read_only, concurrency_safe

    async def run(self, arguments: Arguments, context: ToolContext) -> AsyncIterator[ToolChunk]:
        call = partial(self.function, **self.signature.bind(arguments))
        if inspect.isasyncgenfunction(self.function):
            async with aclosing(call()) as values:
                async for value in values:
                    yield chunk_of(value)
            return
        if inspect.iscoroutinefunction(self.function):
            yield chunk_of(await call())
            return
        value: Any = await asyncio.to_thread(call)
        if inspect.isawaitable(value):
            value = await value
        if not isinstance(value, Iterator):
            yield chunk_of(value)
            return
        async with aclosing(threaded(value)) as values:  # pyright: ignore[reportUnknownArgumentType]
            async for item in values:
                yield chunk_of(item)


async def threaded(items: Iterator[Any]) -> AsyncGenerator[Any]:
    """The values of an iterator that may block."""
    try:
        while (item := await asyncio.to_thread(next, items, FINISHED)) is not FINISHED:
            yield item
    finally:
        if isinstance(items, Generator):
            # after a cancellation its thread may still be at work in it
            with suppress(ValueError):
                items.close()


def chunk_of(value: Any) -> ToolChunk:
    """A value as a part of a result."""
    match value:
        case ToolChunk():
            return value
        case TextBlock() | DataBlock():
            return ToolChunk(content=[value])
        case None:
            return ToolChunk()
        case str():
            return ToolChunk(content=[TextBlock(text=value)])
        case _:
            plain = to_jsonable_python(value, fallback=str)
            return ToolChunk(content=[TextBlock(text=json.dumps(plain, ensure_ascii=False))])


class ExternalTool(ToolBase):
    """A tool whose calls are handed out: judged like any other, answered by an `ExternalExecutionResultEvent`."""

    external = True

    def __init__(self, name: str, description: str, parameters: Mapping[str, Any], read_only: bool = False) -> None:
        self.name, self.description, self.parameters, self.read_only = name, description, parameters, read_only
