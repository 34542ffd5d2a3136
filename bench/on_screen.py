"""The phases that a user would feel: the program in a terminal."""

import itertools
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

from inside import synthetic
from server import end_mark
from terminal import PROBES, Terminal
from without_screen import read
from world import HERE, Figure, World, quantile, ratio, timed, times

ENDS = itertools.count(100)


@dataclass(slots=True)
class Answered:
    """What one streamed answer took."""

    cpu: float
    bytes_sent: int
    bytes_drawn: int
    lag: float | None
    ask: float
    late: float
    echoes: list[float | None] = field(default_factory=list[float | None])


def started(world: World, *flags: str) -> Terminal:
    """The program, ready for keys."""
    terminal = Terminal([world.agentcli, "chat", *flags], world)
    while not (terminal.chunks and terminal.unechoed()):
        terminal.pump(0.002)
    terminal.echo("x", 20)
    terminal.send("\x7f")
    terminal.quiet(1.0)
    return terminal


@dataclass(slots=True, frozen=True)
class Painted:
    """What one start took."""

    first: float | None
    ready: float | None
    cpu: float
    behind: float
    memory: float


def paint(world: World, rounds: int) -> Iterator[Figure]:
    """From exec to the first glyph, and to the echo of a key that was pressed then; in turns with what they are compared to."""
    ours: list[Painted] = []
    bare: list[float | None] = []
    floor: list[float] = []
    for _ in range(rounds):
        floor.append(timed([sys.executable, "-c", "pass"], world).wall)
        bare.append(_painted(world, [sys.executable, str(HERE / "bare.py")]).ready)
        ours.append(_painted(world, [world.agentcli, "chat"]))
    first, ready = [one.first for one in ours], [one.ready for one in ours]
    yield Figure("paint", "first glyph, median", times(quantile(first, 0.5), 1000), "ms", noisy=True)
    yield Figure("paint", "first glyph, least", ratio(quantile(first, 0), min(floor)), "x pass", 2.5, noisy=True)
    yield Figure("paint", "prompt echoes, median", times(quantile(ready, 0.5), 1000), "ms", noisy=True)
    yield Figure("paint", "prompt echoes, least", ratio(quantile(ready, 0), quantile(bare, 0)), "x bare Textual", 1.5, noisy=True)
    yield Figure("paint", "CPU to the prompt", statistics.median(one.cpu for one in ours), "s", 0.35)
    yield Figure("paint", "CPU until all is loaded", statistics.median(one.behind for one in ours), "s", 0.9)
    yield Figure("paint", "memory at the prompt", statistics.median(one.memory for one in ours), "MB", 90)


def _painted(world: World, command: list[str]) -> Painted:
    with closing(Terminal(command, world)) as terminal:
        while not (terminal.chunks and terminal.unechoed()):
            terminal.pump(0.002)
        ready = None if terminal.echo(PROBES[0], 20) is None else time.monotonic() - terminal.began
        cpu, first = terminal.cpu(), terminal.first_glyph()
        terminal.quiet(1.0)
        return Painted(first, ready, cpu, terminal.cpu(), terminal.memory())


def echo(world: World) -> Iterator[Figure]:
    """A key now and then on an idle screen."""
    with closing(started(world)) as terminal:
        echoes = terminal.echoes(PROBES, 0.12)
        yield Figure("echo", "idle key p50", times(quantile(echoes, 0.5), 1000), "ms", noisy=True)
        yield Figure("echo", "idle key p95", times(quantile(echoes, 0.95), 1000), "ms", 12, noisy=True)


def idle(world: World, seconds: float = 10) -> Iterator[Figure]:
    """Nobody types, nothing comes."""
    with closing(started(world)) as terminal:
        terminal.quiet(1.5)
        cpu, written = terminal.cpu(), terminal.written
        terminal.run(seconds)
        yield Figure("idle", f"CPU in {seconds:.0f} s", terminal.cpu() - cpu, "s", 0.02)
        yield Figure("idle", f"bytes in {seconds:.0f} s", terminal.written - written, "B", 0)


def stream(world: World) -> Iterator[Figure]:
    """100 KB of markdown at 5,000 tokens a second, with keys pressed all the while; before it, 500 a second."""
    with closing(started(world)) as terminal:
        answered(terminal, world, "size=400,rate=200")
        slow = answered(terminal, world, "size=12000,rate=500", PROBES)
        share = slow.cpu / (len(_tokens(world)) / 500)
        yield Figure("stream", "500 tokens/s: share of a core", share, "core", 0.25)
        yield Figure("stream", "500 tokens/s: key p50", times(quantile(slow.echoes, 0.5), 1000), "ms", noisy=True)
        yield Figure("stream", "500 tokens/s: key p95", times(quantile(slow.echoes, 0.95), 1000), "ms", noisy=True)
        before = terminal.memory()
        fast = answered(terminal, world, "size=100000,rate=5000", PROBES)
        yield Figure("stream", "100 KB: CPU", fast.cpu * 100_000 / fast.bytes_sent, "s per 100 KB", 2.5)
        yield Figure("stream", "100 KB: last token to last glyph", times(fast.lag, 1000), "ms", 40, noisy=True)
        yield Figure("stream", "100 KB: key p50", times(quantile(fast.echoes, 0.5), 1000), "ms", 25, noisy=True)
        yield Figure("stream", "100 KB: key p95", times(quantile(fast.echoes, 0.95), 1000), "ms", 60, noisy=True)
        yield Figure("stream", "100 KB: bytes drawn", fast.bytes_drawn, "B")
        yield Figure("stream", "100 KB: server behind its own rate", fast.late * 1000, "ms", noisy=True)
        yield Figure("stream", "Enter to request", fast.ask * 1000, "ms", noisy=True)
        yield Figure("stream", "memory after", terminal.memory(), "MB", 110)
        yield Figure("stream", "memory grown by 100 KB", terminal.memory() - before, "MB", 20)


def _tokens(world: World) -> range:
    return range([event for event in world.events() if event["event"] == "first"][-1]["tokens"])


def answered(terminal: Terminal, world: World, directive: str, keys: str = "", gap: float = 0.2) -> Answered:
    """Ask for an answer and see it to its end mark, pressing keys meanwhile."""
    number = next(ENDS)
    terminal.quiet(0.5)
    since, chunk = len(world.events()), len(terminal.chunks)
    cpu, drawn = terminal.cpu(), terminal.written
    terminal.send(f"go BENCH:{directive},end={number}:")
    terminal.run(0.3)
    asked = time.monotonic()
    terminal.send("\r")
    request = _wait(terminal, world, since, "request")
    echoes: list[float | None] = []
    for glyph in keys:
        end = time.monotonic() + gap
        if any(event["event"] == "last" for event in world.events(since)):
            break
        echoes.append(terminal.echo(glyph))
        terminal.run(end - time.monotonic())
    seen = terminal.seen(end_mark(number), 60, chunk)
    last = _wait(terminal, world, since, "last")
    terminal.quiet(0.6)
    spent, drawn = terminal.cpu() - cpu, terminal.written - drawn
    terminal.send("\x7f" * len(echoes))
    terminal.quiet(0.5)
    lag = None if seen is None else max(0.0, seen - last["t"])
    return Answered(spent, last["bytes"], drawn, lag, request["came"] - asked, last["late"], echoes)


def _wait(terminal: Terminal, world: World, since: int, event: str) -> dict[str, float]:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        for found in world.events(since):
            if found["event"] == event:
                return found
        terminal.pump(0.02)
    raise RuntimeError(f"the server never noted {event!r}; the screen:\n{terminal.text()}")


def history(world: World) -> Iterator[Figure]:
    """Keys and a short answer in a session of 1,000 messages, against a session of one."""
    took: dict[int, tuple[float | None, float, float]] = {}
    for messages in (1, 1000):
        session_id = synthetic(world, messages, end_mark(next(ENDS)))
        with closing(started(world, "--resume", session_id)) as terminal:
            if messages == 1:
                terminal.send("\x1b")  # the one message is a question whose reply was cut off
            cpu = terminal.cpu()
            echoes = terminal.echoes(PROBES, 0.12)
            typed = terminal.cpu() - cpu
            took[messages] = quantile(echoes, 0.5), typed, answered(terminal, world, "size=10000,rate=2000").cpu
    for place, name in enumerate(("idle key p50", "CPU of typing", "CPU of an answer of 10 KB")):
        more = ratio(took[1000][place], took[1][place])
        yield Figure("history", f"{name}, 1,000 messages against 1", more, "x", 1.2, noisy=place == 0)


def resume(world: World, rounds: int = 3, messages: int = 10_000) -> Iterator[Figure]:
    """A long session opened: until its last message stands on the screen, against the bare reading of its lines as JSON.

    The start itself is a part of it, so the same is done with a session of two messages.
    """
    few_end, end = end_mark(next(ENDS)), end_mark(next(ENDS))
    few, many = synthetic(world, 2, few_end), synthetic(world, messages, end)
    bare = read(world, "json", many, rounds)
    starts = [_resumed(world, few, few_end) for _ in range(rounds)]
    took = [_resumed(world, many, end) for _ in range(rounds)]
    seen, start = (quantile([one.seen for one in some], 0) for some in (took, starts))
    cpu, peak = min(one.cpu for one in took), min(one.peak for one in took)
    size = (world.data / "sessions" / f"{many}.jsonl").stat().st_size
    yield Figure("resume", "size of the log", size / 1e6, "MB")
    yield Figure("resume", "json.loads line by line: wall", bare.wall, "s", noisy=True)
    yield Figure("resume", "last message on the screen", seen, "s", 0.4, noisy=True)
    yield Figure("resume", "the same of 2 messages", start, "s", noisy=True)
    yield Figure("resume", "last message on the screen, against json", ratio(seen, bare.wall), "x", noisy=True)
    yield Figure("resume", "CPU until then", cpu, "s")
    yield Figure("resume", "CPU until then, of 2 messages", min(one.cpu for one in starts), "s")
    yield Figure("resume", "CPU until then, against json", ratio(cpu, bare.cpu), "x")
    yield Figure("resume", "a key right after", times(quantile([one.echo for one in took], 0), 1000), "ms", noisy=True)
    yield Figure("resume", "CPU until all is loaded", min(one.all_cpu for one in took), "s", 0.8)
    yield Figure("resume", "peak memory", peak, "MB", 130)
    yield Figure("resume", "peak memory, against json", ratio(peak, bare.peak), "x")
    yield Figure("resume", "bytes drawn", min(one.written for one in took), "B")


@dataclass(slots=True, frozen=True)
class Resumed:
    """What one resume took."""

    seen: float | None
    cpu: float
    echo: float | None
    all_cpu: float
    peak: float
    written: int


def _resumed(world: World, session_id: str, mark: str) -> Resumed:
    with closing(Terminal([world.agentcli, "chat", "--resume", session_id], world)) as terminal:
        at = terminal.seen(mark, 60, 0)
        seen, cpu = None if at is None else at - terminal.began, terminal.cpu()
        after = terminal.echo(PROBES[0], 10)
        terminal.quiet(1.5, 30)
        return Resumed(seen, cpu, after, terminal.cpu(), terminal.peak(), terminal.written)
