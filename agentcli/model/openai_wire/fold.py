"""The fold of an answer, whatever its wire: bytes in, pieces out. Opens no connection.

An answer is complete only if it says so, or by `[DONE]` with nothing left half said.
"""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, cast

from agentcli.errors import ModelError
from agentcli.model.base import Finish, Piece, UsagePiece
from agentcli.model.openai_wire.failure import Secret, failure, of_error, told
from agentcli.model.openai_wire.foreign import fields_of, is_json
from agentcli.model.openai_wire.said import Said
from agentcli.model.openai_wire.sse import EventSplitter

log = logging.getLogger(__name__)

DONE = b"[DONE]"


class AnswerFold(ABC):
    """One answer while it comes in; a wire says what its objects mean.

    Args:
        names: name on the wire -> name of the tool, where they differ.
        origin: the stamp of thinking: only this endpoint and model may get it back.
        key: the API key, kept out of error texts.
    """

    def __init__(self, names: Mapping[str, str] | None = None, origin: str = "", key: Secret = None) -> None:
        self.done = False
        """Nothing more is to be read."""
        self.begun = False
        """Something of an answer has come."""
        self.heard = 0
        """Payloads so far; comments that only keep the connection open do not count."""
        self.origin, self.key = origin, key
        self.said = Said(names or {})
        self.finish: Finish | None = None
        self.usage: UsagePiece | None = None
        self._splitter = EventSplitter()

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
            raise self.broken() if self.begun else self._nothing()
        yield self.finish or Finish("stop")

    def tail(self) -> Iterator[Piece]:
        """What the last line says, if it is a whole one, and what was held back."""
        payloads = [] if self.done else self._splitter.end()
        yield from self._fold([data for data in payloads if data == DONE or is_json(data)])
        yield from self.said.rest()

    def broken(self, why: str = "") -> ModelError:
        """The error of an answer that ends here."""
        if self.begun:
            return failure("cut_stream", why)
        return failure("connection", why, sentence="The provider closed the connection without an answer.")

    def _nothing(self) -> ModelError:
        """The error of a body that came to its proper end without an answer in it."""
        if self._splitter.foreign:
            return self._malformed(self._splitter.foreign)
        return failure("connection", sentence="The provider sent an empty answer.")

    @property
    def finished(self) -> bool:
        """The answer is complete, whatever becomes of the connection."""
        return self.finish is not None

    # -- what a wire says ----------------------------------------------------------------------

    @abstractmethod
    def take(self, fields: dict[str, Any], data: bytes) -> None:
        """Fold one object of the stream."""

    @abstractmethod
    def is_answer(self, fields: dict[str, Any]) -> bool:
        """Whether a body that is no stream is a whole answer (or one that `take` can explain)."""

    def short_cut(self, data: bytes) -> bool:
        """Fold a payload without parsing it; False where it has to be parsed."""
        return False

    # -- from payloads to pieces ---------------------------------------------------------------

    def _ended(self) -> bool:
        if self.finish is not None:
            return True
        return self.done and self.said.calls_complete and (self.said.any_text or bool(self.said.calls))

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
        yield from self.said.take()
        if self.usage is not None:
            yield self.usage
            self.usage = None
        if fault is not None:
            yield from self.said.rest()
            raise fault

    def _payload(self, data: bytes) -> None:
        if self.short_cut(data):
            return
        if data.startswith(DONE):
            self.done = True
            return
        if not data or data.isspace():
            return
        try:
            value = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise self._malformed(data) from error
        if isinstance(value, dict):
            self.take(cast(dict[str, Any], value), data)
        else:
            log.debug("a payload that is no object: %.80r", data)

    def _whole(self, body: bytes) -> Iterator[Piece]:
        """A body that is no event stream: a whole answer, an error, or a page."""
        if not body:
            return
        if body.decode("utf-8", "replace").lstrip().startswith("<"):
            page = "The address answered with a web page and not as a model; check the base URL."
            raise failure("malformed_stream", sentence=page, retryable=False)
        try:
            answer = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise self._malformed(body) from error
        fields = fields_of(answer)
        if not self.is_answer(fields):
            raise of_error(answer, self.key) if _is_error(fields) else self._malformed(body)
        yield from self._fold([body])

    def _malformed(self, data: bytes) -> ModelError:
        return failure("malformed_stream", f"It begins with: {told(data[:200].decode('utf-8', 'replace'), self.key)}")


def _is_error(fields: Mapping[str, Any]) -> bool:
    return any(fields.get(name) for name in ("error", "detail", "message", "code"))


def other_wire(api: str) -> ModelError:
    """The error of an answer in the form of the other wire."""
    sentence = f"The address answered in the form of the other API; use --api {api}."
    return failure("malformed_stream", sentence=sentence, retryable=False)
