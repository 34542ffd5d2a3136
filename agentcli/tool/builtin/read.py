"""Reads a file for the model, and remembers what was read."""

from __future__ import annotations

import asyncio
import base64
import difflib
import os
from collections.abc import AsyncIterator
from dataclasses import replace

from agentcli.errors import ToolError
from agentcli.ledger.block import Base64Source, DataBlock, TextBlock
from agentcli.permission.subject import Subject
from agentcli.tool.base import Arguments, ToolChunk, ToolContext
from agentcli.tool.builtin.look import LookTool, keep_of, printable
from agentcli.tool.builtin.words import arguments as schema
from agentcli.tool.builtin.words import description, text
from agentcli.tool.subject import look_subject
from agentcli.workspace import pdf
from agentcli.workspace.media import PDF
from agentcli.workspace.reach import names_in
from agentcli.workspace.root import Place
from agentcli.workspace.walk import Keep
from agentcli.workspace.window import Window, rendered, window

LINES = 2_000
PDF_BYTES = 2 * 1024 * 1024
"""A larger PDF is given as text: as data it would fill the context."""


class Read(LookTool):
    """Numbered lines of a text file, or an image or PDF."""

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
        path = self.target(arguments, context)
        offset, limit = int(arguments.get("offset") or 1), int(arguments.get("limit") or LINES)
        seen = await asyncio.to_thread(look, path, offset, limit, keep_of(context))
        as_text = "offset" in arguments or seen.size > PDF_BYTES
        note = ""
        if seen.media == PDF and as_text:
            seen = await pages(seen, offset, limit)
        elif seen.media == PDF and pdf.can_read():
            note = "(If you cannot see the PDF, read it with offset 1: that gives its text.)"
        metadata = {"summary": summary(seen), **({"seen": {path: seen.digest}} if seen.digest else {})}
        if seen.media is None:
            yield ToolChunk(content=[TextBlock(text=words(seen, offset))], metadata=metadata)
            return
        source = Base64Source(data=base64.b64encode(seen.data).decode(), media_type=seen.media)
        data = DataBlock(source=source, name=os.path.basename(path))
        yield ToolChunk(content=[data, *([TextBlock(text=note)] if note else [])], metadata=metadata)


async def pages(seen: Window, offset: int, limit: int) -> Window:
    """A window of a PDF's text."""
    text = await pdf.text_of(seen.data)
    if not any(line.strip() and not line.startswith("--- page ") for line in text.split("\n")):
        raise ToolError("the PDF holds no text; its pages may be pictures")
    return replace(
        await asyncio.to_thread(rendered, text, offset, limit), digest=seen.digest, size=seen.size, note="the text of a PDF"
    )


def look(path: str, offset: int, limit: int, keep: Keep) -> Window:
    """The file's window; errors say what to do in its place."""
    if os.path.isdir(path):
        raise ToolError(f"{path} is a folder; list it with Glob")
    if not os.path.lexists(path):
        raise ToolError(f"{path} does not exist{near(path, keep)}")
    return window(path, offset, limit)


def near(path: str, keep: Keep) -> str:
    folder, name = os.path.split(path)
    close = [
        found for found in difflib.get_close_matches(name, names_in(folder)[:5_000], 3, 0.7) if keep(os.path.join(folder, found))
    ]
    return f"; beside it there is {printable(', '.join(close))}" if close else ""


def summary(seen: Window) -> str:
    if seen.media is not None or seen.binary:
        kind = "PDF" if seen.media == PDF else "image" if seen.media else "binary"
        return f"{kind}, {seen.size:,} bytes"
    return f"{len(seen.lines)} line{'' if len(seen.lines) == 1 else 's'}"


def words(seen: Window, offset: int) -> str:
    """What the model is given of a text file."""
    if seen.binary:
        kind = f" ({seen.kind})" if seen.kind else ""
        return f"(a binary file{kind} of {seen.size:,} bytes; it is not shown)"
    if not seen.lines:
        return past_the_end(seen, offset)
    body = "\n".join([*seen.lines, *([f"({seen.note})"] if seen.note else [])])
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
