"""What Write and Edit share: a planned change of one file, shown before and made whole."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from agentcli.errors import ToolError
from agentcli.ledger.block import TextBlock
from agentcli.ledger.preview import Preview
from agentcli.ledger.state import Started
from agentcli.permission.subject import Subject, Way
from agentcli.tool.base import Arguments, ToolBase, ToolChunk, ToolContext
from agentcli.tool.builtin.look import judged, shown_path, writable
from agentcli.tool.preview import digest_of
from agentcli.tool.subject import file_subject
from agentcli.workspace.diff import Diff, unified
from agentcli.workspace.files import Kept, check_replaceable, digest, read_kept, replace_file
from agentcli.workspace.root import Located, Place
from agentcli.workspace.text import Writing, is_binary, writing_of


@dataclass(slots=True, frozen=True)
class Change:
    """One file as it is, and as it would be."""

    place: Located
    before: Kept | None
    after: bytes

    def diff(self, name: str) -> Diff:
        """What a person is shown of it."""
        if self.before is None or is_binary(self.before.data):
            return unified(None if self.before is None else "", shown_text(self.after), name)
        # both in one writing: what stays must not look changed
        writing = writing_of(self.before.data)
        return unified(shown_text(self.before.data, writing), shown_text(self.after, writing), name)


def shown_text(data: bytes, writing: Writing | None = None) -> str:
    """A file's text; line ends that all lines share are not shown."""
    writing = writing or writing_of(data)
    text = writing.decode(data)
    if writing.line_end == "\r":
        return text.replace("\r", "\n")
    return text.replace("\r\n", "\n") if text.count("\r\n") == text.count("\n") else text


class ChangeTool(ToolBase):
    """A tool that changes the content of one file. Subclasses say what it becomes."""

    way: Way

    def subject(self, arguments: Arguments, place: Place) -> Subject:
        return file_subject(self.name, arguments["file_path"], self.way, place)

    def content(self, arguments: Arguments, before: Kept | None, path: str) -> bytes:
        """The new bytes. ToolError where the change is not clear."""
        raise NotImplementedError

    def check(self, arguments: Arguments, context: ToolContext) -> None:
        self.plan(arguments, context)

    def plan(self, arguments: Arguments, context: ToolContext) -> Change:
        """The change as things are now. ToolError where it cannot be made."""
        place = context.place.locate(arguments["file_path"])
        if place.fault:
            raise ToolError(f"{arguments['file_path']}: {place.fault}")
        if arguments["file_path"].endswith("/"):
            raise ToolError(f"{arguments['file_path']} names a folder, not a file")
        before = read_kept(judged(writable(place.path), context))
        if before is not None:
            check_read(place.path, before, context)
            check_replaceable(place.path, before)
        after = self.content(arguments, before, place.path)
        if before is not None and before.data == after:
            raise ToolError(f"{place.path} has exactly this content already: nothing would change")
        return Change(place, before, after)

    def preview(self, arguments: Arguments, context: ToolContext) -> Preview:
        change = self.plan(arguments, context)
        new = change.before is None
        return Preview(
            kind="new_file" if new else "diff",
            target=change.place.path,
            body=shown_text(change.after) if new else change.diff(shown_path(change.place.path, context.place)).text,
            risks=risks(arguments["file_path"], change, context.place),
            digest=digest_of(self.name, arguments, None if change.before is None else change.before.data),
        )

    def start_record(self, arguments: Arguments, context: ToolContext) -> Started:
        change = self.plan(arguments, context)
        before = None if change.before is None else change.before.digest
        return Started(call_id=context.call_id, files={change.place.path: (before, digest(change.after))})

    async def run(self, arguments: Arguments, context: ToolContext) -> AsyncIterator[ToolChunk]:
        making = asyncio.ensure_future(asyncio.to_thread(self.make, arguments, context))
        try:
            done = await asyncio.shield(making)
        except asyncio.CancelledError:
            # a change that has begun is made whole; nobody may be told less
            await asyncio.wait([making])
            raise
        yield done

    def make(self, arguments: Arguments, context: ToolContext) -> ToolChunk:
        change = self.plan(arguments, context)
        replace_file(change.place.path, change.after, change.before)
        name = shown_path(change.place.path, context.place)
        diff = change.diff(name)
        return ToolChunk(
            content=[TextBlock(text=f"{'made' if change.before is None else 'changed'} {name}: {diff.summary}")],
            metadata={"diff": diff.text, "summary": diff.summary, "seen": {change.place.path: digest(change.after)}},
        )


def check_read(path: str, before: Kept, context: ToolContext) -> None:
    """ToolError unless this very content was read in this session."""
    seen = context.memory.read_files.get(path)
    if seen is None:
        raise ToolError(f"{path} exists and was not read in this session; read it first")
    if seen != before.digest:
        raise ToolError(f"{path} has changed since it was read; read it again first")


def risks(given: str, change: Change, place: Place) -> list[str]:
    """What a person should know of the target."""
    path = change.place.path
    named = os.path.normpath(os.path.join(place.cwd, os.path.expanduser(given)))
    words = [
        "This lies outside the project." if not change.place.inside else "",
        f"The path is a link: it leads to {path}." if named != path else "",
        f"This is guarded: {change.place.why}." if change.place.guarded else "",
        "The file is executable." if change.before is not None and change.before.executable else "",
        *(of_the_file(change.before) if change.before is not None else ()),
        f"The folder {os.path.dirname(path)} is made too." if not os.path.isdir(os.path.dirname(path)) else "",
    ]
    return [word for word in words if word]


def of_the_file(before: Kept) -> Iterator[str]:
    """What a diff cannot show of the file that is changed."""
    if before.privileged:
        yield "The file runs as its owner or group (setuid, setgid); that is not kept."
    if is_binary(before.data):
        yield f"It is a binary file of {len(before.data):,} bytes, and all of it is replaced."
        return
    writing = writing_of(before.data)
    if not writing.sure:
        yield f"The encoding is a guess: it is shown as {writing.encoding}, and may be another one."
