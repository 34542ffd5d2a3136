import json

import pytest

from agentcli.config.settings import Settings
from agentcli.errors import ConfigError, UsageError
from agentcli.model.registry import ModelSpec
from agentcli.runtime.assemble import Options, open_conversation
from agentcli.runtime.command import Connect, SetModel
from agentcli.runtime.connect import connected, told
from agentcli.runtime.local import Listed
from tests.fakes.model_server import FakeModelServer

KEY = "sk-pasted-0123456789"
ENV = {"OPENAI_BASE_URL": "http://other.test/v1", "OPENAI_API_KEY": "sk-of-the-environment", "AGENTCLI_MODEL": "x"}
SETTINGS = Settings(providers={"local": {"base_url": "http://127.0.0.1:1/v1"}, "groq": {"api_key_env": "MY_GROQ"}})  # pyright: ignore[reportArgumentType]


def spec_of(wanted, env=None, settings=None):
    return connected(settings or Settings(), env or {}, wanted)[0]


@pytest.mark.parametrize(
    ("wanted", "name", "base_url", "key", "api"),
    [
        (Connect("gpt-9", "openai", api_key=KEY), "openai/gpt-9", "https://api.openai.com/v1", KEY, "responses"),
        (Connect("llama/3", "groq", api_key=f" {KEY}\n"), "groq/llama/3", "https://api.groq.com/openai/v1", KEY, "chat"),
        (Connect("qwen3", base_url="https://gate.test/v1/"), "qwen3", "https://gate.test/v1", None, "chat"),
        (Connect("groq/x", base_url="gate.test/v1/responses", api_key=KEY), "groq/x", "https://gate.test/v1", KEY, "responses"),
    ],
)
def test_a_key_goes_to_the_address_it_was_given_for_and_that_of_the_environment_does_not(wanted, name, base_url, key, api):
    for env in ({}, ENV):
        spec = spec_of(wanted, env)
        assert (spec.name, spec.base_url, spec.api_key, spec.api) == (name, base_url, key, api)


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        (Connect("m", base_url="x y"), "is no address"),
        (Connect("m", base_url="https://host/v1", api_key="two words"), "that is no key"),
        (Connect("m", "openai", api_key="schlüssel"), "that is no key"),
        (Connect(" ", "openai", api_key=KEY), "the name of a model is missing"),
        (Connect("m", "groq"), "the variable MY_GROQ is not set"),
        (Connect("m", "openai"), "openai/m goes to another endpoint here"),
        (Connect("m", "groq", api_key=KEY), "config.toml says where the key of groq is"),
        (Connect("m", "ollama", api_key=KEY), "config.toml says where the key of ollama is"),
    ],
)
def test_what_can_be_no_connection_is_one_sentence_without_the_key(wanted, fault):
    with pytest.raises(UsageError) as caught:
        spec_of(wanted, settings=SETTINGS)
    assert fault in str(caught.value)
    assert "schlüssel" not in str(caught.value) and "two words" not in str(caught.value)


def test_no_key_is_in_a_representation():
    wanted = Connect("m", "openai", api_key=KEY)
    assert KEY not in repr(wanted) + repr(spec_of(wanted))


def test_how_to_have_it_again_is_told_without_the_key_or_a_password():
    wanted = Connect("it's", base_url="http://me:pw@gate.test/v1", api_key=KEY)
    assert told("Model: it's", spec_of(wanted), wanted).splitlines() == [
        "Model: it's. The key is kept in memory until you leave, and nowhere else.",
        "The address begins with http: the key goes there unencrypted.",
        "To have it again next time, put this into your shell profile:",
        "  export OPENAI_BASE_URL=http://gate.test/v1",
        "  export OPENAI_API_KEY=...",
        "  export OPENAI_MODEL='it'\"'\"'s'",
    ]
    local = Connect("qwen3", "ollama")
    assert told("Model: ollama/qwen3", ModelSpec("ollama/qwen3"), local).splitlines() == [
        "Model: ollama/qwen3.",
        "To have it again next time, put this into your shell profile:",
        "  export AGENTCLI_MODEL=ollama/qwen3",
    ]


async def test_a_connection_holds_for_later_models_and_leaves_no_key_behind(home):
    with FakeModelServer("m", "n") as fake:
        conversation = await open_conversation(Options())
        assert conversation.status.demo
        wanted = Connect(base_url=fake.url, api_key=KEY)
        answer = await conversation.offered(wanted)
        assert (answer.models, fake.heads[0]["Authorization"]) == ((Listed("m"), Listed("n")), f"Bearer {KEY}")
        said = [
            await conversation.do(Connect("m", base_url=fake.url, api_key=KEY)),
            await conversation.do(SetModel("n")),
        ]
        status, spec = conversation.status, conversation.spec
        await conversation.close()
    assert (status.model, status.demo, spec.base_url, spec.api_key) == ("n", False, fake.url, KEY)
    assert KEY not in json.dumps(said)
    assert [data for data in home.bytes().values() if KEY.encode() in data] == []


async def test_what_cannot_be_connected_leaves_the_model_as_it_is(home):
    conversation = await open_conversation(Options())
    with pytest.raises(ConfigError):
        await conversation.do(Connect("m", base_url="x y", api_key=KEY))
    with pytest.raises(UsageError):
        await conversation.do(SetModel("groq/m"))
    assert conversation.status.model == "demo"
    await conversation.close()
