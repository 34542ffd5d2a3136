import pytest

from agentcli.model.registry import make_model
from agentcli.model.spec import ModelSpec
from tests.fakes.agent import Stand, refold, types
from tests.fakes.endpoint import FakeEndpoint, said, sse

FINE = (200, {}, [sse(said("fine"), said(finish="stop"), "[DONE]")])
FINE_TOO = (
    200,
    {},
    [
        sse(
            {"type": "response.output_text.delta", "delta": "fine"},
            {"type": "response.completed", "response": {"status": "completed", "output": []}},
        )
    ],
)
AT_ONCE = {"retry-after": "0"}


async def replied(spec):
    stand = Stand([])
    stand.agent.model = make_model(spec)
    try:
        events = await stand.run()
    finally:
        await stand.agent.model.close()
    assert refold(events) == stand.state.context[-1]
    return events, stand.state.context[-1].get_text_content()


def retries(events):
    return [(event.attempt, event.model_name, event.error.kind) for event in events if event.type == "MODEL_CALL_RETRY"]


async def test_each_attempt_is_one_request_and_nobody_else_repeats_it():
    answers = [(500, AT_ONCE, [b"{}"]), (429, AT_ONCE, [b"{}"]), (503, AT_ONCE, [b"{}"]), FINE]
    async with FakeEndpoint(answers) as endpoint:
        events, text = await replied(ModelSpec(name="m", base_url=endpoint.url, api_key="k"))
    assert retries(events) == [(2, "m", "server"), (3, "m", "rate_limit"), (4, "m", "server")]
    assert (len(endpoint.requests), text) == (4, "fine")


async def test_what_was_shown_before_a_cut_is_kept_and_not_asked_for_again():
    half = (200, {}, [sse(said("half of"))])
    async with FakeEndpoint([half, FINE], cut=True) as endpoint:
        events, text = await replied(ModelSpec(name="m", base_url=endpoint.url, api_key="k"))
    assert (retries(events), len(endpoint.requests), text) == ([], 1, "half of")
    assert (events[-1].finished_reason, events[-1].error.kind) == ("error", "cut_stream")


@pytest.mark.parametrize(("api", "answer"), [("chat", FINE), ("responses", FINE_TOO)])
async def test_the_next_model_may_speak_another_wire_at_another_endpoint(api, answer):
    async with FakeEndpoint([(401, {}, [b"{}"])]) as first, FakeEndpoint([answer]) as second:
        other = ModelSpec(name="q/n", model="n", api=api, base_url=second.url, api_key="second")
        spec = ModelSpec(name="p/m", model="m", base_url=first.url, api_key="first", fallback=(lambda: other,))
        events, text = await replied(spec)
    assert (retries(events), text) == ([(2, "q/n", "auth")], "fine")
    assert types(events).count("MODEL_CALL_START") == types(events).count("MODEL_CALL_END") == 1
    assert ["Bearer first" in head for head in first.heads] == [True]
    assert ["Bearer second" in head for head in second.heads] == [True]
