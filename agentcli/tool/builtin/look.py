"""What the looking tools share."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from agentcli.errors import ToolError
from agentcli.ledger.preview import Preview
from agentcli.tool.base import Arguments, ToolBase, ToolContext
from agentcli.tool.preview import digest_of
from agentcli.workspace.root import Place
from agentcli.workspace.walk import Keep
from agentcli.workspace.whole import Whole


class LookTool(ToolBase):
    """A tool that looks at one place and changes nothing."""

    read_only = True
    concurrency_safe = True
    path_name = "path"
    """The argument that names the place."""

    def target(self, arguments: Arguments, context: ToolContext) -> str:
        """The resolved path. ToolError for a text that is none, and for a place that was not judged."""
        found = context.place.locate(arguments.get(self.path_name) or ".")
        if found.fault:
            raise ToolError(f"{arguments.get(self.path_name)}: {found.fault}")
        return judged(writable(found.path), context)

    def preview(self, arguments: Arguments, context: ToolContext) -> Preview:
        path = self.target(arguments, context)
        body = "\n".join(f"{key}: {_on_a_line(value)}" for key, value in arguments.items())
        # not over the file's bytes: a log that grows would be asked for ever; over the path, because a link may be turned
        return Preview(kind="text", target=path, body=body, digest=digest_of(self.name, arguments, os.fsencode(path)))


def _on_a_line(value: object) -> str:
    """A value as it is, where that is one plain line; else as JSON."""
    return value if isinstance(value, str) and value.isprintable() and value.strip() == value else json.dumps(value)


def keep_of(context: ToolContext) -> Keep:
    """What a walk may look at."""
    return context.look or (lambda path: not context.place.judge(path).protected)


def writable(path: str) -> str:
    """The path itself. ToolError if its name is no text, so that no log and no model could hold it."""
    if printable(path) != path:
        raise ToolError(f"{printable(path)} leads to a name that is not UTF-8; use a command for it")
    return path


def judged(path: str, context: ToolContext) -> str:
    """The path itself. ToolError if it is none of those that were judged: a link on the way was turned since then."""
    if context.judged is not None and path not in context.judged:
        raise ToolError(f"{printable(path)} is not where this led when it was judged; nothing was opened")
    return path


def printable(text: str) -> str:
    """A text from the file system with replacement characters for what is no text."""
    return os.fsencode(text).decode("utf-8", "replace")


def shown_path(path: str, place: Place) -> str:
    """A path as a model would give it back: relative to the working folder where it lies below it."""
    start = place.cwd.rstrip("/") + "/"
    return printable(path[len(start) :] if path.startswith(start) else path)


async def kept_whole(lines: Sequence[str], told: int, context: ToolContext) -> tuple[str, dict[str, object]]:
    """Put lines of which only the first are `told` into a file; in words where that is, and the result's metadata."""
    whole = Whole(sum(len(line) + 1 for line in lines[:told]), context.keep)
    try:
        whole.add("".join(f"{line}\n" for line in lines))
        return await whole.end(), whole.metadata
    finally:
        await whole.close()


def left_out_words(kept_out: int) -> str:
    """What is said of places that may not be looked at."""
    return f"({kept_out} left out: protected or denied)" if kept_out else ""
