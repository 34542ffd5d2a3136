"""What a tool is: a name and a schema for the model, a subject for the engine, a preview for the user, a run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentcli.ledger.block import DataBlock, TextBlock, ToolResultState
from agentcli.ledger.preview import Preview
from agentcli.ledger.rule import PermissionMode
from agentcli.ledger.state import Started, ToolMemory
from agentcli.permission.subject import Kind, Subject
from agentcli.tool.preview import plain_preview
from agentcli.workspace.root import Place
from agentcli.workspace.whole import Keep

Arguments = Mapping[str, Any]


@dataclass(slots=True)
class ToolContext:
    """What a tool is given beside its arguments."""

    place: Place
    memory: ToolMemory
    call_id: str = ""
    mode: PermissionMode = PermissionMode.DEFAULT
    note: Callable[[str, dict[str, Any]], Awaitable[None]] | None = None
    """Writes a record of its own into the session log (a command's pid and start time)."""
    look: Callable[[str], bool] | None = None
    """Whether a walk may look at a resolved path; None: at all that is not protected."""
    judged: frozenset[str] | None = None
    """The resolved paths that the verdict was about: no other one is opened. None: nothing was judged."""
    keep: Keep | None = None
    """Opens a file for an output that is too long to be told; None: there is no place for one."""


@dataclass(slots=True)
class ToolChunk:
    """A part of a result. The last one carries the state; without one the call is a success.

    `content` is stored and given to the model; `progress` is for the eye only.
    `metadata` of all chunks is merged into the result's. Known keys: `diff`, and what `remember` reads.
    """

    content: list[TextBlock | DataBlock] = field(default_factory=list[TextBlock | DataBlock])
    state: ToolResultState = ToolResultState.RUNNING
    is_last: bool = False
    metadata: dict[str, Any] = field(default_factory=dict[str, Any])
    progress: str = ""


class ToolBase:
    """A tool. Subclasses give the four class fields and `run`; the rest has honest defaults."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """A JSON schema of an object; arguments are validated against it before anything else is asked."""
    read_only: bool = False
    """Changes nothing, by the word of the program that gives it; it may be run again after a crash."""
    concurrency_safe: bool = False
    """May run beside other calls of the same answer."""
    external: bool = False
    """Is executed outside: `run` is never called."""

    def subject(self, arguments: Arguments, place: Place) -> Subject:
        """What the engine decides on; looks at the disk only to resolve paths."""
        return Subject(tool=self.name, kind=Kind.FUNCTION, read_only=self.read_only)

    def preview(self, arguments: Arguments, context: ToolContext) -> Preview:
        """What a confirmation shows. Raises `ToolError` where the call could not work: it is then not asked."""
        return plain_preview(self.name, arguments)

    def check(self, arguments: Arguments, context: ToolContext) -> None:
        """Raise `ToolError` where the call cannot work (a file not read yet); called before it is judged."""

    def start_record(self, arguments: Arguments, context: ToolContext) -> Started:
        """What must be known of the start after a crash; called at the last moment before `run`."""
        return Started(call_id=context.call_id, read_only=self.read_only)

    def run(self, arguments: Arguments, context: ToolContext) -> AsyncIterator[ToolChunk]:
        """The work. `ToolError` becomes an error result; cancellation stops all that was started."""
        raise NotImplementedError(f"{type(self).__name__} is executed elsewhere")
