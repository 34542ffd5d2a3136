from agentcli.errors import SessionHeld
from agentcli.frontend.tui.chat_app import ChatApp
from agentcli.frontend.tui.screens.chat import ChatScreen
from agentcli.frontend.tui.screens.pick import PickScreen
from agentcli.frontend.tui.themes import Wardrobe
from agentcli.view.theme import load_themes
from tests.fakes.opener import FakeOpener, choice
from tests.fakes.screen_conversation import FakeConversation, end, start, text, user
from tests.frontend.tui.looks import THEMES, screen_text, until, until_shown, write


def app_of(conversation, opener, prompt=None):
    return ChatApp(conversation, Wardrobe(load_themes([THEMES]), None), prompt, opener)


def old(words, **more):
    return FakeConversation(history=[user("before"), start(), *text(words), end()], **more)


async def test_a_session_is_picked_before_a_conversation_is_made():
    opener = FakeOpener([choice("a"), choice("b")], [choice("c", here=False)], opens=[old("What was.")])
    async with app_of(None, opener).run_test() as pilot:
        await until_shown(pilot, "the work of c")
        await pilot.press("down", "enter")
        await until_shown(pilot, "What was.")
        assert (opener.asked, opener.closed) == ([("b", False)], [])
        assert isinstance(pilot.app.screen, ChatScreen)


async def test_an_opening_that_takes_long_is_told():
    opener = FakeOpener([choice("a")], opens=[old("What was.")])
    opener.ready.clear()
    async with app_of(None, opener).run_test() as pilot:
        await until_shown(pilot, "the work of a")
        await pilot.press("enter")
        await until_shown(pilot, "Opening the session …")
        opener.ready.set()
        await until_shown(pilot, "What was.")


async def test_the_prompt_of_the_command_line_is_sent_to_what_was_picked():
    conversation = old("What was.")
    async with app_of(None, FakeOpener([choice("a")], opens=[conversation]), "go").run_test() as pilot:
        await until_shown(pilot, "the work of a")
        assert conversation.inputs == []
        await pilot.press("enter")
        await until(pilot, lambda: conversation.inputs)
        assert conversation.inputs[0].get_text_content() == "go"


async def test_esc_in_the_picker_leaves_without_a_session():
    opener = FakeOpener([choice("a")])
    async with app_of(None, opener).run_test() as pilot:
        await until_shown(pilot, "the work of a")
        await pilot.press("escape")
        await until(pilot, lambda: not pilot.app.is_running)
    assert (pilot.app.return_code, opener.asked) == (0, [])


async def test_what_was_taken_meanwhile_is_told_and_the_picker_stays():
    opener = FakeOpener([choice("a")], opens=[SessionHeld("a", "process 4711"), old("A copy.")])
    async with app_of(None, opener).run_test() as pilot:
        await until_shown(pilot, "the work of a")
        await pilot.press("enter")
        await until_shown(pilot, "session a is held by process 4711")
        await until_shown(pilot, "the work of a")
        await pilot.press("ctrl+f")
        await until_shown(pilot, "A copy.")
        assert opener.asked == [("a", False), ("a", True)]


async def test_a_held_session_is_not_opened_but_offered_as_a_copy():
    opener = FakeOpener([choice("a", held_by="4711")])
    async with app_of(None, opener).run_test() as pilot:
        await until_shown(pilot, "process 4711 writes it")
        await pilot.press("enter")
        await until_shown(pilot, "Process 4711 writes this session; ctrl+f goes on in a copy.")
        assert opener.asked == []


async def test_resume_in_the_chat_leaves_the_present_session_properly():
    present, other = FakeConversation(), old("What was.")
    opener = FakeOpener([choice("a"), choice(present.status.session_id)], opens=[other])
    async with app_of(present, opener).run_test() as pilot:
        await write(pilot, "/resume")
        await pilot.press("enter")
        await until_shown(pilot, "open here")
        await pilot.press("enter")
        await until_shown(pilot, "What was.")
        assert (opener.closed, pilot.app.chat.conversation) == ([present], other)
        await write(pilot, "on")
        await pilot.press("enter")
        await until(pilot, lambda: other.inputs)
        assert present.inputs == []


async def test_a_session_that_cannot_be_opened_leaves_the_present_one_as_it_is():
    present = FakeConversation([start(), *text("Still here."), end()])
    opener = FakeOpener([choice("a")], opens=[SessionHeld("a", "process 4711")])
    async with app_of(present, opener).run_test() as pilot:
        await write(pilot, "/resume")
        await pilot.press("enter")
        await until_shown(pilot, "the work of a")
        await pilot.press("enter")
        await until_shown(pilot, "session a is held by process 4711")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(pilot.app.screen, PickScreen))
        await write(pilot, "go")
        await pilot.press("enter")
        await until_shown(pilot, "Still here.")
        assert opener.closed == []


async def test_a_running_reply_is_not_left_for_another_session():
    present = FakeConversation([start(), *text("Working."), 30])
    async with app_of(present, FakeOpener([choice("a")])).run_test() as pilot:
        await pilot.press("g", "enter")
        await until_shown(pilot, "Working.")
        await write(pilot, "/resume")
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert isinstance(pilot.app.screen, ChatScreen)
        assert any("A reply runs" in line for line in screen_text(pilot.app))
