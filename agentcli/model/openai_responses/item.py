"""The output items of one answer while they come in: which one an event means, and what was shown of it.

Some endpoints leave out the place or the id of an item, and some change its id with every event.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

from agentcli.model.openai_wire.call import Call, argument_text
from agentcli.model.openai_wire.foreign import rows_of, word

MESSAGE, REASONING, CALL = "message", "reasoning", "function_call"
Found: TypeAlias = "tuple[Item, dict[str, Any], bool]"


class Item:
    """One item; `given` is what is known of it before it has ended."""

    def __init__(self, key: str, kind: str, item_id: str, index: int | None) -> None:
        self.key, self.kind, self.id, self.index = key, kind, item_id, index
        self.given: dict[str, Any] = {}
        self.call = Call(key)
        self.done = False
        self.form = ""
        """Whether the summary or the content of reasoning is shown."""
        self._shown: dict[int, list[str]] = {}
        self._all: list[str] = []

    @property
    def any_text(self) -> bool:
        """Something of it was shown."""
        return bool(self._all)

    @property
    def told(self) -> bool:
        """An event has begun it before."""
        return bool(self.given or self._all or self.call.told)

    def may_be(self, call_id: str) -> bool:
        """It is no other call than the one with this id."""
        return not call_id or self.call.call_id in ("", call_id)

    def add(self, part: int | None, text: str) -> None:
        """Note a text that is shown."""
        if part is not None:
            self._shown.setdefault(part, []).append(text)
        self._all.append(text)

    def shown(self, part: int | None) -> str:
        """What was shown of a part, or (None) of the whole item."""
        return "".join(self._all if part is None else self._shown.get(part, []))

    def name(self, given: dict[str, Any]) -> None:
        """Note the id and the name of a call."""
        self.call.add(word(given.get("call_id")), word(given.get("name")), "")

    def add_arguments(self, delta: Any) -> bool:
        """Add to the arguments; False where nothing is new."""
        text = argument_text(delta)
        if self.done or not text:
            return False
        self.call.add("", "", text)
        return True

    def fill_arguments(self, given: Any) -> bool:
        """Add what deltas left out of the whole arguments; False where they are others than those that came."""
        whole, known = argument_text(given), self.call.arguments
        if whole.startswith(known):
            self.call.add("", "", whole[len(known) :])
            return True
        return not whole.strip() or _same(known, whole)


class Items:
    """All items of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self._items: list[Item] = []
        self._recent: tuple[tuple[Any, ...], Item] | None = None

    def begin(self, given: dict[str, Any], index: Any) -> Item:
        """The item that an `added` event begins; one that it began before."""
        kind, item_id, place = kind_of(given), word(given.get("id")), _place(index)
        for item in self._like(kind, given):
            if item.id == item_id and item.index == place and (item_id or (place is not None and not item.done)):
                return item
        return self._new(kind, item_id, place)

    def of(self, kind: str, event: dict[str, Any], given: dict[str, Any] | None = None) -> Item:
        """The item that an event means; a new one where it means none that has begun.

        Args:
            given: the item itself, where the event holds it.
        """
        where = (kind, event.get("item_id"), event.get("output_index"))
        if given is not None:
            return self._found(kind, event, given)
        if self._recent is None or self._recent[0] != where or self._recent[1].done:
            self._recent = where, self._found(kind, event, {"id": event.get("item_id")})
        return self._recent[1]

    def _found(self, kind: str, event: dict[str, Any], given: dict[str, Any]) -> Item:
        item_id, call_id, place = word(given.get("id")), word(given.get("call_id")), _place(event.get("output_index"))
        like = self._like(kind, given)
        ways: tuple[Callable[[Item], bool], ...] = (
            lambda item: bool(call_id) and item.call.call_id == call_id,
            lambda item: bool(item_id) and item.id == item_id and (place is None or item.index in (None, place)),
            lambda item: place is not None and item.index == place,
            lambda item: not item.done and (place is None or item.index is None),
        )
        for way in ways:
            for item in like:
                if way(item):
                    return item
        return self._new(kind, item_id, place)

    def is_last(self, item: Item) -> bool:
        """No other item has begun after it."""
        return item is self._items[-1]

    def calls(self) -> list[Item]:
        """The calls."""
        return [item for item in self._items if item.kind == CALL]

    def matched(self, output: list[dict[str, Any]]) -> list[Found]:
        """The items of a whole response, each with what has come of it, and whether one that follows it came before it."""
        left = list(self._items)
        found: list[Item | None] = [None] * len(output)
        # By id; then the first of a kind that is left, for ids may differ from those of the stream.
        for by_id in (True, False):
            for at, given in enumerate(output):
                if found[at] is None:
                    found[at] = _match(left, given, by_id)
        last = max((at for at, item in enumerate(found) if item is not None), default=-1)
        return [
            (item or self._new(kind_of(given), word(given.get("id")), None), given, at < last)
            for at, (item, given) in enumerate(zip(found, output, strict=True))
        ]

    def _like(self, kind: str, given: dict[str, Any]) -> list[Item]:
        """The items of a kind, the latest first; of calls, those that may be this one."""
        call_id = word(given.get("call_id"))
        return [item for item in reversed(self._items) if item.kind == kind and item.may_be(call_id)]

    def _new(self, kind: str, item_id: str, index: int | None) -> Item:
        item = Item(str(len(self._items)), kind, item_id, index)
        self._items.append(item)
        self._recent = None
        return item


def _match(left: list[Item], given: dict[str, Any], by_id: bool) -> Item | None:
    """Take the item that this one is from those that are left."""
    for item in left:
        is_it = item.id == given.get("id") != "" if by_id else item.may_be(word(given.get("call_id")))
        if is_it and item.kind == kind_of(given):
            left.remove(item)
            return item
    return None


def kind_of(given: dict[str, Any]) -> str:
    """The type of an item."""
    return word(given.get("type"))


def text_of(parts: Any, between: str = "") -> str:
    """The text of the parts of an item."""
    if isinstance(parts, str):
        return parts
    texts = [part.get("text") or part.get("refusal") for part in rows_of(parts)]
    return between.join(text for text in texts if isinstance(text, str) and text)


def _place(index: Any) -> int | None:
    return index if isinstance(index, int) and not isinstance(index, bool) else None


def _same(known: str, whole: str) -> bool:
    """The same arguments, written in another way."""
    try:
        return json.loads(known) == json.loads(whole)
    except (ValueError, RecursionError):
        return False
