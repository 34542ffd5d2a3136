"""Finds files and folders by a pattern."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

from agentcli.errors import ToolError
from agentcli.ledger.block import TextBlock
from agentcli.permission.subject import Subject
from agentcli.tool.base import Arguments, ToolChunk, ToolContext
from agentcli.tool.builtin.look import LookTool, keep_of, kept_whole, left_out_words, shown_path
from agentcli.tool.builtin.words import arguments as schema
from agentcli.tool.builtin.words import description, text
from agentcli.tool.subject import look_subject
from agentcli.workspace.ignore import matches
from agentcli.workspace.pattern import braces, parts_of
from agentcli.workspace.root import Place
from agentcli.workspace.walk import Walk

MOST_PATHS = 200


class Glob(LookTool):
    """Paths that match, the newest first."""

    name = "Glob"
    description = description("glob")
    parameters = schema(["pattern"], pattern=text(), path=text("Folder; default: working folder"))

    def subject(self, arguments: Arguments, place: Place) -> Subject:
        return look_subject(self.name, arguments.get("path") or ".", place, True)

    def check(self, arguments: Arguments, context: ToolContext) -> None:
        pattern = arguments["pattern"]
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
            raise ToolError("the pattern has to stay below the folder; give the folder as path")

    async def run(self, arguments: Arguments, context: ToolContext) -> AsyncIterator[ToolChunk]:
        self.check(arguments, context)
        base = self.target(arguments, context)
        walk = Walk(base, context.place.root, keep_of(context))
        try:
            paths = await asyncio.to_thread(find, walk, arguments["pattern"])
        finally:
            walk.stopped = True
        shown = [shown_path(path, context.place) for path in paths]
        more, kept = "", {}
        if len(shown) > MOST_PATHS:
            where, kept = await kept_whole(shown, MOST_PATHS, context)
            more = f"({len(shown) - MOST_PATHS:,} more, older ones left out; {where})"
        notes = [
            more,
            left_out_words(walk.kept_out),
            "(the folder is too large; the walk was ended)" if walk.cut else "",
            f"({len(walk.unread)} folders could not be opened)" if walk.unread else "",
        ]
        lines = [*(shown[:MOST_PATHS] or ["(nothing matches)"]), *(note for note in notes if note)]
        yield ToolChunk(
            content=[TextBlock(text="\n".join(lines))],
            metadata={"summary": f"{len(paths)} path{'' if len(paths) == 1 else 's'}", **kept},
        )


def find(walk: Walk, pattern: str) -> list[str]:
    """All paths that match, the newest first; folders end with a slash and are found only without `**`."""
    if not os.path.isdir(walk.base):
        raise ToolError(f"{walk.base} is no folder")
    wanted = [parts_of(part) for part in braces(pattern)]
    deep = any("**" in parts for parts in wanted)
    found: list[tuple[float, str]] = []
    for entry in walk.entries():
        if (entry.folder and deep) or not any(matches(entry.relative.split("/"), parts) for parts in wanted):
            continue
        found.append((-changed(entry.path), entry.path + ("/" if entry.folder else "")))
    return [path for _, path in sorted(found)]


def changed(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0
