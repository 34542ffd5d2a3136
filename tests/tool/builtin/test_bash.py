import asyncio
import time
from contextlib import aclosing

import pytest

from agentcli.errors import ToolError
from agentcli.ledger.block import ToolResultState
from agentcli.ledger.preview import Preview
from agentcli.tool.preview import digest_of
from tests.fakes.hands import FakeHands


@pytest.fixture
def hands(tmp_path):
    return FakeHands(tmp_path)


ENDS = [
    ("echo out; echo err >&2", "out\nerr\n", "success", {"summary": "2 lines", "exit_code": 0}),
    ("echo out; exit 7", "out\n(exit code 7)", "error", {"summary": "exit 7", "exit_code": 7}),
    ("printf out; exit 7", "out\n(exit code 7)", "error", {"summary": "exit 7", "exit_code": 7}),
    ("true", "(no output)", "success", {"summary": "0 lines", "exit_code": 0}),
    ("echo a; kill -9 $$", "a\n(ended by SIGKILL)", "error", {"summary": "SIGKILL", "exit_code": None}),
    ("printf 'a\\0b\\377'", "a\ufffdb\ufffd", "success", {"summary": "1 line", "exit_code": 0}),
]


@pytest.mark.parametrize(("command", "text", "state", "metadata"), ENDS)
async def test_the_result_tells_the_output_and_how_it_ended(hands, command, text, state, metadata):
    done = await hands("Bash", command=command)
    assert (done.text, done.state, done.metadata) == (text, state, metadata)


async def test_the_time_limit_is_named_with_the_output_so_far(hands):
    done = await hands("Bash", command="printf before; sleep 60", timeout=300)
    assert (done.text, done.state) == ("before\n(stopped at its time limit of 0.3 s)", ToolResultState.ERROR)


async def test_what_still_runs_is_named(hands):
    done = await hands("Bash", command="sleep 2 & echo hi")
    assert done.text.startswith("hi\n(still running, no longer read: process ")


async def test_head_comes_at_once_and_the_end_is_kept(hands):
    done = await hands("Bash", command="echo head; yes abcdefgh | head -c 3000000; echo tail; exit 3")
    assert (
        done.text.startswith("head\nabc")
        and done.text.endswith("tail\n(exit code 3)")
        and "characters left out from line 890 on; they are not kept]" in done.text
    )
    assert len(done.text) < 30_000


async def test_a_flood_is_few_bounded_chunks(hands):
    done = await hands("Bash", command="yes", timeout=800)
    assert len(done.chunks) < 40 and max(len(chunk.progress) for chunk in done.chunks) <= 2_000 and len(done.text) < 30_000


async def test_output_without_a_newline_is_told_while_it_runs(hands):
    async with aclosing(hands.stream("Bash", command="printf early; sleep 30")) as chunks:
        began = time.monotonic()
        first = await anext(chunks)
        assert (first.content[0].text, time.monotonic() - began < 2) == ("early", True)


async def test_closing_the_stream_ends_the_command(hands, tmp_path):
    chunks = hands.stream("Bash", command="echo $$ >pid; echo before; sleep 30; touch after")
    await anext(chunks)
    began = time.monotonic()
    await chunks.aclose()
    assert (time.monotonic() - began < 2, (tmp_path / "after").exists()) == (True, False)


async def test_cancelling_ends_the_command_and_passes_on(hands, tmp_path):
    task = asyncio.create_task(hands("Bash", command="trap 'touch ended; exit' TERM; touch began; while :; do sleep 0.05; done"))
    while not (tmp_path / "began").exists():
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (tmp_path / "ended").exists()


async def test_the_process_is_noted_and_knows_its_call(hands):
    done = await hands("Bash", command='echo "$AGENTCLI_CALL_ID $$"')
    (kind, body), call, pid = hands.notes[0], *done.text.split()
    assert (kind, body["call_id"], body["pid"], call) == ("process", "c1", int(pid), "c1")
    assert body["start_time"] > 0 or not hasattr(time, "pthread_getcpuclockid")


def test_the_preview_shows_the_whole_command(hands):
    arguments = {"command": "A=1 make all && echo ok", "description": "builds"}
    assert hands.preview("Bash", **arguments) == Preview(
        kind="command", target="make", body="A=1 make all && echo ok", digest=digest_of("Bash", arguments)
    )


@pytest.mark.parametrize(
    "arguments", [{"command": ""}, {"command": " "}, {"command": "a\0b"}, {"command": "x", "timeout": 600_001}, {}]
)
def test_what_cannot_run_is_refused_before_it_is_asked(hands, arguments):
    with pytest.raises(ToolError):
        hands.preview("Bash", **arguments)


async def test_the_shell_has_no_memory(hands):
    await hands("Bash", command="cd /; X=1")
    assert (await hands("Bash", command="pwd; echo $X")).text == f"{hands.context.place.cwd}\n\n"
