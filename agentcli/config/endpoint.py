"""From the name of a model to its endpoint, key and figures: settings, environment and presets together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from agentcli.config.keys import KeySource
from agentcli.config.presets import PRESETS, Preset
from agentcli.config.settings import Api, Model, Provider, Settings
from agentcli.errors import ConfigError, UsageError
from agentcli.model.address import base_address
from agentcli.model.spec import ModelSpec

OPENAI = PRESETS["openai"].base_url

NOT_CONFIGURED = (
    "no model is configured: set OPENAI_API_KEY (or OPENAI_BASE_URL) and OPENAI_MODEL, or give --model PROVIDER/NAME "
    "(`agentcli models` lists what can be named; --model demo needs none of it)"
)
"""What `run` says then; `chat` starts on the demo."""


class NoModelNamed(ConfigError):
    """There is a key or an address, and no name of a model."""


@dataclass(slots=True, frozen=True)
class Endpoint:
    """Where requests go; the one of the environment has no name."""

    name: str = ""
    base_url: str | None = None
    """None: OpenAI's own."""
    key: KeySource = field(default_factory=KeySource)
    api: Api | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    models: tuple[Model, ...] = ()
    replay_reasoning: bool | None = None

    @property
    def of_openai(self) -> bool:
        """It is OpenAI itself, where no name of a model begins with that of a preset."""
        return self.base_url is None or urlsplit(self.base_url).hostname == urlsplit(OPENAI).hostname


def resolve_model(
    settings: Settings, model_flag: str | None, api_flag: Api | None, env: Mapping[str, str], *, keys: bool = True
) -> ModelSpec | None:
    """The model to start on; None where nothing at all is configured.

    Args:
        keys: get the key, which may run a command and take its time; without, what can be seen of it is checked.
    """
    name = model_flag or env.get("AGENTCLI_MODEL")
    whole = False
    if not name and (name := env.get("OPENAI_MODEL")):
        whole = True  # a name from the ecosystem's variable may hold slashes of its own
    name = name or settings.model
    if not name:
        return _nothing_named(settings, env)
    if name == "demo":
        return ModelSpec(name="demo", model="demo")
    others = _fallback(settings, name, env)
    if name.startswith("script:"):
        return _script(name, others)
    endpoint, model = _endpoint(settings, name, whole, env)
    own = next((one for one in endpoint.models if one.name == model), Model(name=model))
    return ModelSpec(
        name=name,
        api=api_flag or _api(env) or endpoint.api or settings.api or "chat",
        base_url=endpoint.base_url,
        api_key=_key(endpoint.key, env, keys),
        model=model,
        headers=endpoint.headers,
        context_size=own.context_size or settings.context_size,
        max_output=own.max_output,
        reasoning_effort=own.reasoning_effort,
        replay_reasoning=endpoint.replay_reasoning,
        price_input=own.price_input,
        price_output=own.price_output,
        price_cached=own.price_cached,
        key_from=endpoint.key.words,
        fallback=others,
    )


def provider_endpoint(name: str, provider: Provider) -> Endpoint:
    """The endpoint of a table of the settings, with what a preset of this name adds."""
    preset = PRESETS.get(name)
    ours = preset is not None and (provider.base_url is None or base_address(provider.base_url)[0] == preset.base_url)
    base, named = base_address(provider.base_url or (preset.base_url if preset else OPENAI))
    return Endpoint(
        name=name,
        base_url=base,
        key=_source(name, provider, preset if ours else None),
        api=provider.api or named or (preset.api if preset and ours else None),
        headers=provider.headers,
        models=provider.models,
        replay_reasoning=provider.replay_reasoning,
    )


def preset_endpoint(name: str) -> Endpoint:
    """The endpoint of a preset as it stands in the table."""
    preset = PRESETS[name]
    return Endpoint(name, preset.base_url, KeySource(name, name, preset.variables), preset.api)


def current_endpoint(settings: Settings, env: Mapping[str, str]) -> Endpoint | None:
    """The endpoint for a bare name: the environment's, else the first provider of the file."""
    key, url = env.get("OPENAI_API_KEY"), env.get("OPENAI_BASE_URL")
    if key or url:
        base, named = _of_environment(url) if url else (None, None)
        return Endpoint(base_url=base, key=KeySource(variables=("OPENAI_API_KEY",)) if key else KeySource(), api=named)
    for name, provider in settings.providers.items():
        return provider_endpoint(name, provider)
    return None


def _of_environment(url: str) -> tuple[str, Api | None]:
    try:
        return base_address(url)
    except ConfigError as error:
        raise ConfigError(f"OPENAI_BASE_URL: {error}") from error


def named_endpoint(settings: Settings, name: str, env: Mapping[str, str]) -> Endpoint | None:
    """The endpoint that the part of a model's name before the first slash means; None where that is part of the name."""
    if name in settings.providers:
        return provider_endpoint(name, settings.providers[name])
    if name not in PRESETS:
        return None
    current, preset = current_endpoint(settings, env), preset_endpoint(name)
    if current is None or current.of_openai:
        return preset
    if preset.of_openai:
        return None  # the key of the environment is for the address of the environment
    # A gateway has names such as "mistral/large" too: what counts as configured is a key, or no other address.
    ready = preset.key.fault(env) is None if preset.key.variables else not env.get("OPENAI_BASE_URL")
    return preset if ready else None


def _nothing_named(settings: Settings, env: Mapping[str, str]) -> None:
    if env.get("OPENAI_API_KEY") or env.get("OPENAI_BASE_URL") or settings.providers:
        raise NoModelNamed("there is an endpoint but no model: set OPENAI_MODEL, or give --model NAME")


def _fallback(settings: Settings, name: str, env: Mapping[str, str]) -> tuple[Callable[[], ModelSpec], ...]:
    return tuple(partial(_other, settings, other, env) for other in settings.fallback if other != name)


def _other(settings: Settings, name: str, env: Mapping[str, str]) -> ModelSpec:
    spec = resolve_model(settings, name, None, env)
    if spec is None:
        raise ConfigError("fallback: a model without a name")
    return spec


def _script(name: str, others: tuple[Callable[[], ModelSpec], ...]) -> ModelSpec:
    file = Path(name.removeprefix("script:")).expanduser().absolute()
    if not file.is_file():
        raise UsageError(f"{name}: there is no such file")
    return ModelSpec(name=name, model=str(file), fallback=others)


def _api(env: Mapping[str, str]) -> Api | None:
    match env.get("AGENTCLI_API"):
        case "chat" | "responses" as api:
            return api
        case _:
            return None


def _endpoint(settings: Settings, name: str, whole: bool, env: Mapping[str, str]) -> tuple[Endpoint, str]:
    """The endpoint, and the name as it is sent there."""
    current = current_endpoint(settings, env)
    provider, slash, rest = name.partition("/")
    listed = current is not None and any(one.name == name for one in current.models)
    if slash and rest and not whole and not listed and (endpoint := named_endpoint(settings, provider, env)):
        return endpoint, rest
    if current is None:
        raise ConfigError(
            f"{name}: no endpoint is configured: set OPENAI_API_KEY, or OPENAI_BASE_URL for a server that wants no key, "
            "or name a provider: PROVIDER/NAME"
        )
    return current, name


def _source(name: str, provider: Provider, preset: Preset | None) -> KeySource:
    place = f"providers.{name}"
    if provider.api_key_env:
        return KeySource(f"{place}.api_key_env", name, (provider.api_key_env,))
    if provider.api_key_command:
        return KeySource(f"{place}.api_key_command", name, command=provider.api_key_command)
    if provider.api_key_keyring:
        return KeySource(f"{place}.api_key_keyring", name, keyring=provider.api_key_keyring)
    return KeySource(place, name, preset.variables) if preset is not None else KeySource()


def _key(source: KeySource, env: Mapping[str, str], wanted: bool) -> str | None:
    if wanted:
        return source.get(env)
    if fault := source.fault(env):
        raise ConfigError(fault)
    return None
