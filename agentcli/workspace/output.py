"""What is kept of an output while it comes: text, its head at once and its tail at the end, in bounded memory."""

from __future__ import annotations

import codecs
from collections import deque

HEAD_CHARS = 8_000
TAIL_CHARS = 20_000
SLICE = 4_096
BAD_AT_LEAST = 32
"""Fewer characters that are no text are shown as replacement characters."""


class Sieve:
    """Bytes in, text out: cut characters are joined, and what is no text is counted instead of shown."""

    def __init__(self) -> None:
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.binary = 0
        self.after = ""
        """Text behind a binary stretch; whether it is part of that shows only what follows."""

    def feed(self, data: bytes, final: bool = False) -> str:
        """The text of the next bytes; a stretch of binary ones becomes a notice where it ends."""
        text = self.decoder.decode(data, final)
        out = [self.part(text[at : at + SLICE]) for at in range(0, len(text), SLICE)]
        return "".join([*out, self.leave() if final else ""])

    def part(self, text: str) -> str:
        bad = text.count("\0") + text.count("\ufffd")
        if not self.binary and not bad:
            return text
        if bad * 8 < len(text) or (not self.binary and bad < BAD_AT_LEAST):
            return self.leave() + text.replace("\0", "\ufffd")
        first = min(at for at in (text.find("\0"), text.find("\ufffd")) if at >= 0)
        last = max(text.rfind("\0"), text.rfind("\ufffd")) + 1
        before = "" if self.binary else text[:first]
        self.binary += len(self.after) + last - len(before)
        self.after = text[last:]
        return before

    def leave(self) -> str:
        """The notice of a binary stretch that is over, and the text behind it."""
        count, after = self.binary, self.after
        self.binary, self.after = 0, ""
        return f"[binary output, about {count} bytes, left out]{after}" if count else ""


class Ends:
    """The head and the tail of a text that may be endless."""

    def __init__(self, head: int = HEAD_CHARS, tail: int = TAIL_CHARS) -> None:
        self.most = head + tail
        """So many characters are told whole."""
        self.room, self.tail_room = head, tail
        self.pieces: deque[str] = deque()
        self.held = 0
        self.gone = self.gone_lines = 0
        self.lines = self.head_lines = 0
        self.last = ""

    def add(self, text: str) -> tuple[str, str]:
        """Take the next text; what of it belongs to the head, and the rest."""
        if text:
            self.lines += text.count("\n")
            self.last = text[-1]
        head, rest = text[: self.room], text[self.room :]
        self.room -= len(head)
        self.head_lines += head.count("\n")
        if rest:
            self.pieces.append(rest)
            self.held += len(rest)
        while self.held - len(self.pieces[0] if self.pieces else "") >= self.tail_room:
            piece = self.pieces.popleft()
            self.held -= len(piece)
            self.gone += len(piece)
            self.gone_lines += piece.count("\n")
        return head, rest

    def tail(self, where: str = "") -> str:
        """What comes after the head; one line between them says what was left out, and `where` all of it is."""
        held = "".join(self.pieces)
        cut = max(0, len(held) - self.tail_room)
        if not self.gone + cut:
            return held
        lines = self.gone_lines + held.count("\n", 0, cut)
        counted = f"{lines:,} line{'' if lines == 1 else 's'}, " if lines else ""
        told = f"{counted}{self.gone + cut:,} characters left out from line {self.head_lines + 1:,} on"
        return f"\n[{told}{where and f'; {where}'}]\n{held[cut:]}"

    @property
    def cut(self) -> bool:
        """Something is left out of what is told."""
        return bool(self.gone) or self.held > self.tail_room

    @property
    def line_count(self) -> int:
        """Lines of all that came."""
        return self.lines + (self.last not in ("", "\n"))
