"""What is left of a command whose warden is gone: a pure look at the processes of now; it ends nothing.

While a warden lives its command belongs to somebody, and ends with him. Where there is no /proc nothing is found.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from agentcli.workspace import warden
from agentcli.workspace.environment import CALL_MARK, RUN_MARK

WORDS = 60
"""Characters of a command line that name it."""


@dataclass(slots=True, frozen=True)
class Start:
    """What is known of how a command was started."""

    call_id: str
    since: float = 0.0
    """No process of it began before this moment: other sessions may have had calls of this id."""
    pid: int = 0
    start_time: int = 0
    """In the kernel's ticks; with it an id is never another process."""
    mark: str = ""
    """The mark of this one run, where it was noted."""


@dataclass(slots=True, frozen=True)
class Leftover:
    """A process that outlived whoever started it."""

    pid: int
    command: str

    @property
    def name(self) -> str:
        """The process as a person looks for it."""
        return f"process {self.pid}" + (f" ({self.command})" if self.command else "")


def leftovers(start: Start) -> list[Leftover]:
    """The living processes of a command, in the order of their ids."""
    if not os.path.isdir("/proc/self"):
        return []
    if start.mark:
        found = set(warden.carriers(f"{RUN_MARK}={start.mark}".encode()))
    else:
        found = {pid for pid in warden.carriers(f"{CALL_MARK}={start.call_id}".encode()) if _began(pid) >= start.since}
    if start.start_time and warden.start_time(start.pid) == start.start_time:
        found.add(start.pid)
    parents = warden.parents()
    return [Leftover(pid, _command(pid)) for pid in sorted(found) if pid in parents and not _guarded(pid, parents)]


def _began(pid: int) -> float:
    """When a process began, in seconds of the clock; a second late rather than early."""
    with open("/proc/uptime", encoding="ascii") as file:
        up = float(file.read().split()[0])
    return time.time() - up + warden.start_time(pid) / os.sysconf("SC_CLK_TCK") + 1


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
