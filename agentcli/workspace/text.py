"""Text in bytes: finds a file's encoding and line ends, and edits the bytes so that all others stay as they are."""

from __future__ import annotations

import codecs
import difflib
import re
from dataclasses import dataclass

from agentcli.errors import ToolError

BOMS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32-le",  # before UTF-16: its BOM begins with that one
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
BINARY_LOOK = 8_192
NEAR_LINES = 3_000


@dataclass(slots=True, frozen=True)
class Writing:
    """How text is written in a file."""

    encoding: str = "utf-8"
    bom: bytes = b""
    line_end: str = "\n"
    """The one that most lines have."""

    @property
    def width(self) -> int:
        """Bytes that a character takes at least, and starts at a multiple of."""
        return {"16": 2, "32": 4}.get(self.encoding[4:6], 1)

    def decode(self, data: bytes) -> str:
        """What a reader sees; bytes that are no text become replacement characters."""
        return data.removeprefix(self.bom).decode(self.encoding, "replace")

    def encode(self, text: str) -> bytes:
        """Bytes of a text as it is. ToolError where the encoding has no such character."""
        try:
            return text.encode(self.encoding)
        except UnicodeEncodeError as fault:
            character = ascii(text[fault.start])
            raise ToolError(
                f"the character {character} cannot be written in {self.encoding}, the encoding of the file"
            ) from fault

    def whole(self, text: str) -> bytes:
        """A whole file of this writing; line ends are the file's unless the text brings its own."""
        if self.line_end == "\r\n" and "\r" not in text:
            text = text.replace("\n", "\r\n")
        return self.bom + self.encode(text)


def writing_of(data: bytes) -> Writing:
    """The writing of a file; bytes that are text in no encoding count as UTF-8."""
    for bom, encoding in BOMS.items():
        if data.startswith(bom):
            return Writing(encoding, bom, line_end_of(data, encoding))
    return Writing(encoding_of(data), b"", line_end_of(data, "utf-8"))


def encoding_of(data: bytes) -> str:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return "utf-8"
    # a file with real UTF-8 sequences and some broken ones is UTF-8; one with none is of an older kind
    if re.search(rb"[\xc3-\xf4][\x80-\xbf]", data):
        return "utf-8"
    return "latin-1" if re.search(rb"[\x81\x8d\x8f\x90\x9d]", data) else "cp1252"


def line_end_of(data: bytes, encoding: str) -> str:
    both = data.count("\r\n".encode(encoding))
    return "\r\n" if both and both * 2 >= data.count("\n".encode(encoding)) else "\n"


def is_binary(data: bytes) -> bool:
    """Whether the start of a file says that it is no text."""
    return b"\0" in data[:BINARY_LOOK] and not any(data.startswith(bom) for bom in BOMS)


def replace_text(data: bytes, old: str, new: str, everywhere: bool) -> bytes:
    """`data` with `old` replaced by `new`, all other bytes untouched. ToolError where that is not one clear change."""
    if old == new:
        raise ToolError("old_string and new_string are the same: nothing would change")
    if not old:
        raise ToolError("old_string is empty; it has to be text of the file")
    writing = writing_of(data)
    places = find_all(data, old, writing)
    if not places:
        raise ToolError(not_found(writing.decode(data), old))
    if len(places) > 1 and not everywhere:
        raise ToolError(f"old_string occurs {len(places)} times; give more of its surroundings, or set replace_all")
    parts: list[bytes] = []
    done = 0
    for start, end in places:
        parts += [data[done:start], writing.encode(with_ends(new, data[start:end], writing))]
        done = end
    return b"".join([*parts, data[done:]])


def find_all(data: bytes, old: str, writing: Writing) -> list[tuple[int, int]]:
    """Where a text stands, whatever its line ends are."""
    try:
        lines = [re.escape(writing.encode(line)) for line in old.replace("\r\n", "\n").split("\n")]
    except ToolError:
        return []
    line_end = b"(?:%b)?%b" % (re.escape(writing.encode("\r")), re.escape(writing.encode("\n")))
    pattern = re.compile(line_end.join(lines))
    found: list[tuple[int, int]] = []
    position = len(writing.bom)
    while match := pattern.search(data, position):
        aligned = match.start() % writing.width == 0
        position = match.end() if aligned else match.start() + 1
        if aligned:
            found.append(match.span())
    return found


def with_ends(new: str, replaced: bytes, writing: Writing) -> str:
    """The new text with the line ends of what it replaces; of the file, where that has none."""
    new = new.replace("\r\n", "\n")
    here = writing.decode(replaced)
    crlf = "\r\n" in here if "\n" in here else writing.line_end == "\r\n"
    return new.replace("\n", "\r\n") if crlf else new


def not_found(text: str, old: str) -> str:
    """Why, and what comes nearest."""
    if re.match(r" *\d+\t", old):
        return "old_string is not in the file; leave out the line numbers that Read puts before each line"
    wanted = next((line.strip()[:200] for line in old.splitlines() if line.strip()), "")
    lines = [line[:200] for line in text.split("\n")[:NEAR_LINES]]
    bare = [line.strip() for line in lines]
    near = [wanted] if wanted in bare else difflib.get_close_matches(wanted, bare, 3, 0.6)
    shown = [f"{number}: {line}" for number, line in enumerate(lines, 1) if line.strip() in near]
    hint = "; the nearest lines are:\n" + "\n".join(shown[:5]) if wanted and shown else ""
    return f"old_string is not in the file (it has to match exactly, spaces and tabs too){hint}"
