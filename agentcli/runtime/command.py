"""The typed commands that a frontend sends down; `Conversation.do` carries them out."""

from __future__ import annotations

from dataclasses import dataclass, field
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
class Connect:
    """An endpoint and a model for as long as the process lives; nothing but the name of the model is written down."""

    model: str = ""
    """As the endpoint knows it; empty where only the endpoint is meant."""
    provider: str = ""
    """One of the settings or a well-known one; empty for an address of one's own."""
    base_url: str = ""
    api_key: str = field(default="", repr=False)
    """Empty: the key that the provider has already, or none."""
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


@dataclass(slots=True, frozen=True)
class Undo:
    """The files of a call as they were before it; what somebody has changed since is never touched."""

    call_id: str = ""
    """Its id or a beginning of it; empty for the last change that stands."""


@dataclass(slots=True, frozen=True)
class Redo:
    """The change that was undone last, once more."""


Command: TypeAlias = SetMode | SetModel | Connect | SetTitle | Compact | Rewind | Undo | Redo
