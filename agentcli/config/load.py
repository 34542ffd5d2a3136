"""Settings from the user's file and the environment, and the model that they name.

The file of a project is not read: nothing here can tell yet that the user trusts it.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast, get_args

from pydantic import BaseModel, ValidationError

from agentcli.config.settings import Api, Model, Permissions, Provider, Settings
from agentcli.errors import ConfigError, UsageError
from agentcli.ledger.rule import PermissionMode
from agentcli.model.registry import ModelSpec
from agentcli.paths import config_dir

Table = dict[str, Any]

NOT_CONFIGURED = (
    "no model is configured: set OPENAI_API_KEY (or OPENAI_BASE_URL) and OPENAI_MODEL, "
    "or give --model NAME of a provider in config.toml (--model demo needs none of it)"
)
"""What `run` says then; `chat` starts on the demo."""

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


# -- the model ---------------------------------------------------------------------------------


OPENAI = "https://api.openai.com/v1"


class NoModelNamed(ConfigError):
    """There is a key or an address, and no name of a model."""


@dataclass(slots=True, frozen=True)
class Endpoint:
    """Where requests go; the one of the environment has no name."""

    name: str = ""
    base_url: str | None = None
    api_key: str | None = None
    api: Api | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    models: tuple[Model, ...] = ()


def resolve_model(settings: Settings, model_flag: str | None, api_flag: Api | None, env: Mapping[str, str]) -> ModelSpec | None:
    """The model to start on; None where nothing at all is configured."""
    name = model_flag or env.get("AGENTCLI_MODEL")
    whole = False
    if not name and (name := env.get("OPENAI_MODEL")):
        whole = True  # a name from the ecosystem's variable may hold slashes of its own
    name = name or settings.model
    if not name:
        return _nothing_named(settings, env)
    if name == "demo":
        return ModelSpec(name="demo", model="demo", api="chat", base_url=None, api_key=None, headers={}, context_size=None)
    if name.startswith("script:"):
        return _script(name)
    endpoint, model = _endpoint(settings, name, whole, env)
    api = api_flag or _api(env) or endpoint.api or settings.api or "chat"
    own = (one.context_size for one in endpoint.models if one.name == model)
    return ModelSpec(
        name=name,
        api=api,
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        model=model,
        headers=endpoint.headers,
        context_size=next(own, None) or settings.context_size,
    )


def _nothing_named(settings: Settings, env: Mapping[str, str]) -> None:
    if env.get("OPENAI_API_KEY") or env.get("OPENAI_BASE_URL") or settings.providers:
        raise NoModelNamed("there is an endpoint but no model: set OPENAI_MODEL, or give --model NAME")


def _script(name: str) -> ModelSpec:
    file = Path(name.removeprefix("script:")).expanduser().absolute()
    if not file.is_file():
        raise UsageError(f"{name}: there is no such file")
    return ModelSpec(name=name, model=str(file), api="chat", base_url=None, api_key=None, headers={}, context_size=None)


def _api(env: Mapping[str, str]) -> Api | None:
    match env.get("AGENTCLI_API"):
        case "chat" | "responses" as api:
            return api
        case _:
            return None


def _endpoint(settings: Settings, name: str, whole: bool, env: Mapping[str, str]) -> tuple[Endpoint, str]:
    """The endpoint, and the name as it is sent there."""
    current = _current(settings, env)
    provider, slash, rest = name.partition("/")
    listed = current is not None and any(one.name == name for one in current.models)
    if slash and rest and not whole and not listed and provider in settings.providers:
        return _of_provider(provider, settings.providers[provider], env), rest
    if current is None:
        raise ConfigError(
            f"{name}: no endpoint is configured: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that wants no key"
        )
    return current, name


def _current(settings: Settings, env: Mapping[str, str]) -> Endpoint | None:
    """The endpoint for a bare name: the environment's, else the first provider of the file."""
    key, url = env.get("OPENAI_API_KEY") or None, env.get("OPENAI_BASE_URL") or None
    if key or url:
        return Endpoint(base_url=url, api_key=key)
    for name, provider in settings.providers.items():
        return _of_provider(name, provider, env)
    return None


def _of_provider(name: str, provider: Provider, env: Mapping[str, str]) -> Endpoint:
    variable = provider.api_key_env
    key = env.get(variable) or None if variable else None
    if variable and not key:
        raise ConfigError(f"providers.{name}.api_key_env: the variable {variable} is not set")
    return Endpoint(
        name=name,
        base_url=provider.base_url or OPENAI,
        api_key=key,
        api=provider.api,
        headers=provider.headers,
        models=provider.models,
    )
