"""What follows a failed attempt of a model call that has shown nothing: the same model again, another one, or the error."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator
from dataclasses import dataclass

from agentcli.agent.pump import Ended
from agentcli.agent.work import Work
from agentcli.errors import ModelError, UsageError
from agentcli.model.base import ChatModel
from agentcli.model.fallback import FallbackModel

MOST_TRIES = 5
"""Attempts of one model."""
TRIES_BEFORE_ANOTHER = 3
LONGEST_DELAY = 60.0
"""Seconds that a provider may ask to wait; where it asks for more, the user decides."""
DELAY_BEFORE_ANOTHER = 15.0
FIRST_DELAY = 0.5
ONE_MODELS_OWN = (
    "auth",
    "permission",
    "not_found",
    "rate_limit",
    "quota",
    "unsupported",
    "connection",
    "timeout",
    "cut_stream",
    "malformed_stream",
    "server",
)
"""Faults that another model need not share; a request that is wrong, filtered or too long is so for any."""


@dataclass(slots=True, frozen=True)
class Step:
    """Another attempt."""

    model_name: str
    delay: float


class Attempts:
    """The attempts of one model call."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._tries = 1  # of the current model
        self.number = 1
        self.failure: ModelError | None = None
        """What to tell where no step follows; it also says why not."""

    async def after(self, failure: ModelError) -> Step | None:
        """The step after a failure; None where the call has failed."""
        self.failure = failure
        row = self._work.model
        more = isinstance(row, FallbackModel) and bool(row.coming()) and failure.kind in ONE_MODELS_OWN
        delay = delay_before(failure, self._tries, more)
        if delay is not None:
            self._tries += 1
            self.number += 1
            return Step(self._work.model.card.name, delay)
        if more and isinstance(row, FallbackModel) and (name := await self._another(row)):
            self._tries = 1
            self.number += 1
            return Step(name, 0.0)
        return None

    async def _another(self, row: FallbackModel) -> str | None:
        """Pass the turn on to the next model that can be used; its name."""
        for place in row.coming():
            made = await self._made(row, place)
            if isinstance(made, UsageError):
                self._tell(f"The next model cannot be used: {made}.")
            elif made is None:
                return None
            else:
                row.pass_on(place)
                return made.card.name
        return None

    async def _made(self, row: FallbackModel, place: int) -> ChatModel | UsageError | None:
        """A model of the row; None where the user stops the wait for its key."""

        async def making() -> AsyncGenerator[ChatModel, None]:
            yield await asyncio.to_thread(row.made, place)

        pump = self._work.pump([("model", making())])
        try:
            _, item = await self._work.next(pump)
        finally:
            await self._work.done(pump)
        if not isinstance(item, Ended):
            return item
        if item.error is None or isinstance(item.error, UsageError):
            return item.error
        raise item.error

    def _tell(self, sentence: str) -> None:
        if self.failure is not None:
            self.failure = with_words(self.failure, sentence)


def delay_before(failure: ModelError, tries: int, more: bool) -> float | None:
    """Seconds to wait before the same model is asked again; None where it is not.

    Args:
        tries: how often it was asked.
        more: another model can be asked instead.
    """
    if not failure.retryable or tries >= (TRIES_BEFORE_ANOTHER if more else MOST_TRIES):
        return None
    wanted = failure.retry_after
    if wanted is None:
        # Spread, so that many who were cut off together do not come back together.
        return FIRST_DELAY * 2 ** (tries - 1) * (0.75 + random.random() / 2)
    if wanted > (DELAY_BEFORE_ANOTHER if more else LONGEST_DELAY):
        return None
    return wanted * (1 + random.random() / 10)


def final(failure: ModelError) -> ModelError:
    """A failure that is told: where the provider wanted a longer wait than we make, it says so."""
    wanted = failure.retry_after
    if not failure.retryable or wanted is None or wanted <= LONGEST_DELAY:
        return failure
    wait = f"{wanted:.0f} seconds" if wanted < 120 else f"{wanted / 60:.0f} minutes"
    return with_words(failure, f"It asks to wait {wait}; send the message again then.")


def with_words(failure: ModelError, sentence: str) -> ModelError:
    """The failure with one sentence more."""
    return ModelError(
        failure.kind,
        f"{failure.message} {sentence}",
        retryable=failure.retryable,
        status=failure.status,
        retry_after=failure.retry_after,
    )
