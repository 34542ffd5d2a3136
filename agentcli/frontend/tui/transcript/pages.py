"""The blocks of a transcript and the rows of those that were looked at: lazily, from the tail. Knows no widget."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import replace

from rich.segment import Segment

from agentcli.frontend.tui.transcript.blocks import Block, Gap, Sight
from agentcli.frontend.tui.transcript.ink import Row

AHEAD = 200
"""Rows that are made beyond what is seen."""
KEPT = 6000
"""Rows above which the oldest are forgotten while the end is followed."""


class Past(Block):
    """Stands for all that was before the first block. It has no rows: others are put in its place when somebody looks there.

    Args:
        fetch: the blocks right before those that it gave last; none where nothing is left.
    """

    def __init__(self, fetch: Callable[[], list[Block]]) -> None:
        self.fetch = fetch

    def rows(self, sight: Sight) -> list[Row]:
        return []


class Pages:
    """All blocks that were needed so far, of which those from `first` on have rows.

    `first` is 0 only where nothing at all is before them.
    """

    def __init__(self, sight: Sight) -> None:
        self.sight = sight
        self.blocks: list[Block] = []
        self.first = 0
        self.rows: list[Row] = []
        self._starts: list[int] = []
        self._places: dict[int, int] = {}
        self._shift = 0
        """How many blocks were put before those that had places already; theirs are behind by as much."""
        self._past: Past | None = None

    def __len__(self) -> int:
        return len(self.rows)

    def look(self, height: int, **changes: object) -> None:
        """Look at it in another way: everything is made anew, the tail first."""
        self.sight = replace(self.sight, **changes)  # pyright: ignore[reportArgumentType]
        self.forget(height)

    def forget(self, height: int) -> None:
        """Keep the rows of the tail only."""
        self.first = len(self.blocks)
        self.rows, self._starts = [], []
        self.earlier(height + AHEAD)

    def add(self, block: Block) -> None:
        """A block at the end; or what was before the first one, of which a page is made at once."""
        if isinstance(block, Past):
            self._past = block
            self.earlier(AHEAD)
            return
        self._append(block)
        self._starts.append(len(self.rows))
        self.rows += self._strips(len(self.blocks) - 1)

    def add_unseen(self, blocks: list[Block]) -> None:
        """Many blocks at the end, without rows for now; `forget` is to follow."""
        for block in blocks:
            if isinstance(block, Past):
                self._past = block
            else:
                self._append(block)

    def change(self, block: Block) -> int:
        """A block that has other rows now; how many rows it grew by above the end (0 where it has no rows)."""
        index = self._place(block)
        if index < self.first:
            return 0
        at = index - self.first
        start, end = self._starts[at], self._end(at)
        strips = self._strips(index)
        self.rows[start:end] = strips
        grown = len(strips) - (end - start)
        if grown:
            for later in range(at + 1, len(self._starts)):
                self._starts[later] += grown
        return grown

    def remove(self, block: Block, height: int) -> None:
        """Take a block out; rare."""
        if id(block) in self._places:
            self.blocks.remove(block)
            self._places, self._shift = {id(kept): index for index, kept in enumerate(self.blocks)}, 0
            self.forget(height)

    def earlier(self, wanted: int) -> int:
        """Make rows of earlier blocks until so many are added, or none is left; how many were added."""
        strips: list[list[Row]] = []
        count = 0
        while self._more() and count < wanted:
            self.first -= 1
            made = self._strips(self.first)
            strips.append(made)
            count += len(made)
        if not strips:
            return 0
        strips.reverse()
        starts: list[int] = []
        rows: list[Row] = []
        for made in strips:
            starts.append(len(rows))
            rows += made
        self.rows = rows + self.rows
        self._starts = starts + [start + count for start in self._starts]
        return count

    def reach(self, block: Block) -> None:
        """Make rows of earlier blocks down to this one."""
        while 0 <= self._place(block) < self.first:
            self.earlier(AHEAD)

    def trim(self) -> None:
        """Forget the rows of the oldest blocks, where there are too many."""
        excess = len(self.rows) - KEPT
        if excess <= 0:
            return
        gone = max(0, bisect_right(self._starts, excess + KEPT // 2) - 1)
        cut = self._starts[gone]
        self.first += gone
        del self.rows[:cut]
        self._starts = [start - cut for start in self._starts[gone:]]

    def block_at(self, y: int) -> Block | None:
        """The block that shows this row."""
        at = bisect_right(self._starts, y) - 1
        return self.blocks[self.first + at] if 0 <= at < len(self._starts) and y < len(self.rows) else None

    def span(self, block: Block) -> tuple[int, int]:
        """The rows of a block, from and to; empty where it has none."""
        index = self._place(block)
        if index < self.first:
            return 0, 0
        return self._starts[index - self.first], self._end(index - self.first)

    def _append(self, block: Block) -> None:
        self._places[id(block)] = len(self.blocks) - self._shift
        self.blocks.append(block)

    def _place(self, block: Block) -> int:
        """Where a block stands; -1 for one that does not."""
        at = self._places.get(id(block))
        return -1 if at is None else at + self._shift

    def _more(self) -> bool:
        """Whether there is an earlier block. Its neighbour is fetched as well: the gap between them depends on both."""
        while self._past is not None and self.first < 2:
            fetched = self._past.fetch()
            if fetched:
                self._put_before(fetched)
            else:
                self._past = None
        return self.first > 0

    def _put_before(self, blocks: Sequence[Block]) -> None:
        self._shift += len(blocks)
        self.first += len(blocks)
        self._places.update({id(block): at - self._shift for at, block in enumerate(blocks)})
        self.blocks[:0] = blocks

    def _end(self, at: int) -> int:
        return self._starts[at + 1] if at + 1 < len(self._starts) else len(self.rows)

    def _strips(self, index: int) -> list[Row]:
        block = self.blocks[index]
        base = self.sight.ink.base + self.sight.ink.paper
        rows = [list(Segment.apply_style(row, base)) for row in block.rows(self.sight)]
        return [[Segment(" ", base)], *rows] if rows and self._gap(index) else rows

    def _gap(self, index: int) -> bool:
        if index == 0:
            return False
        before, block = self.blocks[index - 1], self.blocks[index]
        match block.gap_before():
            case Gap.NEVER:
                return False
            case Gap.ALWAYS:
                return True
            case Gap.WORK | Gap.NOTICE:
                return before.gap is not block.gap or before.is_open(self.sight)
