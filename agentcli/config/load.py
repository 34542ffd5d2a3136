"""Settings from the user's file, the file of a repository that is trusted, and the environment."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError

from agentcli.config.endpoint import NOT_CONFIGURED, NoModelNamed, resolve_model
from agentcli.config.settings import Api, Model, Permissions, Provider, Rule, Settings
from agentcli.config.trust import TrustFile, brought
from agentcli.errors import ConfigError
from agentcli.ledger.rule import PermissionMode
from agentcli.paths import config_dir

__all__ = ["NOT_CONFIGURED", "NoModelNamed", "load_settings", "resolve_model"]

Table = dict[str, Any]

HOW_TO_TRUST = "`agentcli trust` shows them and asks."
NEVER_BROUGHT = {"providers", "mcp", "theme", "mask_secrets", "environment", "sandbox"}
"""An endpoint, a key or a program would be reached by them, or a guard taken down; colours are the user's."""
NAMED_TABLES: dict[str, type[BaseModel]] = {"providers": Provider}
"""Tables of tables, by names of the user's choice."""
RULES = ("allow", "ask", "deny")
OURS = {"warnings", "repository"}
"""Fields that are no keys of a file."""
PLAIN_TABLES: dict[str, type[BaseModel]] = {"permissions": Permissions}


def load_settings(root: str | None = None, env: Mapping[str, str] | None = None) -> Settings:
    """The settings of now.

    Args:
        root: the repository whose own file counts too, as far as the user trusts it; None: no repository.
        env: the environment, else the process's.
    """
    file = config_dir() / "config.toml"
    table = _read(file)
    warnings = [f"{file}: {sentence}" for sentence in _take_unknown(table)]
    settings = _settings(table, file)
    if root is not None:
        try:
            own = _trusted(root, warnings)
        except ConfigError as error:
            # A repository cannot keep us from starting.
            own = {}
            warnings.append(str(error))
        if own:
            settings = _settings(_merged(table, own), file).model_copy(update={"repository": Permissions(**_rules_of(own))})
    return _with_environment(settings.model_copy(update={"warnings": tuple(warnings)}), os.environ if env is None else env)


def _settings(table: Table, file: Path) -> Settings:
    try:
        return Settings(**table)
    except ValidationError as error:
        raise ConfigError(f"{file}: {_first(error)}") from error


def _read(file: Path) -> Table:
    try:
        return _parsed(file.read_bytes(), str(file))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error


def _parsed(data: bytes, name: str) -> Table:
    try:
        return tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name}: no TOML: {error}") from error


# -- the file of a repository ------------------------------------------------------------------


def _trusted(root: str, warnings: list[str]) -> Table:
    """The settings that a repository brings, where the user trusts this very content; what is not used is told."""
    found = brought(root)
    if found is None:
        return {}
    said = TrustFile(config_dir()).said(found)
    if said is None:
        warnings.append(f"This repository brings settings of its own ({found.names}); they are not used. {HOW_TO_TRUST}")
    if not said:
        return {}
    name, data = found.files[0]
    table = _parsed(data, name)
    told = [*_take_unknown(table), *_take_forbidden(table)]
    _settings(table, Path(name))
    warnings += [f"{name}: {sentence}" for sentence in told]
    return table


def _take_forbidden(table: Table) -> Iterator[str]:
    """Take out what no repository may set, trusted or not; a sentence for each."""
    for key in sorted(NEVER_BROUGHT & table.keys()):
        del table[key]
        yield f"{key} is never taken from a repository; write it into {config_dir() / 'config.toml'}"
    permissions = table.get("permissions")
    if isinstance(permissions, dict) and cast(Table, permissions).get("mode") == PermissionMode.BYPASS:
        del permissions["mode"]
        yield "the mode bypass is never taken from a repository"


def _merged(table: Table, own: Table) -> Table:
    """The user's table with what a repository sets; the rules of both stand, each with its source."""
    mode = own.get("permissions", {}).get("mode")
    permissions = {**table.get("permissions", {}), **({"mode": mode} if mode else {})}
    return {**table, **own, "permissions": permissions}


def _rules_of(own: Table) -> Table:
    return {key: texts for key, texts in own.get("permissions", {}).items() if key != "mode"}


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in fault["loc"])
    words = fault["msg"].removeprefix("Value error, ")
    return f"{key}: {words}, not {fault['input']!r}" if fault["type"] != "value_error" else f"{key}: {words}"


# -- unknown keys ------------------------------------------------------------------------------


def _take_unknown(table: Table) -> Iterator[str]:
    """Take the keys that we do not know out of the table; a sentence for each."""
    yield from _take(table, "", set(Settings.model_fields) - OURS)
    for name, model in PLAIN_TABLES.items():
        yield from _take(table.get(name), f"{name}.", set(model.model_fields))
    permissions = table.get("permissions")
    for name in RULES if isinstance(permissions, dict) else ():
        yield from _take_each(cast(Table, permissions).get(name), f"permissions.{name}.", Rule)
    for name, model in NAMED_TABLES.items():
        tables = table.get(name)
        for given, inner in cast(Table, tables).items() if isinstance(tables, dict) else ():
            yield from _take(inner, f"{name}.{given}.", set(model.model_fields))
            models = cast(Table, inner).get("models") if isinstance(inner, dict) else None
            yield from _take_each(models, f"{name}.{given}.models.", Model)


def _take_each(tables: object, prefix: str, model: type[BaseModel]) -> Iterator[str]:
    for place, one in enumerate(cast(list[object], tables)) if isinstance(tables, list) else ():
        yield from _take(one, f"{prefix}{place}.", set(model.model_fields))


def _take(table: object, prefix: str, known: set[str]) -> Iterator[str]:
    if not isinstance(table, dict):
        return
    for key in [key for key in cast(Table, table) if key not in known]:
        del table[key]
        yield f"unknown key {prefix}{key}{_nearest(prefix, key, known)}"


def _nearest(prefix: str, key: str, known: set[str]) -> str:
    """The key that was meant: one of another table by its very name, one of the same table, or one like it elsewhere."""
    permissions = set(Permissions.model_fields)
    for table, names, likeness in (("permissions.", permissions, 1.0), (prefix, known, 0.5), ("permissions.", permissions, 0.5)):
        if near := difflib.get_close_matches(key, sorted(names), n=1, cutoff=likeness):
            return f"; did you mean {table}{near[0]}?"
    return ""


# -- environment -------------------------------------------------------------------------------


def _with_environment(settings: Settings, env: Mapping[str, str]) -> Settings:
    update: Table = {}
    if theme := env.get("AGENTCLI_THEME"):
        update["theme"] = theme
    if api := env.get("AGENTCLI_API"):
        update["api"] = _one_of("AGENTCLI_API", api, get_args(Api))
    if mode := env.get("AGENTCLI_MODE"):
        chosen = PermissionMode(_one_of("AGENTCLI_MODE", mode, tuple(PermissionMode)))
        update["permissions"] = settings.permissions.model_copy(update={"mode": chosen})
    return settings.model_copy(update=update)


def _one_of(variable: str, text: str, allowed: tuple[str, ...]) -> str:
    if text not in allowed:
        raise ConfigError(f"{variable}: {text!r} is none of {', '.join(allowed)}")
    return text
