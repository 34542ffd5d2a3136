"""The phases that need no terminal: start of a process, tool loop, what the session log grows by, and its reading."""

import json
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from inside import synthetic
from world import HERE, Figure, Ran, World, quantile, ratio, sound, timed, times


def startup(world: World, rounds: int) -> Iterator[Figure]:
    """Commands against `python -c pass`, in turns, so that a slow minute hits all of them."""
    commands = {
        "pass": [sys.executable, "-c", "pass"],
        "--version": [world.agentcli, "--version"],
        "--help": [world.agentcli, "--help"],
        "run": [world.agentcli, "run", "say ok"],
    }
    ran: dict[str, list[Ran]] = {name: [] for name in commands}
    for _ in range(rounds + 1):
        for name, command in commands.items():
            ran[name].append(sound(timed(command, world)))
    for found in ran.values():
        del found[0]  # the first one compiles, and fills the disk's cache
    floor = _least(ran["pass"])
    yield Figure("startup", "python -c pass, wall", floor * 1000, "ms", noisy=True)
    for name, target in (("--version", 2.5), ("--help", 4.0), ("run", None)):
        yield Figure("startup", f"{name}, wall, least", ratio(_least(ran[name]), floor), "x pass", target, noisy=True)
        middle = ratio(_middle(ran[name], "wall"), _middle(ran["pass"], "wall"))
        yield Figure("startup", f"{name}, wall, median", middle, "x pass", noisy=True)
        yield Figure("startup", f"{name}, CPU", _middle(ran[name], "cpu") * 1000, "ms")
    yield Figure("startup", "run, peak memory", _middle(ran["run"], "peak"), "MB")


def _least(ran: list[Ran]) -> float:
    return min(one.wall for one in ran)


def _middle(ran: list[Ran], field: str) -> float:
    return statistics.median(getattr(one, field) for one in ran)


def loop(world: World) -> Iterator[Figure]:
    """From the server's last byte to the next request, with a read of a file between them."""
    for calls in (20, 300):
        gaps, ran, _ = _looped(world, calls)
        target = 5.0 if calls == 20 else None
        yield Figure("loop", f"gap p50, {calls} reads", times(quantile(gaps, 0.5), 1000), "ms", target, noisy=True)
        yield Figure("loop", f"gap p95, {calls} reads", times(quantile(gaps, 0.95), 1000), "ms", noisy=True)
        yield Figure("loop", f"CPU of the whole run, {calls} reads", ran.cpu / calls * 1000, "ms an iteration")


def log_growth(world: World) -> Iterator[Figure]:
    """Bytes of the log that one more iteration costs, early in a run and late: the same, or a long run pays for its length."""
    sizes = {calls: _looped(world, calls)[2] for calls in (10, 20, 100, 110, 300, 310)}
    costs = {calls: (sizes[calls + 10] - sizes[calls]) / 10 for calls in (10, 100, 300)}
    for calls, cost in costs.items():
        yield Figure("log", f"bytes an iteration, at iteration {calls}", cost, "B")
    yield Figure("log", "bytes an iteration, at 300 against 10", ratio(costs[300], costs[10]), "x", 1.1)


@dataclass(slots=True, frozen=True)
class Read:
    """What the reading of a session took."""

    wall: float
    cpu: float
    peak: float


def read(world: World, how: str, session_id: str, rounds: int = 1) -> Read:
    """The least of some rounds."""
    log = world.data / "sessions" / f"{session_id}.jsonl"
    found = [
        json.loads(sound(timed([sys.executable, str(HERE / "reader.py"), how, str(log)], world)).said) for _ in range(rounds)
    ]
    return Read(*(min(one[key] for one in found) for key in ("wall", "cpu", "peak")))


def load(world: World, rounds: int, messages: int = 10_000) -> Iterator[Figure]:
    """A long session opened for writing, without a screen, against the bare reading of its lines as JSON."""
    session_id = synthetic(world, messages, "The end.")
    bare, ours = (read(world, how, session_id, rounds) for how in ("json", "open"))
    for name, key, unit, factor in (("wall", "wall", "ms", 1000), ("CPU", "cpu", "ms", 1000), ("peak memory", "peak", "MB", 1)):
        of_bare, of_ours, noisy = getattr(bare, key), getattr(ours, key), key == "wall"
        yield Figure("load", f"json.loads line by line: {name}", of_bare * factor, unit, noisy=noisy)
        yield Figure("load", f"{messages:,} messages opened: {name}", of_ours * factor, unit, noisy=noisy)
        yield Figure("load", f"{messages:,} messages opened: {name}, against json", ratio(of_ours, of_bare), "x", noisy=noisy)


def _looped(world: World, calls: int) -> tuple[list[float], Ran, int]:
    since, before = len(world.events()), set(world.data.glob("sessions/*.jsonl"))
    prompt = f"go BENCH:size=200,loop={calls}: now"
    command = [world.agentcli, "run", "--mode", "bypass", "--max-iters", str(calls + 5), prompt]
    ran = sound(timed(command, world))
    gaps: list[float] = []
    answered = 0.0
    for event in world.events(since):
        if event["event"] == "done":
            answered = event["t"]
        elif event["event"] == "request" and event["results"]:
            gaps.append(event["came"] - answered)
    if len(gaps) != calls:
        raise RuntimeError(f"{len(gaps)} requests after a read where {calls} were wanted: {ran.said[-600:]}")
    (log,) = set(world.data.glob("sessions/*.jsonl")) - before
    return gaps, ran, log.stat().st_size
