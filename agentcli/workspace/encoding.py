"""How bytes without a mark of their own are written: by what they declare, else by what they look like.

A guess is kept apart from knowledge: whoever edits writes no new letter by a guess. Pure.
"""

from __future__ import annotations

import codecs
import math
import re
from dataclasses import dataclass

NAME = rb"([A-Za-z][\w.:-]*)"
DECLARED = re.compile(
    rb"\A(?:[^\n]*\n)?[ \t\f]*(?:#|//|/\*|\"|;|%|--|\.\.)[^\n]*?coding[:=][ \t]*" + NAME
    + rb"|\A\s*<\?xml\b[^>]*?\bencoding\s*=\s*[\"']" + NAME
    + rb"|<meta\b[^>]*?\bcharset\s*=\s*[\"']?" + NAME
    + rb"|\A@charset\s+[\"']" + NAME,
    re.IGNORECASE,
)  # fmt: skip
"""A comment in the first two lines (Python, Emacs, Vim), XML, HTML, CSS; nowhere else, since code names encodings too."""
DECLARED_LOOK = 1_024
PLAIN = b"\n\r\t" + bytes(range(0x20, 0x7F))
WIDER = {"shift_jis": "cp932", "gb2312": "gb18030", "gbk": "gb18030", "euc_kr": "cp949", "big5": "cp950", "iso8859-1": "cp1252"}
"""What is often declared by the name of a smaller set."""
HIGH = bytes(range(0x80, 0x100))
UTF8_SHARE = 0.9
"""So much of what is no ASCII has to be UTF-8 for a file with some broken bytes to be it for certain."""
SHIFTED = re.compile(rb"\x1b\$(?:[@B]|[()][A-D])")
"""Where ISO-2022 changes over: from there on the bytes of letters mean something else."""
MARGIN = 6.0
"""By so much (as a logarithm) has a reading to be likelier than any other one to count as known."""
RARE = 0.03
LOOK = 262_144
SAFE_C1 = rb"\x80\x85\x91-\x97"
"""The euro, the ellipsis, quotation marks and dashes: what else cp1252 has there, older code pages have as letters."""


@dataclass(slots=True, frozen=True)
class Script:
    """An encoding of two bytes a letter, and which of them texts are mostly made of."""

    encoding: str
    usual: bytes
    """The lead and trail bytes of frequent letters."""
    count: int
    """How many those are."""
    others: int
    prior: float = 0.0
    """How seldom files of it are met, as a logarithm."""


SCRIPTS = (
    Script("gbk", rb"[\xb0-\xd7][\xa1-\xfe]|[\xa1\xa3][\xa1-\xfe]", 3_950, 20_000),
    Script("cp932", rb"\x82[\x4f-\xf1]|\x83[\x40-\x96]|\x81[\x40-\x7e]|[\x88-\x97][\x40-\xfc]", 3_300, 6_500),
    Script("euc_jp", rb"[\xa4\xa5][\xa1-\xfe]|\xa1[\xa1-\xfe]|[\xb0-\xcf][\xa1-\xfe]", 3_250, 6_500, -2.0),
    Script("euc_kr", rb"[\xb0-\xc8][\xa1-\xfe]|\xa1[\xa1-\xfe]", 2_450, 6_000, -1.0),
    Script("big5", rb"[\xa4-\xc6][\x40-\x7e\xa1-\xfe]|\xa1[\x40-\x7e\xa1-\xfe]", 5_500, 8_000, -1.0),
)
LETTERS = {
    script.encoding: re.compile(b"(" + script.usual + rb")|[\x81-\xfe][\x40-\x7e\x80-\xfe]|[\x80-\xff]") for script in SCRIPTS
}


@dataclass(slots=True, frozen=True)
class Guess:
    """An encoding in which all bytes round-trip."""

    encoding: str
    sure: bool
    """False: others are about as likely."""


def encoding_of(data: bytes) -> Guess:
    """The encoding of bytes without a BOM."""
    declared = next((name for name in declared_in(data) if round_trips(data, name)), None)
    if _decodes(data, "utf-8") and (declared is None or not data.isascii()):
        return Guess("utf-8", declared in (None, "utf-8"))  # what looks like both is known as neither
    if declared is not None:
        return Guess(declared, True)
    if _mostly_utf8(data[:LOOK]) and _mostly_utf8(data):
        return Guess("utf-8", True)
    return _likeliest(data)


def declared_in(data: bytes) -> tuple[str, ...]:
    """The encodings that a text may mean by what it names in its beginning, as Python calls them."""
    found = DECLARED.search(data[:DECLARED_LOOK])
    try:
        name = codecs.lookup(next(filter(None, found.groups())).decode("ascii")).name if found else ""
        # one in which a line end or a quotation mark is not the byte of ASCII cannot be looked into
        if not name or PLAIN.decode(name) != PLAIN.decode("ascii"):
            return ()
    except (LookupError, UnicodeError):
        return ()
    return (name, WIDER[name]) if name in WIDER else (name,)


def shifts(data: bytes) -> bool:
    """Whether letters may be written in the bytes of ASCII (ISO-2022), so that no match means anything."""
    return SHIFTED.search(data) is not None


def round_trips(data: bytes, encoding: str) -> bool:
    """Whether the bytes are a text of the encoding, and the only ones for that text."""
    try:
        return data.decode(encoding).encode(encoding) == data
    except (UnicodeError, LookupError, TypeError, ValueError):
        return False


def _mostly_utf8(data: bytes) -> bool:
    plain = len(data.translate(None, HIGH))
    return len(data.decode("utf-8", "ignore").encode()) - plain >= UTF8_SHARE * (len(data) - plain)


def _likeliest(data: bytes) -> Guess:
    """Weighed by the beginning; whether all bytes are text of an encoding is asked only where that can decide."""
    part = data[:LOOK]
    western = "cp1252" if re.search(rb"[\x80-\x9f]", data) and round_trips(data, "cp1252") else "latin-1"
    readings = [(_weight(part, script), script.encoding) for script in SCRIPTS]
    readings += [(_western_weight(part), western), (_alphabet_weight(part), "cp1251")]
    readings.sort(reverse=True)
    best, encoding = next(one for one in readings if one[1] == "latin-1" or round_trips(data, one[1]))
    # which alphabet of single bytes it is does not matter to a western one: no letter of another can be written in it
    apart = (encoding, "cp1251") if encoding == western else (encoding,)
    near = [other for weight, other in readings if abs(best - weight) < MARGIN and other not in apart]
    clear = not any(round_trips(data, other) for other in near)
    return Guess(encoding, clear and encoding != "cp1251" and (encoding != western or _is_western(data)))


def _weight(data: bytes, script: Script) -> float:
    """The logarithm of how likely these letters are in a text of the script."""
    usual, rare = math.log((1 - RARE) / script.count), math.log(RARE / script.others)
    return script.prior + sum(usual if found.lastindex else rare for found in LETTERS[script.encoding].finditer(data))


def _western_weight(data: bytes) -> float:
    """The same for Latin letters: about fifty, and seldom two beside each other.

    What two-byte letters take of ASCII is counted too, so that both weigh the same bytes.
    """
    runs = _runs(data)
    return sum(runs) * math.log(1 / 50) + (sum(runs) - len(runs)) * math.log(0.05) + _plain_after(data)


def _alphabet_weight(data: bytes) -> float:
    """The same for an alphabet of its own (Cyrillic, Greek ...): 64 letters in the upper half, most of them in words."""
    runs = _runs(data)
    low = len(re.findall(rb"[\x80-\xbf]", data))
    usual, rare = math.log((1 - RARE) / 64), math.log(RARE / 64)
    ends = sum(math.log(0.03 if length == 1 else 0.15) for length in runs)
    return (sum(runs) - low) * usual + low * rare + (sum(runs) - len(runs)) * math.log(0.85) + ends + _plain_after(data)


def _plain_after(data: bytes) -> float:
    return len(re.findall(rb"[\x80-\xff](?=[\x40-\x7e])", data)) * math.log(1 / 30)


def _runs(data: bytes) -> list[int]:
    """How many bytes that are no ASCII stand together, each time."""
    return [len(run) for run in re.findall(rb"[\x80-\xff]+", data)]


def _is_western(data: bytes) -> bool:
    """Whether the other bytes look like single accented letters and punctuation, and not like a script of its own."""
    if re.search(rb"[\x80-\x9f]", data) and re.search(rb"[^\x00-\x7f\xa0-\xff" + SAFE_C1 + rb"]", data):
        return False
    runs = _runs(data[:LOOK])
    return (sum(runs) - len(runs)) * 4 <= sum(runs)


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except (UnicodeError, LookupError):
        return False
    return True
