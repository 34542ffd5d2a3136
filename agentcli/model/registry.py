"""From a spec to a model. The only place that names providers, and it imports one at the first need."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from agentcli.errors import UsageError
from agentcli.model.base import ChatModel
from agentcli.model.fallback import FallbackModel
from agentcli.model.spec import ModelSpec

__all__ = ["ModelSpec", "make_model"]

SCRIPT = "script:"
PROVIDERS = {
    "chat": ("agentcli.model.openai_chat.client", "OpenAIChatModel"),
    "responses": ("agentcli.model.openai_responses.client", "OpenAIResponseModel"),
}
"""API -> where its model is."""


def make_model(spec: ModelSpec) -> ChatModel:
    """The model of a spec, with those that are to go on in its place behind it; `UsageError` where there is none."""
    model = _alone(spec)
    return FallbackModel(model, [partial(_other, find) for find in spec.fallback]) if spec.fallback else model


def _other(find: Callable[[], ModelSpec]) -> ChatModel:
    return _alone(find())


def _alone(spec: ModelSpec) -> ChatModel:
    if spec.name == "demo":
        return _load("agentcli.model.demo", "DemoModel")()
    if spec.name.startswith(SCRIPT):
        return _load("agentcli.model.scripted", "script_model")(spec.model or spec.name.removeprefix(SCRIPT), spec.name)
    provider = PROVIDERS.get(spec.api)
    if provider is None:
        raise UsageError(f"The API {spec.api!r} is not built in yet; use --api {' or '.join(PROVIDERS)} for {spec.name}.")
    return _load(*provider)(spec)


def _load(module: str, name: str) -> Callable[..., ChatModel]:
    return vars(import_module(module))[name]
