"""Cut a growing Markdown text into pieces that are final, so that only the open tail is drawn again.

A piece ends where a new block begins at the left edge after a blank line, or where it grows too large;
long fences are continued in the next piece.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
ITEM = re.compile(r" {0,3}(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
LARGE = 4000
LONG_FENCE = 80


@dataclass(slots=True, frozen=True)
class Chunk:
    """A piece of Markdown; `joined` follows the piece before without a blank row."""

    source: str
    joined: bool = False


class Chunker:
    """Takes pieces of text, gives the chunks that are final; `tail` is what is still open."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._size = 0
        self._rest = ""
        self._fence = ""
        self._opening = ""
        self._body = 0
        self._blank = False
        self._list = False
        self._joined = False

    @property
    def tail(self) -> Chunk:
        """The open chunk."""
        return Chunk("\n".join([*self._lines, self._rest]), self._joined)

    def feed(self, text: str) -> list[Chunk]:
        """Take a piece; what is final now."""
        *lines, self._rest = (self._rest + text).split("\n")
        closed: list[Chunk] = []
        for line in lines:
            self._take(line, closed)
        while len(self._rest) > LARGE:
            self._break_line(closed)
        return closed

    def end(self) -> list[Chunk]:
        """The text is over; the last chunk, where it holds something."""
        tail = self.tail
        self.__init__()
        return [tail] if tail.source.strip() else []

    def _take(self, line: str, closed: list[Chunk]) -> None:
        if self._fence:
            self._in_fence(line, closed)
            return
        if not line.strip():
            self._blank = True
            self._keep(line)
            return
        opening = FENCE.match(line)
        if opening is not None and "`" in opening[2] and opening[1][0] == "`":
            opening = None
        if self._begins(line, opening is not None):
            self._cut(closed)
        if not self._lines:
            self._list = ITEM.match(line) is not None
        self._blank = False
        self._keep(line)
        if opening is not None:
            self._fence, self._opening, self._body = opening[1], line, 0
        elif self._size > LARGE:
            self._cut(closed, joined=True)

    def _begins(self, line: str, fence: bool) -> bool:
        """Whether this line begins a block of its own."""
        if not self._lines or line[0] in " \t":
            return False
        if fence:
            return True
        return self._blank and not (self._list and ITEM.match(line) and self._size < LARGE)

    def _in_fence(self, line: str, closed: list[Chunk]) -> None:
        self._keep(line)
        self._body += 1
        stripped = line.strip()
        if (
            stripped
            and len(stripped) >= len(self._fence)
            and not stripped.strip(self._fence[0])
            and len(line) - len(line.lstrip()) < 4
        ):
            self._fence = ""
            self._blank = True
        elif self._body >= LONG_FENCE and not self._list:
            opening = self._opening
            self._keep(self._fence)
            self._cut(closed, joined=True)
            self._keep(opening)
            self._body = 0

    def _break_line(self, closed: list[Chunk]) -> None:
        """A line without end is broken at a blank."""
        at = self._rest.rfind(" ", LARGE // 2, LARGE) + 1 or LARGE
        if self._lines and not self._fence:
            self._cut(closed)
        self._keep(self._rest[:at])
        self._rest = self._rest[at:]
        fence, opening = self._fence, self._opening
        if fence:
            self._keep(fence)
        self._cut(closed, joined=True)
        if fence:
            self._keep(opening)

    def _keep(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def _cut(self, closed: list[Chunk], joined: bool = False) -> None:
        source = "\n".join(self._lines)
        if source.strip():
            closed.append(Chunk(source, self._joined))
            self._joined = joined
        self._lines, self._size, self._blank, self._list = [], 0, False, False
