import pytest

from agentcli.config.endpoint import resolve_model
from agentcli.config.presets import PRESETS
from agentcli.config.settings import Model, Provider, Settings
from agentcli.errors import ConfigError
from agentcli.model.address import base_address, on_loopback
from agentcli.model.spec import ModelSpec

GROQ = "https://api.groq.com/openai/v1"
GATEWAY = {"OPENAI_BASE_URL": "http://gateway/v1", "OPENAI_API_KEY": "g"}


def test_each_preset_has_a_clean_address_and_those_without_a_key_are_on_this_machine():
    for preset in PRESETS.values():
        assert base_address(preset.base_url) == (preset.base_url, None)
        assert on_loopback(preset.base_url) is preset.local
    ports = [preset.base_url for preset in PRESETS.values() if preset.local]
    assert len(set(ports)) == len(ports)


@pytest.mark.parametrize(
    ("name", "env", "spec"),
    [
        (
            "groq/meta/llama",
            {"GROQ_API_KEY": "k"},
            ModelSpec(name="groq/meta/llama", model="meta/llama", base_url=GROQ, api_key="k"),
        ),
        (
            "gemini/flash",
            {"GOOGLE_API_KEY": "k"},
            ModelSpec(name="gemini/flash", model="flash", base_url=PRESETS["gemini"].base_url, api_key="k"),
        ),
        (
            "openai/gpt-5",
            {"OPENAI_API_KEY": "k"},
            ModelSpec(name="openai/gpt-5", model="gpt-5", api="responses", base_url=PRESETS["openai"].base_url, api_key="k"),
        ),
        ("ollama/qwen3", {}, ModelSpec(name="ollama/qwen3", model="qwen3", base_url="http://127.0.0.1:11434/v1")),
        (
            "ollama/qwen3",
            {"OPENAI_API_KEY": "k"},
            ModelSpec(name="ollama/qwen3", model="qwen3", base_url="http://127.0.0.1:11434/v1"),
        ),
    ],
)
def test_a_preset_needs_its_variable_and_nothing_else(name, env, spec):
    assert resolve_model(Settings(), name, None, env) == spec


@pytest.mark.parametrize("name", ["openai/gpt-5", "mistral/large", "ollama/qwen3"])
def test_a_gateway_keeps_names_that_begin_like_a_preset(name):
    spec = ModelSpec(name=name, model=name, base_url="http://gateway/v1", api_key="g")
    assert resolve_model(Settings(), name, None, GATEWAY) == spec


def test_beside_a_gateway_a_preset_with_its_key_is_configured():
    spec = ModelSpec(name="groq/m", model="m", base_url=GROQ, api_key="k")
    assert resolve_model(Settings(), "groq/m", None, {**GATEWAY, "GROQ_API_KEY": "k"}) == spec


@pytest.mark.parametrize("env", [{}, {"OPENAI_API_KEY": "k"}])
def test_a_preset_without_its_key_names_the_variable(env):
    with pytest.raises(ConfigError, match="groq: the variable GROQ_API_KEY is not set"):
        resolve_model(Settings(), "groq/m", None, env)


def test_a_table_adds_to_the_preset_of_its_name():
    table = Provider(headers={"X": "1"}, models=(Model(name="m", context_size=4_000),))
    spec = ModelSpec(name="groq/m", model="m", base_url=GROQ, api_key="k", headers={"X": "1"}, context_size=4_000)
    assert resolve_model(Settings(providers={"groq": table}), "groq/m", None, {"GROQ_API_KEY": "k"}) == spec


def test_the_key_of_a_preset_goes_to_no_other_address():
    settings = Settings(providers={"groq": Provider(base_url="http://elsewhere/v1")})
    spec = ModelSpec(name="groq/m", model="m", base_url="http://elsewhere/v1")
    assert resolve_model(settings, "groq/m", None, {"GROQ_API_KEY": "k"}) == spec


@pytest.mark.parametrize("end", ["", "/", "//", "/responses"])
def test_an_address_may_be_a_full_endpoint_wherever_it_stands(end):
    url = f"http://here/v1{end}"
    api = "responses" if end == "/responses" else "chat"
    bare = ModelSpec(name="m", model="m", api=api, base_url="http://here/v1")
    assert resolve_model(Settings(), "m", None, {"OPENAI_BASE_URL": url}) == bare
    named = ModelSpec(name="p/m", model="m", api=api, base_url="http://here/v1")
    assert resolve_model(Settings(providers={"p": Provider(base_url=url)}), "p/m", None, {}) == named


def test_a_wrong_address_of_the_environment_names_the_variable():
    with pytest.raises(ConfigError, match="OPENAI_BASE_URL: 'ftp://h'"):
        resolve_model(Settings(), "m", None, {"OPENAI_BASE_URL": "ftp://h"})


def test_what_is_known_of_a_model_comes_with_it():
    own = Model(
        name="m", context_size=9_000, max_output=500, reasoning_effort="low", price_input=1.5, price_output=6, price_cached=0.1
    )
    settings = Settings(providers={"p": Provider(base_url="http://h/v1", models=(own,), replay_reasoning=True)})
    assert resolve_model(settings, "p/m", None, {}) == ModelSpec(
        name="p/m",
        model="m",
        base_url="http://h/v1",
        context_size=9_000,
        max_output=500,
        reasoning_effort="low",
        replay_reasoning=True,
        price_input=1.5,
        price_output=6,
        price_cached=0.1,
    )


def test_the_models_behind_one_are_looked_up_when_they_are_needed():
    settings = Settings(fallback=("ollama/a", "groq/b", "ollama/c"))
    spec = resolve_model(settings, "ollama/a", None, {})
    absent, local = spec.fallback
    assert local() == ModelSpec(name="ollama/c", model="c", base_url="http://127.0.0.1:11434/v1")
    with pytest.raises(ConfigError, match="GROQ_API_KEY"):
        absent()
