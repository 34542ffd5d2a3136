import asyncio
import contextlib
import json
import re

import pytest
from textual import events
from textual.widgets import Input, TextArea

from agentcli.frontend.tui.screens.confirm import Confirm
from agentcli.ledger.event import UserConfirmResultEvent
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.command import SetMode
from tests.fakes.screen_conversation import FakeConversation, asks, begun, call, end, question, result, start, text
from tests.frontend.tui.looks import chat, screen_text, transcript, until, until_shown

READ = question(
    "Read", '{"file_path": "config.toml"}', {"kind": "text", "target": "/w/config.toml", "body": "all of it"}, rules=["Read(**)"]
)
DIFF = "@@ -3 +3 @@\n-pool = 8\n+pool = 21\n"
EDIT = question("Edit", '{"file_path": "a"}', {"kind": "diff", "target": "/w/a", "body": DIFF, "risks": ["It is changed."]}, "c2")
BASH = question("Bash", '{"command": "ls"}', {"kind": "command", "target": "ls", "body": "ls | tee out"}, "c3")
GUARD = 0.5


@contextlib.asynccontextmanager
async def asking(*questions, size=(100, 30), after=(), **changes):
    """A chat with these questions open; `after` are the streams that answers cause, before the last one."""
    first = [start(), *call("Read", "{}"), *asks(*questions)]
    conversation = FakeConversation(first, *after, [*text("Over."), end()], **changes)
    async with chat(conversation).run_test(size=size) as pilot:
        await pilot.press("q", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        await pilot.pause()
        yield pilot, conversation


def pause(*questions):
    """These still wait."""
    return asks(*questions)[1]


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
        one = conversation.inputs[-1].confirm_results[0]
        assert (one.digest, one.rules, one.tool_call.id) == ("d" * 64, None, "c1")


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
        one = conversation.inputs[-1].confirm_results[0]
        assert (one.tool_call.input, one.digest) == ('{"command": "ls -la"}', None)


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


def given(conversation):
    confirmed = [item for item in conversation.inputs if isinstance(item, UserConfirmResultEvent)]
    return [(r.tool_call.id, r.confirmed) for item in confirmed for r in item.confirm_results]


async def test_several_calls_are_answered_one_by_one_and_each_answer_is_sent_at_once():
    async with asking(READ, EDIT, BASH, after=[[pause(READ, BASH)], [pause(READ)]]) as (pilot, conversation):
        await pilot.pause(GUARD)
        await pilot.press("down")
        await until_shown(pilot, "Allow Edit ─ /w/a")
        await pilot.press("y")
        await pilot.pause(0.2)
        assert any("Allow Edit" in line for line in screen_text(pilot.app))
        dialog = pilot.app.screen
        await pilot.pause(GUARD)
        await pilot.press("n")
        await until_shown(pilot, "Allow Bash")
        assert given(conversation) == [("c2", False)]
        await pilot.press("y")
        await pilot.pause(0.2)
        assert given(conversation) == [("c2", False)]
        await pilot.pause(GUARD)
        await pilot.press("y")
        await until_shown(pilot, "Allow Read")
        assert (given(conversation), pilot.app.screen) == ([("c2", False), ("c3", True)], dialog)
        await pilot.pause(GUARD)
        await pilot.press("y")
        await until_shown(pilot, "Over.")
        assert given(conversation) == [("c2", False), ("c3", True), ("c1", True)]


async def test_an_answered_call_has_the_mark_of_one_that_runs_and_no_answer_counts_meanwhile():
    go = asyncio.Event()
    ran = [begun("Read"), go, *result("Read", "x")[1:], pause(BASH)]
    async with asking(READ, BASH, after=[ran]) as (pilot, conversation):
        await pilot.pause(GUARD)
        await pilot.press("y")
        await until_shown(pilot, "Read runs; the next answer counts when it has ended")
        assert any(line.strip().startswith("◐ Read") for line in screen_text(pilot.app))
        await pilot.pause(GUARD)
        await pilot.press("y")
        await pilot.pause(0.2)
        assert given(conversation) == [("c1", True)]
        go.set()
        await until_shown(pilot, "● Read")
        await until_shown(pilot, "y allow")
        await pilot.pause(GUARD)
        await pilot.press("y")
        await until_shown(pilot, "Over.")
        assert given(conversation) == [("c1", True), ("c3", True)]


async def test_esc_stops_an_answered_call_that_runs():
    async with asking(READ, BASH, after=[[begun("Read"), 60]]) as (pilot, conversation):
        await pilot.pause(GUARD)
        await pilot.press("y")
        await until_shown(pilot, "Read runs")
        await pilot.pause(GUARD)
        await pilot.press("escape")
        await until_shown(pilot, "Interrupted.")
        assert (given(conversation), isinstance(pilot.app.screen, Confirm)) == ([("c1", True)], False)


MANY = [
    question("Bash", f'{{"command": "echo {n}"}}', {"kind": "command", "target": "echo", "body": f"echo number-{n}"}, f"m{n}")
    for n in range(30)
]


@pytest.mark.parametrize("size", [(80, 12), (100, 30), (40, 12)])
async def test_many_calls_leave_room_for_the_command_and_the_answers(size):
    async with asking(*MANY, size=size, after=[[pause(*MANY[:21], *MANY[22:])]]) as (pilot, conversation):
        await pilot.press(*["down"] * 21)
        await pilot.pause(GUARD)
        shown = screen_text(pilot.app)
        assert any(line.strip() == "echo number-21" for line in shown)
        assert any(line.startswith(" › ? Bash    echo 21") for line in shown)
        assert any("y allow" in line for line in shown)
        assert any("more · this is 22 of 30" in line for line in shown)
        await pilot.press("y")
        await until_shown(pilot, "number-22")
        assert given(conversation) == [("m21", True)]


@pytest.mark.parametrize("size", [(10, 3), (20, 4), (8, 12), (80, 2)])
async def test_no_key_answers_where_the_window_is_too_small(size):
    async with asking(BASH, size=size) as (pilot, conversation):
        await until(pilot, lambda: "window too small to answer" in " ".join(" ".join(screen_text(pilot.app)).split()))
        for key in ("y", "n", "escape", "a", "tab", "e"):
            await pilot.pause(GUARD)
            await pilot.press(key)
        await pilot.pause(0.2)
        assert (given(conversation), pilot.app.screen.step) == ([], "")
        await pilot.resize_terminal(80, 24)
        await until_shown(pilot, "ls | tee out")
        await pilot.pause(GUARD)
        await pilot.press("y")
        assert await answered(pilot, conversation) == [(True, None)]


@pytest.mark.parametrize("size", [(20, 6), (20, 8), (30, 5), (80, 6), (80, 12)])
async def test_where_a_key_counts_its_target_body_and_answers_are_on_the_screen(size):
    long = question("Bash", "{}", {"kind": "command", "target": "touch", "body": "touch one", "risks": ["risk " * 30] * 3})
    async with asking(long, size=size) as (pilot, _):
        shown = "\n".join(screen_text(pilot.app))
        told = "window too" in shown
        whole = "touch one" in shown and re.search(r"y (allow|after end)\b", shown) and "n deny" in shown
        assert told or (whole and ("Bash ─ touch" in shown or "   touch" in shown))
        assert not (told and size in [(80, 12), (80, 6), (20, 8)])


async def test_a_long_command_is_allowed_only_after_its_end_was_seen():
    body = "\n".join([*(f"echo {n}" for n in range(60)), "touch hidden_tail"])
    async with asking(question("Bash", "{}", {"kind": "command", "target": "echo", "body": body}), size=(80, 24)) as (
        pilot,
        conversation,
    ):
        await until_shown(pilot, "more lines · f full · end")
        await until_shown(pilot, "y allow, when you have seen its end")
        await pilot.pause(GUARD)
        await pilot.press("y")
        await until_shown(pilot, "not seen yet: look at the end first")
        assert given(conversation) == []
        await pilot.press("end")
        await until_shown(pilot, "touch hidden_tail")
        await pilot.press("y")
        await pilot.pause(0.2)
        assert given(conversation) == []
        await pilot.pause(GUARD)
        await pilot.press("y")
        assert await answered(pilot, conversation) == [(True, None)]


async def test_runs_of_nothing_are_told_and_hide_nothing():
    body = "echo ok" + "\n" * 300 + "touch hidden_tail" + " " * 500 + "; rm x\n\n\n\n"
    async with asking(question("Bash", "{}", {"kind": "command", "target": "echo", "body": body}), size=(80, 24)) as (pilot, _):
        shown = [line.strip() for line in screen_text(pilot.app)]
        at = shown.index("echo ok")
        assert shown[at + 1] == "… 299 blank lines …"
        assert shown[at + 2].startswith("touch hidden_tail … 500 blanks … ; rm x")
        assert shown[at + 3] == "… 3 blank lines …"


@pytest.mark.parametrize(("count", "counts"), [(60, True), (400, False)])
async def test_a_long_diff_says_how_much_was_not_seen(count, counts):
    body = f"@@ -0,0 +1,{count} @@\n" + "".join(f"+line {n}\n" for n in range(count))
    async with asking(question("Edit", "{}", {"kind": "diff", "target": "/w/a", "body": body}), size=(80, 24)) as (
        pilot,
        conversation,
    ):
        await until_shown(pilot, "lines unseen" if counts else "y allow, when you have seen its end")
        await pilot.pause(GUARD)
        await pilot.press("y")
        await pilot.pause(0.3)
        assert bool(given(conversation)) is counts


async def test_a_call_that_can_no_longer_work_says_so_first_and_shows_its_target():
    note = "It can no longer work: /w/shop/a.py does not exist"
    arguments = '{"file_path": "a.py", "old_string": "one\\ntwo", "count": 3}'
    broken = question("Edit", arguments, {"kind": "text", "target": "Edit", "body": '{"input": "x"}', "notes": [note]})
    async with asking(broken) as (pilot, conversation):
        shown = [line.strip() for line in screen_text(pilot.app)]
        assert any(line.startswith("─ Allow Edit ─ a.py") for line in shown)
        at = shown.index(f"! {note}")
        assert shown[at : at + 7] == [
            f"! {note}",
            "! Allowed, it fails: nothing is changed, and the model reads why.",
            "",
            "file_path: a.py",
            "old_string: one",
            "two",
            "count: 3",
        ]
        assert any("y allow: it fails" in line for line in shown)
        await pilot.pause(GUARD)
        await pilot.press("y")
        assert await answered(pilot, conversation) == [(True, None)]


async def test_a_key_that_came_too_early_is_told():
    async with asking(READ) as (pilot, _):
        await pilot.pause(GUARD)
        await pilot.press("tab")
        await until(pilot, lambda: isinstance(pilot.app.focused, Input))
        await pilot.press("escape", "tab")
        await until_shown(pilot, "Too early: that key did not count.")
        await pilot.pause(GUARD)
        await pilot.press("tab")
        await until(pilot, lambda: isinstance(pilot.app.focused, Input))
        assert not any("Too early" in line for line in screen_text(pilot.app))


async def test_what_is_edited_or_pasted_shows_all_of_itself_and_keeps_its_value():
    hidden = question("Bash", '{"command": "a\u202eb\u009b2J"}', {"kind": "command", "target": "a", "body": "a"})
    async with asking(hidden) as (pilot, conversation):
        await pilot.pause(GUARD)
        await pilot.press("e")
        area = await until(pilot, lambda: pilot.app.focused if isinstance(pilot.app.focused, TextArea) else None)
        assert '"a\\u202eb\\u009b2J"' in area.text
        pilot.app.post_message(events.Paste("\x1b[2J\u200b"))
        await pilot.pause()
        assert "\\u001b[2J\\u200b" in area.text
        area.load_text(area.text.replace("\\u001b[2J\\u200b", ""))
        await pilot.press("ctrl+s")
        await answered(pilot, conversation)
        assert json.loads(conversation.inputs[-1].confirm_results[0].tool_call.input) == {"command": "a\u202eb\u009b2J"}


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
        await until_shown(pilot, "the end;")
        for _ in range(25):  # in a low window the risks come last
            if not any("line 199" in line for line in screen_text(pilot.app)):
                await pilot.press("up")
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
