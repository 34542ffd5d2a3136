"""What can be set, as data. Knows no file and no variable; `load.py` reads them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from agentcli.errors import ConfigError
from agentcli.ledger.rule import PermissionBehavior, PermissionMode, PermissionRule
from agentcli.model.address import base_address

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
    max_output: int | None = Field(default=None, ge=1, strict=True)
    """Tokens that an answer may take."""
    reasoning_effort: str | None = Field(default=None, min_length=1)
    """As the provider calls it: "low", "high" and the like."""
    price_input: float | None = Field(default=None, ge=0)
    """US dollars for a million tokens."""
    price_output: float | None = Field(default=None, ge=0)
    price_cached: float | None = Field(default=None, ge=0)
    """Of input that the provider had cached; else that costs as any input."""


def words(given: object) -> object:
    """A command line as its words."""
    return shlex.split(given) if isinstance(given, str) else given


class Provider(Part):
    """An endpoint with a name; where that is the name of a preset, what is not said here is the preset's."""

    base_url: str | None = None
    api: Api | None = None
    api_key_env: str | None = None
    """The variable that holds the key; none for a server that wants no key."""
    api_key_command: Annotated[tuple[str, ...], BeforeValidator(words)] | None = Field(default=None, min_length=1)
    """A program and its arguments that print the key; no shell reads them."""
    api_key_keyring: str | None = Field(default=None, min_length=1)
    """The entry of the system's keyring: "service", or "service/user"."""
    headers: Mapping[str, str] = Field(default_factory=dict[str, str])
    replay_reasoning: bool | None = None
    """Whether the endpoint wants the reasoning of earlier calls back."""
    models: tuple[Annotated[Model, BeforeValidator(named)], ...] = ()

    @field_validator("base_url")
    @classmethod
    def _address(cls, given: str | None) -> str | None:
        try:
            return given and base_address(given)[0] and given
        except ConfigError as error:
            raise ValueError(str(error)) from error

    @field_validator("api_key_env")
    @classmethod
    def _variable(cls, given: str | None) -> str | None:
        if given is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", given):
            raise ValueError("that is no name of a variable (a key itself does not stand in this file)")  # and is not repeated
        return given

    @model_validator(mode="after")
    def _one_key(self) -> Self:
        if sum(source is not None for source in (self.api_key_env, self.api_key_command, self.api_key_keyring)) > 1:
            raise ValueError("one of api_key_env, api_key_command and api_key_keyring is enough")
        return self

    @property
    def names(self) -> list[str]:
        """The names of its models."""
        return [model.name for model in self.models]


def ruled(given: object) -> object:
    """A bare text of a rule as the table that it stands for."""
    return {"rule": given} if isinstance(given, str) else given


class Rule(Part):
    """A rule; in a file its text alone, or a table with examples of what it is meant to say."""

    rule: str
    match: tuple[str, ...] = ()
    """Commands, paths or names of tools that it has to be about; that is looked at when the rules are loaded."""
    not_match: tuple[str, ...] = ()
    """What it must not be about."""

    @field_validator("rule")
    @classmethod
    def _text(cls, text: str) -> str:
        PermissionRule.parse(text, PermissionBehavior.ALLOW)
        return text


Rules: TypeAlias = tuple[Annotated[Rule, BeforeValidator(ruled)], ...]


class Permissions(Part):
    """Rules and mode of one file."""

    mode: PermissionMode | None = None
    allow: Rules = ()
    ask: Rules = ()
    deny: Rules = ()

    def entries(self, source: str = "user") -> Iterator[tuple[Rule, PermissionRule]]:
        """Each rule as it was written, and as the engine takes it; in the order of the file within each behaviour."""
        lists = ((PermissionBehavior.ALLOW, self.allow), (PermissionBehavior.ASK, self.ask), (PermissionBehavior.DENY, self.deny))
        for behavior, written in lists:
            yield from ((one, PermissionRule.parse(one.rule, behavior, source)) for one in written)

    def rules(self, source: str = "user") -> list[PermissionRule]:
        """All rules."""
        return [rule for _, rule in self.entries(source)]


class Settings(Part):
    """Everything of the configuration, environment included, flags not."""

    model: str | None = None
    fallback: tuple[str, ...] = ()
    """Models to go on with where the chosen one does not answer, in order."""
    api: Api | None = None
    theme: str | None = None
    context_size: int | None = Field(default=None, ge=1_000, strict=True)
    """Of models whose own is not given."""
    max_iters: int | None = Field(default=None, ge=1)
    max_cost: float | None = Field(default=None, gt=0)
    """US dollars that a reply may cost before it asks whether to go on."""
    max_tokens: int | None = Field(default=None, ge=1, strict=True)
    """Tokens that a reply may take before it asks whether to go on: the input and output of all its model calls."""
    environment: tuple[str, ...] = ()
    """Names of variables that commands are given beside the usual ones; `*` for any ending."""
    mask_secrets: bool = Field(default=True, strict=True)
    """Whether what looks like a secret is taken out of the results of tools."""
    providers: Mapping[str, Provider] = Field(default_factory=dict[str, Provider])
    permissions: Permissions = Permissions()
    mcp: Mapping[str, Any] = Field(default_factory=dict[str, Any])

    repository: Permissions = Permissions()
    """The rules of a repository that is trusted; no key of a file."""
    warnings: tuple[str, ...] = ()
    """Sentences for the user; no key of a file."""

    @property
    def mode(self) -> PermissionMode | None:
        """The configured mode, where one is."""
        return self.permissions.mode

    @property
    def rules(self) -> list[PermissionRule]:
        """The user's rules, then those of a trusted repository."""
        return [rule for source, level in self.levels.items() for rule in level.rules(source)]

    @property
    def levels(self) -> Mapping[str, Permissions]:
        """Where rules come from -> the rules."""
        return {"user": self.permissions, "repository": self.repository}
