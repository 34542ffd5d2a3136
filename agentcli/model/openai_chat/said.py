"""What an answer has said since it was last asked: neighbours of a kind joined to one piece, in their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentcli.model.base import Piece, TextPiece, ThinkingPiece
from agentcli.model.openai_chat.calls import CallFold

Kind = type[TextPiece | ThinkingPiece]


class Said:
    """Text, thinking and calls on their way out.

    Args:
        calls: the calls of the answer; their news come out in their place.
        extra: what each piece of thinking carries.
    """

    def __init__(self, calls: CallFold, extra: Mapping[str, Any]) -> None:
        self.any_text = False
        self._calls, self._extra = calls, extra
        self._pieces: list[Piece] = []
        self._run: list[str] = []
        self._kind: Kind = TextPiece
        self._block, self._thinks = 0, False
        self._half: dict[Kind, str] = {}

    def say(self, text: str) -> None:
        """Text of the answer."""
        if not text:
            return
        self.any_text, self._thinks = True, False
        if self._kind is not TextPiece:
            self._turn(TextPiece)
        self._run.append(text)

    def think(self, text: str) -> None:
        """Thinking; after text or a call it is a block of its own."""
        if not text:
            return
        if not self._thinks:
            self._turn(ThinkingPiece)
            self._block, self._thinks = self._block + 1, True
        self._run.append(text)

    def call(self, fragments: Any) -> None:
        """Fragments of calls."""
        self._turn(TextPiece)
        self._thinks = False
        self._calls.add(fragments)

    def take(self) -> list[Piece]:
        """Everything since the last time."""
        self._turn(self._kind)
        pieces, self._pieces = [*self._pieces, *self._calls.news()], []
        return pieces

    def rest(self) -> list[Piece]:
        """What was held back: calls without a name, halves of a character that never got their other half."""
        for kind in [kind for kind, half in self._half.items() if half]:
            self._turn(kind)
            self._half[kind] = ""
            self._run = ["\ufffd"]
        return [*self.take(), *self._calls.rest()]

    def _turn(self, kind: Kind) -> None:
        """Close the run of text or thinking."""
        if self._run:
            text = self._joined("".join(self._run))
            self._run = []
            if text:
                self._pieces.extend(self._calls.news())
                self._pieces.append(self._piece(text))
        self._kind = kind

    def _piece(self, text: str) -> Piece:
        return TextPiece(text) if self._kind is TextPiece else ThinkingPiece(text, str(self._block), self._extra)

    def _joined(self, text: str) -> str:
        """Text that can be stored: halves of a character that were sent apart are put together."""
        half = self._half.get(self._kind, "")
        if text.isascii() and not half:
            return text
        text = half + text
        self._half[self._kind] = text[-1] if "\ud800" <= text[-1] <= "\udbff" else ""
        whole = text[:-1] if self._half[self._kind] else text
        try:
            whole.encode()
        except UnicodeEncodeError:
            whole = whole.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return whole
