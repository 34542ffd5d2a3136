"""Walks a folder: ignored files, `.git` and what may not be looked at are left out, links are not followed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from agentcli.workspace.ignore import Ignores

MOST_ENTRIES = 300_000
Keep = Callable[[str], bool]
"""Whether a path may be looked at; a folder that may not is not entered."""


@dataclass(slots=True, frozen=True)
class Entry:
    """A file or folder that a walk met."""

    path: str
    relative: str
    """Below the folder that is walked."""
    folder: bool


@dataclass(slots=True)
class Walk:
    """One walk, with what it did not show."""

    base: str
    top: str
    """The root of the repository, where ignore files begin."""
    keep: Keep
    kept_out: int = 0
    """Files and folders that may not be looked at."""
    unread: list[str] = field(default_factory=list[str])
    """Folders that the system did not open."""
    cut: bool = False
    """It became too long and was ended."""
    stopped: bool = False
    """Set from outside: it ends at the next folder."""

    def entries(self) -> Iterator[Entry]:
        """All that is found, folders before what is in them, in the order of names."""
        below = os.path.relpath(self.base, self.top)
        start = () if below == "." or below.startswith("..") else tuple(below.split("/"))
        waiting = [(self.base, start, Ignores.above(self.base, self.top))]
        seen = 0
        while waiting and not self.stopped:
            folder, parts, ignores = waiting.pop()
            ignores = ignores.into(folder)
            inside: list[tuple[str, tuple[str, ...], Ignores]] = []
            for entry in self.listing(folder):
                here = (*parts, entry.name)
                is_folder = entry.is_dir(follow_symlinks=False)
                if entry.name == ".git" or ignores.leaves_out(here, is_folder):
                    continue
                if not self.keep(entry.path):
                    self.kept_out += 1
                    continue
                seen += 1
                if seen > MOST_ENTRIES:
                    self.cut = True
                    return
                yield Entry(entry.path, os.path.relpath(entry.path, self.base), is_folder)
                if is_folder:
                    inside.append((entry.path, here, ignores))
            waiting.extend(reversed(inside))

    def listing(self, folder: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(folder) as found:
                return sorted(found, key=lambda entry: entry.name)
        except OSError:
            self.unread.append(folder)
            return []
