import pytest
from textual import events

from agentcli.config.trust import TrustFile, brought
from agentcli.errors import ConfigError
from agentcli.frontend.tui.chat_app import ChatApp
from agentcli.frontend.tui.screens.chat import ChatScreen
from agentcli.frontend.tui.screens.paper import Paper, body_rows
from agentcli.frontend.tui.themes import Wardrobe
from agentcli.runtime.command import Redo, Undo
from agentcli.runtime.trust import Offer
from agentcli.view.theme import load_themes
from tests.fakes.models import FakeModels
from tests.fakes.opener import FakeOpener
from tests.fakes.screen_conversation import FakeConversation
from tests.frontend.tui.looks import INK, THEMES, chat, screen_text, until, until_shown, words, write

SETTINGS = '[permissions]\nallow = ["Bash(make:*)"]\n# [red]\u202e\n'


@pytest.fixture
def offer(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTCLI_CONFIG_DIR", str(tmp_path / "config"))
    (tmp_path / "r" / ".agentcli").mkdir(parents=True)
    (tmp_path / "r" / ".agentcli" / "config.toml").write_text(SETTINGS)
    return Offer(brought(str(tmp_path / "r")), None)


def app_with(offer, *opens):
    return ChatApp(None, Wardrobe(load_themes([THEMES]), None), None, FakeOpener(opens=opens), FakeModels(), offer)


def said(tmp_path, offer):
    return TrustFile(tmp_path / "config").said(offer.found)


async def paper(pilot):
    await until(pilot, lambda: isinstance(pilot.app.screen, Paper))
    await until_shown(pilot, "This repository brings settings of its own")
    await pilot.pause(0.4)


@pytest.mark.parametrize(("key", "answer"), [("y", True), ("n", False), ("escape", None)])
async def test_settings_of_a_repository_are_shown_whole_and_asked_about_before_anything_is_opened(offer, tmp_path, key, answer):
    app = app_with(offer, FakeConversation())
    async with app.run_test() as pilot:
        await paper(pilot)
        shown = "\n".join(screen_text(pilot.app))
        assert ('allow = ["Bash(make:*)"]' in shown, "[red]" in shown, "\u202e" in shown) == (True, True, False)
        assert app._opener.asked == []
        await pilot.press(key)
        await until(pilot, lambda: isinstance(pilot.app.screen, ChatScreen))
        assert (app._opener.asked, said(tmp_path, offer)) == (["begin"], answer)


async def test_a_key_that_was_typed_before_and_a_paste_do_not_answer(offer, tmp_path):
    app = app_with(offer, FakeConversation())
    async with app.run_test() as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, Paper))
        await pilot.press("y")
        app.screen.post_message(events.Paste("y\ny"))
        await pilot.pause(0.1)
        assert (isinstance(app.screen, Paper), said(tmp_path, offer)) == (True, None)


async def test_what_cannot_be_opened_then_ends_the_program_with_its_words(offer):
    app = app_with(offer, ConfigError("config.toml: no TOML"))
    async with app.run_test() as pilot:
        await paper(pilot)
        await pilot.press("n")
        await until(pilot, lambda: not app.is_running)
    assert (app.refusal, app.return_code) == ("config.toml: no TOML", 2)


async def test_undo_and_redo_go_down_as_commands_and_say_what_came_of_it():
    conversation = FakeConversation()
    async with chat(conversation).run_test() as pilot:
        for line, shown in (("/undo", "Undone."), ("/redo", "Made again."), ("/undo c1", "Undone.")):
            await write(pilot, line)
            await pilot.press("enter")
            await until_shown(pilot, shown)
        conversation.refuses = ["Nothing was changed: a.txt has been changed since call c1 (Write)."]
        await write(pilot, "/undo")
        await pilot.press("enter")
        await until_shown(pilot, "Nothing was changed")
        assert conversation.commands == [Undo(), Redo(), Undo("c1"), Undo()]


def test_a_long_line_is_cut_a_wide_one_wrapped_and_nothing_is_lost():
    text = "x" * 25 + "\n\nab\tc\n漢字漢字漢字\n"
    rows = words(body_rows(text, INK.base, 10))
    assert rows[:3] == ["x" * 10, "x" * 10, "x" * 5]
    assert "".join(rows).replace(" ", "") == "x" * 25 + "abc" + "漢字" * 3


def test_a_megabyte_is_no_work():
    assert len(body_rows("x" * 1_000_000, INK.base, 100)) == 10_000
