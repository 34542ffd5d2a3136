"""Opens conversations for the screen, one after the other; the last one is left open until the end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from agentcli.runtime import catalogue
from agentcli.runtime.assemble import open_conversation
from agentcli.runtime.catalogue import Choice
from agentcli.runtime.conversation import Conversation
from agentcli.runtime.options import Options

CLOSE_WITHIN = 3.0


class Opener(Protocol):
    """What the screen needs to go on with another session."""

    def choices(self) -> Iterator[list[Choice]]:
        """The saved sessions, a few at each step. May take long: not for the event loop."""
        ...

    async def resume(self, session_id: str, *, fork: bool) -> Conversation:
        """Open a saved session; the one before is open still."""
        ...

    async def close(self, conversation: Conversation) -> None:
        """Close one that is left, bounded."""
        ...

    async def begin(self) -> Conversation:
        """Open what the flags say."""
        ...


class Opened:
    """The conversation that is open, and how another one is opened."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self.conversation: Conversation | None = None

    async def begin(self) -> Conversation:
        """What the flags say."""
        self.conversation = await open_conversation(self._options)
        return self.conversation

    def choices(self) -> Iterator[list[Choice]]:
        """The saved sessions, a few at each step; `UsageError` at once for a folder that is none."""
        return catalogue.session_choices(self._options.cwd)

    async def resume(self, session_id: str, *, fork: bool) -> Conversation:
        """Open a saved session; the one before is open still."""
        flags = self._options
        if self.conversation is not None:  # what the flags said was for the first one
            flags = replace(flags, mode=None, model=None, api=None, cwd=None, continue_=False, fork=False)
        self.conversation = await open_conversation(replace(flags, resume=session_id, fork=fork or flags.fork))
        return self.conversation

    async def close(self, conversation: Conversation) -> None:
        """Close one that is left, bounded."""
        with suppress(TimeoutError):
            await asyncio.wait_for(conversation.close(), CLOSE_WITHIN)
