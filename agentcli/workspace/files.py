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
from contextlib import ExitStack
from dataclasses import dataclass

from agentcli.errors import ToolError
from agentcli.workspace.reach import SYSTEM, System, open_folder, open_regular, opened, reason

WHOLE_BYTES = 16 * 1024 * 1024
"""A larger file is only ever read in part, and not changed."""
PRIVILEGES = stat.S_ISUID | stat.S_ISGID
"""Not kept: new content does not inherit the right to run as somebody else, as the kernel has it for a write."""
PRIVILEGE = "security.capability"
LABELS = ("security.", "trusted.")
"""Attributes that only the system may give; it has given the new file its own."""
NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS)
NO_ATTRIBUTES = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@dataclass(slots=True, frozen=True)
class Kept:
    """A file's bytes with what has to stay when they are replaced."""

    data: bytes
    info: os.stat_result
    writable: bool = True

    @property
    def digest(self) -> str:
        return digest(self.data)

    @property
    def executable(self) -> bool:
        return bool(self.info.st_mode & 0o111)

    @property
    def privileged(self) -> bool:
        """Runs as its owner or group, whoever starts it."""
        return bool(self.info.st_mode & PRIVILEGES)


def digest(data: bytes) -> str:
    """sha256 in hex."""
    return hashlib.sha256(data).hexdigest()


def read_kept(path: str) -> Kept | None:
    """All of a file, None where there is none. ToolError for what is no regular file, or too large to be held."""
    try:
        with opened(path) as (descriptor, info, writable):
            return Kept(read_all(path, descriptor, info), info, writable)
    except FileNotFoundError:
        return None


def read_all(path: str, descriptor: int, info: os.stat_result) -> bytes:
    if info.st_size > WHOLE_BYTES:
        raise too_large(path)
    with open(descriptor, "rb", closefd=False) as file:
        try:
            data = file.read(WHOLE_BYTES + 1)
        except OSError as fault:
            raise reason(path, fault) from fault
    if len(data) > WHOLE_BYTES:
        raise too_large(path)
    return data


def too_large(path: str) -> ToolError:
    most = WHOLE_BYTES // 1024 // 1024
    return ToolError(f"{path} is larger than {most} MiB: Read shows parts of it, and only a command can change it")


def check_replaceable(path: str, before: Kept) -> None:
    """ToolError where putting a new file in the place of this one would lose something, or is not allowed."""
    if before.info.st_nlink > 1:
        raise ToolError(f"{path} has {before.info.st_nlink} names (hard links); replacing it would part them")
    if not before.writable:
        raise ToolError(f"{path} is read-only; its mode would have to be changed first")


def replace_file(path: str, data: bytes, before: Kept | None, system: System = SYSTEM) -> None:
    """Put `data` in the place of what was there `before` (None: nothing), all or not at all.

    ToolError, and nothing changed, where something else is there by now or the system refuses.
    """
    folder, name = os.path.split(path)
    made = Made(system)
    try:
        with ExitStack() as stack:
            stack.callback(made.close)
            parent = open_folder(folder, make=made.make if before is None else None)
            stack.callback(os.close, parent)
            Replacing(path, name, parent, system).run(data, before)
            made.stays = True
    except OSError as fault:
        raise refusal(path, folder, fault) from fault


def refusal(path: str, folder: str, fault: OSError) -> ToolError:
    """Why a file cannot be replaced; the folder is named where it is the one that takes nothing new."""
    if fault.errno in (errno.EACCES, errno.EROFS, errno.EPERM):
        return ToolError(f"{path} was not changed: {folder} takes no new file ({fault.strerror})")
    return reason(path, fault)


class Made:
    """Folders that were made on the way to a new file; they go again if it is not made."""

    def __init__(self, system: System) -> None:
        self.stays = False
        self._system = system
        self._made: list[tuple[str, int]] = []

    def make(self, name: str, parent: int) -> None:
        """Make one, unless somebody else has made it meanwhile."""
        with contextlib.suppress(FileExistsError):
            self._system.mkdir(name, parent)
            self._made.append((name, os.dup(parent)))

    def close(self) -> None:
        for name, parent in reversed(self._made):
            try:
                if not self.stays:
                    with contextlib.suppress(OSError):  # somebody has put something into it
                        self._system.rmdir(name, parent)
            finally:
                os.close(parent)


@dataclass(slots=True, frozen=True)
class Replacing:
    """One change of one name in an open folder: a file beside it is made whole, then takes its name."""

    path: str
    name: str
    parent: int
    system: System

    def run(self, data: bytes, before: Kept | None) -> None:
        with ExitStack() as stack:
            old = None if before is None else stack.enter_context(self.held(before))
            temporary = f".{self.name[:40]}.{secrets.token_hex(6)}.tmp"
            # 0600 until it has the old file's mode: what was private is never readable for a moment
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            descriptor = self.system.open(temporary, flags, 0o600 if before is not None else 0o666, self.parent)
            stack.callback(self.forget, temporary)
            with contextlib.closing(Descriptor(descriptor, self.system)):
                if old is not None:
                    keep_metadata(self.path, descriptor, old, self.system)
                self.write(descriptor, data)
                self.system.fsync(descriptor)
            if before is None:
                self.put_new(temporary)
            else:
                with self.held(before):  # the last look and the change, as close together as the system allows
                    self.system.replace(temporary, self.name, self.parent)
            self.sync_folder()

    @contextlib.contextmanager
    def held(self, before: Kept) -> Generator[int]:
        """The file as it is now, open. ToolError unless its bytes are those of `before`, and may be replaced."""
        try:
            descriptor, info = open_regular(self.path, self.name, self.parent)
        except FileNotFoundError as fault:
            raise ToolError(f"{self.path} has gone since it was read") from fault
        try:
            now = Kept(read_all(self.path, descriptor, info), info, os.access(self.name, os.W_OK, dir_fd=self.parent))
            check_replaceable(self.path, now)
            if now.data != before.data:
                raise ToolError(f"{self.path} has changed since it was read; read it again")
            yield descriptor
        finally:
            os.close(descriptor)

    def write(self, descriptor: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self.system.write(descriptor, rest) :]

    def put_new(self, temporary: str) -> None:
        """Give a new file its name, but never the name of another one."""
        try:
            self.system.link(temporary, self.name, self.parent)
        except FileExistsError as fault:
            raise ToolError(f"{self.path} exists by now; read it first") from fault
        except OSError as fault:
            if fault.errno not in NO_LINKS:
                raise
            if self.exists():
                raise ToolError(f"{self.path} exists by now; read it first") from fault
            self.system.replace(temporary, self.name, self.parent)

    def exists(self) -> bool:
        try:
            os.stat(self.name, dir_fd=self.parent, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return True

    def forget(self, temporary: str) -> None:
        """Remove what the new content was gathered in, where it has not become the file."""
        try:
            self.system.unlink(temporary, self.parent)
        except FileNotFoundError:
            return
        except OSError as fault:
            why = fault.strerror or fault
            raise ToolError(f"{self.path}: {temporary} beside it could not be removed ({why}); look at both") from fault

    def sync_folder(self) -> None:
        # some file systems cannot sync a folder; the file itself is safe by then
        with contextlib.suppress(OSError):
            descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.parent)
            with contextlib.closing(Descriptor(descriptor, self.system)):
                self.system.fsync(descriptor)


@dataclass(slots=True, frozen=True)
class Descriptor:
    """Closes an open file once."""

    number: int
    system: System

    def close(self) -> None:
        self.system.close(self.number)


def keep_metadata(path: str, descriptor: int, old: int, system: System) -> None:
    """Give a new file owner, mode and attributes of the old one. ToolError where that is not allowed."""
    mine, wanted = os.fstat(descriptor), os.fstat(old)
    if (mine.st_uid, mine.st_gid) != (wanted.st_uid, wanted.st_gid):
        try:
            system.fchown(descriptor, wanted.st_uid, wanted.st_gid)
        except PermissionError as fault:
            raise ToolError(
                f"{path} belongs to another user or group, which replacing it would change; a command can write into it"
            ) from fault
    mode = stat.S_IMODE(wanted.st_mode) & ~PRIVILEGES
    if stat.S_IMODE(os.fstat(descriptor).st_mode) != mode:
        system.fchmod(descriptor, mode)
    if hasattr(os, "listxattr"):
        keep_attributes(path, descriptor, old, system)


def keep_attributes(path: str, descriptor: int, old: int, system: System) -> None:
    for name, value in attributes_of(old).items():
        if name == PRIVILEGE or attributes_of(descriptor).get(name) == value:
            continue
        try:
            system.setxattr(descriptor, name, value)
        except OSError as fault:
            if not name.startswith(LABELS):
                raise ToolError(f"{path} has an attribute {name} that could not be kept: {fault.strerror}") from fault


def attributes_of(descriptor: int) -> dict[str, bytes]:
    """A file's extended attributes; none where its file system has none."""
    try:
        return {name: os.getxattr(descriptor, name) for name in os.listxattr(descriptor)}
    except OSError as fault:
        if fault.errno in NO_ATTRIBUTES:
            return {}
        raise
