"""What an answer has said since it was last asked: neighbours of a kind joined to one piece, in their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from agentcli.model.base import Piece, TextPiece, ThinkingPiece
from agentcli.model.openai_wire.call import Call

Kind = type[TextPiece | ThinkingPiece]
NOTHING: Mapping[str, Any] = {}


class Said:
    """Text, thinking and calls on their way out.

    Args:
        names: name on the wire -> name of the tool, where they differ.
    """

    def __init__(self, names: Mapping[str, str]) -> None:
        self.any_text = False
        self.calls: dict[str, Call] = {}
        self._names = names
        self._changed: dict[str, Call] = {}
        self._pieces: list[Piece] = []
        self._run: list[str] = []
        self._kind: Kind = TextPiece
        self._key = ""
        self._extra = NOTHING
        self._half: dict[Kind, str] = {}

    def say(self, text: str, key: str = "", extra: Mapping[str, Any] = NOTHING) -> None:
        """Text of the answer; another key is a block of its own."""
        if self._kind is not TextPiece or key != self._key:
            self._turn(TextPiece, key)
        if text:
            self.any_text = True
            self._run.append(text)
        if extra:
            self._extra = {**self._extra, **extra}

    def think(self, text: str, key: str, extra: Mapping[str, Any] = NOTHING) -> None:
        """Thinking, or only its `extra`."""
        if self._kind is not ThinkingPiece or key != self._key:
            self._turn(ThinkingPiece, key)
        if text:
            self._run.append(text)
        if extra:
            self._extra = {**self._extra, **extra}

    def call(self, calls: Iterable[Call]) -> None:
        """Calls that have news; they come out in their place."""
        self._turn(TextPiece, "")
        for call in calls:
            self.calls[call.key] = self._changed[call.key] = call

    def take(self) -> list[Piece]:
        """Everything since the last time."""
        self._turn(self._kind, self._key)
        pieces, self._pieces = self._pieces, []
        self._news(pieces)
        return pieces

    def rest(self) -> list[Piece]:
        """What was held back: calls without a name, halves of a character that never got their other half."""
        for kind in [kind for kind, half in self._half.items() if half]:
            self._turn(kind, self._key if kind is self._kind else "")
            self._half[kind] = ""
            self._run = ["\ufffd"]
        pieces = self.take()
        for call in self.calls.values():
            pieces.extend(call.news(self._names, last=True))
        return pieces

    @property
    def calls_complete(self) -> bool:
        """The arguments of every call are whole."""
        return all(call.complete for call in self.calls.values())

    def _news(self, pieces: list[Piece]) -> None:
        changed, self._changed = self._changed, {}
        for call in changed.values():
            pieces.extend(call.news(self._names))

    def _turn(self, kind: Kind, key: str) -> None:
        """Close the run of text or thinking."""
        if self._run or self._extra:
            text = self._joined("".join(self._run))
            if text or self._extra:
                self._news(self._pieces)
                self._pieces.append(self._piece(text))
            self._run, self._extra = [], NOTHING
        self._kind, self._key = kind, key

    def _piece(self, text: str) -> Piece:
        return (TextPiece if self._kind is TextPiece else ThinkingPiece)(text, self._key, self._extra)

    def _joined(self, text: str) -> str:
        """Text that can be stored: halves of a character that were sent apart are put together."""
        half = self._half.get(self._kind, "")
        if text.isascii() and not half:
            return text
        text = half + text
        if not text:
            return text
        self._half[self._kind] = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
        whole = text[:-1] if self._half[self._kind] else text
        try:
            whole.encode()
        except UnicodeEncodeError:
            whole = whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return whole
