"""Opens resolved paths from the root down, one component after the other, and follows no link.

What was judged is a resolved path; a link that stands on it by now was put there since, and is refused.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Callable, Generator
from contextlib import ExitStack

from agentcli.errors import ToolError
from agentcli.workspace.root import PER_PROCESS

READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
STEP_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
LIST_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link that was not there before",
}


class System:
    """The calls that change the disk, as one object: a test gives another that fails at any of them."""

    def open(self, name: str, flags: int, mode: int, parent: int) -> int:
        return os.open(name, flags, mode, dir_fd=parent)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def write(self, descriptor: int, data: memoryview) -> int:
        return os.write(descriptor, data)

    def fsync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def fchmod(self, descriptor: int, mode: int) -> None:
        os.fchmod(descriptor, mode)

    def fchown(self, descriptor: int, user: int, group: int) -> None:
        os.fchown(descriptor, user, group)

    def setxattr(self, descriptor: int, name: str, value: bytes) -> None:
        os.setxattr(descriptor, name, value)

    def mkdir(self, name: str, parent: int) -> None:
        os.mkdir(name, dir_fd=parent)

    def rmdir(self, name: str, parent: int) -> None:
        os.rmdir(name, dir_fd=parent)

    def link(self, old: str, new: str, parent: int) -> None:
        os.link(old, new, src_dir_fd=parent, dst_dir_fd=parent, follow_symlinks=False)

    def replace(self, old: str, new: str, parent: int) -> None:
        os.replace(old, new, src_dir_fd=parent, dst_dir_fd=parent)

    def unlink(self, name: str, parent: int) -> None:
        os.unlink(name, dir_fd=parent)


SYSTEM = System()


def reason(path: str, fault: OSError) -> ToolError:
    """What the system refused, in a form that a model can act on."""
    if fault.errno == errno.ELOOP:
        return ToolError(f"{path} is {KINDS[stat.S_IFLNK]}")
    return ToolError(f"{path}: {fault.strerror or fault}")


def check_regular(path: str, info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise ToolError(f"{path} is {KINDS.get(stat.S_IFMT(info.st_mode), 'no regular file')}")


def open_folder(folder: str, flags: int = STEP_FLAGS, make: Callable[[str, int], None] | None = None) -> int:
    """A descriptor of a resolved folder. OSError where a link or something else stands on the way.

    Args:
        make: makes a missing folder of this name in the one that is open; without it a missing one is an error.
    """
    parts = [part for part in folder.split("/") if part]
    current, reached = os.open("/", STEP_FLAGS if parts else flags), ""
    try:
        for index, part in enumerate(parts):
            reached = f"{reached}/{part}"
            below = _step(part, reached, current, flags if index == len(parts) - 1 else STEP_FLAGS, make)
            os.close(current)
            current = below
    except BaseException:
        os.close(current)
        raise
    return current


def _step(part: str, reached: str, current: int, flags: int, make: Callable[[str, int], None] | None) -> int:
    if reached in PER_PROCESS:
        flags &= ~os.O_NOFOLLOW  # the kernel's own link to this very process; nobody can turn it
    try:
        return os.open(part, flags, dir_fd=current)
    except FileNotFoundError:
        if make is None:
            raise
    except NotADirectoryError as fault:
        raise _no_folder(part, reached, current, fault) from fault
    make(part, current)
    return os.open(part, flags, dir_fd=current)


def _no_folder(part: str, reached: str, current: int, fault: OSError) -> OSError:
    """Linux says of a link that it is no folder; what is meant is told apart here."""
    with contextlib.suppress(OSError):
        if stat.S_ISLNK(os.stat(part, dir_fd=current, follow_symlinks=False).st_mode):
            return OSError(errno.ELOOP, f"{reached} is {KINDS[stat.S_IFLNK]}")
    return fault


@contextlib.contextmanager
def opened(path: str) -> Generator[tuple[int, os.stat_result, bool]]:
    """A regular file open for reading, what it is, and whether we may write to it.

    FileNotFoundError where nothing stands there; ToolError for all else: a folder, a pipe, a device, a link.
    """
    folder, name = os.path.split(path)
    with ExitStack() as stack:
        try:
            parent = open_folder(folder)
            stack.callback(os.close, parent)
            descriptor, info = open_regular(path, name or ".", parent)
            stack.callback(os.close, descriptor)
            writable = os.access(name, os.W_OK, dir_fd=parent)
        except FileNotFoundError:
            raise
        except OSError as fault:
            raise reason(path, fault) from fault
        except ValueError as fault:
            raise ToolError(f"{path!r} is no path: {fault}") from fault
        yield descriptor, info, writable


def open_regular(path: str, name: str, parent: int) -> tuple[int, os.stat_result]:
    """A regular file of an open folder. ToolError for anything else, OSError as the system says."""
    check_regular(path, os.stat(name, dir_fd=parent, follow_symlinks=False))  # to open a device can have effects
    descriptor = os.open(name, READ_FLAGS, dir_fd=parent)
    try:
        info = os.fstat(descriptor)
        check_regular(path, info)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, info


def names_in(folder: str) -> list[str]:
    """The names in a resolved folder; none where it cannot be listed."""
    try:
        descriptor = open_folder(folder, LIST_FLAGS)
    except OSError:
        return []
    try:
        return os.listdir(descriptor)
    finally:
        os.close(descriptor)
