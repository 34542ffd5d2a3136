"""A unified diff, or a new file, as rows with line numbers. Every line is shown whole: long ones are broken."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from agentcli.frontend.tui.transcript.ink import Ink, Row, wrap
from agentcli.view.clean import clean

HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")


@dataclass(slots=True, frozen=True)
class DiffLine:
    """One line of a diff: its sign (` `, `+`, `-`, or `@` for a gap), number and text."""

    sign: str
    number: int | None
    text: str


def diff_lines(diff: str) -> Iterator[DiffLine]:
    """The lines of a unified diff; what is none of its forms is kept as it is."""
    old = new = 0
    inside = False
    for line in diff.split("\n"):
        match = HUNK.match(line)
        if match is not None:
            if inside:
                yield DiffLine("@", None, match[3].strip())
            old, new, inside = int(match[1]), int(match[2]), True
        elif not inside:
            if line and not line.startswith(("--- ", "+++ ", "diff ", "index ")):
                yield DiffLine("\\", None, line)
        elif line.startswith("+"):
            yield DiffLine("+", new, line[1:])
            new += 1
        elif line.startswith("-"):
            yield DiffLine("-", old, line[1:])
            old += 1
        elif line.startswith("\\"):
            yield DiffLine("\\", None, line[1:].strip())
        elif line:
            yield DiffLine(" ", new, line[1:])
            old, new = old + 1, new + 1


def diff_rows(diff: str, ink: Ink, width: int) -> list[Row]:
    """Rows of a unified diff."""
    return _numbered(list(diff_lines(diff)), ink, width)


def file_rows(content: str, ink: Ink, width: int) -> list[Row]:
    """Rows of a file that would be made."""
    lines = content.split("\n")
    ended = lines[-1] == ""
    found = [DiffLine("+", number, line) for number, line in enumerate(lines[:-1] if ended else lines, 1)]
    if not found:
        found = [DiffLine("\\", None, "an empty file")]
    elif not ended:
        found.append(DiffLine("\\", None, "no newline at the end of the file"))
    return _numbered(found, ink, width)


def counts(diff: str) -> tuple[int, int]:
    """Lines added and removed."""
    signs = [line.sign for line in diff_lines(diff)]
    return signs.count("+"), signs.count("-")


def _numbered(lines: list[DiffLine], ink: Ink, width: int) -> list[Row]:
    digits = len(str(max((line.number or 0 for line in lines), default=0)))
    rows: list[Row] = []
    for line in lines:
        rows += _rows(line, digits, ink, width)
    return rows


def _rows(line: DiffLine, digits: int, ink: Ink, width: int) -> list[Row]:
    if line.sign == "@":
        return [[Segment(" " * digits + " ⋮ ", ink.hunk), *([Segment(clean(line.text, newlines=False, exact=True), ink.hunk)])]]
    style = _style(line.sign, ink)
    if line.sign == "\\":
        return [
            [Segment(" " * (digits + 3), style), *row]
            for row in wrap(Text(clean(line.text, exact=True), style), width - digits - 3)
        ]
    number = "" if line.number is None else str(line.number)
    text = clean(line.text.removesuffix("\r"), newlines=False, exact=True)
    broken = wrap(Text(text, style), max(8, width - digits - 3))
    rows: list[Row] = []
    for at, row in enumerate(broken):
        lead = f"{number:>{digits}} " if at == 0 else " " * (digits + 1)
        rows.append([Segment(lead, ink.muted), Segment(f"{line.sign} " if at == 0 else "  ", style), *row])
    return rows


def _style(sign: str, ink: Ink) -> Style:
    return {"+": ink.add, "-": ink.remove, "\\": ink.muted}.get(sign, ink.base)
