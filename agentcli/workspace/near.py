"""What comes near to a text that is not in a file, in words for the model that wanted to replace it. Bounded, and pure."""

from __future__ import annotations

import difflib
import json
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from typing import Literal

LOOKED = 2_000_000
"""So many characters of a file are looked through."""
LONGEST = 200
"""Of a line that is compared or shown."""
COMPARED = 60
"""Lines that are compared letter by letter; the others share fewer words with what is wanted."""
SHOWN_CHARS = 1_500
LINE_NUMBER = re.compile(r" *\d+\t")
SAME = str.maketrans(
    {**dict.fromkeys("‘’‚‛′", "'"), **dict.fromkeys("“”„‟″", '"'), **dict.fromkeys("‐‑‒–—−", "-")}
    | dict.fromkeys(map(ord, "\u200b\u200c\u200d\ufeff\u00ad"), " ")
)
"""Letters that look alike, or cannot be seen; each stands for one, so that places stay."""
SOLID = re.compile(r"\S+")
HIDDEN = re.compile(r"[^\S ]|[\u200b-\u200f\u2028-\u202e\u2060-\u2064\ufeff\u00ad‘’‚‛“”„‟‐‑‒–—−]")


def lines_words(lines: Sequence[int], count: int) -> str:
    """`lines 4, 9 and 17`, or how it goes on."""
    numbers = list(dict.fromkeys(lines))
    if len(numbers) == 1 and count <= len(lines):
        return f"all in line {numbers[0]}"
    if count > len(lines):
        return f"lines {', '.join(map(str, numbers))} ..."
    return f"lines {', '.join(map(str, numbers[:-1]))} and {numbers[-1]}"


def not_found(text: str, old: str) -> str:
    """Why a text is not found, and what comes nearest. Line ends are LF in both."""
    head = "old_string is not in the file"
    if LINE_NUMBER.match(old):
        return f"{head}; leave out the line numbers that Read puts before each line"
    return head + (_alike(text[:LOOKED], old) or _escaped(text, old) or _composed(text, old) or _nearest(text[:LOOKED], old))


def _alike(text: str, old: str) -> str:
    """The same text but for white space and letters that look alike."""
    wanted = "".join(SOLID.findall(old.translate(SAME)))
    pieces = [(found.start(), found[0]) for found in SOLID.finditer(text.translate(SAME))]
    solid = "".join(piece for _, piece in pieces)
    at = solid.find(wanted) if wanted else -1
    if at < 0:
        return ""
    ends: list[int] = []
    for _, piece in pieces:
        ends.append((ends[-1] if ends else 0) + len(piece))

    def place(index: int) -> int:
        piece = bisect_right(ends, index)
        return pieces[piece][0] + index - (ends[piece] - len(pieces[piece][1]))

    start, end = place(at), place(at + len(wanted) - 1) + 1
    start = (
        text.rfind("\n", 0, start) + 1 if old[:1].isspace() or not text[text.rfind("\n", 0, start) + 1 : start].strip() else start
    )
    more = " (and more places)" if solid.find(wanted, at + 1) >= 0 else ""
    line = text.count("\n", 0, start) + 1
    kind = "white space" if "".join(SOLID.findall(old)) in "".join(SOLID.findall(text)) else "white space, quotes or dashes"
    return f", but at line {line}{more} it is but for {kind}. There the file has, as a JSON string: {_shown(text[start:end])}"


def _shown(text: str) -> str:
    """A text as an argument would hold it, with all that cannot be told apart by eye as an escape."""
    cut = text[:SHOWN_CHARS]
    shown = HIDDEN.sub(lambda found: json.dumps(found[0])[1:-1], json.dumps(cut, ensure_ascii=False))
    return shown + (f" and {len(text) - len(cut)} more characters" if len(cut) < len(text) else "")


def _escaped(text: str, old: str) -> str:
    once = old.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\")
    return (
        ", but it is when its backslashes are read as escapes: it was escaped once too often"
        if once != old and once in text
        else ""
    )


def _composed(text: str, old: str) -> str:
    if old.isascii() or text.isascii():
        return ""
    forms: tuple[tuple[Literal["NFC", "NFD"], str], ...] = (("NFC", "one character"), ("NFD", "a letter and a mark"))
    for form, how in forms:
        if (other := unicodedata.normalize(form, old)) != old and other in text:
            return f", but it is with each accented letter as {how} (Unicode {form})"
    return ""


def _nearest(text: str, old: str) -> str:
    wanted = max((line.strip()[:LONGEST] for line in old.split("\n")), key=len, default="")
    lines = [(number, line[:LONGEST].rstrip()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    near = _ranked(lines, wanted) if wanted else []
    hint = "; the nearest lines are:\n" + "\n".join(f"{number}: {line}" for number, line in sorted(near)) if near else ""
    return f" (it has to match exactly, spaces and tabs too){hint}"


def _ranked(lines: list[tuple[int, str]], wanted: str) -> list[tuple[int, str]]:
    """Up to five lines, the likeliest ones: first by the words that they share, then letter by letter."""
    words = set(re.findall(r"\w+", wanted))

    def shared(line: str) -> int:
        return 2 * len(words.intersection(found := re.findall(r"\w+", line))) - abs(len(found) - len(words))

    best = sorted(lines, key=lambda line: shared(line[1]), reverse=True)[:COMPARED]
    scored = [
        (difflib.SequenceMatcher(None, line.strip(), wanted, autojunk=False).ratio(), number, line) for number, line in best
    ]
    near = sorted((one for one in scored if one[0] >= 0.6), key=lambda one: (-one[0], one[1]))[:5]
    top = near[0][0] if near else 0.0
    return [(number, line) for score, number, line in near if score >= top - 0.25]
