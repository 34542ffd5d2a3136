"""What a confirmation shows of a call; made by the tool, never by a frontend."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Preview(BaseModel):
    """Everything that would happen, before it happens."""

    model_config = ConfigDict(frozen=True, extra="allow")

    kind: Literal["diff", "new_file", "command", "text"]
    target: str
    """The resolved path, or the program."""
    body: str
    """All of it: a unified diff, the new content, the command line, or the arguments."""
    risks: list[str] = Field(default_factory=list[str])
    """What a person should know before the answer, a sentence each."""
    notes: list[str] = Field(default_factory=list[str])
    """What has changed since the first question, a sentence each."""
    digest: str
    """sha256 in hex over the call's name, its input and the bytes of its target."""
