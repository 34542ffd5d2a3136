"""A model's context outside of a reply: how full it is, and its compression on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from agentcli.agent.compact import Pass, plan_of, sizes_of, window_of
from agentcli.agent.context import sent
from agentcli.agent.estimate import Sizes
from agentcli.agent.work import Work
from agentcli.ledger import event as ev
from agentcli.ledger.message import Msg
from agentcli.model.base import ModelRequest

BUSY = "The context is being compressed; wait for its end, or interrupt it."


class Window:
    """What stands in the model's context, and its compression on demand.

    Args:
        alone: entered while nothing else may change the ledger; an error where something does.
    """

    def __init__(self, work: Work, alone: Callable[[], AbstractContextManager[None]]) -> None:
        self._work, self._alone = work, alone
        self.busy = False
        """A summary is being made."""

    def sizes(self) -> Sizes:
        """The estimated tokens of the next request, corrected by what the last one took."""
        return sizes_of(self._work).times(self._work.state.token_ratio)

    def request(self, said: Sequence[Msg] = ()) -> ModelRequest:
        """What a model call of now would be given, after these messages; nothing is changed."""
        work = self._work
        return ModelRequest(work.system(), [*sent(work.state), *said], work.toolkit.schemas())

    async def compress(self, focus: str = "") -> ev.ContextCompressedEvent | str:
        """Compress what there is, whatever its size; a sentence where nothing was done. No reply may run."""
        with self._alone():
            self.busy = True
            try:
                return await self._compress(focus)
            finally:
                self.busy = False

    async def _compress(self, focus: str) -> ev.ContextCompressedEvent | str:
        work, sizes = self._work, sizes_of(self._work)
        plan = plan_of(work, sizes, window_of(work, sizes, refused=True) or sizes.total)
        if plan is None:
            return "There is too little in the context to compress."
        events = [event async for event in Pass(work, plan, focus=focus, reply_id="").run()]
        for event in events:
            if isinstance(event, ev.ModelCallEndEvent):
                await work.spent(event)
        if isinstance(done := events[-1], ev.ContextCompressedEvent):
            return done
        return (
            "Interrupted; the context is as it was." if work.stopped else "Neither a summary nor leaving out results made room."
        )
