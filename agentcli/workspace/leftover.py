"""What is left of a command whose warden is gone: a pure look at the processes of now; it ends nothing.

While a warden lives its command belongs to somebody, and ends with him. Where there is no /proc nothing is found.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentcli.workspace import warden
from agentcli.workspace.shell import CALL_MARK

WORDS = 60
"""Characters of a command line that name it."""


@dataclass(slots=True, frozen=True)
class Start:
    """What the log says of a command's first process; with its start time an id is never another process."""

    pid: int
    start_time: int


@dataclass(slots=True, frozen=True)
class Leftover:
    """A process that outlived whoever started it."""

    pid: int
    command: str

    @property
    def name(self) -> str:
        """The process as a person looks for it."""
        return f"process {self.pid}" + (f" ({self.command})" if self.command else "")


def leftovers(call_id: str, start: Start | None = None) -> list[Leftover]:
    """The living processes of the command that this call started, the oldest id first."""
    if not os.path.isdir("/proc/self"):
        return []
    found = set(warden.carriers(f"{CALL_MARK}={call_id}".encode()))
    if start is not None and start.start_time and warden.start_time(start.pid) == start.start_time:
        found.add(start.pid)
    parents = warden.parents()
    guarded = {pid for pid in found if _guarded(pid, parents)}
    return [Leftover(pid, _command(pid)) for pid in sorted(found - guarded) if pid in parents]


def _guarded(pid: int, parents: Mapping[int, int]) -> bool:
    """Whether a warden is, or is above, this process."""
    while pid > 1:
        if _is_warden(pid):
            return True
        pid = parents.get(pid, 0)
    return False


def _is_warden(pid: int) -> bool:
    words = _words(pid)
    return len(words) > 1 and words[-1].endswith(os.path.join("workspace", Path(warden.__file__).name))


def _command(pid: int) -> str:
    line = " ".join(" ".join(_words(pid)).split())
    return line if len(line) <= WORDS else line[: WORDS - 1] + "…"


def _words(pid: int) -> Sequence[str]:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
        return [os.fsdecode(word) for word in file.read().split(b"\0") if word]
    return []
