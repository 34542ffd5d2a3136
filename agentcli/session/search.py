"""Where a text stands in a log. Raw bytes are looked at first; only lines that may hold the text are parsed.

Upper and lower case are one, and so are composed and decomposed letters, and any run of blanks and line ends.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from agentcli.session.codec import read_line

BLOCK = 1 << 22
BLANKS = " \t\n\r\u00a0"
ESCAPED_BY_SOME = "<>&'/"
"""Some writers escape these inside JSON without need."""


@dataclass(slots=True, frozen=True)
class Found:
    """A text of a session in which the words stand."""

    message_id: str
    role: str
    """Of the message; `title` for a title."""
    at: str
    """When its line was written."""
    block: str
    """The type of the block."""
    text: str
    start: int
    end: int


class Needle:
    """What is looked for, as it may stand in the bytes of a log and in the texts of its blocks."""

    def __init__(self, text: str) -> None:
        parts = list(dict.fromkeys([text, unicodedata.normalize("NFC", text), unicodedata.normalize("NFD", text)]))
        self.words = re.compile("|".join(_words(part) for part in parts))
        self.raw = re.compile(b"|".join(_raw(part) for part in parts))
        """Matches lower-case bytes."""
        self.must = _longest_plain(parts)
        """Stands in the lower-case bytes of every line that holds the text."""


def search(path: Path, needle: Needle) -> list[Found]:
    """The texts of a log that hold the words, one a block as it was last written; nothing where it cannot be read."""
    found: dict[tuple[str, str, str], Found] = {}
    try:
        for line in _lines(path, needle):
            record = read_line(line)
            if isinstance(record, dict):
                found.update(_found(record, needle))
    except OSError:
        return []
    return list(found.values())


def _lines(path: Path, needle: Needle) -> Iterator[bytes]:
    """The lines that may hold the words."""
    with path.open("rb") as file:
        while block := file.read(BLOCK) + file.readline():
            low = block.lower()
            if needle.must not in low:
                continue
            at = 0
            while match := needle.raw.search(low, at):
                start = low.rfind(b"\n", 0, match.start()) + 1
                at = low.find(b"\n", match.end()) + 1 or len(low)
                yield block[start:at]


def _found(record: dict[str, Any], needle: Needle) -> Iterator[tuple[tuple[str, str, str], Found]]:
    at = str(record.get("ts", ""))
    if record["type"] == "title" and isinstance(record.get("title"), str):
        match = needle.words.search(record["title"])
        if match:
            yield ("", "title", ""), Found("", "title", at, "title", record["title"], *match.span())
    msg = record.get("msg")
    if record["type"] != "msg" or not isinstance(msg, dict):
        return
    known = cast("dict[str, Any]", msg)
    message_id, role = str(known.get("id", "")), str(known.get("role", ""))
    for block in _dicts(known.get("content")):
        kind = str(block.get("type", ""))
        for text in _texts(block):
            match = needle.words.search(text)
            if match:
                yield (message_id, kind, str(block.get("id"))), Found(message_id, role, at, kind, text, *match.span())
                break


def _texts(block: dict[str, Any]) -> Iterator[str]:
    """What a person could have read in a block."""
    match block.get("type"):
        case "text" | "thinking" as kind:
            yield from _strings(block.get(kind))
        case "hint":
            yield from _parts(block.get("hint"))
        case "tool_result":
            yield from _parts(block.get("output"))
        case "tool_call":
            text = str(block.get("input", ""))
            try:
                yield from _strings(json.loads(text))
            except (ValueError, RecursionError):
                yield text
        case _:
            return


def _parts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for part in _dicts(value):
        yield from _strings(part.get("text"))


def _strings(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in cast("dict[str, Any]", value).values():
                yield from _strings(item)
        case list():
            for item in cast("list[Any]", value):
                yield from _strings(item)
        case _:
            return


def _dicts(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (item for item in cast("list[Any]", value) if isinstance(item, dict))


# -- patterns ----------------------------------------------------------------------------------


def _words(text: str) -> str:
    return "".join(r"\s+" if char in BLANKS else _one_of([re.escape(form) for form in _cases(char)]) for char in _single(text))


def _raw(text: str) -> bytes:
    return b"".join(_raw_char(char) for char in _single(text))


def _raw_char(char: str) -> bytes:
    if char in BLANKS:
        # No two of these begin alike and none takes a line's end: what cannot match is left after one try.
        return rb"(?:[ \t\r\x80-\xff]|\\+[tnrf]|\\+u[0-9a-f]{4})+"
    forms = {form.lower() for case in _cases(char) for form in _escaped(case)}
    return _one_of_bytes([re.escape(form) for form in sorted(forms)])


def _escaped(char: str) -> set[bytes]:
    """A character as it may stand in a log: as it is, escaped by JSON, and once more inside the arguments of a call."""
    once = json.dumps(char)[1:-1]
    forms = {char, once, json.dumps(once)[1:-1]}
    if char in ESCAPED_BY_SOME:
        code = f"\\u{ord(char):04x}"
        forms |= {code, "\\" + code, "\\" + char, "\\\\" + char}
    return {form.encode("utf-8", "surrogatepass") for form in forms}


def _cases(char: str) -> list[str]:
    if char.isascii():
        return list(dict.fromkeys([char.lower(), char.upper()]))
    return list(dict.fromkeys([char, char.lower(), char.upper(), char.title()]))


def _single(text: str) -> str:
    """The text with every run of blanks as one of them."""
    return re.sub(f"[{re.escape(BLANKS)}]+", " ", text)


def _longest_plain(parts: list[str]) -> bytes:
    """ASCII letters and digits look the same however they are escaped."""
    runs = [run for run in re.findall(r"[A-Za-z0-9]+", parts[0]) if all(run in part for part in parts)]
    return max(runs, key=len, default="").lower().encode()


def _one_of(forms: list[str]) -> str:
    return forms[0] if len(forms) == 1 else f"(?:{'|'.join(forms)})"


def _one_of_bytes(forms: list[bytes]) -> bytes:
    return forms[0] if len(forms) == 1 else b"(?:" + b"|".join(forms) + b")"
