"""The journal of a conversation: a session log that is made with the first message, and rules in their scopes."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from agentcli.config.rules import RulesFile
from agentcli.errors import ConfigError, LogError
from agentcli.ledger.message import Msg
from agentcli.ledger.rule import PermissionRule
from agentcli.runtime.undo import Changes, keep_found
from agentcli.session.store import SessionLog, SessionStore
from agentcli.session.uses import RuleUses
from agentcli.view.summary import utc_now
from agentcli.workspace.whole import Spool


class Keeper:
    """Fits `agent.journal.Journal`. Without a message there is no session, and so no file."""

    def __init__(
        self, store: SessionStore, rules: RulesFile, root: str, header: dict[str, Any], log: SessionLog | None = None
    ) -> None:
        self.store, self.rules, self.root, self.header, self.log = store, rules, root, header, log
        self.uses = RuleUses(store.folder.parent)
        self.changes = Changes()
        """What the calls of this session did to files."""
        self._making: asyncio.Task[SessionLog] | None = None

    @property
    def made(self) -> bool:
        """The session exists on disk."""
        return self.log is not None

    async def said(self, msg: Msg) -> None:
        await (await self.opened()).said(msg)

    async def kept(self, msg: Msg, *, durable: bool = True) -> None:
        await (await self.opened()).kept(msg, durable=durable)

    async def record(self, kind: str, body: Mapping[str, Any], *, durable: bool = False) -> None:
        if self.log is None and self._making is not None:
            await self.opened()
        if self.log is None:
            # Nothing was said yet: what is changed now is what the session will begin with.
            self.header.update({key: value for key, value in body.items() if key in self.header})
            return
        if kind == "started" and body.get("files"):
            await asyncio.to_thread(keep_found, self.log.blobs, body["files"])
        await self.log.record(kind, body, durable=durable)
        self.changes.take(kind, body)
        if kind == "receipt" and "rule" in body:
            use = {**body, "at": utc_now(), "session": self.header["id"]}
            await asyncio.to_thread(self.uses.note, str(body["behavior"]), str(body["rule"]), use)

    async def granted(self, rules: Sequence[PermissionRule]) -> None:
        """Keep rules where their scope says; valid only once that write has finished (crash matrix, 13)."""
        for rule in rules:
            if rule.source in ("project", "everywhere"):
                root = self.root if rule.source == "project" else None
                try:
                    await asyncio.to_thread(self.rules.add, [rule], root)
                except ConfigError as error:
                    raise LogError(f"The rule {rule.text} could not be kept: {error}") from error
            await self.record("rule", rule.model_dump(mode="json"), durable=True)

    async def keep(self) -> Spool:
        log = await self.opened()
        return await asyncio.to_thread(log.blobs.spool)

    async def close(self) -> None:
        if self._making is not None:
            await self.opened()
        if self.log is not None:
            await asyncio.to_thread(self.log.close)

    async def opened(self) -> SessionLog:
        """The log, made where there is none."""
        if self.log is not None:
            return self.log
        making = self._making
        if making is None:
            making = asyncio.create_task(asyncio.to_thread(self.store.create, self.header["id"], self.header))
            self._making = making
        try:
            # One making for all who wait; a cancelled one leaves no session behind that nobody writes.
            self.log = await asyncio.shield(making)
        finally:
            if making.done():
                self._making = None
        return self.log
