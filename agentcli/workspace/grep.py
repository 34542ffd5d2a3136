"""Searches in files: by ripgrep where it is found, else by this file run as a program of its own.

Both are programs because an expression may run for ever, and a process can be ended. Both write the same:
`path NUL line-number : text` for a match, `-` in place of `:` for a line around one, `--` between groups.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agentcli.workspace.pattern import braces, fits
from agentcli.workspace.walk import Walk

LINE_CHARS = 500
FILE_BYTES = 64 * 1024 * 1024
FILE_MATCHES = 1_000


@dataclass(slots=True, frozen=True)
class Query:
    """What is looked for, and where."""

    pattern: str
    path: str
    """Resolved: a file or a folder."""
    top: str
    """The root of the repository."""
    glob: str | None = None
    ignore_case: bool = False
    context: int = 0
    most: int = FILE_MATCHES
    """Matches of one file."""


@dataclass(slots=True, frozen=True)
class Hit:
    """A line of the answer."""

    path: str
    line: int
    text: str
    match: bool
    """False for a line around a match."""


def program(query: Query) -> list[str]:
    """The words of a process that answers a query."""
    ripgrep = shutil.which("rg")
    return ripgrep_words(ripgrep, query) if ripgrep else own_words(query)


def ripgrep_words(ripgrep: str, query: Query) -> list[str]:
    words = [
        ripgrep, "--no-config", "--no-messages", "--no-heading", "--with-filename", "--line-number", "--null", "--color=never",
        "--hidden", "--no-require-git", "--no-ignore-global", "--no-ignore-dot", "--sort=path", "--glob=!.git",
        f"--max-count={query.most}", f"--max-columns={LINE_CHARS}", "--max-columns-preview", f"--max-filesize={FILE_BYTES}",
        f"--context={query.context}",
    ]  # fmt: skip
    words += ["--ignore-case"] if query.ignore_case else []
    words += [f"--glob={glob}" for glob in ([query.glob] if query.glob else [])]
    return [*words, f"--regexp={query.pattern}", "--", query.path]


def own_words(query: Query) -> list[str]:
    """This module as a program, by the interpreter that runs us, wherever the package lies."""
    home = str(Path(__file__).parents[2])
    start = f"import sys; sys.path.insert(0, {home!r}); from agentcli.workspace.grep import main; main()"
    words = [sys.executable, "-I", "-S", "-c", start, f"--top={query.top}"]
    words += [f"--context={query.context}", f"--max-count={query.most}"]
    words += ["--ignore-case"] if query.ignore_case else []
    words += [f"--glob={query.glob}"] if query.glob else []
    return [*words, f"--regexp={query.pattern}", "--", query.path]


def read_hit(line: str) -> Hit | None:
    """A line of the answer; None for what is none, and for a separator."""
    path, gap, rest = line.partition("\0")
    found = re.match(r"(\d+)([:-])", rest) if gap else None
    return Hit(path, int(found[1]), rest[found.end() :], found[2] == ":") if found else None


def main() -> None:
    """The program: exit code 0 for a match, 1 for none, 2 for a pattern that is none."""
    words = argparse.ArgumentParser()
    words.add_argument("--top")
    words.add_argument("--context", type=int)
    words.add_argument("--max-count", type=int)
    words.add_argument("--ignore-case", action="store_true")
    words.add_argument("--glob")
    words.add_argument("--regexp")
    words.add_argument("path")
    given = words.parse_args()
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    query = Query(given.regexp, given.path, given.top, given.glob, given.ignore_case, given.context, given.max_count)
    try:
        wanted = re.compile(query.pattern, re.IGNORECASE if query.ignore_case else 0)
    except (re.error, OverflowError) as fault:
        print(f"not a regular expression: {fault}", file=sys.stderr)
        sys.exit(2)
    found = False
    for path in files_of(query):
        for line in hits_in(path, wanted, query):
            found = True
            print(line)
    sys.stdout.flush()
    sys.exit(0 if found else 1)


def files_of(query: Query) -> Iterator[str]:
    if not os.path.isdir(query.path):
        yield query.path
        return
    globs = braces(query.glob) if query.glob else []
    for entry in Walk(query.path, query.top, lambda _: True).entries():
        if not entry.folder and (not globs or fits(entry.relative, globs)):
            yield entry.path


def hits_in(path: str, wanted: re.Pattern[str], query: Query) -> Iterator[str]:
    lines, context = lines_of(path), query.context
    last_shown = -1
    found = 0
    ahead = -1
    for number, line in enumerate(lines):
        if found < query.most and wanted.search(line):
            found += 1
            first = max(last_shown + 1, number - context)
            if context and last_shown >= 0 and first > last_shown + 1:
                yield "--"
            for before in range(first, number):
                yield f"{path}\0{before + 1}-{lines[before][:LINE_CHARS]}"
            yield f"{path}\0{number + 1}:{line[:LINE_CHARS]}"
            last_shown, ahead = number, number + context
        elif number <= ahead:
            yield f"{path}\0{number + 1}-{line[:LINE_CHARS]}"
            last_shown = number


def lines_of(path: str) -> list[str]:
    """The lines of a text file; none of a binary one, a huge one, or what is no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return []
    with open(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > FILE_BYTES:
            return []
        try:
            data = file.read()
        except OSError:
            return []
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data.decode("utf-16", "replace").encode()
    if b"\0" in data[:8192]:
        return []
    lines = data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogateescape").split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


if __name__ == "__main__":
    main()
