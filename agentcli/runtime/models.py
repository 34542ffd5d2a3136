"""The models that can be named here, as plain data. Only `all_model_rows` asks anybody: the servers of this machine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass

from agentcli.config.endpoint import named_endpoint, preset_endpoint, resolve_model
from agentcli.config.load import load_settings
from agentcli.config.presets import PRESETS
from agentcli.config.settings import Settings
from agentcli.errors import UsageError
from agentcli.model.address import shown_address
from agentcli.model.registry import ModelSpec
from agentcli.runtime.local import Server, find_servers, servers_here, usual_places


@dataclass(slots=True, frozen=True)
class ModelRow:
    """A model, where it is asked, and why it cannot be used."""

    name: str
    api: str
    endpoint: str
    current: bool
    fault: str | None = None
    context_size: int | None = None
    provider: str = ""
    """The name of a provider or preset; empty for the endpoint of the environment."""
    any_model: bool = False
    """The name stands for every model of the provider: PROVIDER/NAME."""


def model_rows() -> list[ModelRow]:
    """The current model, those of the configured providers, and the demo. Nobody is asked, no key command is run."""
    return _configured(load_settings(None))


def all_model_rows() -> list[ModelRow]:
    """The same, then the models of the servers found on this machine, then the well-known endpoints by their keys.

    Asks the usual ports of loopback, for about a second at most.
    """
    settings = load_settings(None)
    rows = _configured(settings)
    known = {row.name for row in rows}
    for server in servers_here(settings):
        rows += [row for row in local_rows(settings, server) if row.name not in known]
    return [*rows, *_presets(settings, os.environ)]


async def found_model_rows() -> AsyncGenerator[ModelRow]:
    """The models of the servers of this machine, as the servers answer; for a screen that draws meanwhile."""
    settings = await asyncio.to_thread(load_settings, None)
    async with aclosing(find_servers(usual_places(settings))) as servers:
        async for server in servers:
            for row in local_rows(settings, server):
                yield row


@dataclass(slots=True, frozen=True)
class PresetRow:
    """A well-known endpoint, for somebody who has a key for it."""

    name: str
    title: str
    base_url: str
    api: str
    variable: str
    """Where the key is looked for."""
    has_key: bool


def preset_rows() -> list[PresetRow]:
    """The well-known endpoints that want a key; nobody is asked."""
    return [
        PresetRow(
            name,
            preset.title,
            preset.base_url,
            preset.api or "chat",
            preset.variables[0],
            any(os.environ.get(variable) for variable in preset.variables),
        )
        for name, preset in PRESETS.items()
        if not preset.local
    ]


def local_rows(settings: Settings, server: Server) -> list[ModelRow]:
    """The models of a server of this machine."""
    provider, address, fault = server.place.provider, server.place.base_url, server.fault
    endpoint = named_endpoint(settings, provider, os.environ)
    if endpoint is None or endpoint.base_url != address:
        fault = f"its name goes to OPENAI_BASE_URL here; a table [providers.{provider}] in config.toml makes it usable"
    elif fault and endpoint.key.words:
        fault = None  # the list wants the key that is configured, and nobody sends one for a list
    api = (endpoint.api if endpoint else None) or settings.api or "chat"
    if fault is None and server.fault:
        return [ModelRow(f"{provider}/NAME", api, address, False, None, None, provider, True)]
    if not server.models:
        return [ModelRow(f"{provider}/NAME", api, address, False, fault or "it has no model yet", None, provider, True)]
    return [
        ModelRow(f"{provider}/{model.name}", api, address, False, fault, model.context_size, provider) for model in server.models
    ]


def _configured(settings: Settings) -> list[ModelRow]:
    current, fault = _current(settings)
    rows = [_row(current, True)] if current is not None else []
    if fault is not None:
        rows.append(ModelRow("(none)", "", "", False, fault))
    named = [f"{name}/{model}" for name, provider in settings.providers.items() for model in provider.names]
    for name in dict.fromkeys([*named, *settings.fallback, "demo"]):
        if current is None or name != current.name:
            rows.append(_named(settings, name))
    return rows


def _current(settings: Settings) -> tuple[ModelSpec | None, str | None]:
    try:
        return resolve_model(settings, None, None, os.environ, keys=False), None
    except UsageError as error:
        return None, str(error)


def _named(settings: Settings, name: str) -> ModelRow:
    try:
        spec = resolve_model(settings, name, None, os.environ, keys=False)
    except UsageError as error:
        return ModelRow(name, "", "", False, str(error))
    return _row(spec, False) if spec is not None else ModelRow(name, "", "", False, "no endpoint is configured")


def _row(spec: ModelSpec, current: bool) -> ModelRow:
    scripted = spec.name == "demo" or spec.name.startswith("script:")
    endpoint = "here" if scripted else shown_address(spec.base_url or os.environ.get("OPENAI_BASE_URL") or "OpenAI")
    provider = spec.name.removesuffix(f"/{spec.wire_name}") if spec.name != spec.wire_name and not scripted else ""
    return ModelRow(spec.name, spec.api, endpoint, current, None, spec.context_size, provider)


def _presets(settings: Settings, env: Mapping[str, str]) -> Iterator[ModelRow]:
    """The well-known endpoints; those whose key is set first."""
    rows = [_preset(settings, name, env) for name, preset in PRESETS.items() if not preset.local]
    return (row for usable in (True, False) for row in rows if (row.fault is None) is usable)


def _preset(settings: Settings, name: str, env: Mapping[str, str]) -> ModelRow:
    pattern = f"{name}/NAME"
    try:
        spec = resolve_model(settings, pattern, None, env, keys=False)
    except UsageError as error:
        fault = str(error)
    else:
        if spec is not None and spec.wire_name == "NAME":
            return ModelRow(pattern, spec.api, shown_address(spec.base_url or ""), False, None, None, name, True)
        fault = preset_endpoint(name).key.fault(env) or "the name goes to the endpoint of OPENAI_BASE_URL here"
    return ModelRow(pattern, PRESETS[name].api or "chat", PRESETS[name].base_url, False, fault, None, name, True)
