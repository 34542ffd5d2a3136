import pytest

from agentcli.frontend.tui.chat_app import ChatApp
from agentcli.frontend.tui.screens.pick import PickScreen
from agentcli.frontend.tui.themes import Wardrobe
from agentcli.view.theme import load_themes
from tests.fakes.opener import FakeOpener, choice
from tests.fakes.screen_conversation import FakeConversation, FakeEarlier
from tests.frontend.tui.looks import THEMES, chat, until

LONG_AGO = "2020-01-01T10:00:00+00:00"  # its age is shown as a day
HOME = {"updated_at": LONG_AGO, "cwd": "/srv/shop"}
SESSIONS = [
    choice("a", title="Read config.toml and tell me the database address", messages=12, **HOME),
    choice("b", title="Use it in src/app.py, and run the tests", messages=4, waiting=1, **HOME),
    choice("c", title="Why is [/the] build \x1b[2J so slow?", messages=31, held_by="4711", **HOME),
    choice("d", title="", messages=0, **HOME),
    choice("e", title="日本語の説明を書いて", updated_at=LONG_AGO, cwd="/srv/gone", here=False, gone=True),
    choice("f", title="A title so long that it has no room beside its age " * 2, updated_at=LONG_AGO, cwd="/srv/api", here=False),
]
BROKEN = [choice("g" * 16, fault="Its first line is not whole, so it is no session.")]
EARLIER = [
    FakeEarlier("m5", "and then show me the diff"),
    FakeEarlier("m4", "Use it in src/app.py,\nand run the tests\n\nplease [/b]"),
    FakeEarlier("m3", "word " * 60),
    FakeEarlier("m2", "\x1b[31mred\u202e"),
    FakeEarlier("m1", "Read config.toml and tell me the database address"),
]
SIZES = [(theme, size) for size in [(80, 24), (80, 12)] for theme in ("agentcli-dark", "agentcli-light")]


def typed(*keys):
    async def run(pilot):
        await until(pilot, lambda: isinstance(pilot.app.screen, PickScreen) and pilot.app.screen.listing.entries)
        await pilot.pause(0.1)
        await pilot.press(*keys)
        await pilot.pause(0.1)

    return run


def rewinding(*keys):
    async def run(pilot):
        await pilot.pause(0.2)
        await pilot.press("escape", "escape")
        await typed(*keys)(pilot)

    return run


def picker(theme):
    return ChatApp(None, Wardrobe(load_themes([THEMES]), theme), None, FakeOpener(SESSIONS, BROKEN))


@pytest.mark.parametrize(("theme", "size"), SIZES)
def test_the_session_picker_looks_as_it_did(snap_compare, theme, size):
    assert snap_compare(picker(theme), run_before=typed("down"), terminal_size=size)


def test_the_session_picker_with_all_it_hid_and_a_refusal(snap_compare):
    assert snap_compare(picker("agentcli-dark"), run_before=typed("tab", "down", "down", "enter"), terminal_size=(80, 24))


def test_the_session_picker_in_a_narrow_window(snap_compare):
    assert snap_compare(picker("agentcli-dark"), run_before=typed("down"), terminal_size=(40, 20))


@pytest.mark.parametrize(("theme", "size"), SIZES)
def test_the_rewind_looks_as_it_did(snap_compare, theme, size):
    conversation = FakeConversation()
    conversation.said_before = [(earlier, []) for earlier in EARLIER]
    assert snap_compare(chat(conversation, theme), run_before=rewinding("down"), terminal_size=size)
