"""A part of a file for a reader: numbered lines, an image or PDF, or a word about what it is. Holds little of a huge file."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass, replace
from typing import BinaryIO

from agentcli.errors import ToolError
from agentcli.workspace.encoding import round_trips
from agentcli.workspace.files import WHOLE_BYTES, digest, read_all
from agentcli.workspace.media import IMAGE_BYTES, PDF, kind_of, media_type
from agentcli.workspace.notebook import cells_of
from agentcli.workspace.reach import opened
from agentcli.workspace.text import BINARY_LOOK, Writing, guessed, is_binary, writing_of

LINE_CHARS = 2_000
WINDOW_CHARS = 90_000
"""With the longest line behind it still less than what a result may hold, so that nothing is left out of a window."""
SAMPLE = 262_144
"""So much of a huge file says how it is written."""
NOTEBOOK = ".ipynb"


@dataclass(slots=True, frozen=True)
class Window:
    """What was seen of a file."""

    lines: tuple[str, ...] = ()
    more: bool = False
    """Lines follow after these."""
    total: int | None = None
    """All lines of the file; None if they were not counted."""
    digest: str | None = None
    """Of all bytes of the file; None if it is too large to be changed here."""
    binary: bool = False
    kind: str = ""
    """What a binary file is, where its first bytes say so."""
    media: str | None = None
    """The media type of an image or PDF."""
    data: bytes = b""
    """Its bytes."""
    size: int = 0
    note: str = ""
    """What has to be known to read or change it."""


def window(path: str, offset: int, limit: int) -> Window:
    """Lines from `offset` (counted from 1), as many as `limit`, fewer if they are long. ToolError if it cannot be read."""
    try:
        with opened(path) as (descriptor, info, _):
            if info.st_size > WHOLE_BYTES:
                with open(descriptor, "rb", closefd=False) as file:
                    return part(file, offset, limit, info)
            data = read_all(path, descriptor, info)
    except FileNotFoundError as fault:
        raise ToolError(f"{path} does not exist") from fault
    return whole(data, offset, limit, path.lower().endswith(NOTEBOOK))


def whole(data: bytes, offset: int, limit: int, notebook: bool = False) -> Window:
    seen, media = digest(data), media_type(data)
    if media is not None:
        if media != PDF and len(data) > IMAGE_BYTES:
            raise ToolError(f"the image ({media}) is larger than {IMAGE_BYTES // 1024 // 1024} MiB; make a smaller one of it")
        return Window(digest=seen, media=media, data=data, size=len(data))
    if is_binary(data):
        return Window(digest=seen, binary=True, kind=kind_of(data), size=len(data))
    writing = writing_of(data)
    text = text_of(data, writing)
    cells = cells_of(text) if notebook else None
    if cells is not None:
        note = "cells of a notebook; Edit changes the JSON of the file, which Grep shows"
        return replace(rendered(cells, offset, limit), digest=seen, size=len(data), note=note)
    return replace(rendered(text, offset, limit), digest=seen, size=len(data), note=note_of(data, writing))


def rendered(text: str | bytes, offset: int, limit: int) -> Window:
    """The window of a text that was made of a file."""
    text = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    lines, more = numbered(io.BytesIO(text), offset, limit)
    return Window(lines=lines, more=more, total=text.count(b"\n") + (bool(text) and not text.endswith(b"\n")))


def text_of(data: bytes, writing: Writing) -> bytes:
    """A file as UTF-8; a line ends where one of the file does, and NULs that fill up its end are counted."""
    plain = writing.encoding == "utf-8" and not writing.bom
    text = data if plain else writing.decode(data).encode()
    if writing.line_end == "\r":
        text = text.replace(b"\r", b"\n")
    filled = len(text) - len(text.rstrip(b"\0"))
    return text if not filled else text.rstrip(b"\0") + b"(%d NUL bytes)" % filled


def note_of(data: bytes, writing: Writing) -> str:
    if not writing.sure:
        return f"{guessed(writing.encoding)}; Edit changes only ASCII in it"
    if writing.legacy:
        return f"written in {writing.encoding}, and kept so"
    # a guess at text that is broken in some places
    broken = writing.encoding == "utf-8" and not round_trips(data, "utf-8")
    return "some bytes are no UTF-8; they are shown as \ufffd, and Edit keeps them" if broken else ""


def part(file: BinaryIO, offset: int, limit: int, info: os.stat_result) -> Window:
    start = file.read(SAMPLE)
    media = media_type(start)
    if b"\0" in start[:BINARY_LOOK] or media is not None:
        return Window(binary=True, kind=media or kind_of(start), size=info.st_size)
    writing = writing_of(start[: start.rfind(b"\n") + 1] or start)
    file.seek(0)
    lines, more = numbered(file, offset, limit, writing.encoding)
    return Window(lines=lines, more=more, size=info.st_size, note="" if writing.sure else guessed(writing.encoding))


def numbered(file: BinaryIO, offset: int, limit: int, encoding: str = "utf-8") -> tuple[tuple[str, ...], bool]:
    """The lines as they are shown, and whether others follow."""
    lines: list[str] = []
    room = WINDOW_CHARS
    number = 0
    while (line := next_line(file, encoding)) is not None:
        number += 1
        if number < offset:
            continue
        if len(lines) >= limit or room <= 0:
            return tuple(lines), True
        lines.append(f"{number:>6}\t{line}")
        room -= len(lines[-1]) + 1
    return tuple(lines), False


def next_line(file: BinaryIO, encoding: str) -> str | None:
    """The next line without its end, cut if it is long; None at the end of the file."""
    most = LINE_CHARS * 4
    data = file.readline(most)
    if not data:
        return None
    rest = 0
    complete = data.endswith(b"\n")
    while not complete and (more := file.readline(65_536)):
        rest += len(more)
        complete = more.endswith(b"\n")
    text = data.decode(encoding, "replace").removesuffix("\n").removesuffix("\r")
    if rest == 0 and len(text) <= LINE_CHARS:
        return text
    return f"{text[:LINE_CHARS]} [line cut, about {max(0, len(text) - LINE_CHARS) + rest} more characters]"
