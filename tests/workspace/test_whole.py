import asyncio
import hashlib
import threading

import pytest

from agentcli.workspace.whole import BLOCK, NOT_KEPT, Whole
from tests.fakes.spool import FakeSpool


async def taken(spool, *pieces, most=10):
    whole = Whole(most, spool.keep if spool else None)
    for piece in pieces:
        if whole.add(piece):
            await whole.write()
    words = await whole.end()
    await whole.close()
    return words, whole.metadata


async def test_what_is_told_whole_makes_no_file():
    spool = FakeSpool(breaks_at="keep")
    assert await taken(spool, "12345", "67890") == ("", {})


async def test_a_longer_one_is_written_from_its_beginning():
    spool = FakeSpool()
    words, metadata = await taken(spool, "12345", "67890", "x")
    assert (words, spool.text) == ("the whole is in /kept/it: Read it with offset and limit", "1234567890x")
    assert metadata == {"kept": {"blob": hashlib.sha256(b"1234567890x").hexdigest(), "bytes": 11}}


async def test_many_small_pieces_are_few_writes():
    spool = FakeSpool()
    await taken(spool, *["x" * 100] * 10_000)
    assert (len(spool.text), spool.writes <= 2 + 1_000_000 // BLOCK) == (1_000_000, True)


@pytest.mark.parametrize("step", ["keep", "write", "finish"])
async def test_a_disk_that_refuses_is_said_and_stops_nothing(step):
    spool = FakeSpool(breaks_at=step)
    assert await taken(spool, "x" * 20, "y" * BLOCK, "z") == ("they could not be kept: No space left on device", {})
    assert spool.dropped == (step != "keep")


async def test_where_nothing_can_be_kept_that_is_said():
    assert await taken(None, "x" * 20) == (NOT_KEPT, {})


async def test_what_had_no_room_is_counted():
    words, _ = await taken(FakeSpool(missing=1_234), "x" * 20)
    assert words == "/kept/it has all but 1,234 bytes of its middle: Read it with offset and limit"


class SlowSpool(FakeSpool):
    def __init__(self):
        super().__init__()
        self.began, self.go_on = threading.Event(), threading.Event()

    def write(self, text):
        self.began.set()
        self.go_on.wait(5)
        super().write(text)


async def test_a_cancelled_write_is_finished_before_the_next_one():
    spool = SlowSpool()
    whole = Whole(1, spool.keep)
    assert whole.add("first ")
    task = asyncio.create_task(whole.write())
    await asyncio.to_thread(spool.began.wait, 5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    whole.add("second")
    spool.go_on.set()
    await whole.end()
    await whole.close()
    assert (spool.text, spool.finished, spool.dropped) == ("first second", True, True)
