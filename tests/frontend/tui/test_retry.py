import asyncio

from agentcli.ledger import event as ev
from tests.fakes.screen_conversation import REPLY, FakeConversation, end, start, text
from tests.frontend.tui.looks import chat, screen_text, transcript, until, until_shown

BUSY = ev.ErrorInfo(kind="rate_limit", message="slow down", status=429)


def retry(delay_s, attempt=2):
    return ev.ModelCallRetryEvent(reply_id=REPLY, attempt=attempt, delay_s=delay_s, error=BUSY, model_name="m")


def begun():
    return [start(), ev.ModelCallStartEvent(reply_id=REPLY, model_name="m")]


def row(pilot):
    return next((line for line in screen_text(pilot.app) if "asked too often" in line), "")


async def test_a_wait_counts_down_and_draws_nothing_afterwards():
    go = asyncio.Event()
    conversation = FakeConversation([*begun(), retry(2.2), go, *text("Here."), end()])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "again in 3 s (attempt 2). Esc stops.")
        await until_shown(pilot, "again in 1 s")
        await until_shown(pilot, "tried again (attempt 2).")
        view = transcript(pilot.app)
        await until(pilot, lambda: (view._second, view._frame) == (None, None))
        go.set()
        await until_shown(pilot, "Here.")
        assert row(pilot) == "· The provider is asked too often (429); tried again (attempt 2)."


async def test_what_comes_ends_the_countdown():
    go = asyncio.Event()
    conversation = FakeConversation([*begun(), retry(60), go, *text("Here."), 30])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "again in 1 min")
        go.set()
        await until_shown(pilot, "Here.")
        view = transcript(pilot.app)
        await until(pilot, lambda: (view._second, view._frame) == (None, None))


async def test_esc_stops_the_wait():
    conversation = FakeConversation([*begun(), retry(60), 60])
    async with chat(conversation).run_test() as pilot:
        await pilot.press("a", "enter")
        await until_shown(pilot, "Esc stops.")
        await pilot.press("escape")
        await until_shown(pilot, "Interrupted.")
        assert row(pilot) == "· The provider is asked too often (429); stopped before attempt 2."
        assert transcript(pilot.app)._second is None
