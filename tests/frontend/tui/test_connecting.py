from textual import events

from agentcli.errors import ConfigError
from agentcli.frontend.tui.screens.chat import ChatScreen
from agentcli.frontend.tui.screens.form import Form
from agentcli.frontend.tui.screens.pick import PickScreen
from agentcli.runtime.command import Connect
from agentcli.runtime.local import Listed
from agentcli.runtime.probe import Answer
from tests.fakes.models import HERE, FakeModels, row
from tests.fakes.screen_conversation import FakeConversation
from tests.frontend.tui.looks import chat, screen_text, until, until_shown, write

KEY = "sk-pasted-0123456789"
DEMO = {"demo": True, "model": "demo", "session_id": ""}
TWO = Answer(True, "fine", models=(Listed("small"), Listed("large")))


def seen(pilot):
    return "\n".join(screen_text(pilot.app))


async def page(pilot, *keys):
    await until_shown(pilot, "No model is connected yet")
    await pilot.press("enter")
    await until_shown(pilot, "Connect a model")
    await until(pilot, lambda: isinstance(pilot.app.screen, PickScreen))
    await pilot.press(*keys)


async def back(pilot):
    await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))


async def test_enter_on_the_empty_prompt_of_the_demo_shows_what_can_be_connected_and_asks_nobody():
    conversation, models = FakeConversation(**DEMO), FakeModels(found=[row("ollama/qwen3")])
    async with chat(conversation, models=models).run_test() as pilot:
        await page(pilot)
        await until_shown(pilot, "Nothing is sent anywhere before you choose.")
        await until_shown(pilot, "Go on with the demo")
        await pilot.press("enter")
        await back(pilot)
        assert (models.asked, conversation.asked, conversation.commands, conversation.inputs) == (0, [], [], [])


async def test_esc_goes_on_with_the_demo():
    conversation = FakeConversation(**DEMO)
    async with chat(conversation).run_test() as pilot:
        await page(pilot, "escape")
        await back(pilot)
        assert (conversation.status.model, conversation.commands) == ("demo", [])


async def test_with_a_model_enter_on_the_empty_prompt_shows_nothing_and_connect_does():
    async with chat(FakeConversation()).run_test() as pilot:
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert isinstance(pilot.app.screen, ChatScreen)
        await write(pilot, "/connect")
        await pilot.press("enter")
        await until_shown(pilot, "Go on with gpt-5.1")


async def test_models_of_this_machine_are_looked_for_when_that_is_chosen():
    conversation = FakeConversation(**DEMO)
    models = FakeModels(found=[row("ollama/qwen3:4b", endpoint=HERE), row("ollama/org/x", endpoint=HERE)])
    async with chat(conversation, models=models).run_test() as pilot:
        await page(pilot, "down", "enter")
        await until_shown(pilot, "Models on this machine")
        await until_shown(pilot, HERE)
        assert models.asked == 1
        await pilot.press("down", "enter")
        await until_shown(pilot, "▏ ollama/org/x")
        assert conversation.commands == [Connect("org/x", "ollama")]


async def test_without_a_server_it_says_so_and_esc_goes_back_to_the_page():
    async with chat(FakeConversation(**DEMO)).run_test() as pilot:
        await page(pilot, "down", "enter")
        await until_shown(pilot, "No model server answers on the usual ports of this machine.")
        await pilot.press("escape")
        await until_shown(pilot, "Connect a model")


async def test_a_pasted_key_is_never_shown_and_the_model_is_picked_from_what_the_endpoint_lists():
    conversation = FakeConversation(**DEMO)
    conversation.lists = [TWO]
    async with chat(conversation).run_test() as pilot:
        await page(pilot, *"openai", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Form))
        await until_shown(pilot, "The key goes to https://api.openai.com/v1 and nowhere else.")
        pilot.app.post_message(events.Paste(f"{KEY}\n"))
        await until_shown(pilot, "•" * len(KEY))
        assert KEY not in seen(pilot)
        await pilot.press("enter")
        await until_shown(pilot, "Models of openai")
        await until_shown(pilot, "large")
        await pilot.press("down", "enter")
        await until_shown(pilot, "The key is kept in memory.")
        assert conversation.asked == [Connect("", "openai", api_key=KEY)]
        assert conversation.commands == [Connect("large", "openai", api_key=KEY)]
        assert KEY not in seen(pilot) and KEY not in repr(conversation.commands)


async def test_an_endpoint_whose_variable_is_set_is_asked_at_once():
    conversation = FakeConversation(**DEMO)
    conversation.lists = [TWO]
    async with chat(conversation).run_test() as pilot:
        await page(pilot, *"groq", "enter")
        await until_shown(pilot, "small")
        await pilot.press("enter")
        await until_shown(pilot, "▏ groq/small")
        assert conversation.commands == [Connect("small", "groq")]


async def test_a_key_that_is_refused_leads_back_to_the_form_with_the_reason():
    conversation = FakeConversation(**DEMO)
    conversation.lists = [Answer(False, "api.openai.com: the key was not accepted [/b]"), TWO]
    async with chat(conversation).run_test() as pilot:
        await page(pilot, *"openai", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Form))
        await pilot.press(*"wrong", "enter")
        await until_shown(pilot, "No list came")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, Form))
        await until_shown(pilot, "the key was not accepted [/b]")
        await until_shown(pilot, "•••••")
        await pilot.press(*"gpt-9", "enter")
        await back(pilot)
        assert conversation.commands == [Connect("gpt-9", "openai", api_key="wrong")]


async def test_another_address_needs_an_address_and_no_key():
    conversation = FakeConversation(**DEMO)
    async with chat(conversation).run_test() as pilot:
        await page(pilot, *"another", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Form))
        await pilot.press("enter")
        await until_shown(pilot, "Address: something has to stand here.")
        await write(pilot, "http://127.0.0.1:9/v1")
        await pilot.press("tab", "tab", "m", "enter")
        await back(pilot)
        assert conversation.commands == [Connect("m", base_url="http://127.0.0.1:9/v1")]


async def test_what_cannot_be_connected_says_why_and_keeps_what_was_filled_in():
    conversation = FakeConversation(**DEMO)
    conversation.refuses = ["'x y' is no address; one looks like https://host/v1"]
    async with chat(conversation).run_test() as pilot:
        await page(pilot, *"another", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Form))
        await pilot.press(*"x", "tab", "tab", "m", "enter")
        await until_shown(pilot, "is no address")
        await pilot.press("enter")
        await back(pilot)
        assert conversation.commands == [Connect("m", base_url="x"), Connect("m", base_url="x")]


async def test_a_fault_of_the_configuration_while_asking_is_told():
    conversation = FakeConversation(**DEMO)
    conversation.lists = [ConfigError("that is no key")]
    async with chat(conversation).run_test() as pilot:
        await page(pilot, *"openai", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Form))
        await pilot.press("k", "enter")
        await until_shown(pilot, "that is no key")
        await pilot.press("escape", "escape")
        await until_shown(pilot, "Connect a model")


async def test_esc_and_ctrl_c_leave_the_form_without_a_word():
    conversation = FakeConversation(**DEMO)
    async with chat(conversation).run_test() as pilot:
        for key in ("escape", "ctrl+c"):
            await page(pilot, *"openai", "enter")
            await until(pilot, lambda: isinstance(pilot.app.screen, Form))
            await pilot.press("k", key)
            await until_shown(pilot, "Connect a model")
            await pilot.press("escape")
            await back(pilot)
        assert conversation.commands == []


async def test_what_is_typed_or_pasted_right_behind_tab_is_for_the_next_field():
    conversation = FakeConversation(**DEMO)
    async with chat(conversation).run_test() as pilot:
        await page(pilot, *"another", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Form))
        for key, letter in (("a", "a"), ("tab", "\t"), ("k", "k")):
            pilot.app.post_message(events.Key(key, letter))
        pilot.app.post_message(events.Paste("ey"))
        for key, letter in (("tab", "\t"), ("m", "m"), ("enter", "\r")):
            pilot.app.post_message(events.Key(key, letter))
        await back(pilot)
        assert conversation.commands == [Connect("m", base_url="a", api_key="key")]
