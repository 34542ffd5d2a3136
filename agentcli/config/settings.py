"""What can be set, as data. Knows no file and no variable; `load.py` reads them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from agentcli.ledger.rule import PermissionBehavior, PermissionMode, PermissionRule

Api: TypeAlias = Literal["chat", "responses"]


class Part(BaseModel):
    """A table of the settings; unknown keys were taken out, and told, before it is made."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def named(given: object) -> object:
    """A bare name as the table that it stands for."""
    return {"name": given} if isinstance(given, str) else given


class Model(Part):
    """A model of a provider; in a file its name alone, or a table where more is known."""

    name: str = Field(min_length=1)
    context_size: int | None = Field(default=None, ge=1_000, strict=True)
    """Tokens that a request and its answer may take."""


class Provider(Part):
    """An endpoint with a name."""

    base_url: str | None = None
    api: Api | None = None
    api_key_env: str | None = None
    """The variable that holds the key; none for a server that wants no key."""
    headers: Mapping[str, str] = Field(default_factory=dict[str, str])
    models: tuple[Annotated[Model, BeforeValidator(named)], ...] = ()

    @property
    def names(self) -> list[str]:
        """The names of its models."""
        return [model.name for model in self.models]


class Permissions(Part):
    """The user's own rules and mode."""

    mode: PermissionMode | None = None
    allow: tuple[str, ...] = ()
    ask: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @field_validator("allow", "ask", "deny")
    @classmethod
    def _rule_texts(cls, texts: tuple[str, ...]) -> tuple[str, ...]:
        for text in texts:
            PermissionRule.parse(text, PermissionBehavior.ALLOW)
        return texts

    def rules(self, source: str = "user") -> list[PermissionRule]:
        """All rules, in the order of the file within each behaviour."""
        lists = ((PermissionBehavior.ALLOW, self.allow), (PermissionBehavior.ASK, self.ask), (PermissionBehavior.DENY, self.deny))
        return [PermissionRule.parse(text, behavior, source) for behavior, texts in lists for text in texts]


class Settings(Part):
    """Everything of the configuration, environment included, flags not."""

    model: str | None = None
    api: Api | None = None
    theme: str | None = None
    context_size: int | None = Field(default=None, ge=1_000, strict=True)
    """Of models whose own is not given."""
    max_iters: int | None = Field(default=None, ge=1)
    providers: Mapping[str, Provider] = Field(default_factory=dict[str, Provider])
    permissions: Permissions = Permissions()
    mcp: Mapping[str, Any] = Field(default_factory=dict[str, Any])

    warnings: tuple[str, ...] = ()
    """Sentences for the user; no key of a file."""

    @property
    def mode(self) -> PermissionMode | None:
        """The configured mode, where one is."""
        return self.permissions.mode

    @property
    def rules(self) -> list[PermissionRule]:
        """The user's rules."""
        return self.permissions.rules()
