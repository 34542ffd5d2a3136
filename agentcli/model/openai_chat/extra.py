"""What comes beside the words of an answer: signed reasoning and calls that only their provider can read, and sound."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from agentcli.model.base import DataPiece, ThinkingPiece
from agentcli.model.openai_wire.foreign import fields_of, rows_of, storable

GROWING = ("text", "summary", "data")
RATE = 24_000
"""Samples a second of a streamed sound."""


class Extra:
    """All of it of one answer; it comes out once, when the answer has ended.

    Args:
        origin: the stamp: only this endpoint and model may get it back.
    """

    def __init__(self, origin: str) -> None:
        self._origin = origin
        self._details: list[dict[str, Any]] = []
        self._calls: dict[str, dict[str, Any]] = {}
        self._sound: list[bytes] = []
        self._rest = ""

    def detail(self, details: Any) -> None:
        """Take entries of reasoning; fragments of one entry are joined."""
        for entry in rows_of(details):
            last = self._details[-1] if self._details else {}
            if not last or any(last.get(name) != entry.get(name) for name in ("type", "index")):
                self._details.append(dict(entry))
                continue
            for name, value in entry.items():
                grows = name in GROWING and isinstance(value, str) and isinstance(last.get(name), str)
                if value is not None:
                    last[name] = last[name] + value if grows else value

    def signed(self, key: str, added: Any) -> None:
        """Take what a provider added to a call."""
        if fields := fields_of(added):
            self._calls[key] = {**self._calls.get(key, {}), **fields}

    def hear(self, data: Any) -> None:
        """Take base64 of a sound, however it was cut; what is no base64 is left out."""
        if not isinstance(data, str):
            return
        text = self._rest + data
        whole = len(text) - len(text) % 4
        self._rest = text[whole:]
        try:
            self._sound.append(base64.b64decode(text[:whole], validate=True))
        except (binascii.Error, ValueError):
            self._rest = ""

    def take(self, ended: bool) -> Iterator[ThinkingPiece | DataPiece]:
        """The sound so far; of a whole answer also what goes back to its provider."""
        sound, self._sound = b"".join(self._sound), []
        if sound:
            kind, sound = _as_file(sound)
            yield DataPiece(kind, base64.b64encode(sound).decode(), "audio")
        back = storable({name: value for name, value in (("details", self._details), ("calls", self._calls)) if value})
        self._details, self._calls = [], {}
        if ended and back:
            yield ThinkingPiece("", "back", {"origin": self._origin, **back})


def _as_file(sound: bytes) -> tuple[str, bytes]:
    """A sound with the head that a player needs; what streams in has none."""
    if sound.startswith(b"RIFF"):
        return "audio/wav", sound
    if sound.startswith((b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")):
        return "audio/mpeg", sound
    size, second = len(sound), RATE * 2
    head = [b"RIFF", _number(size + 36), b"WAVEfmt ", _number(16), _number(1, 2), _number(1, 2), _number(RATE), _number(second)]
    return "audio/wav", b"".join([*head, _number(2, 2), _number(16, 2), b"data", _number(size), sound])


def _number(value: int, size: int = 4) -> bytes:
    return value.to_bytes(size, "little")
