"""How tests look at rows, screens and applications."""

from pathlib import Path

from agentcli.frontend.tui.chat_app import ChatApp
from agentcli.frontend.tui.themes import Wardrobe
from agentcli.frontend.tui.transcript.blocks import Sight
from agentcli.frontend.tui.transcript.ink import ink_of
from agentcli.frontend.tui.transcript.view import Transcript
from agentcli.view.theme import PLAIN, load_themes
from tests.fakes.models import FakeModels

THEMES = Path(__file__).parent.parent.parent.parent / "themes"
INK = ink_of(PLAIN)


def sight(width=60, **more):
    return Sight(INK, width, **{"details": False, "root": "/home/me/shop", **more})


def words(rows):
    """Rows as lines of text."""
    return ["".join(segment.text for segment in row).rstrip() for row in rows]


def chat(conversation, theme=None, prompt=None, models=None):
    return ChatApp(conversation, Wardrobe(load_themes([THEMES]), theme), prompt, None, models or FakeModels())


def screen_text(app):
    """What is on the screen, row by row."""
    return [strip.text.rstrip() for strip in app.screen._compositor.render_strips()]


def transcript(app):
    return next(screen for screen in app.screen_stack if screen.query(Transcript)).query_one(Transcript)


async def until(pilot, condition, seconds=5.0):
    """Wait until something holds; its value."""
    for _ in range(int(seconds / 0.02)):
        found = condition()
        if found:
            return found
        await pilot.pause(0.02)
    raise AssertionError("\n".join(screen_text(pilot.app)))


async def until_shown(pilot, text, seconds=5.0):
    """Wait until a text is on the screen."""
    await until(pilot, lambda: any(text in line for line in screen_text(pilot.app)), seconds)


async def write(pilot, text):
    """Type a text."""
    for letter in text:
        await pilot.press({" ": "space", "/": "slash", ".": "full_stop"}.get(letter, letter))
