"""Undo and redo of the file changes of one call, without git: by the digests and the bytes that its start has kept.

What a call found is a blob of the session before it begins. The log says which calls are undone; the files
themselves say what may be touched: one that is not as the call left it has been changed by somebody, and stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from agentcli.errors import AgentcliError, ToolError
from agentcli.session.blob import Blobs
from agentcli.view.summary import plural
from agentcli.workspace.snapshot import Files, Standing, bytes_of, put_back, standing

UNDO, REDO = "undo", "redo"
NOTE = {
    UNDO: "The user has undone the change of call {call} ({tool}): {files} as before it. Read a file again before you edit it.",
    REDO: "The user has made the change of call {call} ({tool}) again: {files} as it left them.",
}


@dataclass(slots=True, frozen=True)
class Change:
    """The files that one call has changed."""

    call_id: str
    tool: str
    files: Files


@dataclass(slots=True, frozen=True)
class Plan:
    """A change that can be undone or made again, as things stand."""

    kind: str
    change: Change
    files: Files
    """Path -> the digest that is there, and the one that will be."""
    done: bool
    """The files stand so already: only the log does not say it."""

    @property
    def record(self) -> dict[str, Any]:
        """What the log keeps of it."""
        return {"call_id": self.change.call_id, "files": dict(self.files)}

    @property
    def sentence(self) -> str:
        """What the user is told."""
        what = "Undone" if self.kind == UNDO else "Made again"
        return f"{what}: {self.change.tool} of {', '.join(self.files)}."

    @property
    def note(self) -> str:
        """What the model is told with the next message."""
        names = ", ".join(self.files)
        files = f"{names} {'is' if len(self.files) == 1 else 'are'}"
        return NOTE[self.kind].format(call=self.change.call_id, tool=self.change.tool, files=files)


class Changes:
    """The changes of a session, in order, and which of them are undone."""

    def __init__(self, records: Iterable[Mapping[str, Any]] = ()) -> None:
        self.made: dict[str, Change] = {}
        self.undone: list[str] = []
        """In the order in which they were undone; only these can be made again."""
        for record in records:
            self.take(str(record.get("type")), record)

    def take(self, kind: str, body: Mapping[str, Any]) -> None:
        """Follow the log by one record."""
        call_id = str(body.get("call_id"))
        if kind == "started" and body.get("files"):
            self.made[call_id] = Change(call_id, str(body.get("tool")), _files(body["files"]))
            # A new change is the end of what could be made again, as everywhere.
            for gone in self.undone:
                self.made.pop(gone, None)
            self.undone = []
        elif kind == UNDO and call_id in self.made:
            self.undone.append(call_id)
        elif kind == REDO and call_id in self.undone:
            self.undone.remove(call_id)

    def to_undo(self, call_id: str = "") -> Plan:
        """The change to be undone: the one that is named, or the last one that stands. AgentcliError where none can be."""
        for change in reversed(list(self.made.values())):
            if change.call_id in self.undone or not change.call_id.startswith(call_id):
                continue
            found = _standing(change)
            if found is Standing.BEFORE and not call_id:
                continue  # it failed, or broke off before it did anything
            back = {path: (after, before) for path, (before, after) in change.files.items()}
            return Plan(UNDO, change, back, found is Standing.BEFORE)
        raise AgentcliError(f"There is no change of call {call_id} to undo." if call_id else "There is nothing to undo.")

    def to_redo(self) -> Plan:
        """The change that was undone last."""
        if not self.undone:
            raise AgentcliError("There is nothing to make again.")
        change = self.made[self.undone[-1]]
        return Plan(REDO, change, change.files, _standing(change) is Standing.AFTER)


def keep_found(blobs: Blobs, files: Mapping[str, tuple[str | None, str | None]]) -> None:
    """Keep the bytes that a call is about to change. LogError where the disk refuses."""
    for path, (before, _) in files.items():
        data = bytes_of(path, before) if before is not None else None
        if data is not None:
            blobs.put(data)


def carry_out(plan: Plan, blobs: Blobs) -> None:
    """Put the files as a plan says; all are looked at before the first is touched."""
    wanted: dict[str, bytes | None] = {}
    for path, (there, to_be) in plan.files.items():
        if there is not None and (data := bytes_of(path, there)) is not None:
            blobs.put(data)  # for the way back
        wanted[path] = blobs.get(to_be) if to_be is not None else None
        if to_be is not None and wanted[path] is None:
            raise AgentcliError(f"Nothing was changed: the earlier content of {path} is not kept any more.")
    done: list[str] = []
    for path, (there, _) in plan.files.items():
        try:
            put_back(path, wanted[path], there)
        except ToolError as error:
            told = f" {plural(len(done), 'file')} before it: {', '.join(done)}." if done else ""
            raise AgentcliError(f"{error}; it stays as it is.{told}") from error
        done.append(path)


def _standing(change: Change) -> Standing:
    try:
        found, path = standing(change.files)
    except ToolError as error:
        raise AgentcliError(f"Nothing was changed: {error}") from error
    if found is Standing.CHANGED:
        raise AgentcliError(f"Nothing was changed: {path} has been changed since call {change.call_id} ({change.tool}).")
    return found


def _files(found: object) -> Files:
    known = cast("dict[str, object]", found) if isinstance(found, dict) else {}
    both = {path: cast("list[str | None]", pair) for path, pair in known.items() if isinstance(pair, list | tuple)}
    return {path: (pair[0], pair[1]) for path, pair in both.items() if len(pair) == 2}
