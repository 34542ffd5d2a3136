"""Every stream, cut where a connection may break, through the real agent: laws 3 and 10, and a history that both wires take.

AGENTCLI_SHARED says where the recordings are; with AGENTCLI_ALL_CUTS each event border counts, else some of them.
"""

from __future__ import annotations

import json
import os
import random
import re
from pathlib import Path
from typing import Any

import pytest

from agentcli.ledger.block import ToolCallBlock, ToolResultBlock
from agentcli.ledger.message import Msg
from tests.fakes.agent import FakeTool, Stand, refold
from tests.fakes.endpoint import said, sse
from tests.fakes.recording import FakeRecordedModel
from tests.model.streams import STREAMS

SHARED = Path(os.environ.get("AGENTCLI_SHARED") or Path(__file__).parents[3] / "shared")
MANIFEST = SHARED / "provider-streams" / "MANIFEST.jsonl"
ALL = bool(os.environ.get("AGENTCLI_ALL_CUTS"))
BORDERS, RANDOM = (10_000, 60) if ALL else (16, 8)
BYE = {
    "chat": sse(said("bye", "stop"), "[DONE]"),
    "responses": sse({"type": "response.output_text.delta", "delta": "bye"}, {"type": "response.completed", "response": {}}),
}
TERMINAL = ("REPLY_END", "REPLY_PAUSED")


class FakeAny(FakeTool):
    """Takes any arguments and remembers them."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.parameters = {"type": "object", "properties": {}}

    async def run(self, arguments: Any, context: Any) -> Any:
        self.effects.append(arguments)
        for chunk in ():
            yield chunk


def recordings() -> list[Any]:
    rows: list[Any] = []
    if MANIFEST.is_file():
        rows = [json.loads(line) for line in MANIFEST.read_text(encoding="utf-8").splitlines() if line]
    own = [pytest.param(api, body, id=name) for name, (api, body) in STREAMS.items()]
    return own + [
        pytest.param(row["api"], (MANIFEST.parent / row["file"]).read_bytes(), id=row["file"])
        for row in rows
        if row["kind"] == "stream"
    ]


def cuts(body: bytes) -> list[int]:
    """Where a body is cut: after events, and at bytes chosen by a seed."""
    chance = random.Random(len(body))
    borders = [match.end() for match in re.finditer(rb"\r?\n\r?\n", body)]
    some = borders if len(borders) <= BORDERS else [*borders[-3:], *chance.sample(borders, BORDERS - 3)]
    return sorted({*some, *chance.sample(range(len(body)), min(RANDOM, len(body))), len(body)})


def names_in(body: bytes) -> set[str]:
    return set(re.findall(r'"name": ?"([\w.-]+)"', body.decode("utf-8", "replace")))


def shown(msg: Msg | None) -> tuple[str, list[tuple[str, str]]]:
    """The text of a first answer, and its calls."""
    content = msg.content if msg else []
    text = "".join(block.text for block in content if block.type == "text")
    return text.removesuffix("bye"), [(block.name, block.input) for block in content if isinstance(block, ToolCallBlock)]


async def played(api: str, body: bytes, names: set[str]) -> tuple[FakeRecordedModel, Stand, list[Any], Msg | None]:
    """One reply over these bytes, and the message that is stored of it."""
    stand = Stand([], *(FakeAny(name) for name in sorted(names)), mode="bypass")
    stand.agent.model = model = FakeRecordedModel(api, [body, BYE[api]])
    events = await stand.run("go")
    last = stand.state.context[-1]
    return model, stand, events, last if last.role == "assistant" else None


def check_calls(msg: Msg, ended: bool, stand: Stand) -> None:
    """Each call has its one result behind it; none ran of an answer that did not end."""
    calls = [block.id for block in msg.content if isinstance(block, ToolCallBlock)]
    results = [block.id for block in msg.content if isinstance(block, ToolResultBlock)]
    assert sorted(calls) == sorted(results) and len(set(calls)) == len(calls)
    ran = [arguments for tool in stand.tools.values() for arguments in tool.effects]
    assert len(ran) <= len(calls) and (ended or not ran)
    written = [json.loads(block.input or "{}") for block in msg.content if isinstance(block, ToolCallBlock)] if ran else []
    assert all(arguments in written for arguments in ran)


@pytest.mark.parametrize(("api", "body"), recordings())
async def test_a_stream_that_is_cut_anywhere_ends_honestly_and_leaves_a_valid_history(api: str, body: bytes):
    names = names_in(body)
    whole = shown((await played(api, body, names))[3])
    for at in cuts(body):
        model, stand, events, msg = await played(api, body[:at], names)
        # law 3
        assert [event.type for event in events if event.type in TERMINAL] == [events[-1].type], at
        ended = model.ended[0]
        assert ended or (events[-1].finished_reason == "error" and events[-1].error is not None), at
        # laws 1 and 10
        if msg is not None:
            assert refold(events) == msg, at
            check_calls(msg, ended, stand)
        text, calls = shown(msg)
        assert whole[0].startswith(text), at
        assert not ended or (text, calls) == whole, at
        # law 2: what follows is taken by both wires
        again = await stand.run("on")
        assert again[-1].finished_reason == "completed" and model.faults == [], at


@pytest.mark.parametrize(
    "name", ["chat: a call cut by length", "chat: a call stopped by a filter", "responses: a call cut by length"]
)
async def test_a_whole_looking_call_of_an_answer_that_was_cut_by_its_provider_never_runs(name: str):
    api, body = STREAMS[name]
    model, stand, _, msg = await played(api, body, {"Act"})
    assert msg is not None and len(msg.calls) == 1 and stand.tools["Act"].effects == []
    [result] = [block.text for block in msg.content if isinstance(block, ToolResultBlock)]
    assert result.startswith("never started")
    assert model.ended[0]
