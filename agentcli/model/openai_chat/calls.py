"""The tool calls of one answer, put together from fragments that may lack an index, an id or a name.

What a fragment belongs to is decided here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentcli.model.openai_wire.call import Call, argument_text
from agentcli.model.openai_wire.foreign import inside, rows_of, word


class CallFold:
    """All calls of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def add(self, fragments: Any, signed: Callable[[str, Any], None]) -> list[Call]:
        """Take the fragments of one delta; the calls that they belong to.

        Args:
            signed: takes the key of a call, and what its provider added to it.
        """
        touched: dict[str, Call] = {}
        for fragment in rows_of(fragments if isinstance(fragments, list) else [fragments]):
            function = inside(fragment, "function")
            call_id, name = word(fragment.get("id")), word(function.get("name"))
            arguments = argument_text(function.get("arguments"))
            call = self._find(fragment.get("index"), call_id, name, arguments, set(touched))
            call.add(call_id, name, arguments)
            touched[call.key] = call
            if added := fragment.get("extra_content"):
                signed(call.key, added)
        return list(touched.values())

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
