from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from agentcli.ledger.rule import PermissionMode
from agentcli.session.codec import scan
from agentcli.session.disk import DiskIO
from agentcli.session.loaded import load
from agentcli.session.log import SessionLog
from agentcli.session.store import SessionStore
from tests.fakes.agent import call
from tests.session.story import HEADER, ID, finish, log_path, reply, result, say
from tests.session.story import call as declare

ITERATIONS = 300


def turns(count):
    """A reply that reads another line in every iteration, and then says so."""
    reads = [
        [{"text": f"Step {n:03}."}, call(f"c{n:03}", "Read", file_path="a.txt", offset=n + 100, limit=1)] for n in range(count)
    ]
    return [*reads, [{"text": "Done."}]]


@pytest.fixture
def book(home):
    (home.project / "a.txt").write_text("".join(f"line {n:04}\n" for n in range(1, 1000)))
    return home


@dataclass(slots=True, frozen=True)
class Grown:
    """What a reply left in its log, and what it told."""

    bytes: float
    lines: Mapping[str, float]
    """By kind."""
    events: float


async def grown(home, count):
    session, events = await home.play(*turns(count), mode=PermissionMode.BYPASS, max_iters=count + 1)
    assert events[-1].finished_reason == "completed"
    raw = home.log(session).read_bytes()
    return Grown(len(raw), Counter(line.record["type"] for line in scan(raw).lines), len(events))


def per_iteration(short, long, more):
    """What an iteration costs, by the difference of two replies of which one has so many more."""
    lines = {kind: (number - short.lines[kind]) / more for kind, number in long.lines.items()}
    return Grown((long.bytes - short.bytes) / more, lines, (long.events - short.events) / more)


async def test_an_iteration_costs_the_same_bytes_lines_and_events_however_long_the_reply_is(book):
    few, some, many = [await grown(book, count) for count in (10, 100, ITERATIONS)]
    assert per_iteration(few, some, 90).lines == per_iteration(some, many, 200).lines
    assert per_iteration(few, some, 90).lines["msg"] == 2
    assert per_iteration(few, some, 90).events == per_iteration(some, many, 200).events
    # A seq of four digits costs two bytes more than one of two.
    lines = sum(per_iteration(some, many, 200).lines.values())
    assert per_iteration(some, many, 200).bytes <= per_iteration(few, some, 90).bytes + 2 * lines


async def test_the_log_of_a_long_reply_says_every_block_once_or_twice(tmp_path):
    log = SessionStore(tmp_path, DiskIO()).create(ID, HEADER)
    msg = await long_reply(log)
    log.close()
    raw = log_path(tmp_path).read_bytes()
    lines = scan(raw).lines
    assert len(lines) == 2 + 2 * ITERATIONS
    assert sum(len(line.record["msg"]["content"]) for line in lines[1:]) == 4 * ITERATIONS
    assert load(ID, scan(raw), lambda content: []).messages == [msg]


async def long_reply(log: SessionLog):
    msg = reply()
    for n in range(ITERATIONS):
        say(msg, f"t{n}", "Step.")
        declare(msg, f"c{n}", "{}")
        await log.kept(msg, durable=False)
        result(msg, f"c{n}", "done")
        await log.kept(msg, durable=False)
    finish(msg)
    await log.kept(msg, durable=False)
    return msg
