import pytest
from textual import events
from textual.app import App

from agentcli.frontend.tui.screens.listing import Entry
from agentcli.frontend.tui.screens.pick import Picked, PickScreen, Wording
from tests.frontend.tui.looks import INK, screen_text, until_shown, write

HOSTILE = "[/b] \x1b[2J\u202egpj \u200bx\nsecond"
WORDING = Wording("Pick one", "takes it", nothing="Nothing is here.", ways={"ctrl+f": "copies it"})


class Picker(App):
    CSS = "#picking { height: 100%; } #listing { height: 1fr; }"

    def __init__(self, entries, *, complete=True):
        super().__init__()
        self.pick = PickScreen(WORDING, INK, entries, complete=complete)
        self.picked = []

    async def on_mount(self):
        await self.push_screen(self.pick, self.picked.append)


def entries(count=3, **more):
    return [Entry(f"k{n}", f"entry number {n}", **more) for n in range(count)]


async def picked(keys, items, size=(80, 24)):
    app = Picker(items)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press(*keys)
        await pilot.pause()
    return app.picked


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["enter"], Picked("k0")),
        (["down", "down", "enter"], Picked("k2")),
        (["end", "up", "enter"], Picked("k1")),
        (["end", "home", "enter"], Picked("k0")),
        (["up", "enter"], Picked("k0")),
        (["down", "ctrl+f"], Picked("k1", "ctrl+f")),
        (["2", "enter"], Picked("k2")),
        (["2", "backspace", "enter"], Picked("k0")),
        (["2", "escape", "enter"], Picked("k0")),
        (["escape"], None),
        (["ctrl+c"], None),
        (["enter", "enter", "escape"], Picked("k0")),
    ],
)
async def test_keys_move_filter_and_pick(keys, expected):
    assert await picked(keys, entries()) == [expected]


async def test_all_words_of_the_filter_have_to_be_there_in_any_order():
    items = [Entry("a", "Fix the Parser", under="/home/shop"), Entry("b", "fix the lexer", under="/home/shop")]
    assert await picked(["s", "h", "o", "space", "p", "a", "r", "enter"], items) == [Picked("a")]


async def test_a_paste_filters_and_never_picks():
    app = Picker(entries())
    async with app.run_test() as pilot:
        await pilot.pause()
        app.screen.post_message(events.Paste("number\r\n2"))
        await pilot.pause()
        assert (app.picked, any("entry number 2" in line for line in screen_text(app))) == ([], True)
        await pilot.press("enter")
        await pilot.pause()
    assert app.picked == [Picked("k2")]


async def test_what_cannot_be_picked_says_why_and_may_be_taken_another_way():
    app = Picker(entries(1, refused="Process 4711 writes it [/b]."))
    async with app.run_test() as pilot:
        await pilot.pause()
        await pilot.press("enter")
        await until_shown(pilot, "Process 4711 writes it [/b].")
        assert app.picked == []
        await pilot.press("ctrl+f")
        await pilot.pause()
    assert app.picked == [Picked("k0", "ctrl+f")]


async def test_what_is_hidden_is_counted_and_shown_on_request():
    items = [*entries(2), Entry("h", "hollow", hidden="empty session"), Entry("u", "broken", rank=2, hidden="unreadable log")]
    app = Picker(items)
    async with app.run_test() as pilot:
        await until_shown(pilot, "tab shows 2 hidden: 1 empty session, 1 unreadable log")
        assert not any("hollow" in line for line in screen_text(app))
        await pilot.press("tab")
        await until_shown(pilot, "hollow")
        await until_shown(pilot, "tab hides 2 again")
        await pilot.press("tab")
        await pilot.pause()
        assert not any("hollow" in line for line in screen_text(app))


@pytest.mark.parametrize("size", [(80, 24), (80, 12), (20, 6), (9, 3)])
async def test_law_9_foreign_text_is_shown_for_what_it_is(size):
    app = Picker([Entry("a", HOSTILE, right=HOSTILE, under=HOSTILE, mark="?", refused=HOSTILE)])
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("enter")
        await pilot.pause()
        shown = "".join(screen_text(app))
        assert [letter for letter in shown if letter in "\x1b\u202e\u200b\n"] == []
        assert size[1] < 12 or "[/b] ␛[2J<U+202E>gpj" in shown


async def test_entries_that_come_later_stand_in_their_rank_and_who_moved_keeps_what_he_chose():
    app = Picker([Entry("b1", "beside one", rank=1), Entry("b2", "beside two", rank=1)], complete=False)
    async with app.run_test() as pilot:
        await pilot.pause()
        await pilot.press("down")
        app.pick.add([Entry("h", "here", rank=0)], complete=True)
        await pilot.pause()
        shown = [line.split()[-1] for line in screen_text(app) if "beside" in line or "here" in line]
        assert shown == ["here", "one", "two"]
        await pilot.press("enter")
        await pilot.pause()
    assert app.picked == [Picked("b2")]


async def test_a_list_without_entries_says_so():
    app = Picker([], complete=False)
    async with app.run_test() as pilot:
        await until_shown(pilot, "Reading …")
        app.pick.add((), complete=True)
        await until_shown(pilot, "Nothing is here.")
        await write(pilot, "x")
        await until_shown(pilot, "Nothing has all of these words.")
        await pilot.press("enter", "down", "pageup", "end", "ctrl+f")
        assert app.picked == []


async def test_a_click_chooses_and_the_next_one_picks():
    app = Picker(entries(40))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.click("#listing", offset=(10, 4))
        await pilot.pause()
        assert (app.picked, app.pick.listing.at) == ([], 4)
        await pilot.click("#listing", offset=(10, 4))
        await pilot.pause()
    assert app.picked == [Picked("k4")]


@pytest.mark.parametrize(("size", "tall"), [((80, 24), True), ((80, 12), False)])
async def test_what_stands_under_an_entry_is_seen_in_every_window(size, tall):
    app = Picker(entries(30, under="/home/me/shop"))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("end")
        await pilot.pause()
        lines = screen_text(app)
        assert sum("/home/me/shop" in line for line in lines) == (1 if not tall else app.pick.listing.size.height // 2)
        assert any(" › entry number 29" in line for line in lines)


async def test_only_the_rows_on_the_screen_are_made():
    made = []

    class Counted(str):
        def split(self, *args):
            made.append(self)
            return super().split(*args)

    app = Picker([Entry(f"k{n}", Counted(f"entry {n}")) for n in range(5000)])
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        await pilot.press("pagedown", "end")
        await pilot.pause()
        assert app.pick.listing.at == 4999
    assert len(set(made)) < 100
