"""Earlier messages as blocks of the transcript, from the end backwards, made when somebody looks there."""

from __future__ import annotations

from agentcli.frontend.tui.transcript.blocks import Block
from agentcli.frontend.tui.transcript.feed import Feed
from agentcli.ledger.message import Msg
from agentcli.runtime.replay import Item, Replay

STEP = 20
"""Messages that are made into blocks at once."""


class Earlier:
    """Gives the blocks of the messages before `end`, a few messages at each call; none where nothing is left."""

    def __init__(self, replay: Replay, end: int) -> None:
        self._replay, self._end = replay, end

    def __call__(self) -> list[Block]:
        blocks: list[Block] = []
        while self._end > 0 and not blocks:  # a message may show nothing
            start = max(0, self._end - STEP)
            blocks = blocks_of(self._replay, start, self._end)
            self._end = start
        return blocks


def show(item: Item, feed: Feed) -> None:
    """One item of a replay."""
    if isinstance(item, Msg):
        feed.say(item)
    else:
        feed.take(item)


def blocks_of(replay: Replay, start: int, end: int) -> list[Block]:
    """The blocks of whole messages."""
    page = Sheet()
    feed = Feed(page)
    for item in replay.part(start, end):
        show(item, feed)
    feed.flush()
    return page.blocks


class Sheet:
    """A page of a feed that nobody sees yet."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []

    def add(self, block: Block) -> None:
        self.blocks.append(block)

    def change(self, block: Block) -> None:
        """Its rows are made later."""

    def withdraw(self, block: Block) -> None:
        self.blocks.remove(block)

    def ask_frame(self, *, now: bool = False) -> None:
        """Nobody looks."""
