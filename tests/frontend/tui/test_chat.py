import asyncio

import pytest
from textual import events

from agentcli.frontend.tui.screens.confirm import Confirm
from agentcli.frontend.tui.widgets.prompt import Prompt
from agentcli.ledger import event as ev
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.command import Compact, SetMode, SetModel
from tests.fakes.screen_conversation import FakeConversation, begun, call, end, result, start, text, thinking, user
from tests.frontend.tui.looks import chat, screen_text, transcript, until, until_shown, write


def said(conversation):
    return [item.get_text_content() for item in conversation.inputs]


async def test_a_message_is_sent_and_its_answer_shown():
    conversation = FakeConversation([start(), *text("The **answer**."), end()])
    async with chat(conversation).run_test() as pilot:
        await write(pilot, "hello there")
        await pilot.press("enter")
        await until_shown(pilot, "The answer.")
        assert said(conversation) == ["hello there"]
        assert "▌ hello there" in screen_text(pilot.app)


async def test_an_empty_prompt_sends_nothing():
    conversation = FakeConversation()
    async with chat(conversation).run_test() as pilot:
        await pilot.press("enter", "space", "enter")
        await pilot.pause()
        assert conversation.inputs == []


async def test_keys_keep_their_order_however_fast_they_come():
    conversation = FakeConversation([start(), end()])
    async with chat(conversation).run_test() as pilot:
        app = pilot.app
        for key, letter in (
            ("z", "z"),
            ("q", "q"),
            ("backspace", None),
            ("backspace", None),
            ("h", "h"),
            ("i", "i"),
            ("enter", "\r"),
        ):
            app.post_message(events.Key(key, letter))
        await until(pilot, lambda: conversation.inputs)
        assert said(conversation) == ["hi"]


async def test_a_newline_and_the_history():
    conversation = FakeConversation([end()], [end()])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("a", "ctrl+j", "b", "enter")
        await until(pilot, lambda: not pilot.app.screen.bridge.running)
        await pilot.press("c", "up", "up")
        prompt = pilot.app.screen.query_one(Prompt)
        assert prompt.text == "a\nb"
        await pilot.press("down", "down")
        assert prompt.text == "c"
        assert said(conversation) == ["a\nb"]


async def test_a_large_paste_is_a_marker_and_is_sent_whole():
    pasted = "\n".join(f"line {n}" for n in range(3000))
    conversation = FakeConversation([end()])
    async with chat(conversation).run_test() as pilot:
        pilot.app.post_message(events.Paste(pasted.replace("\n", "\r")))
        await pilot.pause()
        assert pilot.app.screen.query_one(Prompt).text == "[pasted 3,000 lines]"
        await pilot.press("enter")
        await until(pilot, lambda: conversation.inputs)
        assert said(conversation) == [pasted]


async def test_a_small_paste_is_cleaned_and_shown():
    async with chat(FakeConversation()).run_test() as pilot:
        pilot.app.post_message(events.Paste("a\x1b[2Jb\u202ec"))
        await pilot.pause()
        assert pilot.app.screen.query_one(Prompt).text == "a␛[2Jb<U+202E>c"


async def test_text_while_a_reply_runs_steers_it_and_tab_queues():
    go = asyncio.Event()
    conversation = FakeConversation([start(), *text("Working."), go, end()], [end()])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "Working.")
        await pilot.press("s", "enter", "q", "tab")
        await pilot.pause()
        assert conversation.steered == ["s"]
        assert [line for line in screen_text(pilot.app) if "queued" in line or "steers  s" in line] == [
            "  steers  s",
            "  queued  q",
        ]
        conversation.steered.clear()
        go.set()
        await until(pilot, lambda: len(conversation.inputs) == 2)
        assert said(conversation) == ["a", "q"]


async def test_esc_interrupts_and_gives_back_what_was_queued():
    conversation = FakeConversation([start(), *text("Part one.", open_=True), 30, *text("never")])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "Part one.")
        await pilot.press("q", "tab", "escape")
        await until_shown(pilot, "Interrupted.")
        assert pilot.app.screen.query_one(Prompt).text == "q"
        assert any("Part one." in line for line in screen_text(pilot.app))


async def test_the_ladder_of_ctrl_c():
    conversation = FakeConversation([start(), *text("cobalt"), 30])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "cobalt")
        await pilot.press("ctrl+c")
        await until_shown(pilot, "Interrupted.")
        pilot.app.screen._asked_to_leave = 0.0
        await pilot.press("d", "ctrl+c")
        assert pilot.app.screen.query_one(Prompt).text == ""
        pilot.app.screen._asked_to_leave = 0.0
        await pilot.press("ctrl+c")
        await until_shown(pilot, "leaves")
        assert pilot.app.is_running
        await pilot.press("ctrl+c")
        await pilot.pause()
    assert pilot.app.return_code == 0


@pytest.mark.parametrize("keys", [["ctrl+d"], ["slash", "q", "u", "i", "t", "enter"], ["ctrl+q"]])
async def test_other_ways_to_leave(keys):
    async with chat(FakeConversation()).run_test() as pilot:
        await pilot.press(*keys)
        await pilot.pause()
    assert pilot.app.return_code == 0


async def test_ctrl_d_deletes_where_there_is_text():
    async with chat(FakeConversation()).run_test() as pilot:
        await pilot.press("a", "b", "home", "ctrl+d")
        assert pilot.app.screen.query_one(Prompt).text == "b"


async def test_shift_tab_goes_round_the_modes_and_explore_is_unmistakable():
    conversation = FakeConversation()
    async with chat(conversation).run_test() as pilot:
        await pilot.press("shift+tab")
        await until_shown(pilot, "accept edits")
        await pilot.press("shift+tab")
        await until_shown(pilot, "EXPLORE: no shell")
        await pilot.press("shift+tab")
        await until_shown(pilot, " default ")
        assert conversation.commands == [
            SetMode(PermissionMode.ACCEPT_EDITS),
            SetMode(PermissionMode.EXPLORE),
            SetMode(PermissionMode.DEFAULT),
        ]


async def test_the_context_is_told_and_compressed_by_commands():
    conversation = FakeConversation()
    async with chat(conversation).run_test(size=(100, 30)) as pilot:
        await write(pilot, "/context")
        await pilot.press("enter")
        await until_shown(pilot, "Context: about 1,500 tokens of 10,000 (15 %)")
        await until_shown(pilot, "results of tools")
        await write(pilot, "/compact the tests")
        await pilot.press("enter")
        await until_shown(pilot, "Compressed: about 9,000 -> 900 tokens.")
        assert conversation.commands == [Compact("the tests")]


async def test_slash_commands():
    conversation = FakeConversation()
    async with chat(conversation).run_test(size=(100, 30)) as pilot:
        await write(pilot, "/model other")
        await pilot.press("enter")
        await until_shown(pilot, "▏ other")
        await write(pilot, "/hlep")
        await pilot.press("enter")
        await until_shown(pilot, "There is no command /hlep. Did you mean /help?")
        await write(pilot, "/theme agentcli-light")
        await pilot.press("enter")
        await pilot.pause()
        assert pilot.app.theme == "agentcli-light"
        await write(pilot, "/help")
        await pilot.press("enter")
        await until_shown(pilot, "/mode  NAME")
        assert conversation.commands == [SetModel("other")]
        assert conversation.inputs == []


async def test_a_path_is_no_command():
    conversation = FakeConversation([end()])
    async with chat(conversation).run_test() as pilot:
        await write(pilot, "/etc/hosts")
        await pilot.press("enter")
        await until(pilot, lambda: conversation.inputs)
        assert said(conversation) == ["/etc/hosts"]


async def test_ctrl_o_opens_thinking_calls_and_results():
    events_ = [start(), *thinking("indigo"), *call("Bash", '{"command": "ls"}'), *result("Bash", "result-42"), end()]
    async with chat(FakeConversation(events_)).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "● Bash")
        assert not any("indigo" in line or "result-42" in line for line in screen_text(pilot.app))
        await pilot.press("ctrl+o")
        await until_shown(pilot, "indigo")
        await until_shown(pilot, "result-42")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: not any("indigo" in line for line in screen_text(pilot.app)))


async def test_a_resumed_session_shows_its_history_and_sends_nothing():
    history = [user("the question"), start(), *text("the answer"), end()]
    conversation = FakeConversation(history=history)
    async with chat(conversation).run_test() as pilot:
        await until_shown(pilot, "the answer")
        await until_shown(pilot, "▌ the question")
        assert conversation.inputs == []


async def test_enter_continues_a_reply_that_was_cut_off():
    conversation = FakeConversation([*text("more"), end()], unfinished=True, history=[user("q")])
    async with chat(conversation).run_test() as pilot:
        await until_shown(pilot, "Enter on the empty prompt continues it.")
        assert conversation.inputs == []
        await pilot.press("enter")
        await until_shown(pilot, "more")
        assert conversation.inputs == [None]


async def test_notices_are_shown_at_start():
    async with chat(FakeConversation(notices=("The last line of the log was torn.",))).run_test() as pilot:
        await until_shown(pilot, "The last line of the log was torn.")


async def test_the_first_prompt_of_the_command_line_is_sent():
    conversation = FakeConversation([end()])
    async with chat(conversation, prompt="from outside").run_test() as pilot:
        await until(pilot, lambda: conversation.inputs)
        assert said(conversation) == ["from outside"]


async def test_the_end_is_followed_until_the_user_scrolls_up_and_end_returns():
    go = asyncio.Event()
    lines = "".join(f"line {n}\n\n" for n in range(100))
    conversation = FakeConversation([start(), *text(lines, open_=True), go, *text("the last", "t2"), end()])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "line 99")
        await pilot.press("pageup")
        await pilot.pause()
        view = transcript(pilot.app)
        seen = screen_text(pilot.app)
        assert not view.following
        go.set()
        await until(pilot, lambda: not pilot.app.screen.bridge.running)
        await pilot.pause(0.1)
        assert screen_text(pilot.app)[2:10] == seen[2:10]
        await pilot.press("end")
        await until_shown(pilot, "the last")


async def test_opening_details_keeps_the_place_of_who_reads_further_up():
    lines = "".join(f"line {n}\n\n" for n in range(100))
    events_ = [start(), *thinking("a\n\n" * 30), *text(lines), end()]
    async with chat(FakeConversation(events_)).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "line 99")
        await pilot.press(*["pageup"] * 5)
        await pilot.pause()
        top = screen_text(pilot.app)[3]
        await pilot.press("ctrl+o")
        await pilot.pause(0.1)
        assert top in screen_text(pilot.app)[2:5]
        await pilot.resize_terminal(60, 24)
        await pilot.pause(0.1)
        assert top in screen_text(pilot.app)[2:5]


async def test_the_mark_moves_only_while_a_call_runs():
    go = asyncio.Event()
    conversation = FakeConversation([start(), *call("Bash", "{}"), begun("Bash"), go, *result("Bash", "")[1:], end()])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "◓ Bash")
        go.set()
        await until_shown(pilot, "● Bash")
        view = transcript(pilot.app)
        assert (view._beat, view._frame) == (None, None)


async def test_law_14_idle_has_no_timer():
    async with chat(FakeConversation([start(), *text("x"), end()])).run_test() as pilot:
        await pilot.press("a", "enter")
        await until(pilot, lambda: not pilot.app.screen.bridge.running)
        await pilot.pause(0.2)
        alive = [
            timer for node in pilot.app.screen.walk_children(with_self=True) for timer in node._timers if timer._active.is_set()
        ]
        assert alive == []


async def test_a_selection_is_copied_without_the_gutter():
    async with chat(FakeConversation([start(), *text("some words here"), end()])).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "some words here")
        view = transcript(pilot.app)
        y = next(y for y, line in enumerate(screen_text(pilot.app)) if "some words" in line) - view.region.y
        await pilot.mouse_down(view, offset=(2, y))
        await pilot.hover(view, offset=(11, y))
        await pilot.mouse_up(view, offset=(11, y))
        await pilot.press("ctrl+c")
        assert pilot.app.clipboard.startswith("some word")


async def test_any_size_will_do():
    events_ = [start(), *text("# Title\n\nsome text that wraps\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"), end()]
    async with chat(FakeConversation(events_)).run_test() as pilot:
        await pilot.press("a", "enter")
        for size in ((10, 3), (1, 1), (200, 50), (40, 12), (80, 24)):
            await pilot.resize_terminal(*size)
            await pilot.pause(0.05)
        await until_shown(pilot, "some text that wraps")


async def test_a_refused_input_is_said_and_nothing_breaks():
    from agentcli.errors import StillWaiting

    class Refusing(FakeConversation):
        async def stream(self, inputs):
            raise StillWaiting("one call waits")
            yield

    async with chat(Refusing()).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "one call waits")


async def test_what_waits_elsewhere_can_be_ended():
    calls = [ev.ToolCallBlock(id="c1", name="Deploy", input="{}", state="submitted")]
    paused = ev.ReplyPausedEvent(reply_id="r1", session_id="s", waiting=calls)
    conversation = FakeConversation([start(), paused], [end(ev.ReplyEndReason.INTERRUPTED)])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "Deploy")
        assert not isinstance(pilot.app.screen, Confirm)
        await pilot.press("escape")
        await until_shown(pilot, "Interrupted.")
        assert conversation.inputs[-1].type == "USER_INTERRUPT"


async def test_enter_on_the_empty_prompt_goes_on_after_the_limit_of_model_calls():
    limited = [start(), *text("So far."), end(ev.ReplyEndReason.EXCEED_MAX_ITERS)]
    conversation = FakeConversation(limited, [start(), *text("More."), end()])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "Enter on the empty prompt goes on.")
        await until(pilot, lambda: not pilot.app.screen.bridge.running)
        await pilot.press("enter")
        await until_shown(pilot, "▌ Go on.")
        await until_shown(pilot, "More.")
        await until(pilot, lambda: not pilot.app.screen.bridge.running)
        await pilot.press("enter")
        await pilot.pause()
        assert said(conversation) == ["a", "Go on."]


async def test_a_resumed_session_goes_on_after_the_limit_too():
    history = [user("q"), start(), *text("So far."), end(ev.ReplyEndReason.EXCEED_MAX_ITERS)]
    conversation = FakeConversation([start(), end()], history=history)
    async with chat(conversation).run_test() as pilot:
        await until_shown(pilot, "Stopped at the limit of model calls.")
        await pilot.press("enter")
        await until(pilot, lambda: conversation.inputs)
        assert said(conversation) == ["Go on."]


async def test_leaving_stops_the_reply_and_waits_for_the_end_of_its_stream():
    ended = []

    class Slow(FakeConversation):
        async def stream(self, inputs):
            async for event in super().stream(inputs):
                if self.interrupted.is_set():
                    await asyncio.sleep(0.5)  # a command that takes its time to end
                    ended.append(True)
                yield event

    conversation = Slow([start(), *text("Working."), 60], [*text("never"), end()])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "Working.")
        await pilot.press("q", "tab", "ctrl+d")
        await until_shown(pilot, "Stopping what runs")
        assert pilot.app.is_running
        await until(pilot, lambda: ended)
        await pilot.pause(0.1)
    assert (pilot.app.return_code, said(conversation)) == (0, ["a"])


async def test_tab_says_that_there_is_nothing_to_queue_behind():
    async with chat(FakeConversation()).run_test() as pilot:
        await pilot.press("a", "tab")
        await until_shown(pilot, "No reply runs: enter sends.")


async def test_what_comes_back_into_the_prompt_is_cleaned():
    conversation = FakeConversation([start(), *text("Working."), 60])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "Working.")
        pilot.app.post_message(events.Paste("x\x1b[2J\n" * 20))
        await pilot.pause()
        await pilot.press("tab", "escape")
        await until_shown(pilot, "Interrupted.")
        assert pilot.app.screen.query_one(Prompt).text.startswith("x␛[2J\nx␛[2J")
