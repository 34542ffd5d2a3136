"""What a session has cost, and what one reply may take before somebody is asked. Knows no prices: it is given a function."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from agentcli.agent.journal import Journal
from agentcli.ledger import event as ev
from agentcli.ledger.message import Msg, Usage
from agentcli.ledger.state import Question
from agentcli.view.summary import spell_cost

Price: TypeAlias = Callable[[str, Usage], float | None]
"""Name of a model, and tokens -> US dollars; None where no price is known. The first call may take its time."""


@dataclass(slots=True, frozen=True)
class Limits:
    """What a reply may take; None: no limit."""

    cost: float | None = None
    """US dollars."""
    tokens: int | None = None
    """Input and output of all model calls."""


def no_price(name: str, usage: Usage) -> float | None:
    """The price where nobody knows one."""
    return None


class Budget:
    """The limits of a reply, and what was spent.

    Args:
        limits: what every reply begins with; a further part of it is given by an answer.
        price: what tokens cost.
        records: what an earlier process has left in the session's log.
    """

    def __init__(self, limits: Limits | None = None, price: Price = no_price, records: Iterable[Mapping[str, Any]] = ()) -> None:
        self.limits, self.price = limits or Limits(), price
        self.cost: float | None = None
        """US dollars of the whole session, as far as prices are known."""
        self.last: float | None = None
        """The same of the last model call."""
        self._known = False
        self._reply_id, self._of_reply, self._given = "", 0.0, Limits()
        for record in records:
            self._read(record)

    async def take(self, event: ev.ModelCallEndEvent, name: str, journal: Journal) -> None:
        """Count a model call; on its way to the disk before it is told."""
        usage = Usage(**{key: getattr(event, key) for key in Usage.model_fields})
        self.last = self.price(name, usage) if self._known else await asyncio.to_thread(self.price, name, usage)
        self._known = True
        if self.last is None:
            return
        self._add(event.reply_id, self.last)
        await journal.record("cost", {"reply_id": event.reply_id, "model": name, "cost": self.last})

    def used_up(self, msg: Msg) -> str:
        """Why this reply should make no further model call; empty while it may."""
        tokens, cost, now = _tokens(msg), self._cost(msg), self._now(msg)
        if now.tokens is not None and tokens >= now.tokens:
            return f"This reply has taken {tokens:,} tokens; its budget is {now.tokens:,} (--max-tokens)."
        if now.cost is not None and cost >= now.cost:
            return f"This reply has cost {spell_cost(cost)}; its budget is {spell_cost(now.cost)} (--max-cost)."
        return ""

    def note(self, msg: Msg) -> str:
        """What a person should know who is asked whether it goes on; empty where nobody is."""
        why, more = self.used_up(msg), self._more(msg)
        if not why:
            return ""
        parts = [f"{more.tokens:,} tokens" if more.tokens else "", spell_cost(more.cost) if more.cost else ""]
        return f"{why} Allowed, it goes on to {' and '.join(filter(None, parts))}."

    async def answered(self, msg: Msg, questions: Iterable[Question | None], journal: Journal) -> None:
        """Give a further part where a question that was allowed asked for it; on disk before it is used."""
        note = self.note(msg)
        if not note or not any(question is not None and note in question.notes for question in questions):
            return
        given = self._more(msg)
        body = {"reply_id": msg.id, "cost": given.cost, "tokens": given.tokens}
        await journal.record("budget", body, durable=True)
        self._begin(msg.id)
        self._given = given

    def _now(self, msg: Msg) -> Limits:
        """The limits of this reply: the greater of those that were given and those of now."""
        given = self._given if msg.id == self._reply_id else Limits()
        return Limits(_greater(self.limits.cost, given.cost), _greater(self.limits.tokens, given.tokens))

    def _more(self, msg: Msg) -> Limits:
        """The limits with whole parts added until what was spent lies below them."""
        now, limits = self._now(msg), self.limits
        cost, tokens = now.cost, now.tokens
        if limits.cost and cost is not None and self._cost(msg) >= cost:
            cost = limits.cost * (int(self._cost(msg) / limits.cost) + 1)
        if limits.tokens and tokens is not None and _tokens(msg) >= tokens:
            tokens = limits.tokens * (_tokens(msg) // limits.tokens + 1)
        return Limits(cost, tokens)

    def _cost(self, msg: Msg) -> float:
        return self._of_reply if msg.id == self._reply_id else 0.0

    def _begin(self, reply_id: str) -> None:
        if reply_id != self._reply_id:
            self._reply_id, self._of_reply, self._given = reply_id, 0.0, Limits()

    def _add(self, reply_id: str, cost: float) -> None:
        self.cost = (self.cost or 0.0) + cost
        if reply_id:
            self._begin(reply_id)
            self._of_reply += cost

    def _read(self, record: Mapping[str, Any]) -> None:
        """Take in what was written; a record of another version says nothing."""
        kind, reply_id, cost, tokens = (record.get(key) for key in ("type", "reply_id", "cost", "tokens"))
        if kind not in ("cost", "budget") or not isinstance(reply_id, str):
            return
        sum_ = float(cost) if isinstance(cost, int | float) and cost >= 0 else None
        if kind == "cost" and sum_ is not None:
            self._add(reply_id, sum_)
        elif kind == "budget":
            self._begin(reply_id)
            self._given = Limits(sum_, tokens if isinstance(tokens, int) else None)


def _tokens(msg: Msg) -> int:
    return msg.usage.input_tokens + msg.usage.output_tokens if msg.usage else 0


def _greater(limit: float | None, given: float | None) -> Any:
    """A limit that is not set holds nobody up, whatever was given to an earlier one."""
    return None if limit is None else max(limit, given or 0)
