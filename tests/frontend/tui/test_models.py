import asyncio

import pytest

from agentcli.frontend.tui.models import mode_entries, model_entry, provider_entry
from agentcli.frontend.tui.screens.listing import Entry
from agentcli.frontend.tui.screens.pick import PickScreen
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.command import Connect, SetMode, SetModel
from agentcli.runtime.local import Listed
from agentcli.runtime.probe import Answer
from tests.fakes.models import HERE, PRESETS, FakeModels, row
from tests.fakes.screen_conversation import FakeConversation
from tests.frontend.tui.looks import chat, screen_text, until, until_shown, write

LOCAL = row("ollama/qwen3", endpoint=HERE, context_size=40_960, provider="ollama")
UNNAMED = row("vllm/NAME", endpoint="http://127.0.0.1:8000/v1", provider="vllm", any_model=True)


@pytest.mark.parametrize(
    ("given", "entry"),
    [
        (row("gpt-5.1", current=True), Entry("gpt-5.1", "gpt-5.1", "present", "api.test · chat", "*")),
        (LOCAL, Entry("ollama/qwen3", "ollama/qwen3", "", f"{HERE} · chat · 41.0k tokens", rank=1)),
        (UNNAMED, Entry("vllm/NAME", "vllm/…", "", "http://127.0.0.1:8000/v1 · chat", rank=2)),
        (
            row("p/m", fault="providers.p: the variable P_KEY is not set"),
            Entry(
                "p/m",
                "p/m",
                "",
                "cannot be used: providers.p: the variable P_KEY is not set",
                rank=4,
                dim=True,
                refused="providers.p: the variable P_KEY is not set",
            ),
        ),
    ],
)
def test_a_model_as_an_entry(given, entry):
    assert model_entry(given, "gpt-5.1") == entry


def test_an_endpoint_without_a_key_is_hidden_and_says_which_variable_it_wants():
    entries = [provider_entry(preset) for preset in PRESETS]
    assert [(entry.hidden, entry.refused) for entry in entries] == [
        ("keyless endpoint", "OPENAI_API_KEY is not set; /connect takes a key."),
        ("", ""),
    ]


def test_the_present_mode_stands_first():
    assert mode_entries(PermissionMode.EXPLORE)[0].key == "explore"
    assert {entry.key for entry in mode_entries(PermissionMode.EXPLORE)} == {mode.value for mode in PermissionMode}


async def opened(pilot, command, shown):
    await write(pilot, command)
    await pilot.press("enter")
    await until_shown(pilot, shown)


async def test_a_model_is_found_by_typing_and_taken():
    conversation = FakeConversation()
    models = FakeModels(row("gpt-5.1", current=True), row("p/small"), row("p/large"))
    async with chat(conversation, models=models).run_test() as pilot:
        await opened(pilot, "/model", "p/large")
        assert any("* gpt-5.1" in line and line.endswith("present") for line in screen_text(pilot.app))
        await write(pilot, "lar")
        await pilot.press("enter")
        await until_shown(pilot, "▏ p/large")
        assert conversation.commands == [SetModel("p/large")]


async def test_models_of_this_machine_come_as_their_servers_answer():
    go = asyncio.Event()
    models = FakeModels(row("gpt-5.1", current=True), found=[LOCAL, go, UNNAMED])
    conversation = FakeConversation()
    async with chat(conversation, models=models).run_test() as pilot:
        assert models.asked == 0
        await opened(pilot, "/model", "ollama/qwen3")
        assert not any("vllm" in line for line in screen_text(pilot.app))
        go.set()
        await until_shown(pilot, "vllm/…")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, PickScreen))
        assert conversation.commands == []


async def test_a_model_that_cannot_be_used_says_why():
    conversation = FakeConversation()
    models = FakeModels(row("gpt-5.1", current=True), row("p/m", fault="the variable P_KEY [/b] is not set"))
    async with chat(conversation, models=models).run_test() as pilot:
        await opened(pilot, "/model", "cannot be used: the variable P_KEY [/b] is not set")
        await write(pilot, "p/m")
        await pilot.press("enter")
        await until_shown(pilot, "   the variable P_KEY [/b] is not set")
        assert conversation.commands == []


async def test_an_endpoint_that_stands_for_all_its_models_is_asked_for_them():
    conversation = FakeConversation()
    conversation.lists = [Answer(True, "fine", models=(Listed("llama-3.3"), Listed("qwen3", 131_000)))]
    async with chat(conversation, models=FakeModels(row("gpt-5.1", current=True))).run_test() as pilot:
        await opened(pilot, "/model", "groq/…")
        await write(pilot, "groq")
        await pilot.press("enter")
        await until_shown(pilot, "131k tokens")
        await pilot.press("down", "enter")
        await until_shown(pilot, "▏ groq/qwen3")
        assert conversation.asked == [Connect(provider="groq")]
        assert conversation.commands == [Connect("qwen3", "groq")]


async def test_a_configuration_that_cannot_be_read_is_told_in_the_list():
    from agentcli.errors import ConfigError

    models = FakeModels(row("gpt-5.1", current=True), found=[ConfigError("config.toml: no TOML")])
    async with chat(FakeConversation(), models=models).run_test() as pilot:
        await opened(pilot, "/model", "config.toml: no TOML")


async def test_a_mode_and_a_theme_are_picked_from_lists():
    conversation = FakeConversation()
    async with chat(conversation).run_test() as pilot:
        await opened(pilot, "/mode", "reads in the repository and changes nothing")
        await write(pilot, "explore")
        await pilot.press("enter")
        await until_shown(pilot, "EXPLORE: no shell")
        await opened(pilot, "/theme", "agentcli-light")
        await write(pilot, "light")
        await pilot.press("enter")
        await until(pilot, lambda: pilot.app.theme == "agentcli-light")
        assert conversation.commands == [SetMode(PermissionMode.EXPLORE)]
