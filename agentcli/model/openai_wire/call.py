"""One tool call while its fragments come in; arguments are passed on as they came, never mended."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agentcli.model.base import CallPiece
from agentcli.model.openai_wire.foreign import is_object
from agentcli.model.openai_wire.names import UNNAMED


class Call:
    """A call: the first id and name that are given count, arguments are added up."""

    def __init__(self, key: str, index: int | None = None) -> None:
        self.key, self.index = key, index
        self.call_id = self.name = ""
        self.told = False
        self._parts: list[str] = []
        self._waiting: list[str] = []

    def add(self, call_id: str, name: str, arguments: str) -> None:
        """Take a fragment."""
        self.call_id = self.call_id or call_id
        self.name = self.name or name
        if arguments:
            self._parts.append(arguments)
            self._waiting.append(arguments)

    @property
    def arguments(self) -> str:
        """All arguments so far."""
        self._parts = ["".join(self._parts)]
        return self._parts[0]

    @property
    def complete(self) -> bool:
        """The arguments are a whole JSON object."""
        last = self._parts[-1] if self._parts else ""
        # Most fragments can be told by their end, without parsing all that has come so far.
        return (not last.strip() or last.rstrip().endswith("}")) and is_object(self.arguments)

    def news(self, names: Mapping[str, str], last: bool = False) -> Iterator[CallPiece]:
        """What is new; nothing before the call has a name, and an id or arguments."""
        if not self.told and (last or (self.name and (self.call_id or self._waiting))):
            self.told = True
            name = names.get(self.name, self.name) or UNNAMED
            yield CallPiece(self.key, name=name, call_id=self.call_id)
        if self.told and self._waiting:
            yield CallPiece(self.key, arguments=_writable("".join(self._waiting)))
            self._waiting = []


def argument_text(value: Any) -> str:
    """Arguments as text; some providers send the object itself."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value)


def _writable(text: str) -> str:
    """Half a surrogate pair as its JSON escape: the same arguments, in text that can be stored."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
