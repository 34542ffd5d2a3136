"""The fold of a Chat Completions answer: bytes in, pieces out, in any dialect that is known. Opens no connection.

An answer is complete only if it says so: by a finish reason, or by `[DONE]` with nothing left half said.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any, cast

from agentcli.errors import ModelError
from agentcli.model.base import Finish, Piece, UsagePiece
from agentcli.model.openai_chat.calls import CallFold
from agentcli.model.openai_chat.failure import failure, of_error, told
from agentcli.model.openai_chat.frame import TextFrame
from agentcli.model.openai_chat.said import Said
from agentcli.model.openai_chat.sse import EventSplitter

log = logging.getLogger(__name__)

DONE = b"[DONE]"
LENGTH = {"length", "max_tokens", "model_length", "max_output_tokens", "max_length"}
FILTERED = {"content_filter", "safety", "sensitive", "recitation", "prohibited_content", "blocklist", "spii"}
BROKEN = {"error", "abort", "aborted", "cancelled", "network_error", "insufficient_system_resource"}


class ChatFold:
    """One answer while it comes in.

    Args:
        names: name on the wire -> name of the tool, where they differ.
        origin: the stamp of thinking: only this endpoint and model may get it back.
        key: the API key, kept out of error texts.
    """

    def __init__(self, names: Mapping[str, str] | None = None, origin: str = "", key: str | None = None) -> None:
        self.done = False
        """Nothing more is to be read."""
        self.begun = False
        """Something of an answer has come."""
        self.heard = 0
        """Payloads so far; comments that only keep the connection open do not count."""
        self._splitter, self._frame = EventSplitter(), TextFrame()
        self._calls = CallFold(names or {})
        self._said = Said(self._calls, {"origin": origin})
        self._key = key
        self._finish: Finish | None = None
        self._usage: UsagePiece | None = None
        self._saw_delta = False

    def feed(self, chunk: bytes) -> Iterator[Piece]:
        """The pieces of these bytes; raises `ModelError` after the pieces that came before the fault."""
        payloads = self._splitter.feed(chunk)
        self.heard += len(payloads)
        return self._fold(payloads)

    def end(self) -> Iterator[Piece]:
        """The last pieces and `Finish`; raises `ModelError` where the answer is not complete."""
        if self._splitter.plain is not False:
            yield from self._whole(b"".join(self._splitter.end()))
        yield from self.tail()
        if not self._ended():
            raise self.broken()
        yield self._finish or Finish("stop")

    def tail(self) -> Iterator[Piece]:
        """What the last line says, if it is a whole one, and what was held back."""
        payloads = [] if self.done else self._splitter.end()
        yield from self._fold([data for data in payloads if data == DONE or _is_json(data)])
        yield from self._said.rest()

    def broken(self, why: str = "") -> ModelError:
        """The error of an answer that ends here."""
        if self.begun:
            return failure("cut_stream", why)
        return failure("connection", why, sentence="The provider closed the connection without an answer.")

    @property
    def finished(self) -> bool:
        """The answer is complete, whatever becomes of the connection."""
        return self._finish is not None

    def _ended(self) -> bool:
        if self._finish is not None:
            return True
        if not self.done:
            return False
        return self._calls.complete and (self._said.any_text or bool(self._calls.calls))

    # -- from payloads to pieces ---------------------------------------------------------------

    def _fold(self, payloads: list[bytes]) -> Iterator[Piece]:
        fault: ModelError | None = None
        for data in payloads:
            if self.done:
                break
            try:
                self._payload(data)
            except ModelError as error:
                fault = error
                break
        yield from self._said.take()
        if self._usage is not None:
            yield self._usage
            self._usage = None
        if fault is not None:
            yield from self._said.rest()
            raise fault

    def _payload(self, data: bytes) -> None:
        text = self._frame.text_of(data)
        if text is not None:
            self._said.think(text) if self._frame.thinking else self._said.say(text)
            return
        if data.startswith(DONE):
            self.done = True
            return
        if not data or data.isspace():
            return
        try:
            chunk = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._malformed(data) from error
        if isinstance(chunk, dict):
            self._chunk(cast(dict[str, Any], chunk))
            self._frame.learn(data, cast(dict[str, Any], chunk))
        else:
            log.debug("a payload that is no object: %.80r", data)

    def _chunk(self, chunk: dict[str, Any]) -> None:
        choices = chunk.get("choices")
        error = chunk.get("error")
        if error or (not choices and chunk.get("object") == "error"):
            raise of_error(error or chunk, self._key)
        self.begun = True
        usage = chunk.get("usage") or _inside(chunk, "x_groq").get("usage")
        if usage:
            self._count(usage)
        if isinstance(choices, list):
            for choice in cast(list[Any], choices):
                if isinstance(choice, dict):
                    self._choice(cast(dict[str, Any], choice))

    def _choice(self, choice: dict[str, Any]) -> None:
        if choice.get("index"):  # only one answer was asked for
            return
        delta = choice.get("delta")
        if isinstance(delta, dict):
            self._saw_delta = True
            self._delta(cast(dict[str, Any], delta))
        elif not self._saw_delta:
            self._delta(_inside(choice, "message"))
        usage = choice.get("usage")
        if usage:
            self._count(usage)
        if choice.get("error"):
            raise of_error(choice["error"], self._key)
        reason = choice.get("finish_reason")
        if reason:
            self._end_of(str(reason).lower(), str(choice.get("native_finish_reason")).lower())

    def _delta(self, delta: dict[str, Any]) -> None:
        content = delta.get("content")
        thinking = delta.get("reasoning_content") or delta.get("reasoning") or delta.get("reasoning_details")
        if thinking:
            self._said.think(_text_of(thinking))
        if isinstance(content, str):
            if content:
                self._said.say(content)
        elif content:
            self._parts(content)
        refusal = delta.get("refusal")
        if refusal and isinstance(refusal, str):
            self._said.say(refusal)
        calls = delta.get("tool_calls")
        legacy = delta.get("function_call")
        if calls or legacy:
            self._said.call(calls or {"index": 0, "function": legacy})

    def _parts(self, content: Any) -> None:
        """Content as a list of typed parts."""
        for part in cast(list[Any], content) if isinstance(content, list) else [content]:
            kind = cast(dict[str, Any], part).get("type") if isinstance(part, dict) else "text"
            if kind in ("thinking", "reasoning"):
                self._said.think(_text_of(part))
            elif kind in ("text", "output_text", "refusal", None):
                self._said.say(_text_of(part))

    def _end_of(self, reason: str, native: str) -> None:
        if reason in BROKEN:
            raise failure("server", f"(finish reason {told(reason)!r})")
        # A router may call a cut answer whole; what the model itself said then decides.
        if reason in LENGTH or native in LENGTH:
            self._finish = Finish("length")
        elif reason in FILTERED:
            self._finish = Finish("content_filter")
        elif self._finish is None:
            self._finish = Finish("stop")

    def _count(self, usage: Any) -> None:
        if isinstance(usage, dict):
            counted = usage_of(cast(dict[str, Any], usage))
            if counted != UsagePiece():
                self._usage = counted

    def _whole(self, body: bytes) -> Iterator[Piece]:
        """A body that is no event stream: a whole completion, an error, or a page."""
        if not body:
            return
        said = body.decode("utf-8", "replace")
        if said.lstrip().startswith("<"):
            page = "The address answered with a web page and not as a model; check the base URL."
            raise failure("malformed_stream", sentence=page, retryable=False)
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self._malformed(body) from error
        fields = cast(dict[str, Any], answer) if isinstance(answer, dict) else {}
        if not fields.get("choices"):
            raise of_error(answer, self._key) if _is_error(fields) else self._malformed(body)
        yield from self._fold([body])

    def _malformed(self, data: bytes) -> ModelError:
        return failure("malformed_stream", f"It begins with: {told(data[:200].decode('utf-8', 'replace'), self._key)}")


def usage_of(usage: Mapping[str, Any]) -> UsagePiece:
    """The tokens of a usage object; thinking that only the total counts is output too."""
    spent, made, total = (_number(usage.get(name)) for name in ("prompt_tokens", "completion_tokens", "total_tokens"))
    cached = _number(_inside(usage, "prompt_tokens_details").get("cached_tokens"))
    return UsagePiece(
        input_tokens=spent,
        output_tokens=max(made, total - spent),
        cached_tokens=cached or _number(usage.get("prompt_cache_hit_tokens")) or _number(usage.get("cached_tokens")),
        reasoning_tokens=_number(_inside(usage, "completion_tokens_details").get("reasoning_tokens")),
    )


def _number(value: Any) -> int:
    return max(0, int(value)) if isinstance(value, int | float) and -1 < value < 1e15 else 0


def _inside(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = fields.get(name)
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _text_of(value: Any) -> str:
    """The text of a part, however deep the provider has put it."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(map(_text_of, cast(list[Any], value)))
    fields = cast(dict[str, Any], value) if isinstance(value, dict) else {}
    inner = next((fields[name] for name in ("text", "thinking", "summary", "content", "refusal") if fields.get(name)), "")
    return _text_of(inner) if inner else ""


def _is_error(fields: Mapping[str, Any]) -> bool:
    return any(fields.get(name) for name in ("error", "detail", "message", "code"))


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
