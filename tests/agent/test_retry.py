import asyncio
import time

import pytest

from agentcli.agent.retry import FIRST_DELAY, LONGEST_DELAY, MOST_TRIES, TRIES_BEFORE_ANOTHER, delay_before
from agentcli.errors import ConfigError, ModelError
from agentcli.ledger.message import UserMsg
from agentcli.model.base import Finish, ModelCard, TextPiece, ThinkingPiece
from agentcli.model.fallback import FallbackModel
from tests.fakes.agent import FakeTool, Stand, answer, call, refold, types, until

FINE = TextPiece("fine")


def limited(after=0.0):
    return ModelError("rate_limit", "Slow down.", retryable=True, retry_after=after)


BROKEN = ModelError("connection", "No connection.", retryable=True, retry_after=0)
REFUSED = ModelError("auth", "No.")


class FakeModel:
    """Plays a list of pieces and errors for each attempt; the last one again and again."""

    def __init__(self, name, *attempts):
        self.card = ModelCard(name=name)
        self.attempts, self.asked, self.closed = list(attempts), 0, False

    async def stream(self, request):
        attempt = self.attempts[min(self.asked, len(self.attempts) - 1)]
        self.asked += 1
        for step in attempt:
            if isinstance(step, ModelError):
                raise step
            yield step
        yield Finish("stop")

    async def warm(self):
        return None

    async def close(self):
        self.closed = True


def stand_of(*models, tools=()):
    """An agent on the first model, with the others behind it; an exception in place of one cannot be used."""

    def maker(model):
        def make():
            if isinstance(model, Exception):
                raise model
            return model

        return make

    stand = Stand([], *tools)
    stand.agent.model = FallbackModel(models[0], [maker(model) for model in models[1:]]) if len(models) > 1 else models[0]
    return stand


def retries(events):
    return [(event.attempt, event.model_name, event.error.kind) for event in events if event.type == "MODEL_CALL_RETRY"]


def names(events):
    return [event.model_name for event in events if event.type == "MODEL_CALL_START"]


async def test_a_model_alone_is_asked_five_times():
    model = FakeModel("a", [BROKEN])
    events = await stand_of(model).run()
    assert retries(events) == [(number, "a", "connection") for number in range(2, MOST_TRIES + 1)]
    assert (model.asked, events[-1].finished_reason, events[-1].error.kind) == (MOST_TRIES, "error", "connection")


async def test_after_three_attempts_the_next_model_goes_on_in_the_same_call():
    first, second = FakeModel("a", [ThinkingPiece("hm"), BROKEN]), FakeModel("b", [FINE])
    stand = stand_of(first, second)
    events = await stand.run()
    assert retries(events) == [(2, "a", "connection"), (3, "a", "connection"), (4, "b", "connection")]
    assert (first.asked, second.asked, types(events).count("MODEL_CALL_START")) == (TRIES_BEFORE_ANOTHER, 1, 1)
    assert refold(events) == stand.state.context[-1]
    assert [block.type for block in stand.state.context[-1].content] == ["text"]


@pytest.mark.parametrize("kind", ["auth", "permission", "quota", "not_found", "unsupported"])
async def test_what_waiting_cannot_cure_goes_to_the_next_model_at_once(kind):
    first = FakeModel("a", [ModelError(kind, "No.")])
    events = await stand_of(first, FakeModel("b", [FINE])).run()
    assert (retries(events), first.asked) == ([(2, "b", kind)], 1)
    assert events[-1].finished_reason == "completed"


@pytest.mark.parametrize("kind", ["bad_request", "context_length", "content_filter", "internal"])
async def test_what_any_model_would_refuse_goes_to_no_other(kind):
    second = FakeModel("b", [FINE])
    events = await stand_of(FakeModel("a", [ModelError(kind, "No.")]), second).run()
    assert (retries(events), second.asked, events[-1].error.kind) == ([], 0, kind)


async def test_after_the_first_visible_word_nothing_is_tried_again():
    first, second = FakeModel("a", [TextPiece("half"), BROKEN]), FakeModel("b", [FINE])
    stand = stand_of(first, second)
    events = await stand.run()
    assert (retries(events), second.asked, events[-1].error.kind) == ([], 0, "connection")
    assert [block.text for block in stand.state.context[-1].content] == ["half"]


async def test_a_model_that_cannot_be_used_is_passed_over_and_said_where_no_other_is_left():
    absent = ConfigError("groq: the variable GROQ_API_KEY is not set")
    events = await stand_of(FakeModel("a", [REFUSED]), absent, FakeModel("c", [FINE])).run()
    assert retries(events) == [(2, "c", "auth")]
    events = await stand_of(FakeModel("a", [REFUSED]), absent).run()
    assert (events[-1].error.kind, events[-1].error.message) == (
        "auth",
        "No. The next model cannot be used: groq: the variable GROQ_API_KEY is not set.",
    )


async def test_the_next_model_stays_for_the_reply_and_the_next_reply_begins_with_the_first():
    tool = FakeTool(read_only=True)
    first, second = FakeModel("a", [REFUSED], [FINE]), FakeModel("b", [FINE])
    stand = stand_of(first, second, tools=[tool])
    stand.agent.model.begin("another")
    assert names(await stand.run()) == ["a"]
    assert names(await stand.run()) == ["a"]
    assert (first.asked, second.asked) == (2, 1)


async def test_a_reply_of_several_calls_stays_on_the_model_that_answered():
    script = Stand([[call("c1", value="x")], [{"text": "over"}]], FakeTool())
    first = FakeModel("a", [REFUSED])
    script.agent.model = FallbackModel(first, [lambda: script.model])
    paused = await script.run()
    done = await script.run(answer(paused))
    assert (names(paused), names(done), first.asked) == (["a"], ["script"], 1)


async def test_the_text_of_a_model_is_stamped_with_the_model_that_made_it():
    stand = stand_of(FakeModel("a", [REFUSED]), FakeModel("b", [FINE]))
    await stand.run()
    assert stand.agent.model.card.name == "b"


async def test_closing_closes_all_that_were_made():
    models = FakeModel("a", [REFUSED]), FakeModel("b", [FINE]), FakeModel("c", [FINE])
    stand = stand_of(*models)
    await stand.run()
    await stand.agent.model.close()
    assert [model.closed for model in models] == [True, True, False]


# -- how long ----------------------------------------------------------------------------------


def test_without_a_word_of_the_provider_the_wait_doubles_and_is_spread():
    broken = ModelError("server", "x", retryable=True)
    for tries in range(1, MOST_TRIES):
        base = FIRST_DELAY * 2 ** (tries - 1)
        waits = [delay_before(broken, tries, False) for _ in range(50)]
        assert all(0.75 * base <= wait <= 1.25 * base for wait in waits)
        assert len(set(waits)) > 1


@pytest.mark.parametrize("wanted", [0, 0.2, 7, LONGEST_DELAY])
def test_what_the_provider_asks_for_is_waited_and_hardly_more(wanted):
    assert wanted <= delay_before(limited(wanted), 1, False) <= 1.1 * wanted


def test_a_long_wait_is_not_made():
    assert delay_before(limited(LONGEST_DELAY + 1), 1, False) is None
    assert delay_before(limited(30), 1, True) is None


@pytest.mark.parametrize(("wanted", "words"), [(90, "90 seconds"), (3600, "60 minutes")])
async def test_a_wait_that_is_not_made_is_told(wanted, words):
    model = FakeModel("a", [limited(wanted)])
    events = await stand_of(model).run()
    assert (retries(events), model.asked) == ([], 1)
    assert events[-1].error.message == f"Slow down. It asks to wait {words}; send the message again then."


async def test_a_long_wait_goes_to_the_next_model():
    events = await stand_of(FakeModel("a", [limited(3600)]), FakeModel("b", [FINE])).run()
    assert (retries(events), events[-1].finished_reason) == ([(2, "b", "rate_limit")], "completed")


async def test_an_interrupt_ends_a_wait():
    model = FakeModel("a", [limited(50)])
    stand = stand_of(model)
    seen = []

    async def run():
        async for event in stand.agent.reply_stream(UserMsg("user", "go")):
            seen.append(event)

    task = asyncio.create_task(run())
    await until(lambda: any(event.type == "MODEL_CALL_RETRY" for event in seen))
    began = time.monotonic()
    stand.agent.interrupt()
    await asyncio.wait_for(task, 2)
    assert (seen[-1].finished_reason, model.asked) == ("interrupted", 1)
    assert time.monotonic() - began < 1


async def test_an_interrupt_does_not_wait_for_the_key_of_the_next_model():
    leave = asyncio.Event()
    loop = asyncio.get_running_loop()
    asked = []

    def make():
        asked.append(1)
        asyncio.run_coroutine_threadsafe(leave.wait(), loop).result()
        return FakeModel("b", [FINE])

    stand = Stand([])
    stand.agent.model = FallbackModel(FakeModel("a", [REFUSED]), [make])
    task = asyncio.create_task(stand.run())
    await until(lambda: asked)
    stand.agent.interrupt()
    events = await asyncio.wait_for(task, 2)
    leave.set()
    assert (events[-1].finished_reason, retries(events)) == ("interrupted", [])
