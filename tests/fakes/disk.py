"""A disk that fails, shortens or dies at its n-th call, and one that forgets to sync for the sake of speed."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

from agentcli.session.disk import DiskIO

How = Literal["error", "short", "torn", "die"]


class Died(BaseException):
    """The process was killed here; nothing that comes after may reach the disk."""


class FakeDisk(DiskIO):
    """Does what is asked, notes it, and misbehaves at call number `at` (from 1).

    error: the call fails and does nothing. short: a write writes a half and says so. torn: a write writes a half,
    and every write after it fails until `mend`. die: a write writes a half, and no later call does anything.
    """

    def __init__(self, at: int = 0, how: How = "error", code: int = errno.ENOSPC, only: str = "") -> None:
        self.at, self.how, self.code, self.only = at, how, code, only
        self.calls: list[str] = []
        self.open_fds: set[int] = set()
        self.synced: dict[Path, int] = {}
        self.names: set[Path] = set()
        self._paths: dict[int, Path] = {}
        self.dead = self.full = False
        self._count = 0

    def mend(self) -> None:
        self.full = False

    def _here(self, name: str) -> bool:
        if self.dead:
            raise Died
        self.calls.append(name)
        if self.only and name != self.only:
            return False
        self._count += 1
        if self._count != self.at:
            return False
        if self.how == "error":
            raise OSError(self.code, os.strerror(self.code))
        return True

    def _die(self) -> None:
        self.dead = True
        while self.open_fds:
            os.close(self.open_fds.pop())
        raise Died

    def _before(self, name: str) -> None:
        if self._here(name) and self.how == "die":
            self._die()

    def open(self, path: Path, flags: int) -> int:
        self._before("open")
        if path.exists():
            self.synced.setdefault(path, path.stat().st_size)
            self.names.add(path)
        fd = super().open(path, flags)
        self.open_fds.add(fd)
        self._paths[fd] = path
        return fd

    def close(self, fd: int) -> None:
        try:
            self._before("close")
        finally:  # what the system says of a close, the descriptor is gone
            if fd in self.open_fds:
                self.open_fds.discard(fd)
                super().close(fd)

    def write(self, fd: int, data: bytes) -> int:
        here = self._here("write")
        if self.full:
            raise OSError(self.code, os.strerror(self.code))
        if not here:
            return super().write(fd, data)
        done = super().write(fd, data[: len(data) // 2 or 1])
        if self.how == "die":
            self._die()
        self.full = self.how == "torn"
        return done

    def fsync(self, fd: int) -> None:
        self._before("fsync")
        self.synced[self._paths[fd]] = os.fstat(fd).st_size

    def fdatasync(self, fd: int) -> None:
        self._before("fdatasync")
        self.synced[self._paths[fd]] = os.fstat(fd).st_size

    def truncate(self, fd: int, length: int) -> None:
        self._before("truncate")
        super().truncate(fd, length)

    def mkdir(self, path: Path) -> None:
        self._before("mkdir")
        super().mkdir(path)

    def rename(self, old: Path, new: Path) -> None:
        self._before("rename")
        super().rename(old, new)
        self.synced[new] = self.synced.pop(old, 0)

    def unlink(self, path: Path) -> None:
        self._before("unlink")
        super().unlink(path)

    def fsync_folder(self, path: Path) -> None:
        self._before("fsync_folder")
        self.names |= set(path.iterdir())

    def kill(self) -> None:
        """As `die`, from outside."""
        with suppress(Died):
            self._die()

    def lose_power(self) -> None:
        """As `kill`, and what was not synced is gone: bytes of files, and names of new ones."""
        self.kill()
        for path, length in {**dict.fromkeys(self._paths.values(), 0), **self.synced}.items():
            if path.exists() and path not in self.names:
                path.unlink()
            elif path.exists():
                os.truncate(path, min(length, path.stat().st_size))
