"""Bytes to disk: every system call that the log makes, and the one file that only grows.

Knows no record and no message. A test hands in another `DiskIO` that fails, shortens or dies at its n-th call.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from agentcli.errors import LogError

APPEND = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | (APPEND & ~(os.O_RDWR | os.O_APPEND))
NEW = os.O_CREAT | os.O_EXCL

ADVICE = {
    errno.ENOSPC: "make room on that disk",
    errno.EDQUOT: "make room in your quota",
    errno.EFBIG: "the file has reached its size limit",
    errno.EROFS: "that disk cannot be written; set AGENTCLI_DATA_DIR to a folder that can",
    errno.EACCES: "check the permissions, or set AGENTCLI_DATA_DIR to a folder that can be written",
    errno.EPERM: "check the permissions, or set AGENTCLI_DATA_DIR to a folder that can be written",
    errno.ENOTDIR: "set AGENTCLI_DATA_DIR to a folder that can be written",
    errno.ENOENT: "set AGENTCLI_DATA_DIR to a folder that can be written",
}


def log_error(path: Path, exc: OSError) -> LogError:
    """Which file, which error, what to do, in one sentence."""
    why = os.strerror(exc.errno) if exc.errno else str(exc)
    advice = ADVICE.get(exc.errno or 0, "check that disk")
    return LogError(f"the session could not be saved to {path}: {why}; {advice}")


@contextmanager
def saving(path: Path) -> Generator[None]:
    """Whatever the disk refuses here is a LogError about this file."""
    try:
        yield
    except OSError as exc:
        raise log_error(path, exc) from exc


class DiskIO:
    """The system calls, one method each."""

    def open(self, path: Path, flags: int) -> int:
        return os.open(path, flags, 0o600)

    def write(self, fd: int, data: bytes) -> int:
        return os.write(fd, data)

    def fsync(self, fd: int) -> None:
        os.fsync(fd)

    def fdatasync(self, fd: int) -> None:
        if hasattr(os, "fdatasync"):
            os.fdatasync(fd)
        else:
            os.fsync(fd)

    def truncate(self, fd: int, length: int) -> None:
        os.ftruncate(fd, length)

    def close(self, fd: int) -> None:
        os.close(fd)

    def mkdir(self, path: Path) -> None:
        path.mkdir(mode=0o700)

    def rename(self, old: Path, new: Path) -> None:
        os.replace(old, new)

    def link(self, old: Path, new: Path) -> None:
        os.link(old, new, follow_symlinks=False)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def fsync_folder(self, path: Path) -> None:
        """Make the names in a folder durable; where folders cannot be opened the system does it by itself."""
        if os.name == "nt":
            return
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


def write_all(io: DiskIO, fd: int, data: bytes) -> None:
    """Write every byte, however the system shortens the writes."""
    left = memoryview(data)
    while left:
        done = io.write(fd, bytes(left) if len(left) < len(data) else data)
        if done <= 0:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        left = left[done:]


def make_folder(io: DiskIO, path: Path) -> None:
    """Make a folder and those above it, for the user alone, and make their names durable."""
    if path.is_dir() or path == path.parent:
        return
    make_folder(io, path.parent)
    try:
        io.mkdir(path)
    except FileExistsError as exc:
        if not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from exc
    io.fsync_folder(path.parent)


class Grower:
    """A file that grows by whole records or not at all; owns the descriptor.

    Not for two threads at a time.
    """

    def __init__(self, io: DiskIO, path: Path, fd: int) -> None:
        self.io, self.path, self.fd = io, path, fd
        self.length = os.fstat(fd).st_size
        self._torn = False
        self._unsafe: LogError | None = None

    def append(self, record: bytes) -> None:
        """Write one record; after an error the file is as long as before."""
        try:
            if self._torn:
                self._cut_back()
            write_all(self.io, self.fd, record)
        except OSError as exc:
            self._try_to_cut_back()
            raise log_error(self.path, exc) from exc
        self.length += len(record)

    def sync(self, *, metadata: bool = False) -> None:
        """Make what was written durable. An error is final: what the disk has is unknown from then on."""
        self.check()
        try:
            if metadata:
                self.io.fsync(self.fd)
            else:
                self.io.fdatasync(self.fd)
        except OSError as exc:
            self._unsafe = log_error(self.path, exc)
            raise self._unsafe from exc

    def check(self) -> None:
        """Raise where nothing can be promised any more."""
        if self._unsafe is not None:
            raise LogError(*self._unsafe.args) from self._unsafe

    def cut(self, length: int) -> None:
        """Shorten the file, durably."""
        with saving(self.path):
            self.io.truncate(self.fd, length)
            self.io.fsync(self.fd)
        self.length = length

    def close(self) -> None:
        with saving(self.path):
            self.io.close(self.fd)

    def _cut_back(self) -> None:
        self.io.truncate(self.fd, self.length)
        self._torn = False

    def _try_to_cut_back(self) -> None:
        self._torn = True
        try:
            self._cut_back()
        except OSError:
            return  # tried again before the next record, which must not be glued to half of this one
