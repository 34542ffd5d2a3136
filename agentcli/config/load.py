"""Settings from the user's file and the environment.

The file of a project is not read: nothing here can tell yet that the user trusts it.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError

from agentcli.config.endpoint import NOT_CONFIGURED, NoModelNamed, resolve_model
from agentcli.config.settings import Api, Model, Permissions, Provider, Settings
from agentcli.errors import ConfigError
from agentcli.ledger.rule import PermissionMode
from agentcli.paths import config_dir

__all__ = ["NOT_CONFIGURED", "NoModelNamed", "load_settings", "resolve_model"]

Table = dict[str, Any]

NAMED_TABLES: dict[str, type[BaseModel]] = {"providers": Provider}
"""Tables of tables, by names of the user's choice."""
PLAIN_TABLES: dict[str, type[BaseModel]] = {"permissions": Permissions}


def load_settings(root: Path | None = None, env: Mapping[str, str] | None = None) -> Settings:
    """The settings of now.

    Args:
        root: the project; its own file is read only once trust exists.
        env: the environment, else the process's.
    """
    file = config_dir() / "config.toml"
    table = _read(file)
    warnings = [f"{file}: {sentence}" for sentence in _take_unknown(table)]
    try:
        settings = Settings(**table)
    except ValidationError as error:
        raise ConfigError(f"{file}: {_first(error)}") from error
    return _with_environment(settings.model_copy(update={"warnings": tuple(warnings)}), os.environ if env is None else env)


def _read(file: Path) -> Table:
    try:
        return tomllib.loads(file.read_bytes().decode())
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: no TOML: {error}") from error
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error


def _first(error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in fault["loc"])
    words = fault["msg"].removeprefix("Value error, ")
    return f"{key}: {words}, not {fault['input']!r}" if fault["type"] != "value_error" else f"{key}: {words}"


# -- unknown keys ------------------------------------------------------------------------------


def _take_unknown(table: Table) -> Iterator[str]:
    """Take the keys that we do not know out of the table; a sentence for each."""
    yield from _take(table, "", set(Settings.model_fields) - {"warnings"})
    for name, model in PLAIN_TABLES.items():
        yield from _take(table.get(name), f"{name}.", set(model.model_fields))
    for name, model in NAMED_TABLES.items():
        tables = table.get(name)
        for given, inner in cast(Table, tables).items() if isinstance(tables, dict) else ():
            yield from _take(inner, f"{name}.{given}.", set(model.model_fields))
            models = cast(Table, inner).get("models") if isinstance(inner, dict) else None
            for place, one in enumerate(cast(list[object], models)) if isinstance(models, list) else ():
                yield from _take(one, f"{name}.{given}.models.{place}.", set(Model.model_fields))


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
