import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from agentcli.errors import ToolError
from agentcli.workspace import warden
from agentcli.workspace.environment import quiet_environment
from agentcli.workspace.shell import Command, Ended, shell_program
from agentcli.workspace.warden import carriers, start_time

SLEEPER = "while :; do sleep 1; done"
NEEDS_PROC = pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="finds processes in /proc")


class Run:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = f"HANDS={uuid.uuid4().hex}"
        self.ended = Ended(None)
        self.output = b""
        self.seconds = 0.0

    async def start(self, line: str, **more: str) -> Command:
        name, _, value = self.mark.partition("=")
        environment = quiet_environment({**os.environ, name: value, **more}, "c1", passed=[name])
        return await Command.start([shell_program() or "sh", "-c", line], str(self.folder), environment)

    async def __call__(self, line: str, limit: float = 10, **more: str) -> "Run":
        began = time.monotonic()
        command = await self.start(line, **more)
        try:
            async with contextlib.aclosing(command.output(limit, 0.1)) as pieces:
                async for piece in pieces:
                    self.output += piece[: max(0, 100_000 - len(self.output))]
        finally:
            self.ended = await command.close()
        self.seconds = time.monotonic() - began
        return self

    def left(self) -> list[int]:
        return carriers(self.mark.encode())


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


async def test_output_and_end_of_a_plain_command(run):
    done = await run("echo out; echo err >&2; exit 7")
    assert (done.output, done.ended) == (b"out\nerr\n", Ended(7))


async def test_a_signal_is_named(run):
    assert (await run("kill -9 $$")).ended == Ended(None, "SIGKILL")


STUBBORN = {
    "plain": "echo before; sleep 300",
    "ignores signals": f"trap '' TERM INT HUP QUIT; echo before; {SLEEPER}",
    "own session": "setsid sh -c 'exec </dev/null >/dev/null 2>&1; sleep 300; :' & echo before; sleep 300",
    "own session, ignores signals": f"setsid sh -c \"trap '' TERM INT HUP; {SLEEPER}\" & echo before; sleep 300",
    "daemon": "setsid -f sh -c 'sleep 300; :' ; echo before; sleep 300",
    "stops itself": "echo before; kill -STOP $$; sleep 300",
    "closes its output": "echo before; exec >&- 2>&-; sleep 300",
    "respawns": f"echo before; sh -c 'trap \"\" TERM; {SLEEPER}' & {SLEEPER}",
}


@NEEDS_PROC
@pytest.mark.parametrize("line", STUBBORN.values(), ids=STUBBORN)
async def test_law_12_time_limit_ends_the_whole_tree_within_two_seconds(run, line):
    done = await run(line, 0.3)
    assert (done.output, done.ended.timed_out, done.ended.left, done.left()) == (b"before\n", True, (), [])
    assert done.seconds < 2.3


@NEEDS_PROC
async def test_a_daemon_that_clears_its_environment_is_ended_too(run):
    line = "env -i PATH=$PATH setsid -f sh -c 'echo $$ >daemon; sleep 300; :'; sleep 0.2; echo before; sleep 300"
    await run(line, 0.6)
    with pytest.raises(ProcessLookupError):
        os.kill(int((run.folder / "daemon").read_text()), 0)


@NEEDS_PROC
def test_a_command_whose_agent_died_meanwhile_does_not_begin(tmp_path):
    words = f"touch {tmp_path}/done".encode().replace(b" ", b"\0")
    ours, theirs = socket.socketpair()
    with theirs:
        ours.sendall(b"%08x" % len(words) + words)
        ours.close()
        done = subprocess.run([sys.executable, "-I", "-S", warden.__file__], stdin=theirs.fileno(), check=False)
    assert (done.returncode, list(tmp_path.iterdir())) == (0, [])


@NEEDS_PROC
async def test_a_command_can_be_seen_before_it_has_done_anything_and_ends_with_its_agent(run):
    command = await run.start("touch done")
    words = Path(f"/proc/{command.pid}/cmdline").read_bytes().split(b"\0")
    await asyncio.sleep(0.05)
    held = (words[-2], start_time(command.pid) == command.start_time, list(run.folder.iterdir()))
    command.control.close()  # as the death of this process does
    command.process.wait(2)
    with pytest.raises(ProcessLookupError):
        os.kill(command.pid, 0)
    assert (held, list(run.folder.iterdir())) == ((b"touch done", True, []), [])
    await command.close()


@NEEDS_PROC
async def test_a_command_that_is_killed_before_it_begins_tells_its_signal(run):
    command = await run.start("touch done")
    os.kill(command.pid, signal.SIGKILL)
    async with contextlib.aclosing(command.output(2, 0.1)) as pieces:
        output = [piece async for piece in pieces if piece]
    assert (output, await command.close(), list(run.folder.iterdir())) == ([], Ended(None, "SIGKILL"), [])


async def test_a_command_that_kills_its_warden_leaves_nothing(run):
    done = await run("kill -9 $PPID; sleep 300", 5)
    assert (done.ended, done.left()) == (Ended(None), [])


@NEEDS_PROC
async def test_law_12_cancellation_ends_the_whole_tree(run):
    task = asyncio.create_task(run(f"(trap '' TERM; {SLEEPER}) & echo before; wait"))
    while not run.output:
        await asyncio.sleep(0.01)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (time.monotonic() - began < 2, run.left()) == (True, [])


@NEEDS_PROC
async def test_cancellation_while_it_starts_leaves_nothing(run):
    task = asyncio.create_task(run("sleep 300"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert run.left() == []


@NEEDS_PROC
async def test_the_command_ends_when_the_agent_goes_away(run):
    command = await run.start("sleep 300")
    command.control.close()
    for _ in range(100):
        if not run.left():
            break
        await asyncio.sleep(0.02)
    assert run.left() == []
    await command.close()


@pytest.mark.parametrize("line", ["sleep 3 & echo hi", "setsid sleep 3 & echo hi", "yes & echo hi; kill -STOP $!"])
async def test_a_grandchild_that_holds_the_pipe_does_not_block(run, line):
    done = await run(line)
    assert b"hi\n" in done.output and done.ended.exit_code == 0 and len(done.ended.left) == 1
    assert done.seconds < 1
    for pid in done.ended.left:
        os.kill(pid, 9)


async def test_law_12_there_is_nothing_to_read_and_no_terminal(run):
    done = await run("cat; tty; (: </dev/tty) 2>/dev/null || echo none")
    assert done.output == b"not a tty\nnone\n"


async def test_pipes_break_as_usual(run):
    assert (await run("yes | head -1")).output == b"y\n"


async def test_a_command_is_told_its_call_and_no_keys(run):
    secrets = {"OPENAI_API_KEY": "s", "ACME_API_KEY": "s", "BASH_ENV": "/x", "AGENTCLI_TOKEN": "s"}
    done = await run('echo "$AGENTCLI_CALL_ID|$OPENAI_API_KEY$ACME_API_KEY$BASH_ENV$AGENTCLI_TOKEN|$TERM|$GIT_EDITOR"', **secrets)
    assert done.output == b"c1||dumb|false\n"


def test_relative_folders_are_no_place_for_programs():
    assert quiet_environment({"PATH": "/w/bin:/bin"}, "c", (), ("/w",))["PATH"] == "/bin"
    environment = quiet_environment({"PATH": ".:/usr/bin::bin:/bin", "HOME": "/h"}, "c")
    assert (environment["PATH"], environment["HOME"]) == ("/usr/bin:/bin", "/h")


async def test_a_command_with_nul_is_refused(run):
    with pytest.raises(ToolError, match="NUL"):
        await run("echo a\0b")


async def test_a_missing_folder_is_said(run):
    run.folder = run.folder / "gone"
    with pytest.raises(ToolError, match="could not be started"):
        await run("true")


async def test_endless_output_is_ended_in_time(run):
    done = await run("yes", 0.5)
    assert done.ended.timed_out and done.seconds < 1.5


async def test_a_very_long_command_runs(run):
    assert (await run("echo " + "x" * 100_000)).output == b"x" * 100_000
