"""The models that can be named here, as plain data."""

from __future__ import annotations

import os
from dataclasses import dataclass

from agentcli.config.load import load_settings, resolve_model
from agentcli.config.settings import Settings
from agentcli.errors import UsageError
from agentcli.model.registry import ModelSpec


@dataclass(slots=True, frozen=True)
class ModelRow:
    """A model, where it is asked, and why it cannot be used."""

    name: str
    api: str
    endpoint: str
    current: bool
    fault: str | None = None


def model_rows() -> list[ModelRow]:
    """The current model, those of the configured providers, and the demo."""
    settings = load_settings(None)
    current, fault = _current(settings)
    rows = [_row(current, True)] if current is not None else []
    if fault is not None:
        rows.append(ModelRow("(none)", "", "", False, fault))
    named = [f"{name}/{model}" for name, provider in settings.providers.items() for model in provider.names]
    for name in [*named, "demo"]:
        if current is None or name != current.name:
            rows.append(_named(settings, name))
    return rows


def _current(settings: Settings) -> tuple[ModelSpec | None, str | None]:
    try:
        return resolve_model(settings, None, None, os.environ), None
    except UsageError as error:
        return None, str(error)


def _named(settings: Settings, name: str) -> ModelRow:
    try:
        spec = resolve_model(settings, name, None, os.environ)
    except UsageError as error:
        return ModelRow(name, "", "", False, str(error))
    return _row(spec, False) if spec is not None else ModelRow(name, "", "", False, "no endpoint is configured")


def _row(spec: ModelSpec, current: bool) -> ModelRow:
    scripted = spec.name == "demo" or spec.name.startswith("script:")
    endpoint = "here" if scripted else spec.base_url or os.environ.get("OPENAI_BASE_URL") or "OpenAI"
    return ModelRow(spec.name, spec.api, endpoint, current)
