"""Unified diffs of texts, in time that stays bounded for large ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

CONTEXT = 3
COMPARED = 4_000_000
"""Pairs of lines that are compared at most; a larger change is shown as one block."""
Step: TypeAlias = tuple[bool, int, int, int, int]
"""Whether both sides are equal, and the lines of each."""


@dataclass(slots=True, frozen=True)
class Diff:
    """A change of one file."""

    text: str
    """A unified diff; empty if nothing changes."""
    added: int
    removed: int

    @property
    def summary(self) -> str:
        """As the screen's right column has it."""
        return f"+{self.added} -{self.removed}"


def unified(before: str | None, after: str, name: str) -> Diff:
    """The change from one text to another; None means that there was no file."""
    old, new = lines_of(before or ""), lines_of(after)
    steps = list(changes(old, new))
    body = [line for hunk in hunks(steps) for line in hunk_lines(hunk, old, new)]
    head = [f"--- {'/dev/null' if before is None else 'a/' + name.lstrip('/')}\n", f"+++ b/{name.lstrip('/')}\n"]
    return Diff(
        "".join([*head, *body]) if body else "",
        sum(d - c for equal, _, _, c, d in steps if not equal),
        sum(b - a for equal, a, b, _, _ in steps if not equal),
    )


def lines_of(text: str) -> list[str]:
    """Lines with their ends; only LF ends one."""
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def changes(old: list[str], new: list[str]) -> Iterator[Step]:
    """What is equal and what is not, in order."""
    start, limit = 0, min(len(old), len(new))
    while start < limit and old[start] == new[start]:
        start += 1
    end = 0
    while end < limit - start and old[-1 - end] == new[-1 - end]:
        end += 1
    if start:
        yield True, 0, start, 0, start
    left, right = old[start : len(old) - end], new[start : len(new) - end]
    if len(left) * len(right) > COMPARED:
        yield False, start, len(old) - end, start, len(new) - end
    else:
        for tag, a, b, c, d in difflib.SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
            yield tag == "equal", a + start, b + start, c + start, d + start
    if end:
        yield True, len(old) - end, len(old), len(new) - end, len(new)


def hunks(steps: list[Step]) -> Iterator[list[Step]]:
    """Changes with their surroundings; what lies far apart is parted."""
    hunk: list[Step] = []
    for index, (equal, a, b, c, d) in enumerate(steps):
        if not equal:
            hunk.append((equal, a, b, c, d))
            continue
        last = index == len(steps) - 1
        if hunk and (last or b - a > 2 * CONTEXT):
            yield [*hunk, (True, a, min(b, a + CONTEXT), c, min(d, c + CONTEXT))]
            hunk = []
        if not last:
            keep = b - a if hunk else min(b - a, CONTEXT)
            hunk.append((True, b - keep, b, d - keep, d))
    if any(not step[0] for step in hunk):
        yield hunk


def hunk_lines(hunk: list[Step], old: list[str], new: list[str]) -> Iterator[str]:
    yield f"@@ -{span(hunk[0][1], hunk[-1][2])} +{span(hunk[0][3], hunk[-1][4])} @@\n"
    for equal, a, b, c, d in hunk:
        if equal:
            yield from (" " + ended(line) for line in old[a:b])
            continue
        yield from ("-" + ended(line) for line in old[a:b])
        yield from ("+" + ended(line) for line in new[c:d])


def span(start: int, end: int) -> str:
    count = end - start
    return f"{start + 1 if count else start},{count}"


def ended(line: str) -> str:
    return line if line.endswith("\n") else line + "\n\\ No newline at end of file\n"
