import asyncio
import contextlib

import pytest
from textual import events
from textual.widgets import Input, TextArea

from agentcli.frontend.tui.screens.confirm import Confirm
from agentcli.ledger.event import UserConfirmResultEvent
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.command import SetMode
from tests.fakes.screen_conversation import FakeConversation, asks, call, end, question, start, text
from tests.frontend.tui.looks import chat, screen_text, transcript, until, until_shown

READ = question(
    "Read", '{"file_path": "config.toml"}', {"kind": "text", "target": "/w/config.toml", "body": "all of it"}, rules=["Read(**)"]
)
DIFF = "@@ -3 +3 @@\n-pool = 8\n+pool = 21\n"
EDIT = question("Edit", '{"file_path": "a"}', {"kind": "diff", "target": "/w/a", "body": DIFF, "risks": ["It is changed."]}, "c2")
BASH = question("Bash", '{"command": "ls"}', {"kind": "command", "target": "ls", "body": "ls | tee out"}, "c3")
GUARD = 0.5


@contextlib.asynccontextmanager
async def asking(*questions, size=(100, 30), **changes):
    """A chat with these questions open."""
    conversation = FakeConversation([start(), *call("Read", "{}"), *asks(*questions)], [*text("Over."), end()], **changes)
    async with chat(conversation).run_test(size=size) as pilot:
        await pilot.press("q", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        await pilot.pause()
        yield pilot, conversation


def answers(conversation):
    last = conversation.inputs[-1]
    return [(r.confirmed, r.reason) for r in last.confirm_results] if isinstance(last, UserConfirmResultEvent) else None


async def answered(pilot, conversation):
    await until(pilot, lambda: isinstance(conversation.inputs[-1], UserConfirmResultEvent))
    return answers(conversation)


async def test_it_shows_tool_target_and_the_word_allow():
    async with asking(READ) as (pilot, _):
        shown = "\n".join(screen_text(pilot.app))
        assert "Allow Read ─ /w/config.toml" in shown
        assert "all of it" in shown


@pytest.mark.parametrize(
    ("keys", "answer"),
    [(["y"], [(True, None)]), (["n"], [(False, None)]), (["escape"], [(False, None)])],
)
async def test_a_key_answers_after_the_pause(keys, answer):
    async with asking(READ) as (pilot, conversation):
        await pilot.pause(GUARD)
        await pilot.press(*keys)
        assert await answered(pilot, conversation) == answer
        await until_shown(pilot, "Over.")
        given = conversation.inputs[-1].confirm_results[0]
        assert (given.digest, given.rules, given.tool_call.id) == ("d" * 64, None, "c1")


async def test_an_early_key_answers_nothing_and_begins_the_pause_anew():
    async with asking(READ) as (pilot, conversation):
        await pilot.press("y")
        await pilot.pause(0.2)
        await pilot.press("y")
        await pilot.pause(0.2)
        assert answers(conversation) is None
        await pilot.pause(GUARD)
        await pilot.press("y")
        assert await answered(pilot, conversation) == [(True, None)]


async def test_a_burst_and_a_paste_answer_nothing():
    async with asking(READ) as (pilot, conversation):
        await pilot.pause(GUARD)
        for letter in "yyyy":
            pilot.app.post_message(events.Key(letter, letter))
        pilot.app.post_message(events.Paste("y\ny\n"))
        await pilot.pause(0.3)
        assert answers(conversation) is None
        assert isinstance(pilot.app.screen, Confirm)


async def test_always_shows_the_rule_and_gives_it_with_the_second_key():
    async with asking(READ) as (pilot, conversation):
        await pilot.pause(GUARD)
        await pilot.press("a")
        await until_shown(pilot, "Always allow Read(**) in this project")
        assert answers(conversation) is None
        await pilot.pause(GUARD)
        await pilot.press("s")
        await until_shown(pilot, "Always allow Read(**) everywhere")
        await pilot.press("enter")
        await answered(pilot, conversation)
        (rule,) = conversation.inputs[-1].confirm_results[0].rules
        assert (rule.text, rule.source) == ("Read(**)", "everywhere")


async def test_esc_goes_back_from_the_rule():
    async with asking(READ) as (pilot, conversation):
        await pilot.pause(GUARD)
        await pilot.press("a")
        await until_shown(pilot, "Always allow")
        await pilot.pause(GUARD)
        await pilot.press("escape")
        await until(pilot, lambda: not any("Always allow" in line for line in screen_text(pilot.app)))
        assert answers(conversation) is None


async def test_a_call_without_a_rule_offers_none():
    async with asking(BASH) as (pilot, conversation):
        await pilot.pause(GUARD)
        await pilot.press("a")
        await pilot.pause(0.2)
        assert not any("lways" in line for line in screen_text(pilot.app))
        assert answers(conversation) is None


async def test_a_reason_may_hold_any_letter_and_goes_to_the_model():
    async with asking(READ) as (pilot, conversation):
        await pilot.pause(GUARD)
        await pilot.press("tab")
        await until(pilot, lambda: isinstance(pilot.app.focused, Input))
        for letter in "yna":
            await pilot.press(letter)
        await pilot.pause(0.2)
        assert answers(conversation) is None
        await pilot.press("enter")
        assert await answered(pilot, conversation) == [(False, "yna")]


async def test_edited_arguments_are_what_is_allowed():
    async with asking(BASH) as (pilot, conversation):
        await pilot.pause(GUARD)
        await pilot.press("e")
        area = await until(pilot, lambda: pilot.app.focused if isinstance(pilot.app.focused, TextArea) else None)
        area.load_text('{"command": "ls -la"')
        await pilot.press("ctrl+s")
        await pilot.pause()
        assert answers(conversation) is None
        area.load_text('{"command": "ls -la"}')
        await pilot.press("ctrl+s")
        assert await answered(pilot, conversation) == [(True, None)]
        given = conversation.inputs[-1].confirm_results[0]
        assert (given.tool_call.input, given.digest) == ('{"command": "ls -la"}', None)


async def test_shift_tab_accepts_edits_from_now_on():
    async with asking(EDIT) as (pilot, conversation):
        await pilot.pause(GUARD)
        await pilot.press("shift+tab")
        assert await answered(pilot, conversation) == [(True, None)]
        assert conversation.commands == [SetMode(PermissionMode.ACCEPT_EDITS)]


async def test_shift_tab_does_nothing_for_a_command():
    async with asking(BASH) as (pilot, conversation):
        await pilot.pause(GUARD)
        await pilot.press("shift+tab")
        await pilot.pause(0.2)
        assert (answers(conversation), conversation.commands) == (None, [])


async def test_several_calls_are_answered_one_by_one():
    async with asking(READ, EDIT, BASH) as (pilot, conversation):
        await pilot.pause(GUARD)
        await pilot.press("down")
        await until_shown(pilot, "Allow Edit ─ /w/a")
        await pilot.press("y")
        await pilot.pause(0.2)
        assert any("Allow Edit" in line for line in screen_text(pilot.app))
        await pilot.pause(GUARD)
        await pilot.press("n")
        await until_shown(pilot, "Allow Bash")
        await pilot.pause(GUARD)
        await pilot.press("y")
        await until_shown(pilot, "Allow Read")
        await pilot.pause(GUARD)
        await pilot.press("y")
        assert await answered(pilot, conversation) == [(True, None), (False, None), (True, None)]


async def test_a_diff_has_numbers_and_risks_come_before_the_answers():
    async with asking(EDIT) as (pilot, _):
        shown = [line.strip() for line in screen_text(pilot.app)]
        assert shown.index("3 - pool = 8") < shown.index("3 + pool = 21") < shown.index("! It is changed.")
        assert shown.index("! It is changed.") < next(at for at, line in enumerate(shown) if line.startswith("y allow"))


@pytest.mark.parametrize("size", [(80, 12), (40, 12), (80, 24), (120, 40)])
async def test_the_body_scrolls_and_the_answers_stay(size):
    body = "@@ -0,0 +1,200 @@\n" + "".join(f"+line {n}\n" for n in range(200))
    long = question(
        "Edit", "{}", {"kind": "diff", "target": "/w/" + "deep/" * 20 + "a", "body": body, "risks": ["risk " * 30] * 3}
    )
    async with asking(long, size=size) as (pilot, _):
        assert any("y allow" in line for line in screen_text(pilot.app))
        await pilot.press("end")
        await until_shown(pilot, "line 199")
        assert any("y allow" in line for line in screen_text(pilot.app))


async def test_full_view_takes_the_screen():
    body = "@@ -0,0 +1,100 @@\n" + "".join(f"+line {n}\n" for n in range(100))
    async with asking(question("Edit", "{}", {"kind": "diff", "target": "/w/a", "body": body}), size=(80, 40)) as (pilot, _):
        before = sum("+ line" in line for line in screen_text(pilot.app))
        await pilot.pause(GUARD)
        await pilot.press("f")
        await until(pilot, lambda: sum("+ line" in line for line in screen_text(pilot.app)) > before)


async def test_nothing_that_is_approved_hides():
    text_ = "touch c\u0430t \u202eexe\x1b[2J\rls"
    async with asking(question("Bash", "{}", {"kind": "command", "target": "touch", "body": text_})) as (pilot, _):
        shown = "\n".join(screen_text(pilot.app))
        assert "touch c\u0430t <U+202E>exe␛[2J␍ls" in shown
        assert "U+0430" in shown


@pytest.mark.parametrize("words", ["[/oops]", "[@click=app.quit]y[/]", "[bold red]Allow"])
async def test_markup_is_shown_as_it_is(words):
    async with asking(question(words, "{}", {"kind": "text", "target": words, "body": words})) as (pilot, _):
        assert "\n".join(screen_text(pilot.app)).count(words) == 2


async def test_what_waits_is_asked_again_at_start():
    block, _preview = READ
    conversation = FakeConversation(asks(READ), [*text("Over."), end()], waiting=(block,))
    async with chat(conversation).run_test() as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        assert conversation.inputs == [None]
        await pilot.pause(GUARD)
        await pilot.press("y")
        assert await answered(pilot, conversation) == [(True, None)]


async def test_ctrl_c_answers_nothing_and_the_second_one_leaves():
    async with asking(READ) as (pilot, conversation):
        await pilot.press("ctrl+c")
        await until_shown(pilot, "ctrl+c again leaves; the question is kept")
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert answers(conversation) is None
    assert pilot.app.return_code == 0


async def test_the_transcript_behind_stays_and_nothing_ticks():
    async with asking(READ) as (pilot, _):
        await asyncio.sleep(0.3)
        view = transcript(pilot.app)
        assert (view._beat, view._frame) == (None, None)


async def test_ten_by_three_is_survived():
    async with asking(EDIT, READ) as (pilot, _):
        await pilot.resize_terminal(10, 3)
        await pilot.pause(0.1)
        await pilot.resize_terminal(100, 30)
        await until_shown(pilot, "Allow Edit")
