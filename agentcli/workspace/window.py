"""A part of a file for a reader: numbered lines, an image, or a word about what it is. Holds little of a huge file."""

from __future__ import annotations

import io
import os
from dataclasses import dataclass
from typing import BinaryIO

from agentcli.errors import ToolError
from agentcli.workspace.files import WHOLE_BYTES, digest, opened, read_all
from agentcli.workspace.text import BINARY_LOOK, is_binary, writing_of

LINE_CHARS = 2_000
WINDOW_CHARS = 90_000
"""With the longest line behind it still less than what a result may hold, so that nothing is left out of a window."""
IMAGE_BYTES = 5 * 1024 * 1024
IMAGES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF87a": "image/gif", b"GIF89a": "image/gif"}


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
    image: str | None = None
    """The media type."""
    data: bytes = b""
    """An image's bytes."""
    size: int = 0


def window(path: str, offset: int, limit: int) -> Window:
    """Lines from `offset` (counted from 1), as many as `limit`, fewer if they are long. ToolError if it cannot be read."""
    with opened(path) as (descriptor, info):
        if info.st_size > WHOLE_BYTES:
            with open(descriptor, "rb", closefd=False) as file:
                return part(file, offset, limit, info)
        return whole(read_all(path, descriptor, info), offset, limit)


def whole(data: bytes, offset: int, limit: int) -> Window:
    seen, image = digest(data), image_type(data)
    if image is not None:
        if len(data) > IMAGE_BYTES:
            raise ToolError(f"the image is larger than {IMAGE_BYTES // 1024 // 1024} MiB")
        return Window(digest=seen, image=image, data=data, size=len(data))
    if is_binary(data):
        return Window(digest=seen, binary=True, size=len(data))
    writing = writing_of(data)
    text = data if writing.encoding == "utf-8" and not writing.bom else writing.decode(data).encode()
    lines, more = numbered(io.BytesIO(text), offset, limit)
    total = text.count(b"\n") + (bool(text) and not text.endswith(b"\n"))
    return Window(lines=lines, more=more, total=total, digest=seen, size=len(data))


def part(file: BinaryIO, offset: int, limit: int, info: os.stat_result) -> Window:
    start = file.read(BINARY_LOOK)
    if b"\0" in start or image_type(start) is not None:
        return Window(binary=True, size=info.st_size)
    file.seek(0)
    lines, more = numbered(file, offset, limit)
    return Window(lines=lines, more=more, size=info.st_size)


def numbered(file: BinaryIO, offset: int, limit: int) -> tuple[tuple[str, ...], bool]:
    """The lines as they are shown, and whether others follow."""
    lines: list[str] = []
    room = WINDOW_CHARS
    number = 0
    while (line := next_line(file)) is not None:
        number += 1
        if number < offset:
            continue
        if len(lines) >= limit or room <= 0:
            return tuple(lines), True
        lines.append(f"{number:>6}\t{line}")
        room -= len(lines[-1]) + 1
    return tuple(lines), False


def next_line(file: BinaryIO) -> str | None:
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
    text = data.decode("utf-8", "replace").removesuffix("\n").removesuffix("\r")
    if rest == 0 and len(text) <= LINE_CHARS:
        return text
    return f"{text[:LINE_CHARS]} [line cut, about {max(0, len(text) - LINE_CHARS) + rest} more characters]"


def image_type(data: bytes) -> str | None:
    """The media type of an image that models can see."""
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in IMAGES.items() if data.startswith(magic)), None)
