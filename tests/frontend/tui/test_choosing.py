import pytest

from agentcli.frontend.tui.choosing import message_entry, session_entry
from agentcli.frontend.tui.screens.listing import Entry
from tests.fakes.opener import choice

NOW = "2026-01-01T10:05:00+00:00"


@pytest.mark.parametrize(
    ("saved", "entry"),
    [
        (choice("a"), Entry("a", "the work of a", "5 min", "/home/me/shop · 2 messages")),
        (
            choice("a", waiting=1),
            Entry("a", "the work of a", "waits · 5 min", "/home/me/shop · 2 messages · 1 call waits", "?"),
        ),
        (
            choice("a", held_by="4711"),
            Entry(
                "a",
                "the work of a",
                "held · 5 min",
                "/home/me/shop · 2 messages · process 4711 writes it",
                refused="Process 4711 writes this session; ctrl+f goes on in a copy.",
            ),
        ),
        (
            choice("a", here=False, gone=True, cwd="/srv/old", title=""),
            Entry("a", "(no title)", "5 min", "/srv/old (the folder is gone) · 2 messages", rank=1, dim=True),
        ),
        (
            choice("a", messages=0),
            Entry("a", "the work of a", "5 min", "/home/me/shop · 0 messages", hidden="empty session"),
        ),
        (
            choice("a", fault="It is cut."),
            Entry("a", "a", "unreadable", "It is cut.", rank=2, dim=True, hidden="unreadable log", refused="It is cut."),
        ),
    ],
)
def test_a_session_as_an_entry(saved, entry):
    assert session_entry(saved, NOW) == entry


def test_the_session_on_the_screen_is_not_picked_again():
    entry = session_entry(choice("a", held_by="1"), NOW, "a")
    assert (entry.right, entry.refused) == (
        "open here · 5 min",
        "This session is on the screen already; ctrl+f goes on in a copy.",
    )


def test_an_earlier_message_as_an_entry():
    assert message_entry("m1", "\n fix it\nplease ", "2026-01-01T10:00:00+00:00", NOW) == Entry("m1", "fix it\nplease", "5 min")
    assert message_entry("m1", " ", "", NOW).title == "(no text)"
