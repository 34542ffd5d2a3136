"""Text in bytes: finds a file's encoding and line ends, and edits the bytes so that all others stay as they are."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

from agentcli.errors import ToolError
from agentcli.workspace.encoding import encoding_of, shifts
from agentcli.workspace.near import lines_words, not_found

BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16: its BOM begins with that one
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
BINARY_LOOK = 8_192
UNICODE = ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
SINGLE = re.compile(r"latin-1|cp125\d|iso8859-\d+|koi8-[rut]|mac-\w+|cp437|cp85\d|cp866|ascii")
"""Encodings in which every byte is a letter, so that no match can begin within one."""
CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
TOKEN = re.compile(r"\r\n|[\s\S]")
LINE_ENDS = ("\n", "\r\n", "\r")
REMEDY = "bring the file to UTF-8 with a command first (iconv), or use letters of ASCII only"


@dataclass(slots=True, frozen=True)
class Writing:
    """How text is written in a file."""

    encoding: str = "utf-8"
    bom: bytes = b""
    line_end: str = "\n"
    """The one that most lines have."""
    sure: bool = True
    """False: the encoding is a guess, and others are about as likely; nothing outside ASCII is written by it."""

    @property
    def width(self) -> int:
        """Bytes that a character takes at least, and starts at a multiple of."""
        return {"16": 2, "32": 4}.get(self.encoding[4:6], 1) if self.encoding.startswith("utf-") else 1

    @property
    def legacy(self) -> bool:
        """Neither declared by a BOM nor Unicode."""
        return self.encoding not in UNICODE

    def decode(self, data: bytes) -> str:
        """What a reader sees; bytes that are no text become replacement characters."""
        return data.removeprefix(self.bom).decode(self.encoding, "replace")

    def encode(self, text: str) -> bytes:
        """Bytes of a text as it is. ToolError where the encoding has no such character, or is only guessed."""
        if not self.sure and not text.isascii():
            raise ToolError(f"{guessed(self.encoding)}, so nothing outside ASCII is written into it: {REMEDY}")
        return self.exact(text)

    def exact(self, text: str) -> bytes:
        """Bytes of a text that is to be found, or that stood there before."""
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as fault:
            character = ascii(text[fault.start])
            raise ToolError(
                f"the character {character} cannot be written in {self.encoding}, the encoding of the file: {REMEDY}"
            ) from fault

    def whole(self, text: str) -> bytes:
        """A whole file of this writing; line ends are the file's unless the text brings its own."""
        if self.line_end != "\n" and "\r" not in text:
            text = text.replace("\n", self.line_end)
        return self.bom + self.encode(text)

    def plain(self, text: str) -> str:
        """The text with LF for each line end, as a model writes it."""
        text = text.replace("\r\n", "\n")
        return text.replace("\r", "\n") if self.line_end == "\r" else text


def guessed(encoding: str) -> str:
    """Says that an encoding is not known."""
    return f"the encoding of the file is not certain ({encoding} or another one)"


def writing_of(data: bytes) -> Writing:
    """The writing of a file; bytes that are text in no encoding count as UTF-8."""
    for bom, encoding in BOMS.items():
        if data.startswith(bom):
            return Writing(encoding, bom, line_end_of(data, encoding))
    guess = encoding_of(data)
    return Writing(guess.encoding, b"", line_end_of(data, "utf-8"), guess.sure)


def line_end_of(data: bytes, encoding: str) -> str:
    lf, cr, both = (data.count(end.encode(encoding)) for end in ("\n", "\r", "\r\n"))
    if both and both * 2 >= lf:
        return "\r\n"
    return "\r" if cr and not lf else "\n"


def is_binary(data: bytes) -> bool:
    """Whether the start of a file says that it is no text; NULs that only fill up the end of lines of text do not."""
    start = data[:BINARY_LOOK]
    if b"\0" not in start or any(data.startswith(bom) for bom in BOMS):
        return False
    text = start.rstrip(b"\0")
    filled = b"\n" in text and not data[len(text) :].strip(b"\0")
    return not filled or CONTROL.search(text) is not None


def replace_text(data: bytes, old: str, new: str, everywhere: bool, writing: Writing | None = None) -> bytes:
    """`data` with `old` replaced by `new`, all other bytes untouched. ToolError where that is not one clear change.

    Args:
        writing: of the file, where it is known from before an earlier change.
    """
    if not old:
        raise ToolError("old_string is empty; it has to be text of the file (Write gives a file its whole content)")
    if old == new:
        raise ToolError("old_string and new_string are the same: nothing would change")
    if is_binary(data):
        raise ToolError("the file is binary; only a command can change it")
    if shifts(data):
        raise ToolError("the file is written in ISO-2022, where bytes of ASCII mean other letters; only a command can change it")
    writing = writing or writing_of(data)
    if writing.plain(old) == writing.plain(new):
        raise ToolError("old_string and new_string differ in their line ends alone, which Edit keeps as the file has them")
    places = find_all(data, old, writing)
    check_places(data, old, places, everywhere, writing)
    parts: list[bytes] = []
    done = 0
    for start, end in places:
        parts += [data[done:start], Replaced(data, start, end, writing).by(new)]
        done = end
    return b"".join([*parts, data[done:]])


def check_places(data: bytes, old: str, places: list[tuple[int, int]], everywhere: bool, writing: Writing) -> None:
    """ToolError where it is not clear what is meant."""
    if not places:
        raise ToolError(not_found(writing.plain(writing.decode(data)), writing.plain(old)))
    if everywhere:
        return
    if len(places) > 1:
        where = lines_words([line_at(data, start, writing) for start, _ in places[:5]], len(places))
        raise ToolError(f"old_string occurs {len(places)} times ({where}); give more of its surroundings, or set replace_all")
    start, end = places[0]
    first = TOKEN.findall(data[start:end].decode(writing.encoding))[0]
    around = data[: end + 2 * (end - start)]
    if any(find_in(around, old, writing, start + len(writing.exact(first)))):
        line = line_at(data, start, writing)
        raise ToolError(f"old_string occurs twice at line {line}, and the two overlap; give more of its surroundings")


def line_at(data: bytes, position: int, writing: Writing) -> int:
    return writing.plain(writing.decode(data[:position])).count("\n") + 1


def find_all(data: bytes, old: str, writing: Writing) -> list[tuple[int, int]]:
    """Where a text stands, whatever its line ends are; none of them overlap."""
    return list(find_in(data, old, writing, len(writing.bom)))


def find_in(data: bytes, old: str, writing: Writing, start: int) -> Iterator[tuple[int, int]]:
    """The same from a position on, which is the beginning of a character."""
    if writing.encoding == "utf-8" or SINGLE.fullmatch(writing.encoding):
        return _by_bytes(data, old, writing, start)
    return _by_letters(data, old, writing, start)


def _by_bytes(data: bytes, old: str, writing: Writing, start: int) -> Iterator[tuple[int, int]]:
    """For encodings in which no letter looks like part of another one; bytes that are no text may stand around it."""
    try:
        lines = [writing.exact(line).decode("latin-1") for line in writing.plain(old).split("\n")]
    except ToolError:
        return
    ends = [writing.exact(end).decode("latin-1") for end in _ends_of(writing)]
    yield from _places(data.decode("latin-1"), lines, ends, start)


def _by_letters(data: bytes, old: str, writing: Writing, start: int) -> Iterator[tuple[int, int]]:
    """For encodings in which a byte of a letter can look like another letter; text around it is as long as its bytes."""
    text, done = data[start:].decode(writing.encoding, "replace"), 0
    for first, last in _places(text, writing.plain(old).split("\n"), _ends_of(writing), 0):
        start += len(writing.exact(text[done:first]))
        end = start + len(writing.exact(text[first:last]))
        if data[start:end].decode(writing.encoding, "replace") != text[first:last]:
            raise ToolError(f"the letters of {writing.encoding} cannot be told apart here; only a command can change the file")
        yield start, end
        start, done = end, last


def _ends_of(writing: Writing) -> list[str]:
    return ["\r"] if writing.line_end == "\r" else ["\r\n", "\n"]


def _places(text: str, lines: list[str], ends: list[str], start: int) -> Iterator[tuple[int, int]]:
    """Where lines stand one after the other, with any of the ends between them; the longer end holds the shorter one."""
    counts = [text.count(end) for end in ends]
    if len(lines) > 1 and len(set(counts)) > 1 and counts[0]:
        either = "|".join(re.escape(end) for end in ends)
        pattern = re.compile(f"(?:{either})".join(re.escape(line) for line in lines))
        yield from (match.span() for match in pattern.finditer(text, start))
        return
    # a long text is slow to make a pattern of, so one is made only where ends of both kinds are in the file
    wanted = (ends[0] if counts[0] else ends[-1]).join(lines)
    while (start := text.find(wanted, start)) >= 0:
        yield start, start + len(wanted)
        start += len(wanted)


def equal(one: str, other: str) -> int:
    """With how many letters both begin."""
    return next(
        (index for index, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )


@dataclass(slots=True, frozen=True)
class Replaced:
    """One place of a file that gets another text."""

    data: bytes
    start: int
    end: int
    writing: Writing

    def by(self, new: str) -> bytes:
        """The new bytes of the place; what both texts begin and end with keeps its own, line ends too."""
        old = TOKEN.findall(self.data[self.start : self.end].decode(self.writing.encoding))
        new = self.writing.plain(new)
        plain = "".join("\n" if self._is_end(token) else token for token in old)
        head = equal(plain, new)
        tail = equal(plain[head:][::-1], new[head:][::-1])
        middle = old[head : len(old) - tail]
        first = self.start + len(self.writing.exact("".join(old[:head])))
        last = first + len(self.writing.exact("".join(middle)))
        self._check(first, last)
        written = self.writing.encode(self._with_ends(new[head : len(new) - tail], middle, old))
        return self.data[self.start : first] + written + self.data[last : self.end]

    def _is_end(self, token: str) -> bool:
        return token == "\r\n" or (token == "\r" and self.writing.line_end == "\r")

    def _check(self, first: int, last: int) -> None:
        """ToolError where a guess decides which letters are replaced: half of one may be left."""
        before = self.data[max(first - 1, 0) : first]
        if not self.writing.sure and not (before + self.data[first:last]).isascii():
            raise ToolError(f"{guessed(self.writing.encoding)}, so letters outside ASCII in it are not changed: {REMEDY}")

    def _with_ends(self, new: str, middle: list[str], old: list[str]) -> str:
        """Line ends as those that are replaced; further ones as those around."""
        lines = new.split("\n")
        own = [token for token in middle if token in LINE_ENDS and (token != "\r" or self._is_end(token))]
        around = [token for token in old if token == "\n" or self._is_end(token)]
        further = (own or around or [self._next_end()])[-1]
        ends = [*own, *[further] * (len(lines) - 1)][: len(lines) - 1]
        return "".join(part for pair in zip(lines, [*ends, ""], strict=True) for part in pair)

    def _next_end(self) -> str:
        """The end of the line in which the place stands."""
        if self.writing.width > 1 or self.writing.line_end == "\r":
            return self.writing.line_end
        at = self.data.find(b"\n", self.end)
        return self.writing.line_end if at < 0 else "\r\n" if self.data[at - 1 : at] == b"\r" else "\n"
