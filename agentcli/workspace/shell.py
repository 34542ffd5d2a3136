"""Runs one command so that it cannot hang, read the user's terminal, or outlive its end (law 12).

Knows bytes and processes; what a model is told of them is the tool's business. Each command has a warden
(`warden.py`) as its parent, which ends the whole tree when the socket to it is closed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from agentcli.errors import ToolError
from agentcli.workspace import warden
from agentcli.workspace.environment import RUN_MARK

DRAIN_SECONDS = 0.2
"""How long output is read after the command itself has ended; a grandchild may hold the pipe for ever."""
STOP_SECONDS = warden.GRACE_SECONDS + warden.KILL_SECONDS + 0.3
READ_BYTES = 65_536


@dataclass(slots=True, frozen=True)
class Ended:
    """How a command ended."""

    exit_code: int | None
    """None where a signal ended it, or where it is not known."""
    signal: str | None = None
    timed_out: bool = False
    left: tuple[int, ...] = ()
    """Processes that it left in the background, or that could not be ended."""


def shell_program() -> str | None:
    """The shell that commands are given to."""
    return shutil.which("bash") or shutil.which("sh")


def can_run() -> bool:
    """Whether commands can be run and, above all, stopped here."""
    return os.name == "posix" and bool(sys.executable) and shell_program() is not None


Launched: TypeAlias = tuple[subprocess.Popen[bytes], socket.socket, str]
"""The warden, the socket to it, and the mark by which its command's processes can be found without it."""


class Command:
    """One running command. Whoever starts it has to `close` it, whatever happens."""

    def __init__(self, process: subprocess.Popen[bytes], control: socket.socket, mark: str) -> None:
        self.process, self.control, self.mark = process, control, mark
        self.pid = 0
        self.start_time = 0
        self.ended: Ended | None = None
        self.timed_out = False
        self.patience: float | None = None
        self.reports = b""
        self.reader: asyncio.StreamReader | None = None
        self.transport: asyncio.ReadTransport | None = None

    @classmethod
    async def start(cls, argv: list[str], cwd: str, environment: Mapping[str, str]) -> Command:
        """Make its process, which waits for `output` to begin. ToolError where the system refuses.

        Until then it is a process that can be named and has done nothing, and ends if this one dies.
        """
        if any("\0" in word for word in argv):
            raise ToolError("a command cannot hold a NUL character")
        launch = asyncio.ensure_future(asyncio.to_thread(launch_warden, argv, cwd, environment))
        try:
            command = cls(*await asyncio.shield(launch))
        except asyncio.CancelledError:
            with contextlib.suppress(OSError, ValueError):
                await cls(*await launch).close()
            raise
        except (OSError, ValueError) as fault:
            raise ToolError(f"the command could not be started: {fault}") from fault
        try:
            await command.report()
        except BaseException:
            await command.close()
            raise
        return command

    async def report(self) -> None:
        """Take the next thing that the warden says."""
        while b"\n" not in self.reports:
            more = await asyncio.get_running_loop().sock_recv(self.control, 4096)
            if not more:
                self.ended = self.ended or Ended(None)
                return
            self.reports += more
        line, _, self.reports = self.reports.partition(b"\n")
        word, *numbers = line.decode().split()
        first, *rest = map(int, numbers)
        if word == "started":
            self.pid, self.start_time = first, rest[0]
        else:
            self.ended = Ended(first, left=tuple(rest)) if first >= 0 else Ended(None, signal_name(-first), left=tuple(rest))

    async def output(self, seconds: float, pulse: float) -> AsyncGenerator[bytes]:
        """Let it begin; the output as it comes, empty every `pulse` seconds without any; ends soon after the command does."""
        loop = asyncio.get_running_loop()
        reader = await self.pipe()
        with contextlib.suppress(BrokenPipeError):  # the warden is gone: `report` tells how that ended
            await loop.sock_sendall(self.control, b"\n")
        reading: asyncio.Task[bytes] | None = asyncio.create_task(reader.read(READ_BYTES))
        ending = asyncio.create_task(self.report())
        limit = loop.time() + seconds
        try:
            while not (ending.done() and (reading is None or loop.time() >= limit)):
                waits = {task for task in (reading, ending) if task is not None and not (task is ending and task.done())}
                done, _ = await asyncio.wait(
                    waits, timeout=max(0, min(pulse, limit - loop.time())), return_when=asyncio.FIRST_COMPLETED
                )
                data = b""
                if reading is not None and reading.done():
                    data = reading.result()
                    reading = asyncio.create_task(reader.read(READ_BYTES)) if data else None
                if ending in done:
                    ending.result()
                    limit = loop.time() + DRAIN_SECONDS
                elif loop.time() >= limit and not ending.done():
                    if self.timed_out:
                        return
                    self.timed_out = True
                    limit = self.stop()
                yield data
        finally:
            tasks: list[asyncio.Task[bytes] | asyncio.Task[None]] = [ending, *([reading] if reading else [])]
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def pipe(self) -> asyncio.StreamReader:
        """The output; one reader for the whole life of the command."""
        if self.reader is None:
            reader = self.reader = asyncio.StreamReader(limit=READ_BYTES)
            assert self.process.stdout is not None
            loop = asyncio.get_running_loop()
            self.transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self.process.stdout)
        return self.reader

    async def drain(self) -> None:
        """Let go of what comes while the tree ends: whoever cleans up must neither block nor die of a closed pipe."""
        reader = await self.pipe()
        while await reader.read(READ_BYTES):
            pass

    def stop(self) -> float:
        """Have the whole tree ended, without waiting; until when that can take. It happens too if this process dies."""
        if self.patience is None:
            self.patience = asyncio.get_running_loop().time() + STOP_SECONDS
            with contextlib.suppress(OSError):
                self.control.shutdown(socket.SHUT_WR)
        return self.patience

    async def close(self) -> Ended:
        """End what is left of the command and wait for that, at most two seconds; how it ended."""
        patience = self.stop()
        draining = asyncio.create_task(self.drain())
        try:
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout_at(patience):
                    while self.ended is None:
                        await self.report()
        finally:
            draining.cancel()
            try:
                await asyncio.wait([draining])
            finally:
                if self.transport is not None:
                    self.transport.close()
                # the thread goes on by itself if this is cancelled once more
                await asyncio.to_thread(bury, self.process, self.control, self.mark)
        ended = self.ended or Ended(None)
        return Ended(ended.exit_code, ended.signal, self.timed_out, ended.left)


def launch_warden(
    argv: list[str], cwd: str, environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], socket.socket, str]:
    mark = environment.get(RUN_MARK, "")
    ours, theirs = socket.socketpair()
    words = b"\0".join(os.fsencode(word) for word in argv)
    with theirs:
        try:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(Path(warden.__file__))],
                cwd=cwd,
                env=environment,
                stdin=theirs.fileno(),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
    try:
        ours.sendall(b"%08x" % len(words) + words)
    except OSError:
        bury(process, ours, mark)
        raise
    ours.setblocking(False)
    return process, ours, mark


def bury(process: subprocess.Popen[bytes], control: socket.socket, mark: str) -> None:
    """Take the warden's end; make it end if it does not. One that a command has killed left its tree behind."""
    control.close()
    if process.stdout is not None:
        process.stdout.close()
    try:
        process.wait(0.5)
    except subprocess.TimeoutExpired:
        warden.send_signal([*warden.descendants(process.pid), process.pid], signal.SIGKILL)
        process.wait()
    end = time.monotonic() + warden.KILL_SECONDS
    while process.returncode and time.monotonic() < end and (left := warden.carriers(f"{RUN_MARK}={mark}".encode())):
        warden.send_signal(left, signal.SIGKILL)
        time.sleep(0.01)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
