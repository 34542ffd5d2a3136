"""What the engine answers."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from agentcli.ledger.rule import PermissionBehavior, PermissionMode, PermissionRule


class PermissionDecision(BaseModel):
    """Allow, ask or deny, and why."""

    model_config = ConfigDict(frozen=True)

    behavior: PermissionBehavior
    reason: str
    """One sentence for the user, and for the model where it is denied."""
    rule: PermissionRule | None = None
    """The rule that decided, if one did."""
    mode: PermissionMode
    protected: bool = False
    """A place is named that is always asked about."""
    suggested_rules: list[PermissionRule] = Field(default_factory=list[PermissionRule])
    """What *always* would grant, for a call that is asked."""
