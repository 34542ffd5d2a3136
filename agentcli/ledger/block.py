"""The blocks of a message: text, thinking, data, hint, tool call, tool result.

A block that grows by deltas keeps the pieces apart and joins them when the field is read
or serialised, so that a fold costs time in proportion to what it folds (law 1).
"""

from __future__ import annotations

import base64
import os
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import (
    AnyUrl,
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from agentcli.ledger.rule import PermissionRule


def new_id() -> str:
    """A fresh id for a block, message or event."""
    return os.urandom(16).hex()  # as random as a UUID, at a third of its price


def now() -> str:
    """This moment: ISO 8601, UTC, with offset."""
    return datetime.now(UTC).isoformat()


class ToolCallState(StrEnum):
    """Where a call is between the model's wish and its result."""

    PENDING = "pending"
    ASKING = "asking"
    ALLOWED = "allowed"
    SUBMITTED = "submitted"
    FINISHED = "finished"


class ToolResultState(StrEnum):
    """How a call ended, or that it runs."""

    RUNNING = "running"
    SUCCESS = "success"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    DENIED = "denied"


class Growing(BaseModel):
    """A model one of whose text fields grows by pieces.

    While pieces are kept apart the field is absent from the instance; reading it joins them.
    """

    model_config = ConfigDict(extra="allow")
    grows: ClassVar[str]
    _pieces: list[str] | None = PrivateAttr(None)

    def grow(self, piece: str) -> None:
        """Append a piece; constant time."""
        private = self.__pydantic_private__  # not self._pieces: pydantic's look-up of it costs more than all else
        assert private is not None
        if private["_pieces"] is None:
            private["_pieces"] = [vars(self).pop(self.grows)]
        private["_pieces"].append(piece)

    def settle(self) -> str:
        """Join what was kept apart; the whole text."""
        if self._pieces is not None:
            vars(self)[self.grows] = self.join(self._pieces)
            self._pieces = None
        return vars(self)[self.grows]

    def join(self, pieces: list[str]) -> str:
        return "".join(pieces)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name == type(self).grows and self.__dict__ is not None:
                return self.settle()
            return super().__getattr__(name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Growing):
            self.settle()
            other.settle()
        return super().__eq__(other)

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # mutable, as every unfrozen model

    @model_serializer(mode="wrap")
    def _serialise_settled(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        self.settle()
        return handler(self)


class BlockBase(BaseModel):
    """What all blocks have. Fields that we do not know are kept (law 8)."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(default_factory=new_id)
    created_at: str | None = None
    finished_at: str | None = None


class TextBlock(Growing, BlockBase):
    """Text for the reader."""

    grows = "text"
    type: Literal["text"] = "text"
    text: str


class ThinkingBlock(Growing, BlockBase):
    """What the model thought; extra fields (`origin`, `item` ...) belong to the provider that made it.

    One without text carries what only its provider can read; no screen shows it.
    """

    grows = "thinking"
    type: Literal["thinking"] = "thinking"
    thinking: str


class Base64Source(Growing):
    """Bytes inside the message; each piece is padded base64 of its own, the bytes are joined."""

    grows = "data"
    type: Literal["base64"] = "base64"
    data: str
    media_type: str

    def join(self, pieces: list[str]) -> str:
        whole = [piece for piece in pieces if piece]
        return whole[0] if len(whole) == 1 else base64.b64encode(b"".join(map(base64.b64decode, whole))).decode()


class URLSource(BaseModel):
    """Bytes elsewhere."""

    model_config = ConfigDict(extra="allow")

    type: Literal["url"] = "url"
    url: AnyUrl
    media_type: str


class DataBlock(BlockBase):
    """An image, a sound or a file."""

    type: Literal["data"] = "data"
    source: Annotated[Base64Source | URLSource, Field(discriminator="type")]
    name: str | None = None


TextOrData: TypeAlias = Annotated[TextBlock | DataBlock, Field(discriminator="type")]


class HintBlock(BlockBase):
    """Words put between the model's turns; a user message on the wire."""

    type: Literal["hint"] = "hint"
    hint: str | list[TextOrData]
    source: str | None = None


class ToolCallBlock(Growing, BlockBase):
    """A call that the model declared; `input` is the raw text of its arguments."""

    grows = "input"
    type: Literal["tool_call"] = "tool_call"
    name: str
    input: str
    state: ToolCallState = ToolCallState.PENDING
    suggested_rules: list[PermissionRule] = Field(default_factory=list[PermissionRule])


class ToolResultBlock(BlockBase):
    """What came of the call with the same id."""

    type: Literal["tool_result"] = "tool_result"
    name: str
    output: str | list[TextOrData]
    state: ToolResultState = ToolResultState.RUNNING
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])

    @property
    def text(self) -> str:
        """The text of the output, data left out."""
        if isinstance(self.output, str):
            return self.output
        return "".join(block.text for block in self.output if isinstance(block, TextBlock))


KNOWN_BLOCKS = {"text", "thinking", "data", "hint", "tool_call", "tool_result"}


class UnknownBlock(BlockBase):
    """A block of a later version or of a provider: kept, shown to nobody, sent to nobody."""

    type: str

    @model_validator(mode="after")
    def _only_unknown(self) -> Self:
        if self.type in KNOWN_BLOCKS:
            raise ValueError(f"a malformed block of type {self.type}")
        return self


KnownBlock: TypeAlias = Annotated[
    TextBlock | ThinkingBlock | DataBlock | HintBlock | ToolCallBlock | ToolResultBlock, Field(discriminator="type")
]
ContentBlock: TypeAlias = Annotated[KnownBlock | UnknownBlock, Field(union_mode="left_to_right")]
