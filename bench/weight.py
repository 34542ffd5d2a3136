"""The phases that weigh: the first request on both wires, and one iteration of the loop without a model's time."""

import json
import sys
from collections.abc import Iterator

from world import HERE, Figure, World, ratio, sound, timed

LIMIT = 8_000
"""Bytes that the first request with the built-in tools may have."""


def request(world: World) -> Iterator[Figure]:
    """What `run --dry-run` prints, and how much of it does not depend on what was asked."""
    for api in ("chat", "responses"):
        body = sound(timed([world.agentcli, "run", "--dry-run", "--api", api, "say ok"], world)).said.strip()
        parts = json.loads(body)
        yield Figure("request", f"first request, {api}", float(len(body.encode())), "B", float(LIMIT))
        tools = json.dumps(parts["tools"], ensure_ascii=False, separators=(",", ":"))
        yield Figure("request", f"tools of it ({len(parts['tools'])}), {api}", float(len(tools.encode())), "B")


def iteration(world: World, rounds: int = 3, count: int = 320) -> Iterator[Figure]:
    """The agent, a tool and the session log, over a model that answers at once: no wire, no network, no screen."""
    best = min((_iterated(world, "cpu", count) for _ in range(rounds)), key=lambda one: one["mean"])
    yield Figure("iteration", f"CPU an iteration, mean of {count}", best["mean"] * 1000, "ms")
    yield Figure("iteration", "CPU, later half against earlier", ratio(best["late"], best["early"]), "x", 1.3)
    stay, size = _iterated(world, "blocks", count), _iterated(world, "bytes", count)
    yield Figure("iteration", "allocator blocks that stay, an iteration", stay["mean"], "blocks")
    yield Figure("iteration", "bytes that stay, an iteration", size["mean"], "B")
    yield Figure("iteration", "bytes that stay, later half against earlier", ratio(size["late"], size["early"]), "x", 1.3)


def _iterated(world: World, how: str, count: int) -> dict[str, float]:
    command = [sys.executable, str(HERE / "iterations.py"), how, str(count), str(world.data)]
    return json.loads(sound(timed(command, world)).said.splitlines()[-1])
