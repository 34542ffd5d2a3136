"""The typed commands that a frontend sends down; `Conversation.do` carries them out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from agentcli.ledger.rule import PermissionMode


@dataclass(slots=True, frozen=True)
class SetMode:
    """Another permission mode, from the next decision on."""

    mode: PermissionMode


@dataclass(slots=True, frozen=True)
class SetModel:
    """Another model, from the next model call on."""

    name: str
    api: str | None = None


@dataclass(slots=True, frozen=True)
class Compact:
    """A summary in place of the older part of what is sent, now; the history itself stays."""

    focus: str = ""
    """What the summary should pay attention to."""


@dataclass(slots=True, frozen=True)
class Rewind:
    """Back to before an earlier message of the user; it and all behind it leaves the context, not the log."""

    msg_id: str


@dataclass(slots=True, frozen=True)
class SetTitle:
    """Another title of the session."""

    title: str


Command: TypeAlias = SetMode | SetModel | SetTitle | Compact | Rewind
