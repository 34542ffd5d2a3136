"""Who writes a session: one process, for as long as it lives.

The lock is `flock` on the log itself: the log is never replaced, so there is no second file to race for, and the
system gives the lock back however the process ends. A `.held` file beside it only says who holds it; where the file
system knows no locks, that file, made exclusively, is the lock.
"""

from __future__ import annotations

import errno
import json
import os
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from agentcli.errors import SessionHeld
from agentcli.session.disk import DiskIO, write_all

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTSUP}
TAG = os.O_WRONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
TRIES, PAUSE_S = 5, 0.02
BEHIND = 1 << 40
"""Windows forbids reading what is locked, so a byte far behind the end is."""


class Tag(TypedDict):
    """The name tag of a writer."""

    pid: int
    host: str
    boot: str


class Hold:
    """The right to write one session; given back by `release`, or by the end of the process."""

    def __init__(self, io: DiskIO, log: Path, fd: int) -> None:
        self._io, self._log = io, log
        if not self._locked(fd):
            self._claim()
            return
        with suppress(OSError):  # the tag only informs; a full disk must not keep anybody from looking
            self._write_tag(os.O_TRUNC)

    def release(self) -> None:
        """Take the name tag away; the lock itself goes with the descriptor."""
        with suppress(OSError):
            self._io.unlink(held_path(self._log))

    def _locked(self, fd: int) -> bool:
        """Whether the lock was taken; False where there are no locks."""
        for _ in range(TRIES):
            taken = try_lock(fd)
            if taken is not False:
                return taken is True
            time.sleep(PAUSE_S)  # somebody may only be looking whether it is held
        raise self._held()

    def _claim(self) -> None:
        for _ in range(2):
            try:
                self._write_tag(os.O_EXCL)
            except FileExistsError as exc:
                tag = read_tag(self._log)
                if tag and alive(tag):
                    raise self._held() from exc
                self._io.unlink(held_path(self._log))
            else:
                return
        raise self._held()

    def _held(self) -> SessionHeld:
        tag = read_tag(self._log)
        return SessionHeld(self._log.stem, f"process {tag['pid']}" if tag else "another process")

    def _write_tag(self, how: int) -> None:
        tag = Tag(pid=os.getpid(), host=socket.gethostname(), boot=boot_id())
        fd = self._io.open(held_path(self._log), TAG | how)
        try:
            write_all(self._io, fd, json.dumps(tag).encode())
        finally:
            self._io.close(fd)


def held_path(log: Path) -> Path:
    """Where the name of a log's writer stands."""
    return log.with_suffix(".held")


def holder(log: Path) -> str | None:
    """The process id of a log's living writer. Takes the lock for no longer than a try, and only where a tag lies."""
    tag = read_tag(log)
    if tag is None:
        return None
    try:
        fd = os.open(log, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return None
    try:
        free = try_lock(fd, shared=True)
    finally:
        os.close(fd)
    held = alive(tag) if free is None else not free
    return str(tag["pid"]) if held else None


def try_lock(fd: int, *, shared: bool = False) -> bool | None:
    """Take the lock if it is free; None where the file system knows no locks."""
    try:
        if sys.platform == "win32":
            os.lseek(fd, BEHIND, os.SEEK_SET)
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(fd, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as exc:
        return None if exc.errno in NO_LOCKS else False
    return True


def alive(tag: Tag) -> bool:
    """Whether the process of a name tag may still run; one on another machine may."""
    if tag["host"] != socket.gethostname():
        return True
    if tag["boot"] != boot_id():
        return False
    if sys.platform == "win32":
        return True  # os.kill would end it there
    try:
        os.kill(tag["pid"], 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def boot_id() -> str:
    """What tells this run of the machine from the one before; empty where nothing does."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def read_tag(log: Path) -> Tag | None:
    """The name tag beside a log, if it is one."""
    try:
        tag = json.loads(held_path(log).read_bytes())
        return Tag(pid=int(tag["pid"]), host=str(tag["host"]), boot=str(tag["boot"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
