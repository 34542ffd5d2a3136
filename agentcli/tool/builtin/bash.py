"""Runs a shell command and tells what it said and how it ended."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import aclosing

from agentcli.errors import ToolError
from agentcli.ledger.block import TextBlock, ToolResultState
from agentcli.ledger.preview import Preview
from agentcli.permission.subject import Subject
from agentcli.tool.base import Arguments, ToolBase, ToolChunk, ToolContext
from agentcli.tool.builtin.words import arguments as schema
from agentcli.tool.builtin.words import description, text
from agentcli.tool.preview import digest_of
from agentcli.tool.subject import shell_subject
from agentcli.workspace.environment import quiet_environment
from agentcli.workspace.output import Ends, Sieve
from agentcli.workspace.root import Place
from agentcli.workspace.shell import Command, Ended, shell_program
from agentcli.workspace.whole import Keep, Whole

DEFAULT_MS = 120_000
MOST_MS = 600_000
HEAD_SECONDS = 0.05
"""How long output of the head is held back, so that a character at a time makes no event each."""
PROGRESS_SECONDS = 0.1
PROGRESS_CHARS = 2_000


class Bash(ToolBase):
    """A command line, in a shell of its own."""

    name = "Bash"
    description = description("bash")
    parameters = schema(
        ["command"],
        command=text(),
        description=text("What it does, in a few words"),
        timeout={"type": "integer", "minimum": 1, "maximum": MOST_MS, "description": f"ms, default {DEFAULT_MS}"},
    )

    def __init__(self, hidden: Collection[str] = (), passed: Collection[str] = ()) -> None:
        self.hidden, self.passed = hidden, passed

    def subject(self, arguments: Arguments, place: Place) -> Subject:
        return shell_subject(self.name, arguments["command"], place)

    def check(self, arguments: Arguments, context: ToolContext) -> None:
        if not arguments["command"].strip():
            raise ToolError("the command is empty")
        if "\0" in arguments["command"]:
            raise ToolError("a command cannot hold a NUL character")

    def preview(self, arguments: Arguments, context: ToolContext) -> Preview:
        self.check(arguments, context)
        command = arguments["command"]
        program = next((word for word in command.split() if "=" not in word), command.split()[0])
        return Preview(kind="command", target=program, body=command, digest=digest_of(self.name, arguments))

    async def run(self, arguments: Arguments, context: ToolContext) -> AsyncIterator[ToolChunk]:
        self.check(arguments, context)
        shell = shell_program()
        if shell is None:
            raise ToolError("there is no shell on this machine")
        milliseconds = int(arguments.get("timeout") or DEFAULT_MS)
        distrusted = self._distrusted(arguments, context.place)
        environment = quiet_environment(os.environ, context.call_id, self.hidden, distrusted, self.passed)
        command = await Command.start([shell, "-c", arguments["command"]], context.place.cwd, environment)
        told = Telling(context.keep)
        try:
            try:
                if context.note is not None:
                    # With the mark its processes are known among those of calls of other sessions with the same id.
                    body = {"pid": command.pid, "start_time": command.start_time, "mark": command.mark}
                    await context.note("process", {"call_id": context.call_id, **body})
                async with aclosing(command.output(milliseconds / 1000, HEAD_SECONDS)) as pieces:
                    async for data in pieces:
                        for chunk in await told.take(data):
                            yield chunk
            finally:
                ended = await command.close()
            yield await told.end(ended, milliseconds)
        except asyncio.CancelledError:
            # A stopped command gives its output so far (law 12).
            yield await told.broken_off()
            raise
        finally:
            await told.whole.close()

    def _distrusted(self, arguments: Arguments, place: Place) -> Sequence[str]:
        # A line that nobody is asked about was judged by the names of its programs; the repository must not supply those.
        line = self.subject(arguments, place).line
        return (place.root, place.cwd, *place.added) if line is not None and line.proven else ()


class Telling:
    """Turns output into chunks: the head as content at once, all else as bounded progress, the tail at the end."""

    def __init__(self, keep: Keep | None) -> None:
        self.sieve, self.ends = Sieve(), Ends()
        self.whole = Whole(self.ends.most, keep)
        self.head = ""
        self.live = ""
        self.head_at = self.live_at = 0.0

    async def take(self, data: bytes) -> list[ToolChunk]:
        """What can be told now."""
        text = self.sieve.feed(data)
        head, rest = self.ends.add(text)
        if self.whole.add(text):
            await self.whole.write()
        self.head += head
        self.live = (self.live + rest)[-PROGRESS_CHARS:]
        now = time.monotonic()
        chunks: list[ToolChunk] = []
        if self.head and now - self.head_at >= HEAD_SECONDS:
            chunks.append(ToolChunk(content=[TextBlock(text=self.head)]))
            self.head, self.head_at = "", now
        if self.live and now - self.live_at >= PROGRESS_SECONDS:
            chunks.append(ToolChunk(progress=self.live))
            self.live, self.live_at = "", now
        return chunks

    async def rest(self) -> str:
        """What was not told yet of the output."""
        text = self.sieve.feed(b"", final=True)
        head, _ = self.ends.add(text)
        if self.whole.add(text):
            await self.whole.write()
        where = await self.whole.end() if self.ends.cut else ""
        return self.head + head + self.ends.tail(where)

    async def broken_off(self) -> ToolChunk:
        """The rest of the output where nobody waited for its end."""
        return ToolChunk(content=[TextBlock(text=await self.rest())], metadata=dict(self.whole.metadata))

    async def end(self, ended: Ended, milliseconds: int) -> ToolChunk:
        """The rest of the output, and how it ended."""
        output = await self.rest()
        notes = outcome(ended, milliseconds)
        if not self.ends.last:
            notes.insert(0, "(no output)")
        gap = "\n" if notes and self.ends.last not in ("", "\n") else ""
        failed = ended.timed_out or ended.exit_code != 0
        return ToolChunk(
            content=[TextBlock(text=output + gap + "\n".join(notes))],
            state=ToolResultState.ERROR if failed else ToolResultState.SUCCESS,
            is_last=True,
            metadata={"summary": self.summary(ended), "exit_code": ended.exit_code, **self.whole.metadata},
        )

    def summary(self, ended: Ended) -> str:
        if ended.timed_out:
            return "time limit"
        if ended.exit_code is None:
            return ended.signal or "lost"
        lines = self.ends.line_count
        return f"exit {ended.exit_code}" if ended.exit_code else f"{lines} line{'' if lines == 1 else 's'}"


def outcome(ended: Ended, milliseconds: int) -> list[str]:
    """What the model has to know beside the output."""
    words: list[str] = []
    if ended.timed_out:
        words.append(f"(stopped at its time limit of {milliseconds / 1000:g} s)")
    elif ended.signal is not None:
        words.append(f"(ended by {ended.signal})")
    elif ended.exit_code is None:
        words.append("(it was lost: its parent process was killed)")
    elif ended.exit_code:
        words.append(f"(exit code {ended.exit_code})")
    if ended.left:
        pids = ", ".join(map(str, ended.left[:10]))
        words.append(f"(still running, no longer read: process {pids}{' and others' if len(ended.left) > 10 else ''})")
    return words
