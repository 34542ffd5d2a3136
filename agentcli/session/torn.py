"""Recovery of a log's end: what is no record is set aside, never thrown away.

Every step may be the last one before the power goes; done again, it gives the same bytes.
"""

from __future__ import annotations

import os
from pathlib import Path

from agentcli.session.codec import Scan
from agentcli.session.disk import APPEND, DiskIO, Grower, write_all


def repair(io: DiskIO, log: Path, file: Grower, found: Scan) -> list[str]:
    """Give the log a sound end; a sentence for what was set aside."""
    if found.tail:
        aside = torn_path(log)
        set_aside(io, aside, found.tail)
        file.cut(found.sound)
        return [f"the end of the session log was lost: {len(found.tail)} bytes of no whole record were set aside in {aside.name}"]
    if found.open_end:
        file.append(b"\n")
        file.sync()
    return []


def torn_path(log: Path) -> Path:
    """Where the torn ends of a log are kept."""
    return log.with_suffix(".torn")


def set_aside(io: DiskIO, path: Path, tail: bytes) -> None:
    """Append bytes to the file of torn ends, durably, unless they are its end already."""
    fd = io.open(path, APPEND | os.O_CREAT)
    try:
        if not path.read_bytes().endswith(tail + b"\n"):
            write_all(io, fd, tail + b"\n")
        io.fsync(fd)
    finally:
        io.close(fd)
    io.fsync_folder(path.parent)
