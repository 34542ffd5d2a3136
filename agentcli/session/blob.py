"""What is too large for a line: the bytes of images and files, beside the log under their own sha256.

A blob is whole and durable before the record that names it is written. In the line, its base64 source has become
`{"type": "url", "url": "blob:sha256/HEX", "media_type": ..., "blob": "HEX"}`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentcli.session.disk import DiskIO, make_folder, saving, write_all

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
            digest = hashlib.sha256(raw).hexdigest()
            self._put(digest, raw)
            block["source"] = {**source, "type": "url", "url": f"blob:sha256/{digest}", "blob": digest}
            del block["source"]["data"]

    def fetch(self, content: list[dict[str, Any]]) -> list[str]:
        """Put the data back into these blocks, in place; the digests of what is missing."""
        missing: list[str] = []
        for block in data_blocks(content):
            source = block["source"]
            digest = source.get("blob")
            if not isinstance(digest, str) or not HEX.fullmatch(digest):
                continue
            raw = self._get(digest)
            if raw is None:
                missing.append(digest)
                continue
            block["source"] = {key: value for key, value in source.items() if key not in ("url", "blob")}
            block["source"].update(type="base64", data=base64.b64encode(raw).decode())
        return missing

    def sweep(self) -> None:
        """Remove what a crash left half written; no record names it."""
        for path in self.folder.glob("*.tmp"):
            self._io.unlink(path)

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

    def _get(self, digest: str) -> bytes | None:
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


def decoded(text: str) -> bytes | None:
    """The bytes of a base64 text, if they give this very text again."""
    try:
        raw = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if base64.b64encode(raw).decode() == text else None
