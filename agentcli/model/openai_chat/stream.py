"""The fold of a Chat Completions answer, in any dialect that is known. Opens no connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from agentcli.model.base import Finish, Piece, UsagePiece
from agentcli.model.openai_chat.calls import CallFold
from agentcli.model.openai_chat.extra import Extra
from agentcli.model.openai_chat.format import FIELDS
from agentcli.model.openai_chat.frame import TextFrame
from agentcli.model.openai_wire.failure import Secret, failure, of_error, told
from agentcli.model.openai_wire.fold import AnswerFold, other_wire
from agentcli.model.openai_wire.foreign import inside, number, rows_of

THOUGHTS = (*FIELDS, "reasoning_details")
LENGTH = {"length", "max_tokens", "model_length", "max_output_tokens", "max_length"}
FILTERED = {"content_filter", "safety", "sensitive", "recitation", "prohibited_content", "blocklist", "spii"}
BROKEN = {"error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource"}


class ChatFold(AnswerFold):
    """One answer while it comes in."""

    def __init__(self, names: Mapping[str, str] | None = None, origin: str = "", key: Secret = None) -> None:
        super().__init__(names, origin, key)
        self._frame, self._calls = TextFrame(), CallFold()
        self._extra = Extra(origin)
        self._stamps = {name: {"origin": origin, **({"field": name} if name else {})} for name in ("", *FIELDS)}
        self._saw_delta = self._thinks = False
        self._block = 0

    def short_cut(self, data: bytes) -> bool:
        """Fold a payload that is like the one before but for its text."""
        text = self._frame.text_of(data)
        if text is None:
            return False
        self._say(text) if self._frame.field == "content" else self._think(text, self._frame.field)
        return True

    def tail(self) -> Iterator[Piece]:
        """Also what comes beside the words."""
        yield from super().tail()
        yield from self._extra.take(self._ended())

    def is_answer(self, fields: dict[str, Any]) -> bool:
        """A completion, or an answer of the other wire."""
        return bool(fields.get("choices")) or _is_response(fields)

    def take(self, fields: dict[str, Any], data: bytes) -> None:
        """Fold one chunk."""
        self._chunk(fields)
        self._frame.learn(data, fields)

    def _say(self, text: str) -> None:
        if text:
            self._thinks = False
            self.said.say(text)

    def _think(self, text: str, name: str = "") -> None:
        """Thinking; after text or a call it is a block of its own. `name` is the field that can take it back."""
        if not text:
            return
        if not self._thinks:
            self._block, self._thinks = self._block + 1, True
        self.said.think(text, str(self._block), self._stamps[name])

    def _chunk(self, chunk: dict[str, Any]) -> None:
        choices = chunk.get("choices")
        error = chunk.get("error")
        if error or (not choices and chunk.get("object") == "error"):
            raise of_error(error or chunk, self.key)
        if not choices and _is_response(chunk):
            raise other_wire("responses")
        self.begun = True
        usage = chunk.get("usage") or inside(chunk, "x_groq").get("usage")
        if usage:
            self._count(usage)
        for choice in rows_of(choices):
            self._choice(choice)

    def _choice(self, choice: dict[str, Any]) -> None:
        if choice.get("index"):  # only one answer was asked for
            return
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._saw_delta = True
            self._delta(cast(dict[str, Any], delta))
        elif not self._saw_delta:
            self._delta(inside(choice, "message"))
        usage = choice.get("usage")
        if usage:
            self._count(usage)
        if choice.get("error"):
            raise of_error(choice["error"], self.key)
        reason = choice.get("finish_reason")
        if reason:
            self._end_of(str(reason).lower(), str(choice.get("native_finish_reason")).lower())

    def _delta(self, delta: dict[str, Any]) -> None:
        content = delta.get("content")
        name = next((name for name in THOUGHTS if delta.get(name)), "")
        if name:
            self._think(_text_of(delta[name]), name if name in FIELDS else "")
        details = delta.get("reasoning_details")
        if details:
            self._extra.detail(details)
        if isinstance(content, str):
            if content:
                self._say(content)
        elif content:
            self._parts(content)
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            self._say(refusal)
        audio = delta.get("audio")
        if audio:
            self._sound(inside(delta, "audio"))
        calls = delta.get("tool_calls")
        legacy = delta.get("function_call")
        if calls or legacy:
            self._thinks = False
            self.said.call(self._calls.add(calls or {"index": 0, "function": legacy}, self._extra.signed))

    def _sound(self, audio: dict[str, Any]) -> None:
        """A spoken answer: its words are the text."""
        self._extra.hear(audio.get("data"))
        self._say(_text_of(audio.get("transcript")))

    def _parts(self, content: Any) -> None:
        """Content as a list of typed parts."""
        for part in cast(list[Any], content) if isinstance(content, list) else [content]:
            kind = cast(dict[str, Any], part).get("type") if isinstance(part, dict) else "text"
            if kind in ("thinking", "reasoning"):
                self._think(_text_of(part))
            elif kind in ("text", "output_text", "refusal", None):
                self._say(_text_of(part))

    def _end_of(self, reason: str, native: str) -> None:
        if reason in BROKEN:
            raise failure("server", f"(finish reason {told(reason)!r})")
        # A router may call a cut answer whole; what the model itself said then decides.
        if reason in LENGTH or native in LENGTH:
            self.finish = Finish("length")
        elif reason in FILTERED:
            self.finish = Finish("content_filter")
        elif self.finish is None:
            self.finish = Finish("stop")

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            counted = usage_of(cast(dict[str, Any], usage))
            if counted != UsagePiece():
                self.usage = counted


def usage_of(usage: Mapping[str, Any]) -> UsagePiece:
    """The tokens of a usage object; thinking that only the total counts is output too."""
    spent, made, total = (number(usage.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    cached = number(inside(usage, "prompt_tokens_details").get("cached_tokens"))
    return UsagePiece(
        input_tokens=spent,
        output_tokens=max(made, total - spent),
        cached_tokens=cached or number(usage.get("prompt_cache_hit_tokens")) or number(usage.get("cached_tokens")),
        reasoning_tokens=number(inside(usage, "completion_tokens_details").get("reasoning_tokens")),
    )


def _text_of(value: Any) -> str:
    """The text of a part, however deep the provider has put it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_text_of, cast(list[Any], value)))
    fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    inner = next((fields[name] for name in ("text", "thinking", "summary", "content", "refusal") if fields.get(name)), "")
    return _text_of(inner) if inner else ""


def _is_response(fields: Mapping[str, Any]) -> bool:
    return fields.get("object") == "response" or str(fields.get("type")).startswith("response.")
