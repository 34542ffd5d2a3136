"""A short cut through JSON: the chunks of one answer are alike byte for byte but for one string.

A payload that has the learned beginning and end, and nothing between them that JSON would have to escape,
is the same object with another text; all others are parsed as ever.
"""

from __future__ import annotations

from typing import Any, cast

TEXTS = ("content", "reasoning_content", "reasoning")
MOST_MISSES = 8
"""A stream whose chunks differ elsewhere is not worth learning."""


class TextFrame:
    """What surrounds the text in the chunks of this answer."""

    def __init__(self) -> None:
        self.field = ""
        """The field of the learnt text."""
        self._head = self._tail = b""
        self._least = 0
        self._misses = 0

    def text_of(self, data: bytes) -> str | None:
        """The text of a chunk that is like the learned one; None where it has to be parsed."""
        if not self._least or len(data) < self._least or not data.startswith(self._head) or not data.endswith(self._tail):
            return None
        middle = data[len(self._head) : len(data) - len(self._tail)]
        if b'"' in middle or b"\\" in middle:
            return None
        try:
            text = middle.decode()
        except UnicodeDecodeError:
            return None
        self._misses = 0
        return text

    def learn(self, data: bytes, chunk: dict[str, Any]) -> None:
        """Take a parsed chunk for an example, if a text is all that it brings."""
        if self._misses >= MOST_MISSES:
            return
        self._misses += 1
        name, text = _only_text(chunk)
        key = f'"{name}":'.encode()
        if not text or data.count(key) != 1 or '"' in text or "\\" in text or not text.isprintable():
            return
        start = data.index(b'"', data.index(key) + len(key)) + 1
        end = start + len(text.encode())
        if data[start:end] != text.encode() or data[end : end + 1] != b'"':
            return
        head, tail = data[:start], data[end:]
        self._head, self._tail, self._least, self.field = head, tail, len(head) + len(tail), name


def _only_text(chunk: dict[str, Any]) -> tuple[str, str]:
    """Name and text of the one thing that the chunk says; empty where it says more, or nothing."""
    match chunk:
        case {"choices": [{"delta": {**delta}, **choice}], **rest}:
            said = {name: value for name, value in cast(dict[str, Any], delta).items() if value and name != "role"}
            more = [choice.get(name) for name in ("index", "finish_reason", "error", "usage")]
            more += [rest.get(name) for name in ("usage", "error", "x_groq")]
        case _:
            return "", ""
    name, text = next(iter(said.items()), ("", ""))
    return (name, text) if len(said) == 1 and name in TEXTS and isinstance(text, str) and not any(more) else ("", "")
