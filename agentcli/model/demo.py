"""The demo: an openly scripted guide for whoever has no model yet. Its calls are real, its words are written in advance.

It opens no connection; where it is in its tour it reads from the conversation.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentcli.ledger.block import HintBlock, TextBlock, ToolCallBlock, ToolResultBlock, ToolResultState
from agentcli.ledger.message import Msg
from agentcli.model.base import CallPiece, Finish, ModelCard, ModelRequest, Piece, TextPiece, UsagePiece

PACE = 0.008
"""Seconds between words: it reads as a stream, and keeps nobody waiting."""

HELLO = (
    "Hello! This is the demo: no model is connected, and what I say was written in advance. "
    "All else is real: the tools, your files, and the question whether I may look.\n\n"
    "First I list the top of this folder."
)
FOUND = "The demo sees {count} here. Now I read `{path}`."
NOTHING_FOUND = "The demo sees no file here that it could read."
READ = "That was `{path}`: {lines}.{title} A real model would go on from here; the demo can only show the way."
DENIED = "You said no, and so the demo leaves it. Nothing was read: a model only gets what you allow."
FAILED = "That did not work, and the demo takes it as it is. The result above says why."
NO_TOOLS = "Hello! This is the demo: no model is connected, and it was given no tools to show."
CONNECT = """\
To connect a real model, leave the demo and set:

```
export OPENAI_API_KEY=...
export OPENAI_MODEL=NAME
export OPENAI_BASE_URL=http://...   # only for another or a local endpoint
agentcli chat --model NAME
```"""
STATUS = "The demo cannot think, but it can show how a command is asked for: here is `git status`."
STATUS_DONE = "That was the answer of a real command; the demo has nothing to add."
AGAIN = (
    "This is still the demo, so I cannot do that: I understand no language, I only know my own few lines. "
    'Write "status" and I ask to run `git status`.'
)


@dataclass(slots=True, frozen=True)
class Say:
    """What comes next: words, and perhaps a call."""

    text: str
    tool: str = ""
    arguments: tuple[tuple[str, str], ...] = ()


class DemoModel:
    """Shows the runtime at work on the user's own folder."""

    def __init__(self, pace: float = PACE) -> None:
        self.card = ModelCard(name="demo", provider="demo")
        self._pace = pace

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """Say the next words of the tour, and make its next call."""
        say = next_step(request)
        for word in _words(say.text):
            yield TextPiece(word)
            await asyncio.sleep(self._pace)
        if say.tool:
            yield CallPiece("0", name=say.tool, call_id="", arguments=json.dumps(dict(say.arguments)))
        yield UsagePiece()
        yield Finish("stop")

    async def warm(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to close."""


def next_step(request: ModelRequest) -> Say:
    """Where the tour goes on, by what the conversation holds."""
    offered = {tool.name for tool in request.tools}
    reply = request.messages[-1] if request.messages and request.messages[-1].role == "assistant" else None
    call, result = _last_call(reply) if reply is not None else (None, None)
    if call is not None and result is not None:
        return _after(call, result, offered)
    if sum(msg.role == "user" for msg in request.messages) > 1 or reply is not None:
        return _to_a_message(_last_words(request.messages), offered)
    if "Glob" not in offered:
        return Say(f"{NO_TOOLS}\n\n{CONNECT}")
    return Say(HELLO, "Glob", (("pattern", "*"),))


def _after(call: ToolCallBlock, result: ToolResultBlock, offered: set[str]) -> Say:
    if result.state != ToolResultState.SUCCESS:
        words = DENIED if result.state == ToolResultState.DENIED else FAILED
        return Say(f"{words}\n\n{CONNECT}")
    if call.name == "Glob":
        return _after_glob(result.text, offered)
    if call.name == "Read":
        return Say(f"{_told_of_read(call, result.text)}\n\n{CONNECT}")
    return Say(STATUS_DONE)


def _after_glob(listing: str, offered: set[str]) -> Say:
    paths = list(_paths(listing))
    path = _worth_reading(paths)
    if path is None or "Read" not in offered:
        return Say(f"{NOTHING_FOUND}\n\n{CONNECT}")
    count = f"{len(paths)} entries" if len(paths) != 1 else "one entry"
    return Say(FOUND.format(count=count, path=path), "Read", (("file_path", path),))


def _told_of_read(call: ToolCallBlock, text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    title = next((line.partition("# ")[2].strip() for line in lines if "# " in line), "")
    count = f"{len(lines)} lines with text" if len(lines) != 1 else "one line with text"
    path = str(_arguments(call).get("file_path", "the file"))
    return READ.format(path=path, lines=count, title=f" Its first heading is “{title[:80]}”." if title else "")


def _to_a_message(words: str, offered: set[str]) -> Say:
    if "status" in words.lower() and "Bash" in offered:
        return Say(STATUS, "Bash", (("command", "git status"), ("description", "Shows what has changed")))
    return Say(f"{AGAIN}\n\n{CONNECT}")


def _last_call(reply: Msg) -> tuple[ToolCallBlock | None, ToolResultBlock | None]:
    """The last call of this reply and its result, unless the user has said something since."""
    call: ToolCallBlock | None = None
    for block in reversed(reply.content):
        if isinstance(block, HintBlock):
            break
        if isinstance(block, ToolCallBlock):
            call = block
            break
    return (call, reply.result(call.id)) if call is not None else (None, None)


def _last_words(messages: Sequence[Msg]) -> str:
    for msg in reversed(messages):
        for block in reversed(msg.content):
            if isinstance(block, HintBlock) and isinstance(block.hint, str):
                return block.hint
            if isinstance(block, TextBlock) and msg.role == "user":
                return block.text
    return ""


def _paths(listing: str) -> Iterator[str]:
    """The lines of a listing that are paths; a tool's notes are sentences, and stand in brackets or have spaces at once."""
    for line in map(str.strip, listing.splitlines()):
        if line and not line.startswith(("(", "[", "No ")) and not line.endswith((".", ":")):
            yield line


def _worth_reading(paths: Sequence[str]) -> str | None:
    """A README first, then what tells most of a project; never a folder or a hidden file."""
    files = [path for path in paths if not path.endswith(("/", "\\")) and not _name(path).startswith(".")]
    return min(files, key=_rank, default=None)


def _rank(path: str) -> tuple[int, str]:
    name = _name(path)
    if name.startswith("readme"):
        return 0, name
    if name in ("pyproject.toml", "package.json", "cargo.toml", "go.mod", "makefile"):
        return 2, name
    return (1 if name.endswith((".md", ".rst", ".txt")) else 3 if "." in name else 4), name


def _name(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2].lower()


def _arguments(call: ToolCallBlock) -> dict[str, object]:
    try:
        arguments: Any = json.loads(call.input)
    except ValueError:
        return {}
    return cast(dict[str, object], arguments) if isinstance(arguments, dict) else {}


def _words(text: str) -> Iterator[str]:
    return (found.group() for found in re.finditer(r"\S+\s*|\s+", text))
