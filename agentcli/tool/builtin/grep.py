"""Finds lines by a regular expression."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import aclosing

from agentcli.errors import ToolError
from agentcli.ledger.block import TextBlock
from agentcli.permission.subject import Subject
from agentcli.tool.base import Arguments, ToolChunk, ToolContext
from agentcli.tool.builtin.look import LookTool, keep_of, kept_whole, left_out_words, printable, shown_path
from agentcli.tool.builtin.words import arguments as schema
from agentcli.tool.builtin.words import description, text
from agentcli.tool.subject import look_subject
from agentcli.workspace.environment import quiet_environment
from agentcli.workspace.grep import Hit, Query, program, read_hit
from agentcli.workspace.root import Place
from agentcli.workspace.shell import Command, Ended
from agentcli.workspace.walk import Keep

MOST_LINES = 250
MOST_CHARS = 30_000
KEPT_LINES = 10_000
"""So many are looked for where a file can take those that are not told."""
SECONDS = 30


class Found:
    """What a search has brought so far, as it is told to the model."""

    def __init__(self, place: Place, keep: Keep, files_only: bool, most: int = MOST_LINES) -> None:
        self.place, self.keep, self.files_only, self.most = place, keep, files_only, most
        self.lines: list[str] = []
        self.chars = self.told = 0
        """Characters and lines that the answer has room for."""
        self.matches = 0
        self.kept: dict[str, bool] = {}
        self.faults: list[str] = []
        self.full = False

    def take(self, line: str) -> None:
        """One line of the search program."""
        hit = read_hit(line)
        if hit is None:
            if line and line != "--":
                self.faults.append(printable(line[:500]))
            return
        first = hit.path not in self.kept
        if first:
            self.kept[hit.path] = self.keep(hit.path)
        if not self.kept[hit.path] or (self.files_only and not first):
            return
        self.add(shown_path(hit.path, self.place) if self.files_only else self.line(hit))
        self.matches += hit.match

    def line(self, hit: Hit) -> str:
        mark = ":" if hit.match else "-"
        return f"{shown_path(hit.path, self.place)}{mark}{hit.line}{mark}{printable(hit.text.rstrip())}"

    def add(self, line: str) -> None:
        if self.told == len(self.lines) < MOST_LINES and self.chars + len(line) <= MOST_CHARS:
            self.told += 1
            self.chars += len(line) + 1
        elif len(self.lines) >= self.most or self.most == MOST_LINES:
            self.full = True
            return
        self.lines.append(line)

    def answer(self, ended: Ended, where: str) -> str:
        """All of it, with what was left out."""
        notes = [
            self.left_out(where),
            left_out_words(sum(not kept for kept in self.kept.values())),
            f"(the search was ended after {SECONDS} s)" if ended.timed_out else "",
        ]
        return "\n".join([*(self.lines[: self.told] or ["(no match)"]), *(note for note in notes if note)])

    def left_out(self, where: str) -> str:
        """What of the lines is not in the answer."""
        if self.told == len(self.lines):
            return f"(only the first {self.told} lines; narrow the search)" if self.full else ""
        ended = f" (the search was ended after {len(self.lines):,}; narrow it)" if self.full else ""
        return f"({len(self.lines) - self.told:,} more lines left out; {where}){ended}"


class Grep(LookTool):
    """Lines that match, with their files and numbers."""

    name = "Grep"
    description = description("grep")
    parameters = schema(
        ["pattern"],
        pattern=text(),
        path=text("File or folder; default: working folder"),
        glob=text("Only such files, as *.py"),
        ignore_case={"type": "boolean"},
        context={"type": "integer", "minimum": 0, "maximum": 20, "description": "Lines around each match"},
        files_only={"type": "boolean"},
    )

    def subject(self, arguments: Arguments, place: Place) -> Subject:
        path = arguments.get("path") or "."
        return look_subject(self.name, path, place, not os.path.isfile(place.locate(path).path))

    async def run(self, arguments: Arguments, context: ToolContext) -> AsyncIterator[ToolChunk]:
        place = context.place
        path = self.target(arguments, context)
        if not os.path.exists(path):
            raise ToolError(f"{path} does not exist")
        keep = keep_of(context)
        # the named file itself was judged as such
        most = KEPT_LINES if context.keep is not None else MOST_LINES
        found = Found(place, lambda at: at == path or keep(at), bool(arguments.get("files_only")), most)
        ended = await search(query_of(arguments, path, place, most), found, context.call_id)
        if ended.exit_code == 2 and found.faults and not found.lines:
            raise ToolError("\n".join(found.faults[:5]))
        cut = found.told < len(found.lines)
        where, kept = await kept_whole(found.lines, found.told, context) if cut else ("", {})
        count = len(found.lines) if found.files_only else found.matches
        what = "file" if found.files_only else "match"
        yield ToolChunk(
            content=[TextBlock(text=found.answer(ended, where))],
            metadata={"summary": f"{count} {what if count == 1 else what + ('s' if found.files_only else 'es')}", **kept},
        )


def query_of(arguments: Arguments, path: str, place: Place, most: int) -> Query:
    return Query(
        pattern=arguments["pattern"],
        path=path,
        top=place.root,
        glob=arguments.get("glob"),
        ignore_case=bool(arguments.get("ignore_case")),
        context=int(arguments.get("context") or 0),
        most=1 if arguments.get("files_only") else most + 1,
    )


async def search(query: Query, found: Found, call_id: str) -> Ended:
    """Run the search program until it has ended, or enough was found."""
    command = await Command.start(program(query), "/", quiet_environment(os.environ, call_id))
    rest = b""
    try:
        async with aclosing(command.output(SECONDS, 1)) as pieces:
            async for piece in pieces:
                *lines, rest = (rest + piece).split(b"\n")
                for line in lines:
                    found.take(line.decode("utf-8", "surrogateescape"))
                if found.full or len(rest) > 1_000_000:
                    break
        if rest:
            found.take(rest.decode("utf-8", "surrogateescape"))
    finally:
        ended = await command.close()
    return ended
