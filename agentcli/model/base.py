"""What the agent needs of a model: a request goes in, pieces of one answer come out.

A piece is already joined over one read of the network, so that a fast stream costs few events.
The order of pieces is the order of the answer. A stream that ends without `Finish` has failed:
the adapter raises `ModelError` itself (kind `cut_stream`, or `connection` before the first byte).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from agentcli.ledger.message import Msg


@dataclass(slots=True, frozen=True)
class TextPiece:
    """Text of the answer; a refusal is text too. `key` and `extra` as in `ThinkingPiece`."""

    text: str
    key: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True, frozen=True)
class ThinkingPiece:
    """Thinking; pieces of one `key` belong to one block. `extra` becomes fields of the block.

    A block without text carries what only its provider can read.
    """

    text: str
    key: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True, frozen=True)
class DataPiece:
    """Bytes that the model made: base64, padded by itself; pieces of one `key` belong together."""

    media_type: str
    data: str
    key: str = ""


@dataclass(slots=True, frozen=True)
class CallPiece:
    """Part of a tool call. `key` tells the calls of one answer apart.

    The first piece of a key names the call; `call_id` is the provider's, or empty where it gave none.
    """

    key: str
    name: str = ""
    call_id: str = ""
    arguments: str = ""


@dataclass(slots=True, frozen=True)
class UsagePiece:
    """Tokens of this call so far; a later one replaces an earlier one."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(slots=True, frozen=True)
class Finish:
    """The proper end of an answer. `stop` stands for every complete one, calls included."""

    reason: Literal["stop", "length", "content_filter"]


Piece: TypeAlias = TextPiece | ThinkingPiece | DataPiece | CallPiece | UsagePiece | Finish


@dataclass(slots=True, frozen=True)
class ToolSchema:
    """A tool as a model is told of it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(slots=True, frozen=True)
class ModelRequest:
    """One request, provider-neutral. `messages` is a repaired history (law 2)."""

    system: str
    messages: Sequence[Msg]
    tools: Sequence[ToolSchema] = ()


@dataclass(slots=True, frozen=True)
class ModelCard:
    """What is known of a model."""

    name: str
    """As the provider calls it; shown to the user, kept in the session."""
    context_size: int | None = None
    """Tokens; None where it is not known."""
    provider: str = ""
    """The stamp of what only this endpoint and model may get back: `base url|model`."""


class ChatModel(Protocol):
    """A model that answers in a stream."""

    @property
    def card(self) -> ModelCard: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """One attempt of one answer. Raises `ModelError`; retries are the agent's.

        Closing the iterator closes the connection.
        """
        ...

    async def warm(self) -> None:
        """Load what the first call needs (an SDK), off the event loop."""
        ...

    async def close(self) -> None: ...
