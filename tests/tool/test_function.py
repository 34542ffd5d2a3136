import asyncio
import threading
import time

import pytest

from agentcli.errors import ToolError
from agentcli.ledger.block import TextBlock
from agentcli.ledger.state import ToolMemory
from agentcli.tool.base import ToolChunk, ToolContext
from agentcli.tool.function import ExternalTool, FunctionTool
from agentcli.workspace.root import Place

CONTEXT = ToolContext(Place("/", "/", "/"), ToolMemory())


async def texts(function, **arguments):
    chunks = [chunk async for chunk in FunctionTool(function).run(arguments, CONTEXT)]
    return [block.text for chunk in chunks for block in chunk.content]


def plain(a: int):
    return f"got {a}"


async def waiting(a: int):
    await asyncio.sleep(0)
    return {"got": a}


def pieces(a: int):
    yield "one"
    yield ToolChunk(content=[TextBlock(text=str(a))])


async def waiting_pieces(a: int):
    yield TextBlock(text="one")
    yield [a]


def nothing(a: int) -> None:
    return None


KINDS = [(plain, ["got 1"]), (waiting, ['{"got": 1}']), (pieces, ["one", "1"]), (waiting_pieces, ["one", "[1]"]), (nothing, [])]


@pytest.mark.parametrize(("function", "wanted"), KINDS)
async def test_every_kind_of_function_gives_its_values(function, wanted):
    assert await texts(function, a=1) == wanted


async def test_a_blocking_function_does_not_stop_the_loop():
    gate = threading.Event()

    def wait() -> str:
        gate.wait(5)
        return "done"

    task = asyncio.create_task(texts(wait))
    began = time.monotonic()
    await asyncio.sleep(0.01)
    assert time.monotonic() - began < 1
    gate.set()
    assert await task == ["done"]


async def test_a_wrong_argument_is_a_tool_error():
    with pytest.raises(ToolError, match="a: "):
        await texts(plain, a="x")


async def test_a_generator_is_closed_by_whoever_stops_early():
    closed = []

    def endless():
        try:
            while True:
                yield "x"
        finally:
            closed.append(True)

    run = FunctionTool(endless).run({}, CONTEXT)
    await anext(run)
    await run.aclose()
    assert closed == [True]


def test_names_flags_and_words_may_be_given():
    tool = FunctionTool(plain, name="Plain", description="says", read_only=True)
    assert (tool.name, tool.description, tool.read_only, tool.concurrency_safe) == ("Plain", "says", True, False)


def test_an_external_tool_is_never_run_here():
    tool = ExternalTool("X", "outside", {"type": "object"}, read_only=True)
    assert (tool.external, tool.read_only) == (True, True)
    with pytest.raises(NotImplementedError):
        tool.run({}, CONTEXT)
