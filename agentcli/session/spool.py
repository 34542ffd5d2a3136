"""A long output on its way into the blobs of a session, while nobody knows yet how long it will be.

Up to `WHOLE` bytes are kept whole; of more, the beginning and, in a ring behind it, the newest end.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import threading
from contextlib import suppress
from pathlib import Path

from agentcli.session.disk import APPEND, NEW, DiskIO, make_folder, write_all
from agentcli.workspace.whole import Stored

MIB = 1024 * 1024
WHOLE = 64 * MIB
RING = 16 * MIB
FLAGS = NEW | (APPEND & ~os.O_APPEND)


class BlobSpool:
    """One file of a session's blobs, under a passing name until it is finished. Fits `workspace.whole.Spool`."""

    def __init__(self, io: DiskIO, folder: Path, whole: int = WHOLE, ring: int = RING) -> None:
        make_folder(io, folder)
        self._io, self._folder, self._whole, self._ring = io, folder, whole, ring
        self._path = folder / f"{secrets.token_hex(16)}.tmp"
        self._fd: int | None = io.open(self._path, FLAGS)
        self._came = 0
        # Who is cancelled drops the file while a thread may still write: never into a descriptor of somebody else.
        self._alone = threading.Lock()

    def write(self, text: str) -> None:
        """Add to it; nothing once it is finished or dropped."""
        # A NUL would make it a binary file for every reader; a lone surrogate is no text at all.
        data = memoryview(text.replace("\0", "\ufffd").encode("utf-8", "replace"))
        with self._alone:
            while data and self._fd is not None:
                at, room = self._next()
                os.lseek(self._fd, at, os.SEEK_SET)
                write_all(self._io, self._fd, bytes(data[:room]))
                self._came += min(room, len(data))
                data = data[room:]

    def finish(self) -> Stored:
        """Make it durable under its digest."""
        with self._alone:
            if self._fd is None:
                raise ValueError("it was dropped")
            missing = self._straighten(self._fd) if self._came > self._whole else 0
            self._io.fsync(self._fd)
            digest, size = _digest(self._fd)
            self._close()
            self._io.rename(self._path, self._folder / digest)
            self._io.fsync_folder(self._folder)
            return Stored(os.path.abspath(self._folder / digest), digest, size, missing)

    def drop(self) -> None:
        """Let go of it, and remove what has no lasting name."""
        # What a refusing disk leaves here is swept when the session is opened again.
        with self._alone, suppress(OSError):
            self._close()
            if self._path.exists():
                self._io.unlink(self._path)

    def _next(self) -> tuple[int, int]:
        """Where the next bytes go, and how many of them."""
        if self._came < self._whole:
            return self._came, self._whole - self._came
        place = (self._came - self._whole) % self._ring
        return self._whole - self._ring + place, self._ring - place

    def _straighten(self, fd: int) -> int:
        """Put the end of what came behind the beginning, and a line between that says what is not there; how much that is."""
        start = self._whole - self._ring
        place = (self._came - self._whole) % self._ring
        ring = _read(fd, start, self._ring)
        newest = ring[place:] + ring[:place]
        missing = self._came - self._whole
        end = _from_a_letter(newest)
        os.lseek(fd, start, os.SEEK_SET)
        write_all(self._io, fd, f"\n[{missing:,} bytes are not kept here]\n".encode() + end)
        return missing

    def _close(self) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            self._io.close(fd)


def _from_a_letter(data: bytes) -> bytes:
    """Without the rest of a character that was cut in two."""
    skip = next((at for at in range(min(4, len(data))) if data[at] & 0xC0 != 0x80), 0)
    return data[skip:]


def _read(fd: int, at: int, size: int) -> bytes:
    os.lseek(fd, at, os.SEEK_SET)
    parts: list[bytes] = []
    while size and (part := os.read(fd, min(size, MIB))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _digest(fd: int) -> tuple[str, int]:
    made, size = hashlib.sha256(), 0
    os.lseek(fd, 0, os.SEEK_SET)
    while part := os.read(fd, MIB):
        made.update(part)
        size += len(part)
    return made.hexdigest(), size
