"""A model's context from the configuration: room is made before it is full, and the meter knows it."""

import json

from agentcli.ledger.message import UserMsg
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.assemble import Options, open_conversation
from tests.fakes.endpoint import FakeEndpoint, said, sse

SIZE = 4_000


def answer(content=None, finish="stop", **delta):
    return 200, {}, [sse(said(content, **delta), said(finish=finish), "[DONE]")]


def look(number):
    call = {"index": 0, "id": f"c{number}", "function": {"name": "Read", "arguments": json.dumps({"file_path": f"f{number}"})}}
    return answer(finish="tool_calls", tool_calls=[call])


async def play(home, endpoint, size):
    for number in range(3):
        (home.project / f"f{number}").write_text(f"{number} words of a file\n" * 180)
    (home.path / "config" / "config.toml").write_text(
        f'[providers.local]\nbase_url = "{endpoint.url}"\nmodels = ["a", {{ name = "b", context_size = {size} }}]\n'
    )
    options = Options(model="local/b", headless=True, mode=PermissionMode.ACCEPT_EDITS)
    conversation = await open_conversation(options)
    events = [event async for event in conversation.stream(UserMsg(content="look at them"))]
    status = conversation.status
    await conversation.close()
    return events, status


async def test_room_is_made_before_the_configured_context_is_full(home):
    answers = [look(0), look(1), answer("## The request\nto look"), look(2), answer("over")]
    async with FakeEndpoint(answers) as endpoint:
        events, status = await play(home, endpoint, SIZE)
    compressed = [event for event in events if event.type == "CONTEXT_COMPRESSED"]
    assert (len(compressed), events[-1].type, events[-1].finished_reason) == (1, "REPLY_END", "completed")
    assert 0.6 * SIZE < compressed[0].tokens_before < SIZE
    assert ["0 words" in json.dumps(request) for request in endpoint.requests] == [False, True, True, False, False]
    assert status.context_size == SIZE


async def test_a_larger_context_is_left_alone(home):
    answers = [look(0), look(1), look(2), answer("over")]
    async with FakeEndpoint(answers) as endpoint:
        events, status = await play(home, endpoint, 128_000)
    assert [event.type for event in events if event.type == "CONTEXT_COMPRESSED"] == []
    assert status.context_size == 128_000
