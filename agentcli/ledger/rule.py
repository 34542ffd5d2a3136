"""The words of permission: modes, behaviours, rules and their texts, and what an engine knows. Data only."""

from __future__ import annotations

import re
from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field


class PermissionMode(StrEnum):
    """How the engine answers where no rule decides."""

    DEFAULT = "default"
    ACCEPT_EDITS = "accept_edits"
    EXPLORE = "explore"
    BYPASS = "bypass"
    DONT_ASK = "dont_ask"


class PermissionBehavior(StrEnum):
    """What a rule or a decision says."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"
    PASSTHROUGH = "passthrough"


RULE_TEXT = re.compile(r"(?P<tool>[A-Za-z0-9_*.-]+)(?:\((?P<content>.*)\))?\Z", re.DOTALL)


class PermissionRule(BaseModel):
    """One rule, written `Tool` or `Tool(content)`."""

    model_config = ConfigDict(frozen=True, extra="allow")

    tool_name: str
    rule_content: str | None = None
    """None covers every call of the tool."""
    behavior: PermissionBehavior = PermissionBehavior.ALLOW
    source: str = "user"
    """Where it comes from: `user`, `project`, `session`, `suggested`, or a file."""

    @classmethod
    def parse(cls, text: str, behavior: PermissionBehavior, source: str = "user") -> PermissionRule:
        """The rule of a text; ValueError where it is none."""
        match = RULE_TEXT.fullmatch(text.strip())
        if match is None:
            raise ValueError(f"{text!r} is no rule; write Tool or Tool(content)")
        return cls(tool_name=match["tool"], rule_content=match["content"] or None, behavior=behavior, source=source)

    @property
    def text(self) -> str:
        """The rule as a person writes it."""
        return f"{self.tool_name}({self.rule_content})" if self.rule_content else self.tool_name


class PermissionContext(BaseModel):
    """What the engine decides by; kept in the agent's state."""

    model_config = ConfigDict(extra="allow")

    mode: PermissionMode = PermissionMode.DEFAULT
    root: str = ""
    """The folder that file rules are relative to, resolved."""
    home: str = ""
    """The user's home folder, resolved; what `~` in a rule stands for."""
    working_directories: list[str] = Field(default_factory=list[str])
    """Folders beside the root that count as inside, resolved."""
    rules: list[PermissionRule] = Field(default_factory=list[PermissionRule])
    """All rules of all behaviours, in the order in which they were read."""
