"""What the flags of `chat` and `run` say; None is not said."""

from __future__ import annotations

from dataclasses import dataclass

from agentcli.ledger.rule import PermissionMode


@dataclass(slots=True, frozen=True)
class Options:
    """The wishes that a conversation is opened with."""

    cwd: str | None = None
    add_dirs: tuple[str, ...] = ()
    resume: str | None = None
    continue_: bool = False
    fork: bool = False
    mode: PermissionMode | None = None
    model: str | None = None
    api: str | None = None
    max_iters: int | None = None
    max_cost: float | None = None
    """US dollars of one reply, before it asks whether to go on."""
    max_tokens: int | None = None
    """The same in tokens, input and output together."""
    external_tools: str | None = None
    theme: str | None = None
    headless: bool = False
    dry: bool = False
    """Only look: nothing is locked, repaired or written."""
