"""What the agent needs of a log: one awaited path to disk. `session` fits it, `runtime` joins them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from agentcli.ledger.message import Msg
from agentcli.ledger.rule import PermissionRule
from agentcli.workspace.whole import Spool


class Journal(Protocol):
    """Where a reply is made durable. Every method raises `LogError` where the disk refuses; nothing is then lost in memory.

    A record that is not durable is written in order, and is durable with the next one that is.
    """

    async def said(self, msg: Msg) -> None:
        """A whole message (a user's); durable when this returns."""
        ...

    async def kept(self, msg: Msg, *, durable: bool = True) -> None:
        """The blocks of a message that changed (`Msg.take_changes`), and its other fields."""
        ...

    async def record(self, kind: str, body: Mapping[str, Any], *, durable: bool = False) -> None:
        """Anything else: asked, decided, started, process, reply, model_call, mode, model, title ..."""
        ...

    async def granted(self, rules: Sequence[PermissionRule]) -> None:
        """Rules given with an answer, kept where their `source` says (session, project, everywhere); durable."""
        ...

    async def keep(self) -> Spool | None:
        """A file for an output that is too long to be told; None where there is no place for one."""
        ...


class NoJournal:
    """Keeps nothing: an agent used from Python without a session."""

    async def said(self, msg: Msg) -> None:
        msg.take_changes()

    async def kept(self, msg: Msg, *, durable: bool = True) -> None:
        msg.take_changes()

    async def record(self, kind: str, body: Mapping[str, Any], *, durable: bool = False) -> None: ...

    async def granted(self, rules: Sequence[PermissionRule]) -> None: ...

    async def keep(self) -> None: ...
