"""Results of functions and of others, within the bound of all results."""

import hashlib

import pytest

from agentcli.agent.result import HEAD, TAIL
from agentcli.ledger import event as ev
from agentcli.ledger.block import Base64Source, DataBlock, TextBlock, ToolResultBlock
from agentcli.tool.base import ToolChunk
from tests.fakes.agent import FakeJournal, FakeTool, Stand, call, refold, results_of
from tests.fakes.spool import FakeSpool

OVER = [{"text": "over"}]
LONG = "".join(f"line {number}\n" for number in range(20_000))
METADATA = {"kept": {"blob": hashlib.sha256(LONG.encode()).hexdigest(), "bytes": len(LONG)}}


class KeepingJournal(FakeJournal):
    def __init__(self, spool):
        super().__init__()
        self.keep = spool.keep


class FakeTalker(FakeTool):
    """Says its pieces, then fails if it has to."""

    def __init__(self, *pieces, fault=None, **more):
        super().__init__(**more)
        self.pieces, self.fault = pieces, fault

    async def run(self, arguments, context):
        for piece in self.pieces:
            yield ToolChunk(content=[TextBlock(text=piece)])
        if self.fault:
            raise self.fault


def shortened(text=LONG):
    head, tail = text[:HEAD], text[-TAIL:]
    middle = text[HEAD:-TAIL]
    line = (
        f"[{middle.count(chr(10)):,} lines, {len(middle):,} characters left out from line {head.count(chr(10)) + 1:,} on; "
        "the whole is in /kept/it: Read it with offset and limit]"
    )
    return f"{head}\n{line}\n{tail}"


def deltas(events):
    return "".join(event.delta for event in events if event.type == "TOOL_RESULT_TEXT_DELTA")


async def talk(tool, spool):
    stand = Stand([[call("c1", value="a")], OVER], tool, mode="bypass", journal=KeepingJournal(spool))
    events = await stand.run()
    assert refold(events) == stand.state.context[-1]
    return events, stand.state.context[-1].result("c1")


@pytest.mark.parametrize("size", [1_000, 60_000, 1_000_000])
async def test_of_a_long_result_the_model_has_head_and_tail_and_the_file_has_all(size):
    spool = FakeSpool()
    pieces = [LONG[at : at + size] for at in range(0, len(LONG), size)]
    events, result = await talk(FakeTalker(*pieces), spool)
    assert (result.text, result.metadata, result.state) == (shortened(), METADATA, "success")
    assert (deltas(events), spool.text) == (result.text, LONG)


async def test_what_is_just_not_too_long_is_told_whole_and_makes_no_file():
    spool = FakeSpool(breaks_at="keep")
    text = "x" * (HEAD + TAIL)
    _, result = await talk(FakeTalker(text[:-1], "x"), spool)
    assert (result.text, result.metadata) == (text, {})


async def test_a_failure_stands_behind_the_tail():
    _, result = await talk(FakeTalker(LONG, "cut", fault=ValueError("no")), FakeSpool())
    assert result.text.endswith("line 19999\ncut\nThe tool failed: ValueError: no")


async def test_beyond_the_head_there_is_bounded_progress():
    events, _ = await talk(FakeTalker(*[LONG[:5_000]] * 500), FakeSpool())
    progress = [event.delta for event in events if event.type == "TOOL_PROGRESS"]
    assert 0 < len(progress) < 100 and max(map(len, progress)) <= 2_000


async def test_a_disk_that_refuses_costs_only_the_middle():
    _, result = await talk(FakeTalker(LONG), FakeSpool(breaks_at="finish"))
    assert "; they could not be kept: No space left on device]\n" in result.text and result.metadata == {}


@pytest.mark.parametrize("as_text", [True, False])
async def test_a_long_result_from_outside_has_the_same_bound(as_text):
    spool = FakeSpool()
    journal = KeepingJournal(spool)
    stand = Stand([[call("c1", value="a")], OVER], FakeTool(external=True), mode="bypass", journal=journal)
    first = await stand.run()
    image = DataBlock(source=Base64Source(data="eA==", media_type="image/png"))
    output = LONG if as_text else [TextBlock(text=LONG[:9]), image, TextBlock(text=LONG[9:])]
    result = ToolResultBlock(id="c1", name="Act", output=output, state="success", metadata={"by": "me"})
    answer = ev.ExternalExecutionResultEvent(reply_id=first[-1].reply_id, execution_results=[result])
    second = await stand.run(answer)
    stored = stand.state.context[-1].result("c1")
    assert (results_of(stand.state.context[-1]), spool.text) == ({"c1": ("success", shortened())}, LONG)
    assert (stored.metadata, deltas(second)) == ({"by": "me", **METADATA}, stored.text)
    (record,) = (line[1] for line in journal.lines if line[0] == "executed")
    assert len(str(record)) < len(LONG)
    assert refold(first, second) == stand.state.context[-1]
