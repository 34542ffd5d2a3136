"""Who allowed, or denied, a call: written before it begins, so that it can be told for as long as the log lives."""

from __future__ import annotations

from agentcli.agent.gate import Verdict
from agentcli.agent.work import Work
from agentcli.ledger.rule import PermissionBehavior
from agentcli.view.summary import call_target

ANSWER, RULE, MODE = "answer", "rule", "mode"
"""By what it was decided: the answer to its question, a rule, or what the mode says without one."""


async def write(work: Work, verdict: Verdict, *, answered: bool = False) -> None:
    """Put down what was decided on a call, by what, and what was shown of it; durable with the next record that is.

    Args:
        answered: the call runs because its question was answered.
    """
    call, decision = verdict.call, verdict.decision
    body: dict[str, object] = {
        "reply_id": work.state.reply_id,
        "call_id": call.id,
        "tool": call.name,
        "behavior": (PermissionBehavior.ALLOW if answered else decision.behavior).value,
        "by": ANSWER if answered else RULE if decision.rule is not None else MODE,
        "mode": decision.mode.value,
        "reason": decision.reason,
    }
    if decision.rule is not None and not answered:
        target = call_target(call.name, call.input, work.place.root)
        body |= {"rule": decision.rule.text, "source": decision.rule.source, "target": target}
    question = work.state.questions.get(call.id)
    if question is not None:
        body |= {"asked_at": question.asked_at, "shown": question.digest, "notes": question.notes}
    await work.journal.record("receipt", body)
