"""The saved history as a screen takes it: whole, or any stretch of messages, unfolded only when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from agentcli.ledger.event import AgentEvent, ContextCompressedEvent
from agentcli.ledger.message import Msg
from agentcli.ledger.unfold import unfold

Item: TypeAlias = Msg | AgentEvent


class Replay:
    """The messages as they stood when this was made: those of users whole, replies as their events.

    Args:
        cut: before which message the part that is sent whole begins, and what is shown there.
    """

    def __init__(self, messages: Sequence[Msg], session_id: str, cut: tuple[int, ContextCompressedEvent] | None = None) -> None:
        self._messages, self._session_id, self._cut = list(messages), session_id, cut

    def __len__(self) -> int:
        """How many messages there are."""
        return len(self._messages)

    def __iter__(self) -> Iterator[Item]:
        return self.part(0, len(self))

    def part(self, start: int, end: int) -> Iterator[Item]:
        """What is shown of the messages from `start` on and before `end`; what the end of all has belongs to the last stretch."""
        at, event = self._cut or (-1, None)
        for place in range(start, end):
            if event is not None and at == place:
                yield event
            msg = self._messages[place]
            if msg.role == "assistant":
                yield from unfold(msg, self._session_id)
            else:
                yield msg
        if event is not None and at == end == len(self):
            yield event
