"""The fold of a Responses answer, in any dialect that is known. Opens no connection.

The same words may come as deltas, in three kinds of `done` and in the last event; what was shown is never shown again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from agentcli.model.base import Finish, UsagePiece
from agentcli.model.openai_responses.item import CALL, MESSAGE, REASONING, Item, Items, kind_of, text_of
from agentcli.model.openai_wire.failure import Secret, failure, of_error, told
from agentcli.model.openai_wire.fold import AnswerFold, other_wire
from agentcli.model.openai_wire.foreign import inside, number, rows_of, storable, word

Event = dict[str, Any]
BROKEN = ("failed", "cancelled")
ENDS = ("completed", "done", "incomplete", *BROKEN)
UNFINISHED = ("incomplete", "in_progress")
BETWEEN = "\n\n"
"""Between the parts of a summary."""


class ResponseFold(AnswerFold):
    """One answer while it comes in."""

    def __init__(self, names: Mapping[str, str] | None = None, origin: str = "", key: Secret = None) -> None:
        super().__init__(names, origin, key)
        self._items = Items()
        self._stamp = {"origin": origin}
        self._seen: dict[int, int] = {}

    def is_answer(self, fields: Event) -> bool:
        """A response, or an answer of the other wire."""
        return fields.get("object") == "response" or isinstance(fields.get("output"), list) or bool(fields.get("choices"))

    def take(self, fields: Event, data: bytes) -> None:
        """Fold one event."""
        kind = fields.get("type")
        if kind is None:
            self._untyped(fields)
        elif not self._is_twin(fields.get("sequence_number"), data):
            self.begun = self.begun or str(kind).startswith("response.")
            fold = self.FOLD.get(str(kind))
            if fold is not None:
                fold(self, fields)

    def _untyped(self, fields: Event) -> None:
        """A whole response, an error of a gateway, or an answer of the other wire."""
        if fields.get("object") == "response" or isinstance(fields.get("output"), list):
            self.begun = True
            self._end_of(fields)
        elif fields.get("error") or fields.get("object") == "error":
            raise of_error(fields.get("error") or fields, self.key)
        elif "choices" in fields:
            raise other_wire("chat")

    def _is_twin(self, place: Any, data: bytes) -> bool:
        """The very event that came before under this number; numbers that do not count tell nothing."""
        if not isinstance(place, int):
            return False
        mark = hash(data)
        twin = len(self._seen) > 1 and self._seen.get(place) == mark
        self._seen[place] = mark
        return twin

    # -- items ---------------------------------------------------------------------------------

    def _begin(self, event: Event) -> None:
        given = inside(event, "item")
        item = self._items.begin(given, event.get("output_index"))
        if item.told:
            return
        item.given = given
        if item.kind == REASONING:
            self.said.think("", item.key, self._stamp)
        elif item.kind == CALL:
            self._name(item, given)

    def _end_item(self, event: Event) -> None:
        given = inside(event, "item")
        item = self._items.of(kind_of(given), event, given)
        self._whole_item(item, given, late=not self._items.is_last(item))

    def _whole_item(self, item: Item, given: Event, late: bool) -> None:
        """An item as it is when it has ended: show what is new of it, carry what only its provider can read."""
        if item.done:
            return
        item.done = True
        match item.kind:
            case "message":
                item.given = given or item.given
                self._fill(item, None, text_of(given.get("content")))
                if item.any_text:
                    self.said.say("", item.key, self._phase(item))
            case "reasoning":
                form = item.form or ("summary" if text_of(given.get("summary")) else "content")
                self._fill(item, None, text_of(given.get(form), BETWEEN))
                if given.get("status") not in UNFINISHED:
                    self._carry(item, given, late)
            case "function_call":
                self._name(item, given)
                self._arguments(item, given.get("arguments"), whole=given.get("status") not in UNFINISHED)
            case _:
                self._carry(item, given, late)

    def _carry(self, item: Item, given: Event, late: bool) -> None:
        whole = storable({name: value for name, value in given.items() if value is not None})
        if not whole:
            return
        extra = {**self._stamp, "item": whole}
        self.said.think("", f"{item.key}+" if late else item.key, {**extra, "late": True} if late else extra)

    # -- text and thinking ---------------------------------------------------------------------

    def _text(self, event: Event) -> None:
        item = self._items.of(MESSAGE, event)
        if not item.done:
            self._show(item, _part(event), event.get("delta"))

    def _text_done(self, event: Event) -> None:
        self._fill(self._items.of(MESSAGE, event), _part(event), event.get("text") or event.get("refusal"))

    def _summary(self, event: Event) -> None:
        self._thought(event, "summary", event.get("delta"))

    def _content(self, event: Event) -> None:
        self._thought(event, "content", event.get("delta"))

    def _summary_done(self, event: Event) -> None:
        self._thought(event, "summary", event.get("text") or inside(event, "part").get("text"), whole=True)

    def _content_done(self, event: Event) -> None:
        self._thought(event, "content", event.get("text"), whole=True)

    def _part_done(self, event: Event) -> None:
        part = inside(event, "part")
        if part.get("type") == "reasoning_text":
            self._thought(event, "content", part.get("text"), whole=True)
        elif part.get("type") in ("output_text", "text", "refusal"):
            self._fill(self._items.of(MESSAGE, event), _part(event), text_of([part]))

    def _thought(self, event: Event, form: str, text: Any, whole: bool = False) -> None:
        """The first form that comes is shown: a summary of what was read already says nothing new."""
        item = self._items.of(REASONING, event)
        if not text or item.done or (item.form or form) != form:
            return
        item.form = form
        part = _part(event, f"{form}_index")
        self._fill(item, part, text) if whole else self._show(item, part, text)

    def _fill(self, item: Item, part: int | None, whole: Any) -> None:
        """The rest of a part, or of the item (None), that deltas left out; what contradicts them changes nothing."""
        shown = item.shown(part)
        if isinstance(whole, str) and len(whole) > len(shown) and whole.startswith(shown):
            self._show(item, part, whole[len(shown) :])

    def _show(self, item: Item, part: int | None, text: Any) -> None:
        if not isinstance(text, str) or not text:
            return
        if item.kind == REASONING:
            if part is not None and item.any_text and not item.shown(part):
                item.add(None, BETWEEN)
                self.said.think(BETWEEN, item.key)
            self.said.think(text, item.key, {} if item.any_text else self._stamp)
        else:
            self.said.say(text, item.key, {} if item.any_text else self._phase(item))
        item.add(part, text)

    def _phase(self, item: Item) -> dict[str, Any]:
        """What a message says of its place in the answer, once; the model wants it back."""
        phase = word(item.given.get("phase"))
        if item.form or not phase:
            return {}
        item.form = phase
        return {**self._stamp, "phase": phase}

    # -- calls ---------------------------------------------------------------------------------

    def _name(self, item: Item, given: Event) -> None:
        item.name(given)
        self.said.call([item.call])

    def _argument(self, event: Event) -> None:
        item = self._items.of(CALL, event)
        if item.add_arguments(event.get("delta")):
            self.said.call([item.call])

    def _argument_done(self, event: Event) -> None:
        item = self._items.of(CALL, event)
        item.name({"name": event.get("name")})
        self._arguments(item, event.get("arguments"))

    def _arguments(self, item: Item, arguments: Any, whole: bool = True) -> None:
        if item.fill_arguments(arguments):
            self.said.call([item.call])
        elif whole:
            raise failure("malformed_stream", f"(the arguments of {told(item.call.name, self.key)} contradict each other)")

    # -- the end -------------------------------------------------------------------------------

    def _end(self, event: Event) -> None:
        self._end_of(inside(event, "response"), str(event.get("type")).rpartition(".")[2])

    def _end_of(self, response: Event, kind: str = "") -> None:
        """The last word: what it has that was not said yet, the usage, and how the answer ended."""
        status = str(response.get("status") or "completed")
        if kind in ENDS and status not in ENDS:
            status = "completed"
        if kind in BROKEN or kind == "incomplete":
            status = kind
        self._count(response)
        if status in BROKEN:
            error = response.get("error")
            raise of_error(error, self.key) if error else failure("server", f"(the response is {status})")
        for item, given, late in self._items.matched(rows_of(response.get("output"))):
            self._whole_item(item, given, late)
        for item in self._items.calls():
            self._arguments(item, None if item.call.arguments else item.given.get("arguments"))
        if status == "completed":
            self.finish = Finish("stop")
        elif status == "incomplete":
            self.finish = Finish("content_filter" if "filter" in _reason(response) else "length")
        self.done = self.finish is not None

    def _error(self, event: Event) -> None:
        raise of_error(event.get("error") or event, self.key)

    def _count(self, response: Event) -> None:
        usage = usage_of(inside(response, "usage"))
        if usage != UsagePiece():
            self.usage = usage

    FOLD: ClassVar[dict[str, Callable[[ResponseFold, Event], None]]] = {
        "response.output_item.added": _begin,
        "response.output_item.done": _end_item,
        "response.output_text.delta": _text,
        "response.output_text.done": _text_done,
        "response.refusal.delta": _text,
        "response.refusal.done": _text_done,
        "response.content_part.done": _part_done,
        "response.reasoning_summary_text.delta": _summary,
        "response.reasoning_summary_text.done": _summary_done,
        "response.reasoning_summary_part.done": _summary_done,
        "response.reasoning_text.delta": _content,
        "response.reasoning_text.done": _content_done,
        "response.function_call_arguments.delta": _argument,
        "response.function_call_arguments.done": _argument_done,
        "response.completed": _end,
        "response.done": _end,
        "response.incomplete": _end,
        "response.failed": _end,
        "response.cancelled": _end,
        "response.error": _error,
        "error": _error,
    }
    """What each kind of event does; every other kind says nothing that has to be known."""


def usage_of(usage: Mapping[str, Any]) -> UsagePiece:
    """The tokens of a usage object."""
    spent, made, total = (number(usage.get(name)) for name in ("input_tokens", "output_tokens", "total_tokens"))
    return UsagePiece(
        input_tokens=spent,
        output_tokens=max(made, total - spent),
        cached_tokens=number(inside(usage, "input_tokens_details").get("cached_tokens")),
        reasoning_tokens=number(inside(usage, "output_tokens_details").get("reasoning_tokens")),
    )


def _part(event: Event, name: str = "content_index") -> int:
    return number(event.get(name))


def _reason(response: Event) -> str:
    return str(inside(response, "incomplete_details").get("reason")).lower()
