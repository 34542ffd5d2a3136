"""The one cleaning function: foreign text becomes what a terminal can show and nobody can misread (law 9).

Knows no terminal and no toolkit. Clean whole texts, never the pieces of a stream: a sequence that was
cut in two is still made harmless, but shows its rest.
"""

from __future__ import annotations

import re

# Complete control sequences and strings. An unfinished string is not swallowed: only its introducer is marked.
SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"
    r"|(?:\x1b[\]P_^X]|[\x9d\x90\x9f\x9e\x98])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"
)
JOINERS = "\u200c\u200d"
VARIATION = "[\ufe00-\ufe0f]"
# Emoji parts: pictographs, symbols, skin tones, regional letters, and the key cap.
EMOJI = (
    "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f"
    "\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
)
# Scripts in which the joiners are spelling: Arabic, Syriac, the Indic scripts, Khmer, Mongolian.
JOINING = "[\u0600-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefc]"
EMOJI_JOINT = re.compile(f"(?<={EMOJI})({VARIATION}?\u200d)(?={EMOJI})|(?<=[{EMOJI[1:-1]}#*0-9]){VARIATION}")
SPELLING = re.compile(f"(?<={JOINING})[{JOINERS}](?={JOINING})")
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff\ud800-\udfff]"
)
TAB = 4
KEPT = "\ue000"  # stands for a joiner that is spelling while the others are marked


def clean(text: str, *, newlines: bool = True, exact: bool = False) -> str:
    """The text with nothing in it that moves a cursor, reorders letters or hides.

    Args:
        newlines: False makes one line of it; line ends are shown as `␊`.
        exact: nothing is dropped without a sign (what is approved: commands, arguments, paths).
            Otherwise whole control sequences go, and emoji lose the joiners on which terminals disagree.
    """
    if "\t" in text or UNSEEN.search(text):
        text = _cleaned(text, exact)
    return text if newlines else text.replace("\n", "␊")


def _cleaned(text: str, exact: bool) -> str:
    text = text.replace("\r\n", "\n")
    if not exact:
        text = SEQUENCE.sub("", text).replace("\r", "\n")
        text = EMOJI_JOINT.sub("", text)
    if KEPT not in text:
        spelled = SPELLING.sub(lambda match: KEPT + str(JOINERS.index(match[0])), text) if not exact else text
        text = UNSEEN.sub(_sign, spelled)
        text = re.sub(f"{KEPT}([01])", lambda match: JOINERS[int(match[1])], text)
    else:
        text = UNSEEN.sub(_sign, text)
    return "\n".join(_untabbed(line) for line in text.split("\n")) if "\t" in text else text


def _sign(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "␡"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"<U+{code:04X}>"


def spelled(text: str) -> str:
    """A text of JSON, or of code, in which everything unseen is spelled `\\uXXXX`: seen, and of the same value."""
    return UNSEEN.sub(lambda match: "".join(f"\\u{unit:04x}" for unit in _units(ord(match[0]))), text)


def _units(code: int) -> list[int]:
    """The UTF-16 units of a character."""
    return [code] if code < 0x10000 else [0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF)]


def _untabbed(line: str) -> str:
    return line.expandtabs(TAB) if "\t" in line else line


MIXED = re.compile(r"[^\W\d_]+")


def foreign_letters(text: str) -> list[str]:
    """Letters of another script inside words that hold ASCII letters; they may pass for those (`с` for `c`)."""
    found: dict[str, None] = {}
    for word in MIXED.findall(text):
        if not word.isascii() and any(letter.isascii() for letter in word):
            found.update(dict.fromkeys(letter for letter in word if not letter.isascii() and not _is_latin(letter)))
    return list(found)


def _is_latin(letter: str) -> bool:
    return "\u00c0" <= letter <= "\u024f" or "\u1e00" <= letter <= "\u1eff"
