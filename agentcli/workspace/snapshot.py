"""Files as a call found them and left them: what undo compares, and how it puts one back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum

from agentcli.errors import ToolError
from agentcli.workspace.files import digest, read_kept, reason, replace_file
from agentcli.workspace.reach import open_folder
from agentcli.workspace.root import resolve

Files = Mapping[str, tuple[str | None, str | None]]
"""Resolved path -> sha256 before and after a call, in hex; None where there was no file."""


class Standing(StrEnum):
    """How files stand to what a call did."""

    AFTER = "after"
    BEFORE = "before"
    CHANGED = "changed"


def digest_now(path: str) -> str | None:
    """The digest of a file, None where there is none. ToolError where it is no file of ours to touch."""
    try:
        if resolve(path) != path:
            raise ToolError(f"{path} leads elsewhere now")
    except OSError as fault:
        raise reason(path, fault) from fault
    kept = read_kept(path)
    return None if kept is None else digest(kept.data)


def standing(files: Files) -> tuple[Standing, str]:
    """Whether all files are as a call left them, or as it found them; else the first that is neither."""
    now = {path: digest_now(path) for path in files}
    for place, found in ((1, Standing.AFTER), (0, Standing.BEFORE)):
        if all(now[path] == both[place] for path, both in files.items()):
            return found, ""
    return Standing.CHANGED, next(path for path, both in files.items() if now[path] != both[1])


def bytes_of(path: str, wanted: str | None) -> bytes | None:
    """The bytes of a file if they have this digest; None where they have not, or there is no such file."""
    try:
        kept = read_kept(path)
    except ToolError:
        return None
    return kept.data if kept is not None and digest(kept.data) == wanted else None


def put_back(path: str, data: bytes | None, expected: str | None) -> None:
    """Make a file hold `data` (None: make it not be there), if it is as `expected`; ToolError, and nothing changed, if not."""
    before = read_kept(path)
    if (digest(before.data) if before is not None else None) != expected:
        raise ToolError(f"{path} has changed meanwhile")
    if data is not None:
        replace_file(path, data, before)
    elif before is not None:
        _remove(path)


def _remove(path: str) -> None:
    folder, name = os.path.split(path)
    try:
        parent = open_folder(folder)
        try:
            os.unlink(name, dir_fd=parent)
        finally:
            os.close(parent)
    except OSError as fault:
        raise reason(path, fault) from fault
