"""The tool calls of one answer, put together from fragments that may lack an index, an id or a name.

What a fragment belongs to is decided here and nowhere else; arguments are passed on as they came, never mended.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast

from agentcli.model.base import CallPiece

UNNAMED = "unnamed"
"""Stands for a name that never came: the call stays visible, and no tool has this name."""


class Call:
    """One call while its fragments come in."""

    def __init__(self, key: str, index: int | None) -> None:
        self.key, self.index = key, index
        self.call_id = self.name = ""
        self.told = False
        self._parts: list[str] = []
        self._waiting: list[str] = []

    def add(self, call_id: str, name: str, arguments: str) -> None:
        self.call_id = self.call_id or call_id
        self.name = self.name or name
        if arguments:
            self._parts.append(arguments)
            self._waiting.append(arguments)

    @property
    def arguments(self) -> str:
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


class CallFold:
    """All calls of one answer, in the order in which they began."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self.calls: list[Call] = []
        self._names = names
        self._changed: dict[str, Call] = {}

    def add(self, fragments: Any) -> None:
        """Take the fragments of one delta."""
        seen: set[str] = set()
        for fragment in cast(list[Any], fragments) if isinstance(fragments, list) else [fragments]:
            if not isinstance(fragment, dict):
                continue
            given = cast(dict[str, Any], fragment)
            said = given.get("function")
            function = cast(dict[str, Any], said) if isinstance(said, dict) else {}
            call_id, name = _word(given.get("id")), _word(function.get("name"))
            arguments = _argument_text(function.get("arguments"))
            call = self._find(given.get("index"), call_id, name, arguments, seen)
            call.add(call_id, name, arguments)
            seen.add(call.key)
            self._changed[call.key] = call

    def news(self) -> list[CallPiece]:
        """The pieces since this was last asked."""
        changed, self._changed = list(self._changed.values()), {}
        return [piece for call in changed for piece in call.news(self._names)]

    def rest(self) -> list[CallPiece]:
        """What was held back for a name or an id that never came."""
        return [piece for call in self.calls for piece in call.news(self._names, last=True)]

    @property
    def complete(self) -> bool:
        return all(call.complete for call in self.calls)

    def _find(self, index: Any, call_id: str, name: str, arguments: str, seen: set[str]) -> Call:
        where = index if isinstance(index, int) and not isinstance(index, bool) else None
        call = self._candidate(where, call_id, name, seen)
        if call is None or self._is_another(call, call_id, name, arguments):
            call = Call(str(len(self.calls)), where)
            self.calls.append(call)
        return call

    def _candidate(self, index: int | None, call_id: str, name: str, seen: set[str]) -> Call | None:
        if index is not None:
            same = [call for call in self.calls if call.index == index]
            exact = [call for call in same if call_id and call.call_id == call_id]
            return (exact or same or [None])[-1]
        known = [call for call in self.calls if call_id and call.call_id == call_id and call.key not in seen]
        if known:
            return known[-1]
        last = self.calls[-1] if self.calls else None
        return None if last is None or last.key in seen else last

    def _is_another(self, call: Call, call_id: str, name: str, arguments: str) -> bool:
        """A fragment starts a call of its own: another id, another name, or a whole new call after a whole one."""
        if call_id and call.call_id:
            if call_id != call.call_id:
                return True
            return bool(call.index is None and name and arguments and call.complete)
        if not name or not call.name:
            return False
        return name != call.name or bool(arguments and call.complete)


def is_object(text: str) -> bool:
    """The text is one whole JSON object, as strictly as the providers read it."""
    try:
        return isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


def _word(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _argument_text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value)


def _writable(text: str) -> str:
    """Half a surrogate pair as its JSON escape: the same arguments, in text that can be stored."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()
