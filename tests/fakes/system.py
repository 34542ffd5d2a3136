"""The calls that change files, one of which fails, is cut short or is the last one of the process."""

from __future__ import annotations

import errno
import os
from typing import Literal

from agentcli.workspace.reach import System
from tests.fakes.disk import Died


class FakeSystem(System):
    """Does what is asked and notes it; misbehaves at call number `at` (from 1).

    error: the call fails and does nothing. short: a write takes one byte. die: a write takes a half, and no later call
    does anything. late: the call is done, then the process dies.
    """

    def __init__(
        self, at: int = 0, how: Literal["error", "short", "die", "late"] = "error", code: int = errno.EIO, only: str = ""
    ) -> None:
        self.at, self.how, self.code, self.only = at, how, code, only
        self.calls: list[str] = []
        self.dead = False
        self._open: set[int] = set()

    def _do(self, name: str, act, *given):
        if self.dead:
            raise Died
        self.calls.append(name)
        here = len(self.calls) == self.at if not self.only else (name == self.only and self.calls.count(name) == self.at)
        if here and self.how == "error":
            raise OSError(self.code, os.strerror(self.code))
        if here and self.how == "die":
            if name == "write":
                os.write(given[0], given[1][: len(given[1]) // 2])
            self.end()
        try:
            return act(*given)
        finally:
            if here and self.how == "late":
                self.end()

    def end(self) -> None:
        self.dead = True
        while self._open:
            os.close(self._open.pop())
        raise Died

    def open(self, name, flags, mode, parent):
        descriptor = self._do("open", super().open, name, flags, mode, parent)
        self._open.add(descriptor)
        return descriptor

    def close(self, descriptor):
        try:
            self._do("close", lambda: None)
        finally:  # whatever the system says of a close, the descriptor is gone
            if descriptor in self._open:
                self._open.discard(descriptor)
                os.close(descriptor)

    def write(self, descriptor, data):
        if self.how == "short":
            return self._do("write", super().write, descriptor, data[:1])
        return self._do("write", super().write, descriptor, data)

    def fsync(self, descriptor):
        return self._do("fsync", super().fsync, descriptor)

    def fchmod(self, descriptor, mode):
        return self._do("fchmod", super().fchmod, descriptor, mode)

    def fchown(self, descriptor, user, group):
        return self._do("fchown", super().fchown, descriptor, user, group)

    def setxattr(self, descriptor, name, value):
        return self._do("setxattr", super().setxattr, descriptor, name, value)

    def mkdir(self, name, parent):
        return self._do("mkdir", super().mkdir, name, parent)

    def rmdir(self, name, parent):
        return self._do("rmdir", super().rmdir, name, parent)

    def link(self, old, new, parent):
        return self._do("link", super().link, old, new, parent)

    def replace(self, old, new, parent):
        return self._do("replace", super().replace, old, new, parent)

    def unlink(self, name, parent):
        return self._do("unlink", super().unlink, name, parent)
