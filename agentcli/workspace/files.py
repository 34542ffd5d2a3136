"""Reads and replaces regular files, keeping their bytes (law 11): encoding, BOM, line ends, mode, owner and links.

Every path given here is resolved already; a link met on the way is a change since then and is refused.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Generator
from dataclasses import dataclass

from agentcli.errors import ToolError

WHOLE_BYTES = 16 * 1024 * 1024
"""A larger file is only ever read in part, and not changed."""
READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFLNK: "a link that was not there before",
}


@dataclass(slots=True, frozen=True)
class Kept:
    """A file's bytes with what has to stay when they are replaced."""

    data: bytes
    info: os.stat_result

    @property
    def digest(self) -> str:
        return digest(self.data)

    @property
    def executable(self) -> bool:
        return bool(self.info.st_mode & 0o111)


def digest(data: bytes) -> str:
    """sha256 in hex."""
    return hashlib.sha256(data).hexdigest()


def reason(path: str, fault: OSError) -> ToolError:
    """What the system refused, in a form that a model can act on."""
    if fault.errno == errno.ELOOP:
        return ToolError(f"{path} is {KINDS[stat.S_IFLNK]}")
    return ToolError(f"{path}: {fault.strerror or fault}")


def check_regular(path: str, info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode):
        raise ToolError(f"{path} is {KINDS.get(stat.S_IFMT(info.st_mode), 'no regular file')}")


@contextlib.contextmanager
def opened(path: str) -> Generator[tuple[int, os.stat_result]]:
    """A regular file open for reading. ToolError for all else: a folder, a pipe, a device, a link."""
    try:
        check_regular(path, os.lstat(path))  # before it is opened: opening a device can have effects
        descriptor = os.open(path, READ_FLAGS)
    except OSError as fault:
        raise reason(path, fault) from fault
    except ValueError as fault:
        raise ToolError(f"{path!r} is no path: {fault}") from fault
    try:
        info = os.fstat(descriptor)
        check_regular(path, info)
        yield descriptor, info
    finally:
        os.close(descriptor)


def read_kept(path: str) -> Kept | None:
    """All of a file, None where there is none. ToolError for what is no regular file, or too large to be held."""
    if not os.path.lexists(path):
        return None
    with opened(path) as (descriptor, info):
        return Kept(read_all(path, descriptor, info), info)


def read_all(path: str, descriptor: int, info: os.stat_result) -> bytes:
    if info.st_size > WHOLE_BYTES:
        raise ToolError(f"{path} is larger than {WHOLE_BYTES // 1024 // 1024} MiB")
    with open(descriptor, "rb", closefd=False) as file:
        try:
            data = file.read(WHOLE_BYTES + 1)
        except OSError as fault:
            raise reason(path, fault) from fault
    if len(data) > WHOLE_BYTES:
        raise ToolError(f"{path} is larger than {WHOLE_BYTES // 1024 // 1024} MiB")
    return data


def check_replaceable(path: str, info: os.stat_result) -> None:
    """ToolError where putting a new file in the place of this one would lose something."""
    if info.st_nlink > 1:
        raise ToolError(f"{path} has {info.st_nlink} names (hard links); replacing it would part them")
    if not os.access(path, os.W_OK):
        raise ToolError(f"{path} is read-only")


def replace_file(path: str, data: bytes, before: Kept | None) -> None:
    """Put `data` in the place of what was there `before` (None: nothing), all or not at all.

    ToolError, and nothing changed, where something else is there by now or the system refuses.
    """
    folder, name = os.path.split(path)
    try:
        with contextlib.ExitStack() as stack:
            parent = open_folder(folder, make=before is None)
            stack.callback(os.close, parent)
            temporary = f".{name[:40]}.{secrets.token_hex(6)}.tmp"
            # 0600 until it has the old file's mode: what was private is never readable for a moment
            descriptor = os.open(
                temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if before is None else 0o600, dir_fd=parent
            )
            stack.callback(forget, temporary, parent)
            with open(descriptor, "wb") as file:
                if before is not None:
                    keep_metadata(path, file.fileno(), before.info)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            put_in_place(path, temporary, name, parent, before)
            sync_folder(parent)
    except OSError as fault:
        raise reason(path, fault) from fault


def open_folder(folder: str, make: bool) -> int:
    """A descriptor of a resolved folder, no link followed on the way; missing ones are made if wanted."""
    current = os.open("/", FOLDER_FLAGS)
    try:
        for part in folder.split("/"):
            if not part:
                continue
            if make:
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, dir_fd=current)
            below = os.open(part, FOLDER_FLAGS, dir_fd=current)
            os.close(current)
            current = below
    except BaseException:
        os.close(current)
        raise
    return current


def keep_metadata(path: str, descriptor: int, info: os.stat_result) -> None:
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (info.st_uid, info.st_gid):
        # another user's file in a folder of ours: the mode stays, the owner only where we may give it
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, info.st_uid, info.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(info.st_mode))
    if not hasattr(os, "listxattr"):
        return
    with contextlib.suppress(OSError):
        for attribute in os.listxattr(path):
            os.setxattr(descriptor, attribute, os.getxattr(path, attribute))


def put_in_place(path: str, temporary: str, name: str, parent: int, before: Kept | None) -> None:
    """The last look and the change, as close together as the system allows."""
    if before is None:
        try:
            os.link(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        except FileExistsError as fault:
            raise ToolError(f"{path} exists by now; read it first") from fault
        except OSError as fault:
            if fault.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS):
                raise
            if os.path.lexists(path):
                raise ToolError(f"{path} exists by now; read it first") from fault
            os.rename(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
        return
    descriptor = os.open(name, READ_FLAGS, dir_fd=parent)
    try:
        info = os.fstat(descriptor)
        check_replaceable(path, info)
        if read_all(path, descriptor, info) != before.data:
            raise ToolError(f"{path} has changed since it was read; read it again")
    finally:
        os.close(descriptor)
    os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)


def forget(temporary: str, parent: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary, dir_fd=parent)


def sync_folder(parent: int) -> None:
    # some file systems cannot sync a folder; the file itself is safe by then
    with contextlib.suppress(OSError):
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=parent)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
