"""A model call that is tried again: how long it waits, counted down, and which model goes on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from agentcli.frontend.tui.transcript.blocks import Block, Gap, Sight
from agentcli.frontend.tui.transcript.ink import Row, marked, plain_rows
from agentcli.ledger.event import ErrorInfo
from agentcli.view.clean import clean
from agentcli.view.summary import error_sentences, spell_time


@dataclass(eq=False)
class RetryBlock(Block):
    """Why an attempt failed, and when the next one is made; the provider's words when it is opened."""

    gap: ClassVar[Gap] = Gap.NOTICE
    error: ErrorInfo
    attempt: int
    """The attempt that comes."""
    until: float
    """When it comes, by the clock of `time.monotonic`."""
    model: str = ""
    """The model that goes on, where it is another one."""
    left: int = 0
    """Seconds that are shown."""
    over: bool = False
    """It waits no more, whatever came of it."""
    stopped: bool = False

    def count(self, now: float) -> bool:
        """Count down to this moment; whether the row looks different."""
        left = max(0, math.ceil(self.until - now)) if not self.over else self.left
        changed, self.left = left != self.left, left
        return changed

    def settle(self, now: float) -> None:
        """Something came, or the reply is over."""
        self.over, self.stopped = True, self.until - now > 0.5
        self.left = 0

    def rows(self, sight: Sight) -> list[Row]:
        rows = marked(plain_rows(clean(self._words()), sight.ink.muted, sight.text_width), "·", sight.ink.muted)
        said = clean(self.error.message).strip()
        return rows + marked(plain_rows(said, sight.ink.muted, sight.text_width)) if said and self.is_open(sight) else rows

    def _words(self) -> str:
        what = f"{error_sentences(self.error)[0]}".replace(".", "", 1)
        return f"{what}; {self._next()}"

    def _next(self) -> str:
        if self.stopped:
            return f"stopped before attempt {self.attempt}."
        if self.model:
            return f"{self.model} goes on (attempt {self.attempt})."
        if self.left and not self.over:
            return f"again in {spell_time(self.left)} (attempt {self.attempt}). Esc stops."
        return f"tried again (attempt {self.attempt})."
