"""An endpoint that the user names in the chat counts as if its variables were set: in this process only, and for no command.

The key is in no sentence, log or file.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, cast

from agentcli.config.load import resolve_model
from agentcli.config.presets import PRESETS
from agentcli.config.settings import Settings
from agentcli.errors import ConfigError
from agentcli.model.address import base_address, on_loopback, shown_address
from agentcli.model.registry import ModelSpec
from agentcli.runtime.command import Connect
from agentcli.runtime.probe import Answer, ask

LONGEST_KEY = 16_384
ANY = "NAME"
"""Stands for a model that is yet to be chosen."""


def connected(settings: Settings, env: Mapping[str, str], wanted: Connect) -> tuple[ModelSpec, dict[str, str]]:
    """The model that is wanted, and the environment that says so. `ConfigError` for what can be none."""
    if not wanted.model.strip():
        raise ConfigError("the name of a model is missing")
    model, api = wanted.model.strip(), cast("Literal['chat', 'responses'] | None", wanted.api)
    changed = {**env, **given(settings, wanted)}
    name = f"{wanted.provider}/{model}" if wanted.provider else None
    spec = resolve_model(settings, name, api, changed)
    if spec is None:
        raise ConfigError(f"{model}: no endpoint is configured")
    if spec.wire_name != model:  # the provider counts as a part of the name, and the name goes to another address
        raise ConfigError(
            f"{name} goes to another endpoint here; a table [providers.{wanted.provider}] in config.toml makes it usable"
        )
    return spec, changed


def given(settings: Settings, wanted: Connect) -> dict[str, str]:
    """The variables that stand for what the user has given."""
    key = _key(wanted.api_key)
    if not wanted.provider:
        base_address(wanted.base_url)
        # An empty key is one too: that of the environment is for another address.
        return {
            "OPENAI_BASE_URL": wanted.base_url.strip(),
            "OPENAI_API_KEY": key,
            "OPENAI_MODEL": wanted.model.strip(),
            "AGENTCLI_MODEL": "",
        }
    if not key:
        return {}
    preset = PRESETS.get(wanted.provider)
    if wanted.provider in settings.providers or preset is None or preset.local:
        raise ConfigError(f"config.toml says where the key of {wanted.provider} is; it cannot be given here")
    variables = {preset.variables[0]: key}
    return {**variables, "OPENAI_BASE_URL": ""} if wanted.provider == "openai" else variables


def offered(settings: Settings, env: Mapping[str, str], wanted: Connect) -> Answer:
    """The models that an endpoint lists; asks it and nobody else, and may take its time."""
    spec, changed = connected(settings, env, replace(wanted, model=ANY))
    return ask(spec, changed)


def told(said: str, spec: ModelSpec, wanted: Connect) -> str:
    """What to say of a connection, behind what was said of its model: how long it lasts, and how to have it again."""
    lines = [f"{said.rstrip('.')}."]
    if wanted.api_key:
        lines[0] += " The key is kept in memory until you leave, and nowhere else."
    plain = spec.base_url is not None and spec.base_url.startswith("http:") and not on_loopback(spec.base_url)
    if plain and wanted.api_key:
        lines.append("The address begins with http: the key goes there unencrypted.")
    lines.append("To have it again next time, put this into your shell profile:")
    if not wanted.provider:
        lines.append(f"  export OPENAI_BASE_URL={shlex.quote(shown_address(wanted.base_url.strip()))}")
    if wanted.api_key:
        lines.append(f"  export {_variable(wanted)}=...")
    named = "AGENTCLI_MODEL" if wanted.provider else "OPENAI_MODEL"
    return "\n".join([*lines, f"  export {named}={shlex.quote(spec.name)}"])


def _variable(wanted: Connect) -> str:
    return PRESETS[wanted.provider].variables[0] if wanted.provider else "OPENAI_API_KEY"


def _key(text: str) -> str:
    """A key as it is sent: one word of printable ASCII. What is none is not repeated."""
    key = text.strip()
    if len(key) > LONGEST_KEY or not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigError("that is no key: one is a single word of letters, digits and signs")
    return key
