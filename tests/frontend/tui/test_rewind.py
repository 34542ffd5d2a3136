import asyncio

import pytest

from agentcli.errors import AgentcliError
from agentcli.frontend.tui.screens import chat as chat_screen
from agentcli.frontend.tui.screens.chat import ChatScreen
from agentcli.frontend.tui.screens.pick import PickScreen
from agentcli.frontend.tui.widgets.prompt import Prompt
from agentcli.runtime.command import Rewind, SetTitle
from tests.fakes.screen_conversation import FakeConversation, FakeEarlier, end, start, text, user
from tests.frontend.tui.looks import chat, screen_text, until, until_shown, write

FIRST = [user("make a shop"), start(), *text("Made.", "t1"), end()]
BOTH = [*FIRST, user("paint it red"), start(), *text("Painted.", "t2"), end()]


def two_messages(*scripts, **more):
    conversation = FakeConversation(*scripts, history=BOTH, **more)
    conversation.said_before = [(FakeEarlier("m2", "paint it red"), FIRST), (FakeEarlier("m1", "make a shop"), [])]
    return conversation


def prompt_of(pilot):
    return pilot.app.chat.query_one(Prompt).text


async def opened(pilot):
    await until(pilot, lambda: isinstance(pilot.app.screen, PickScreen))
    await pilot.pause()


async def closed(pilot):
    await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
    await pilot.pause()


async def test_esc_esc_goes_back_to_the_last_message_and_gives_it_to_the_prompt():
    conversation = two_messages([start(), *text("Blue now.", "t3"), end()])
    async with chat(conversation).run_test() as pilot:
        await until_shown(pilot, "Painted.")
        await pilot.press("escape", "escape")
        await opened(pilot)
        rows = [line.strip(" ›").partition("  ")[0] for line in screen_text(pilot.app) if "shop" in line or "paint" in line]
        assert rows == ["paint it red", "make a shop"]
        await pilot.press("enter")
        await until_shown(pilot, "Gone back; files are as they are.")
        shown = screen_text(pilot.app)
        assert (any("Made." in line for line in shown), any("Painted." in line for line in shown)) == (True, False)
        assert (conversation.commands, prompt_of(pilot)) == ([Rewind("m2")], "paint it red")
        await pilot.press(*["backspace"] * 3, "b", "l", "u", "e", "enter")
        await until_shown(pilot, "Blue now.")
        assert [item.get_text_content() for item in conversation.inputs] == ["paint it blue"]


async def test_going_back_to_the_first_message_begins_anew():
    conversation = two_messages()
    async with chat(conversation).run_test() as pilot:
        await until_shown(pilot, "Painted.")
        await write(pilot, "/rewind")
        await pilot.press("enter")
        await opened(pilot)
        await pilot.press("down", "enter")
        await until_shown(pilot, "Connected to gpt-5.1")
        assert (conversation.commands, prompt_of(pilot)) == ([Rewind("m1")], "make a shop")


async def test_who_leaves_the_list_changes_nothing():
    conversation = two_messages()
    async with chat(conversation).run_test() as pilot:
        await until_shown(pilot, "Painted.")
        await pilot.press("d", "escape", "escape")
        await opened(pilot)
        await pilot.press("escape")
        await closed(pilot)
        assert (conversation.commands, prompt_of(pilot)) == ([], "d")
        await until_shown(pilot, "Painted.")


async def test_a_draft_is_kept_in_the_history_of_the_prompt():
    async with chat(two_messages()).run_test() as pilot:
        await until_shown(pilot, "Painted.")
        await pilot.press("d", "escape", "escape")
        await opened(pilot)
        await pilot.press("enter")
        await until_shown(pilot, "up brings it back")
        assert prompt_of(pilot) == "paint it red"
        await pilot.press("up")
        assert prompt_of(pilot) == "d"


async def test_an_esc_that_stops_a_reply_is_not_the_first_of_two():
    conversation = two_messages([start(), *text("Working."), 30])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("g", "enter")
        await until_shown(pilot, "Working.")
        await pilot.press("escape")
        await until(pilot, lambda: not pilot.app.chat.bridge.running)
        await pilot.press("escape")
        await pilot.pause(0.1)
        assert isinstance(pilot.app.screen, ChatScreen)
        await pilot.press("escape")
        await opened(pilot)


async def test_two_esc_with_a_pause_or_a_letter_between_are_no_pair(monkeypatch):
    async with chat(two_messages()).run_test() as pilot:
        await until_shown(pilot, "Painted.")
        await pilot.press("escape", "x")
        await pilot.pause()
        await pilot.press("escape")
        monkeypatch.setattr(chat_screen, "TWICE_WITHIN", 0.0)
        await pilot.press("escape")
        await pilot.pause(0.1)
        assert isinstance(pilot.app.screen, ChatScreen)


async def test_nothing_to_go_back_to_and_a_running_reply_are_told():
    go = asyncio.Event()
    async with chat(FakeConversation([start(), *text("Working."), go, end()])).run_test() as pilot:
        await pilot.pause(0.1)
        await pilot.press("escape", "escape")
        await until_shown(pilot, "There is no earlier message")
        await pilot.press("g", "enter")
        await until_shown(pilot, "Working.")
        await write(pilot, "/rewind")
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ChatScreen)
        go.set()


async def test_a_refused_rewind_leaves_the_screen_as_it_is():
    conversation = two_messages()

    async def refuse(command):
        raise AgentcliError("The log takes no more records [/b].")

    conversation.do = refuse
    async with chat(conversation).run_test() as pilot:
        await until_shown(pilot, "Painted.")
        await pilot.press("escape", "escape")
        await opened(pilot)
        await pilot.press("enter")
        await until_shown(pilot, "The log takes no more records [/b].")
        assert prompt_of(pilot) == ""
        await until_shown(pilot, "Painted.")


@pytest.mark.parametrize(("typed", "commands"), [("/title The shop", [SetTitle("The shop")]), ("/title", [])])
async def test_a_title_is_given(typed, commands):
    conversation = FakeConversation()
    async with chat(conversation).run_test() as pilot:
        await pilot.pause(0.1)
        for letter in typed:
            await pilot.press({" ": "space", "/": "slash"}.get(letter, letter))
        await pilot.press("enter")
        await until_shown(pilot, "Title: The shop" if commands else "/title TEXT")
        assert conversation.commands == commands
        assert ("The shop" in screen_text(pilot.app)[0]) == bool(commands)
