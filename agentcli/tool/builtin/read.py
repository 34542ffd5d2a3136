"""Reads a file for the model, and remembers what was read."""

from __future__ import annotations

import asyncio
import base64
import difflib
import os
from collections.abc import AsyncIterator

from agentcli.errors import ToolError
from agentcli.ledger.block import Base64Source, DataBlock, TextBlock
from agentcli.permission.subject import Subject
from agentcli.tool.base import Arguments, ToolChunk, ToolContext
from agentcli.tool.builtin.look import LookTool, keep_of, printable
from agentcli.tool.builtin.words import arguments as schema
from agentcli.tool.builtin.words import description, text
from agentcli.tool.subject import look_subject
from agentcli.workspace.root import Place
from agentcli.workspace.walk import Keep
from agentcli.workspace.window import Window, window

LINES = 2_000


class Read(LookTool):
    """Numbered lines of a text file, or an image."""

    name = "Read"
    description = description("read")
    parameters = schema(
        ["file_path"],
        file_path=text(),
        offset={"type": "integer", "minimum": 1, "description": "First line, from 1"},
        limit={"type": "integer", "minimum": 1, "description": f"Lines, default {LINES}"},
    )
    path_name = "file_path"

    def subject(self, arguments: Arguments, place: Place) -> Subject:
        return look_subject(self.name, arguments["file_path"], place, False)

    async def run(self, arguments: Arguments, context: ToolContext) -> AsyncIterator[ToolChunk]:
        path = self.target(arguments, context.place)
        offset, limit = int(arguments.get("offset") or 1), int(arguments.get("limit") or LINES)
        seen = await asyncio.to_thread(look, path, offset, limit, keep_of(context))
        metadata = {"summary": summary(seen), **({"seen": {path: seen.digest}} if seen.digest else {})}
        if seen.image is not None:
            source = Base64Source(data=base64.b64encode(seen.data).decode(), media_type=seen.image)
            yield ToolChunk(content=[DataBlock(source=source, name=os.path.basename(path))], metadata=metadata)
            return
        yield ToolChunk(content=[TextBlock(text=words(seen, offset))], metadata=metadata)


def look(path: str, offset: int, limit: int, keep: Keep) -> Window:
    """The file's window; errors say what to do in its place."""
    if os.path.isdir(path):
        raise ToolError(f"{path} is a folder; list it with Glob")
    if not os.path.lexists(path):
        raise ToolError(f"{path} does not exist{near(path, keep)}")
    return window(path, offset, limit)


def near(path: str, keep: Keep) -> str:
    folder, name = os.path.split(path)
    try:
        names = os.listdir(folder)
    except OSError:
        return ""
    close = [found for found in difflib.get_close_matches(name, names[:5_000], 3, 0.7) if keep(os.path.join(folder, found))]
    return f"; beside it there is {printable(', '.join(close))}" if close else ""


def summary(seen: Window) -> str:
    if seen.image is not None or seen.binary:
        return f"{'image' if seen.image else 'binary'}, {seen.size:,} bytes"
    return f"{len(seen.lines)} line{'' if len(seen.lines) == 1 else 's'}"


def words(seen: Window, offset: int) -> str:
    """What the model is given of a text file."""
    if seen.binary:
        return f"(a binary file of {seen.size:,} bytes; it is not shown)"
    if not seen.lines:
        return past_the_end(seen, offset)
    body = "\n".join(seen.lines)
    if not seen.more:
        return body
    of = f" of {seen.total}" if seen.total is not None else ""
    last = offset + len(seen.lines) - 1
    return f"{body}\n(lines {offset} to {last}{of}; go on with offset {last + 1})"


def past_the_end(seen: Window, offset: int) -> str:
    if seen.size == 0:
        return "(the file is empty)"
    count = f"{seen.total} line{'' if seen.total == 1 else 's'}" if seen.total is not None else "fewer lines"
    return f"(there is no line {offset}: the file has {count})"
