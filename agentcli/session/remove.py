"""The end of a session that a person wants gone: its log, and everything beside it that bears its name.

The log goes last, so that what a crash leaves of a removal is still a session and can be removed again.
"""

from __future__ import annotations

import os
from pathlib import Path

from agentcli.errors import SessionError
from agentcli.session.disk import DiskIO
from agentcli.session.lock import held_path


def remove(io: DiskIO, log: Path) -> list[str]:
    """Remove a log whose lock the caller has; the names of what is gone."""
    gone: list[str] = []
    try:
        for path in beside(log):
            _remove(io, path)
            gone.append(path.name)
        io.unlink(log)
        io.fsync_folder(log.parent)
    except OSError as exc:
        raise SessionError(f"session {log.stem} could not be removed whole: {exc.strerror}: {exc.filename or log}") from exc
    return [log.name, *gone]


def beside(log: Path) -> list[Path]:
    """What bears the name of a log, itself and the name tag of its writer left out: blobs, torn ends."""
    own = (log.name, held_path(log).name)
    return sorted(path for path in log.parent.glob(f"{log.stem}.*") if path.name not in own)


def _remove(io: DiskIO, path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        io.unlink(path)
        return
    for inner in path.iterdir():
        _remove(io, inner)
    os.rmdir(path)
