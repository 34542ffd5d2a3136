"""What is too large for a line: images, files and long outputs, beside the log under their own sha256.

A blob is whole and durable before the record that names it is written. In the line, its base64 source has become
`{"type": "url", "url": "blob:sha256/HEX", "media_type": ..., "blob": "HEX"}`. A result whose middle was left out names
the file of the whole in its text, and in its metadata as `{"kept": {"blob": "HEX", "bytes": N}}`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, cast

from agentcli.ledger.block import ToolResultBlock
from agentcli.ledger.message import Msg
from agentcli.session.disk import DiskIO, make_folder, saving, write_all
from agentcli.session.spool import BlobSpool

LARGE = 65_536
HEX = re.compile(r"[0-9a-f]{64}")


class Blobs:
    """The blobs of one session."""

    def __init__(self, io: DiskIO, log: Path) -> None:
        self._io, self.folder = io, log.with_suffix(".blobs")

    def put_large(self, content: list[dict[str, Any]]) -> None:
        """Move large data out of these blocks, in place; LogError where the disk refuses."""
        for block in data_blocks(content):
            source = block["source"]
            text = source["data"] if source.get("type") == "base64" else ""
            raw = decoded(text) if len(text) > LARGE else None
            if raw is None:
                continue
            digest = self.put(raw)
            block["source"] = {**source, "type": "url", "url": f"blob:sha256/{digest}", "blob": digest}
            del block["source"]["data"]

    def put(self, raw: bytes) -> str:
        """Keep these bytes; the digest by which they are found. LogError where the disk refuses."""
        digest = hashlib.sha256(raw).hexdigest()
        self._put(digest, raw)
        return digest

    def fetch(self, content: list[dict[str, Any]]) -> list[str]:
        """Put the data back into these blocks, in place; the digests of what is missing."""
        missing: list[str] = []
        for block in data_blocks(content):
            source = block["source"]
            digest = source.get("blob")
            if not isinstance(digest, str) or not HEX.fullmatch(digest):
                continue
            raw = self.get(digest)
            if raw is None:
                missing.append(digest)
                continue
            block["source"] = {key: value for key, value in source.items() if key not in ("url", "blob")}
            block["source"].update(type="base64", data=base64.b64encode(raw).decode())
        return missing

    def spool(self) -> BlobSpool:
        """A file for an output that may become long; OSError where the disk refuses."""
        return BlobSpool(self._io, self.folder)

    def missing(self, messages: Iterable[Msg]) -> list[str]:
        """A sentence for each whole output that a result names and that is not there as it was."""
        named = ((result, *named_by(result)) for msg in messages for result in results_of(msg))
        return [
            f"the whole output of call {result.id} ({result.name}) is missing: blob {digest}"
            for result, digest, size in named
            if digest and _size_of(self.folder / digest) != size
        ]

    def carry(self, msg: Msg, parent: str) -> None:
        """Take over the outputs that the results of a message name in a parent session; they name ours then."""
        theirs = self.folder.with_name(f"{parent}.blobs")
        for result in results_of(msg):
            digest, size = named_by(result)
            if digest and _size_of(theirs / digest) == size:
                self._take(theirs / digest, self.folder / digest)
                _rename(result, os.path.abspath(theirs / digest), os.path.abspath(self.folder / digest))

    def sweep(self) -> None:
        """Remove what a crash left half written; no record names it."""
        for path in self.folder.glob("*.tmp"):
            self._io.unlink(path)

    def _take(self, old: Path, new: Path) -> None:
        """One file for both, as neither ever changes it; a copy where the file system has no links."""
        if new.exists():
            return
        with saving(new):
            make_folder(self._io, self.folder)
            try:
                self._io.link(old, new)
            except OSError:
                self._copy(old, new)
            self._io.fsync_folder(self.folder)

    def _copy(self, old: Path, new: Path) -> None:
        self._write(new.with_suffix(".tmp"), old.read_bytes())
        self._io.rename(new.with_suffix(".tmp"), new)

    def _put(self, digest: str, raw: bytes) -> None:
        path = self.folder / digest
        if path.exists():
            return
        with saving(path):
            make_folder(self._io, self.folder)
            self._write(path.with_suffix(".tmp"), raw)
            self._io.rename(path.with_suffix(".tmp"), path)
            self._io.fsync_folder(self.folder)

    def _write(self, path: Path, raw: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
        fd = self._io.open(path, flags | getattr(os, "O_CLOEXEC", 0))
        try:
            write_all(self._io, fd, raw)
            self._io.fsync(fd)
        finally:
            self._io.close(fd)

    def get(self, digest: str) -> bytes | None:
        """The bytes of a digest; None where they are missing, or not what they were."""
        try:
            raw = (self.folder / digest).read_bytes()
        except OSError:
            return None
        return raw if hashlib.sha256(raw).hexdigest() == digest else None


def data_blocks(content: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The data blocks of a message's content, those inside results and hints included."""
    for block in content:
        if block.get("type") == "data" and isinstance(block.get("source"), dict):
            yield block
        for inner in (block.get("output"), block.get("hint")):
            if isinstance(inner, list):
                yield from data_blocks([item for item in inner if isinstance(item, dict)])  # pyright: ignore[reportUnknownVariableType]


def results_of(msg: Msg) -> Iterator[ToolResultBlock]:
    """The results in a message."""
    # By name: pydantic's instance check would cost more than all else where there are thousands of blocks.
    return (cast("ToolResultBlock", block) for block in msg.content if block.type == "tool_result")


def named_by(result: ToolResultBlock) -> tuple[str, int]:
    """The blob that holds the whole of a result, and its size; no name where nothing was left out."""
    kept = result.metadata.get("kept")
    if not isinstance(kept, dict):
        return "", 0
    known = cast("dict[str, Any]", kept)
    digest, size = known.get("blob"), known.get("bytes")
    return (digest, size) if isinstance(digest, str) and HEX.fullmatch(digest) and isinstance(size, int) else ("", 0)


def _rename(result: ToolResultBlock, old: str, new: str) -> None:
    if isinstance(result.output, str):
        result.output = result.output.replace(old, new)
        return
    for block in result.output:
        if block.type == "text":
            block.text = block.text.replace(old, new)


def _size_of(path: Path) -> int:
    try:
        info = path.lstat()
    except OSError:
        return -1
    return info.st_size if stat.S_ISREG(info.st_mode) else -1


def decoded(text: str) -> bytes | None:
    """The bytes of a base64 text, if they give this very text again."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if base64.b64encode(raw).decode() == text else None
