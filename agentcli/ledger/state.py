"""What an agent remembers between two inputs; all of it survives JSON, a parked call included."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from agentcli.ledger.block import now
from agentcli.ledger.message import Msg, Usage
from agentcli.ledger.rule import PermissionContext


class Task(BaseModel):
    """One line of the task list."""

    model_config = ConfigDict(frozen=True, extra="allow")

    title: str
    state: Literal["pending", "in_progress", "done"] = "pending"


class ToolMemory(BaseModel):
    """What tools remember of this session."""

    model_config = ConfigDict(extra="allow")

    read_files: dict[str, str] = Field(default_factory=dict[str, str])
    """Resolved path -> sha256 in hex of the bytes that were last read or written by a tool."""
    tasks: list[Task] = Field(default_factory=list[Task])


class Question(BaseModel):
    """An open question about a call."""

    model_config = ConfigDict(frozen=True, extra="allow")

    digest: str
    """The digest of the preview that was shown."""
    asked_at: str = Field(default_factory=now)
    notes: list[str] = Field(default_factory=list[str])


class Started(BaseModel):
    """A call that was started; written before its effect begins (law 5)."""

    model_config = ConfigDict(frozen=True, extra="allow")

    call_id: str
    read_only: bool = False
    """It may be run again after a crash."""
    files: dict[str, tuple[str | None, str | None]] = Field(default_factory=dict[str, tuple[str | None, str | None]])
    """Path -> digest before and digest after, for our own edits; None where there is no file."""


class Mark(BaseModel):
    """A place in the context: behind a message, or behind one block of it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    msg_id: str
    block: tuple[str, str] | None = None
    """Type and id of the block; None: the whole message."""


class Compression(BaseModel):
    """What is sent instead of the older part of the context; the context itself keeps all of it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    covers: Mark | None = None
    """`AgentState.summary` stands for everything up to here."""
    trims: Mark | None = None
    """Results up to here are sent as a note that they were left out."""
    tokens_before: int = 0
    tokens_after: int = 0


class AgentState(BaseModel):
    """Everything of an agent that outlives the process."""

    model_config = ConfigDict(extra="allow")

    session_id: str = ""
    summary: str | None = None
    """Sent before the context, in place of what `compressed` says that it covers."""
    compressed: Compression | None = None
    token_ratio: float = 1.0
    """What the last model call really took, as a multiple of its estimate."""
    apart: Usage = Field(default_factory=Usage)
    """Tokens of summaries that were made outside of any reply."""
    context: list[Msg] = Field(default_factory=list[Msg])
    past_calls: list[str] = Field(default_factory=list[str])
    """Ids of calls that were rewound out of the context; none is used again in this session."""
    reply_id: str = ""
    cur_iter: int = 0
    unfinished: bool = False
    """The current reply has not ended: it runs, waits, or was cut off."""
    answering: bool = False
    """A model call has not ended properly: no call that it declared may run (law 10)."""
    permission_context: PermissionContext = Field(default_factory=PermissionContext)
    tool_context: ToolMemory = Field(default_factory=ToolMemory)
    questions: dict[str, Question] = Field(default_factory=dict[str, Question])
    """Call id -> its open question."""
    started: dict[str, Started] = Field(default_factory=dict[str, Started])
    """Call id -> its start, while it has no result."""
    steering: list[str] = Field(default_factory=list[str])
    """Texts that came while a reply ran and were not taken in yet."""
    notes: list[str] = Field(default_factory=list[str])
    """What the model is told with the next model call; nobody said it."""

    @property
    def reply(self) -> Msg | None:
        """The message of the current reply, once it has one."""
        last = self.context[-1] if self.context else None
        return last if last is not None and last.role == "assistant" and last.id == self.reply_id else None
