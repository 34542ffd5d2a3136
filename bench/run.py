"""Figures of agentcli on this machine: one JSON line each, then a table. See README.md."""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import chain
from pathlib import Path

import inside
import on_screen
import weight
import without_screen
from world import Figure, World

Phase = Callable[[World, int], Iterator[Figure]]
PHASES: dict[str, Phase] = {
    "startup": without_screen.startup,
    "paint": on_screen.paint,
    "echo": lambda world, rounds: on_screen.echo(world),
    "idle": lambda world, rounds: on_screen.idle(world),
    "stream": lambda world, rounds: on_screen.stream(world),
    "history": lambda world, rounds: on_screen.history(world),
    "load": without_screen.load,
    "resume": lambda world, rounds: on_screen.resume(world, min(rounds, 3)),
    "loop": lambda world, rounds: without_screen.loop(world),
    "log": lambda world, rounds: chain(inside.durable(world), without_screen.log_growth(world)),
    "fold": lambda world, rounds: inside.fold(),
    "request": lambda world, rounds: weight.request(world),
    "iteration": lambda world, rounds: weight.iteration(world, min(rounds, 3)),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("phases", nargs="*", metavar="PHASE", help=f"of {', '.join(PHASES)}; all of them where none is named")
    parser.add_argument("--agentcli", default=str(Path(sys.executable).with_name("agentcli")), help="the program to measure")
    parser.add_argument("--rounds", type=int, default=7, help="of the phases that start processes only")
    parser.add_argument("--out", type=Path, help="append the JSON lines to this file instead of stdout")
    chosen = parser.parse_args()
    unknown = set(chosen.phases) - set(PHASES)
    if unknown:
        parser.error(f"no such phase: {', '.join(sorted(unknown))}")
    figures: list[Figure] = []
    for name in chosen.phases or PHASES:
        with World(chosen.agentcli) as world:
            for figure in PHASES[name](world, chosen.rounds):
                figures.append(figure)
                keep(figure, chosen.out)
    print(table(figures))
    return 0


def keep(figure: Figure, out: Path | None) -> None:
    line = json.dumps({**asdict(figure), "load": round(os.getloadavg()[0], 1), "at": round(time.time())})
    if out is None:
        print(line, flush=True)
        return
    with out.open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def table(figures: list[Figure]) -> str:
    """The figures for a reader: against the target as a ratio, which above 1 is worse than wanted."""
    rows = ["", f"{'':<10}{'':<48}{'value':>12} {'':<16}{'target':>8}{'ratio':>7}"]
    for figure in figures:
        wanted = "" if figure.target is None else f"{figure.target:g}"
        part = f"{figure.value / figure.target:.2f}" if figure.target and figure.value is not None else ""
        value = "not seen" if figure.value is None else f"{figure.value:,.3g}" if figure.value < 1000 else f"{figure.value:,.0f}"
        unit = figure.unit + (" ~" if figure.noisy else "")
        rows.append(f"{figure.phase:<10}{figure.name:<48}{value:>12} {unit:<16}{wanted:>8}{part:>7}")
    rows.append("~ wall time: a busy machine makes it worse, never better")
    return "\n".join(rows)


if __name__ == "__main__":
    sys.exit(main())
