"""Every event of a reply, and their union.

Names and fields follow AgentScope 2.x where it has them. An event is a fact; the three input
events (`UserConfirmResultEvent`, `ExternalExecutionResultEvent`, `UserInterruptEvent`) are what a
person or program answers, and the accepted answer is the first event of the stream that it causes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal, Self, TypeAlias, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from agentcli.ledger.block import TextOrData, ToolCallBlock, ToolResultBlock, ToolResultState, new_id, now
from agentcli.ledger.preview import Preview
from agentcli.ledger.rule import PermissionRule

ErrorKind: TypeAlias = Literal[
    "auth",
    "permission",
    "not_found",
    "bad_request",
    "rate_limit",
    "quota",
    "context_length",
    "content_filter",
    "unsupported",
    "connection",
    "timeout",
    "cut_stream",
    "malformed_stream",
    "server",
    "internal",
]


class ErrorInfo(BaseModel):
    """Why a reply failed, in a form that a user can act on."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    kind: ErrorKind
    message: str
    retryable: bool = False
    status: int | None = None


class ReplyEndReason(StrEnum):
    """How a reply ended."""

    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    EXCEED_MAX_ITERS = "exceed_max_iters"
    ERROR = "error"


class ModelEndReason(StrEnum):
    """How one model call ended."""

    COMPLETED = "completed"
    INTERRUPTED = "interrupted"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    ERROR = "error"


class EventBase(BaseModel):
    """What all events have. Fields that we do not know are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    id: str = Field(default_factory=new_id)
    created_at: str = Field(default_factory=now)
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])


class ReplyEvent(EventBase):
    """An event that belongs to one reply."""

    reply_id: str


class ReplyStartEvent(ReplyEvent):
    """A new reply begins; never on resume."""

    type: Literal["REPLY_START"] = "REPLY_START"
    session_id: str
    name: str
    role: Literal["assistant"] = "assistant"


class ReplyEndEvent(ReplyEvent):
    """The last event of a reply that is over; `metadata["notice"]` is a sentence for the user."""

    type: Literal["REPLY_END"] = "REPLY_END"
    session_id: str
    finished_reason: ReplyEndReason = ReplyEndReason.COMPLETED
    error: ErrorInfo | None = None


class ReplyPausedEvent(ReplyEvent):
    """The last event of a stream whose reply waits for answers."""

    type: Literal["REPLY_PAUSED"] = "REPLY_PAUSED"
    session_id: str
    waiting: list[ToolCallBlock]


class ModelCallStartEvent(ReplyEvent):
    """A model call begins; all its attempts lie between this and its end."""

    type: Literal["MODEL_CALL_START"] = "MODEL_CALL_START"
    model_name: str


class ModelCallEndEvent(ReplyEvent):
    """A model call is over; tokens are those of this call."""

    type: Literal["MODEL_CALL_END"] = "MODEL_CALL_END"
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    finished_reason: ModelEndReason = ModelEndReason.COMPLETED


class ModelCallRetryEvent(ReplyEvent):
    """An attempt was abandoned before it had shown text or a call; another follows after `delay_s` seconds."""

    type: Literal["MODEL_CALL_RETRY"] = "MODEL_CALL_RETRY"
    attempt: int
    """The attempt that comes, counted from 2."""
    delay_s: float
    error: ErrorInfo
    model_name: str
    withdrawn: list[str] = Field(default_factory=list[str])
    """Ids of the thinking blocks of the abandoned attempt."""


class BlockEvent(ReplyEvent):
    """An event of one block."""

    block_id: str


class TextBlockStartEvent(BlockEvent):
    type: Literal["TEXT_BLOCK_START"] = "TEXT_BLOCK_START"


class TextBlockDeltaEvent(BlockEvent):
    type: Literal["TEXT_BLOCK_DELTA"] = "TEXT_BLOCK_DELTA"
    delta: str


class TextBlockEndEvent(BlockEvent):
    """`metadata` becomes extra fields of the block (what the provider wants back with the text)."""

    type: Literal["TEXT_BLOCK_END"] = "TEXT_BLOCK_END"


class ThinkingBlockStartEvent(BlockEvent):
    """`metadata` becomes extra fields of the block (`origin` ...)."""

    type: Literal["THINKING_BLOCK_START"] = "THINKING_BLOCK_START"


class ThinkingBlockDeltaEvent(BlockEvent):
    type: Literal["THINKING_BLOCK_DELTA"] = "THINKING_BLOCK_DELTA"
    delta: str


class ThinkingBlockEndEvent(BlockEvent):
    """`metadata` becomes extra fields of the block (a signature, an encrypted part ...)."""

    type: Literal["THINKING_BLOCK_END"] = "THINKING_BLOCK_END"


class DataBlockStartEvent(BlockEvent):
    type: Literal["DATA_BLOCK_START"] = "DATA_BLOCK_START"
    media_type: str


class DataBlockDeltaEvent(BlockEvent):
    """`data` is base64 of this piece only."""

    type: Literal["DATA_BLOCK_DELTA"] = "DATA_BLOCK_DELTA"
    media_type: str
    data: str


class DataBlockEndEvent(BlockEvent):
    type: Literal["DATA_BLOCK_END"] = "DATA_BLOCK_END"


class HintBlockEvent(BlockEvent):
    """A whole hint at once; a steering text has the source `user`."""

    type: Literal["HINT_BLOCK"] = "HINT_BLOCK"
    source: str | None = None
    hint: str | list[TextOrData]


class CallEvent(ReplyEvent):
    """An event of one tool call."""

    tool_call_id: str


class ToolCallStartEvent(CallEvent):
    type: Literal["TOOL_CALL_START"] = "TOOL_CALL_START"
    tool_call_name: str


class ToolCallDeltaEvent(CallEvent):
    type: Literal["TOOL_CALL_DELTA"] = "TOOL_CALL_DELTA"
    delta: str


class ToolCallEndEvent(CallEvent):
    type: Literal["TOOL_CALL_END"] = "TOOL_CALL_END"


class ToolResultStartEvent(CallEvent):
    type: Literal["TOOL_RESULT_START"] = "TOOL_RESULT_START"
    tool_call_name: str


class ToolResultTextDeltaEvent(CallEvent):
    """Exactly what is stored and what the model is given."""

    type: Literal["TOOL_RESULT_TEXT_DELTA"] = "TOOL_RESULT_TEXT_DELTA"
    delta: str


class ToolResultDataDeltaEvent(CallEvent):
    """A data block of the result: base64 `data`, or a `url`."""

    type: Literal["TOOL_RESULT_DATA_DELTA"] = "TOOL_RESULT_DATA_DELTA"
    block_id: str = Field(default_factory=new_id)
    media_type: str
    data: str | None = None
    url: str | None = None


class ToolResultEndEvent(CallEvent):
    """The result is final; `metadata["diff"]` of Write and Edit is the unified diff that was applied."""

    type: Literal["TOOL_RESULT_END"] = "TOOL_RESULT_END"
    state: ToolResultState


class ToolProgressEvent(CallEvent):
    """Live output for the eye only; it is stored nowhere."""

    type: Literal["TOOL_PROGRESS"] = "TOOL_PROGRESS"
    delta: str


class ExceedMaxItersEvent(ReplyEvent):
    """The iteration limit is reached; REPLY_END follows."""

    type: Literal["EXCEED_MAX_ITERS"] = "EXCEED_MAX_ITERS"
    name: str


class ContextCompressedEvent(ReplyEvent):
    """The context was summarised; the ledger keeps all of it."""

    type: Literal["CONTEXT_COMPRESSED"] = "CONTEXT_COMPRESSED"
    tokens_before: int
    tokens_after: int
    summary: str


class RequireUserConfirmEvent(ReplyEvent):
    """Calls that a person has to allow; a preview for each call id."""

    type: Literal["REQUIRE_USER_CONFIRM"] = "REQUIRE_USER_CONFIRM"
    tool_calls: list[ToolCallBlock]
    previews: dict[str, Preview] = Field(default_factory=dict[str, Preview])


class RequireExternalExecutionEvent(ReplyEvent):
    """Allowed calls that somebody outside has to execute."""

    type: Literal["REQUIRE_EXTERNAL_EXECUTION"] = "REQUIRE_EXTERNAL_EXECUTION"
    tool_calls: list[ToolCallBlock]


class ConfirmResult(BaseModel):
    """The answer for one call; `tool_call` holds what was confirmed, edits included."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    confirmed: bool
    tool_call: ToolCallBlock
    rules: list[PermissionRule] | None = None
    """Allow rules to be given with the answer; only those offered, or narrower ones."""
    digest: str | None = None
    """The preview's digest that the answer was given to; None is not compared."""
    reason: str | None = None
    """A denial's words to the model."""


class UserConfirmResultEvent(ReplyEvent):
    """Input: answers to questions."""

    type: Literal["USER_CONFIRM_RESULT"] = "USER_CONFIRM_RESULT"
    confirm_results: list[ConfirmResult]


class ExternalExecutionResultEvent(ReplyEvent):
    """Input: results of calls that were executed outside."""

    type: Literal["EXTERNAL_EXECUTION_RESULT"] = "EXTERNAL_EXECUTION_RESULT"
    execution_results: list[ToolResultBlock]


class UserInterruptEvent(ReplyEvent):
    """Input: stop what runs or waits. `reply_id` may be empty: whatever runs now."""

    type: Literal["USER_INTERRUPT"] = "USER_INTERRUPT"
    reply_id: str = ""


class CustomEvent(EventBase):
    """A change of mode, model, title or tokens inside a stream is `state_updated`."""

    type: Literal["CUSTOM"] = "CUSTOM"
    reply_id: str | None = None
    name: str
    value: dict[str, Any] = Field(default_factory=dict[str, Any])


KnownEvent: TypeAlias = Annotated[
    ReplyStartEvent
    | ReplyEndEvent
    | ReplyPausedEvent
    | ModelCallStartEvent
    | ModelCallEndEvent
    | ModelCallRetryEvent
    | TextBlockStartEvent
    | TextBlockDeltaEvent
    | TextBlockEndEvent
    | ThinkingBlockStartEvent
    | ThinkingBlockDeltaEvent
    | ThinkingBlockEndEvent
    | DataBlockStartEvent
    | DataBlockDeltaEvent
    | DataBlockEndEvent
    | HintBlockEvent
    | ToolCallStartEvent
    | ToolCallDeltaEvent
    | ToolCallEndEvent
    | ToolResultStartEvent
    | ToolResultTextDeltaEvent
    | ToolResultDataDeltaEvent
    | ToolResultEndEvent
    | ToolProgressEvent
    | ExceedMaxItersEvent
    | ContextCompressedEvent
    | RequireUserConfirmEvent
    | RequireExternalExecutionEvent
    | UserConfirmResultEvent
    | ExternalExecutionResultEvent
    | UserInterruptEvent
    | CustomEvent,
    Field(discriminator="type"),
]

KNOWN_EVENTS = {str(event.model_fields["type"].default) for event in get_args(get_args(KnownEvent)[0])}


class UnknownEvent(EventBase):
    """An event of a later version, read from outside: kept, folded to nothing."""

    type: str

    @model_validator(mode="after")
    def _only_unknown(self) -> Self:
        if self.type in KNOWN_EVENTS:
            raise ValueError(f"a malformed event of type {self.type}")
        return self


AgentEvent: TypeAlias = Annotated[KnownEvent | UnknownEvent, Field(union_mode="left_to_right")]
"""What `TypeAdapter(AgentEvent)` reads and writes."""

AnswerEvent: TypeAlias = UserConfirmResultEvent | ExternalExecutionResultEvent | UserInterruptEvent
EVENTS: TypeAdapter[AgentEvent] = TypeAdapter(AgentEvent, config=ConfigDict(defer_build=True))
