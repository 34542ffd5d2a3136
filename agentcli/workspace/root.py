"""Where things are: the working folder, the root, the added folders, and what is inside or protected.

Paths are resolved as the kernel would; nothing here is opened or changed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from agentcli.errors import UsageError
from agentcli.workspace.guarded import bound_folder, guard_of, is_bound

MAX_LINKS = 40
MAX_PATH = 4096
MAX_ENTRIES = 5000
"""So many names below a folder are looked at before a walk is judged by its folder alone."""
FOREIGN = ("/proc", "/dev", "/sys")
"""The kernel's own names: never inside, whatever the root is."""
PER_PROCESS = {"/proc/self": "/proc/self", "/proc/thread-self": "/proc/self/task/thread-self"}
"""Kept by name: who opens the path later is another process than who judges it."""
OUTPUT = re.compile(r"[0-9a-f]{64}")
"""The name of a kept output."""
HOOKS_PATH = re.compile(r"^\s*hookspath\s*=\s*\"?([^\"\n]+?)\"?\s*$", re.IGNORECASE | re.MULTILINE)


@dataclass(slots=True, frozen=True)
class Located:
    """A path as the kernel would reach it."""

    path: str
    """Absolute, links followed as far as they exist."""
    inside: bool
    protected: bool
    """Not even looked at without a question."""
    fault: str | None = None
    """Why nothing can open it."""
    guarded: bool = False
    """Changing it is asked one by one; every protected place is guarded too."""
    why: str = ""
    """What it is protected or guarded as, in a few words."""
    kept: bool = False
    """A name among the long outputs of this session: protected, but to be looked at."""
    means: str | None = None
    """Where a path with a fault would lead a process that stands in the working folder, should that be known."""


class Bound(OSError):
    """A path leads through a name that is another thing for each process."""

    def __init__(self, step: str, rest: str) -> None:
        super().__init__(f"{step} is another thing for each process; name the file itself")
        self.means = {"cwd": rest or ".", "root": "/" + rest}.get(bound_folder(step))
        """What it stands for, seen from the working folder."""


@dataclass(slots=True, frozen=True)
class Place:
    """The folders that one session works in; all absolute and resolved."""

    cwd: str
    root: str
    home: str
    added: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    """Our own configuration and data folders: protected."""
    kept: str = ""
    """Where the long outputs of this session lie, in a folder of `settings`."""
    git: tuple[str, ...] = ()
    """Where the repository of the root keeps its own files and hooks, if not in `.git` itself."""

    @classmethod
    def find(cls, cwd: str, added: Sequence[str] = (), settings: Sequence[str] = ()) -> Place:
        """The place of a working folder: its root is the nearest ancestor with `.git`, else itself."""
        here = _folder(cwd)
        root = _root_of(here)
        return cls(
            cwd=here,
            root=root,
            home=os.path.realpath(os.path.expanduser("~")),
            added=tuple(_folder(os.path.join(here, os.path.expanduser(folder))) for folder in added),
            settings=tuple(os.path.realpath(folder) for folder in settings),
            git=_git_folders(root),
        )

    def at(self, folder: str) -> Place:
        """The same place with another working folder."""
        return replace(self, cwd=folder)

    def locate(self, text: str) -> Located:
        """Resolve a path as a tool was given it: relative to the working folder, `~` is the home folder."""
        return self._found(text, resolve)

    def locate_name(self, text: str) -> Located:
        """As `locate`, but a link in the last place is the link itself: what `rm` and `mv` take."""
        return self._found(text, _resolve_name)

    def _found(self, text: str, reach: Callable[[str], str]) -> Located:
        fault = _text_fault(text)
        if fault:
            return Located(path=text, inside=False, protected=False, fault=fault)
        written = self._absolute(text)
        try:
            found = self.judge(reach(written))
        except Bound as bound:
            means = None if bound.means is None else os.path.join(self.cwd, bound.means)
            return Located(path=written, inside=False, protected=False, fault=str(bound), means=means)
        except OSError as error:
            return Located(path=written, inside=False, protected=False, fault=_words(error))
        # A guarded name stays guarded where it is a link to something of another name.
        named = guard_of(os.path.normpath(written)) if not found.protected else None
        if named is None:
            return found
        return replace(found, protected=found.protected or named.looking, guarded=True, why=found.why or named.why)

    def judge(self, path: str) -> Located:
        """What a resolved path is; looks at no disk."""
        inside = not below(path, FOREIGN) and below(path, (self.root, *self.added))
        if below(path, self.settings):
            kept = os.path.dirname(path) == self.kept and OUTPUT.fullmatch(os.path.basename(path)) is not None
            return Located(path, inside, protected=True, guarded=True, why="agentcli's own settings and sessions", kept=kept)
        if below(path, self.git):
            return Located(path, inside, protected=True, guarded=True, why="git's own files")
        guard = guard_of(path)
        if guard is None:
            return Located(path, inside, protected=False)
        return Located(path, inside, protected=guard.looking, guarded=True, why=guard.why)

    def secret_below(self, folder: str, dotted: bool, follows: bool) -> str | None:
        """What a program that reads all below a folder would come upon: a protected name, or a link that leads out.

        git's own files do not count: every repository has them. `dotted`: it reads names that start with a dot
        too; `follows`: it goes where links lead.
        """
        for count, entry in enumerate(_entries_below(folder, dotted)):
            if count >= MAX_ENTRIES:
                return None
            guard = guard_of(entry.name)
            if guard is not None and guard.looking:
                return f"{entry.name} lies below"
            if follows and entry.is_symlink() and not self.judge(os.path.realpath(entry.path)).inside:
                return f"{entry.name} leads out of the project"
        return None

    def holds(self, path: str) -> str | None:
        """What would go with a folder that is removed or moved: the root, the home folder, or ours; None if nothing of these."""
        if below(self.root, (path,)):
            return "it holds the project"
        if below(self.home, (path,)):
            return "it holds the home folder"
        kept = (*self.settings, *self.git, self.cwd)
        return "it holds a folder in use" if any(below(folder, (path,)) for folder in kept) else None

    def _absolute(self, text: str) -> str:
        if text == "~" or text.startswith("~/"):
            return self.home + text[1:]
        return os.path.join(self.cwd, text)


def below(path: str, folders: Sequence[str]) -> bool:
    """The path is one of the folders or lies in one; whole components are compared."""
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def resolve(path: str) -> str:
    """The place that an absolute path reaches; what does not exist yet is kept as written. OSError: nothing can be reached."""
    reached, rest, links = "/", _parts(path), 0
    while rest:
        name = rest.pop()
        if name == "..":
            reached = os.path.dirname(reached)
            continue
        step = os.path.join(reached, name)
        if is_bound(step):
            raise Bound(step, "/".join(reversed(rest)))
        if step in PER_PROCESS:
            reached = PER_PROCESS[step]
            continue
        mode = _mode_of(step)
        if mode is None or not stat.S_ISLNK(mode):
            _passable(step, mode, rest)
            reached = step
            continue
        links += 1
        if links > MAX_LINKS:
            raise OSError("it is a loop of links")
        target = os.readlink(step)
        rest += _parts(target)
        reached = "/" if target.startswith("/") else reached
    return reached


def _resolve_name(path: str) -> str:
    folder, name = os.path.split(path.rstrip("/") or "/")
    return resolve(path) if name in ("", ".", "..") else os.path.join(resolve(folder), name)


def change_fault(path: str) -> str | None:
    """Why a resolved file must not be written in place: it has a second name, or is no plain file."""
    mode = _mode_of(path)
    if mode is None or stat.S_ISDIR(mode):
        return None
    if not stat.S_ISREG(mode):
        return "it is no plain file"
    return "it has more than one name (a hard link)" if os.lstat(path).st_nlink > 1 else None


def is_folder(path: str) -> bool:
    """A folder stands at this resolved path."""
    mode = _mode_of(path)
    return mode is not None and stat.S_ISDIR(mode)


def names_below(folder: str, most: int) -> list[str] | None:
    """Every name below a folder, relative to it, links not followed; None if there are more, or some cannot be listed."""
    found: list[str] = []
    waiting = [""]
    while waiting:
        here = waiting.pop()
        try:
            with os.scandir(os.path.join(folder, here)) as entries:
                for entry in entries:
                    found.append(os.path.join(here, entry.name))
                    if len(found) > most:
                        return None
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(found[-1])
        except OSError:
            return None
    return found


def _entries_below(folder: str, dotted: bool) -> Iterator[os.DirEntry[str]]:
    waiting = [folder]
    while waiting:
        for entry in _entries(waiting.pop()):
            if entry.name == ".git" or (not dotted and entry.name.startswith(".")):
                continue
            yield entry
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _parts(path: str) -> list[str]:
    return [part for part in reversed(path.split("/")) if part not in ("", ".")]


def _mode_of(path: str) -> int | None:
    try:
        return os.lstat(path).st_mode
    except FileNotFoundError:
        return None


def _passable(step: str, mode: int | None, rest: list[str]) -> None:
    if rest and mode is not None and not stat.S_ISDIR(mode):
        raise NotADirectoryError(f"{step} is no folder")


def _text_fault(text: str) -> str | None:
    if not text:
        return "the path is empty"
    if "\0" in text:
        return "the path holds a NUL character"
    if len(os.fsencode(text) if _encodes(text) else b"\0" * (MAX_PATH + 1)) > MAX_PATH:
        return "the path is too long or no text"
    if text.startswith("~") and text != "~" and not text.startswith("~/"):
        return "it names another user's home folder; write ./~ for a file of that name"
    return None


def _encodes(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _folder(path: str) -> str:
    found = os.path.realpath(path)
    if not os.path.isdir(found):
        raise UsageError(f"no such folder: {path}")
    return found


def _root_of(folder: str) -> str:
    here = folder
    while True:
        if os.path.lexists(os.path.join(here, ".git")):
            return here
        above = os.path.dirname(here)
        if above == here:
            return folder
        here = above


def _git_folders(root: str) -> tuple[str, ...]:
    """A `.git` file names a folder elsewhere, which may name another; either may name hooks elsewhere."""
    git = os.path.join(root, ".git")
    text = _small_text(git)
    found = [os.path.realpath(os.path.join(root, text.removeprefix("gitdir:").strip()) if text.startswith("gitdir:") else git)]
    if common := _small_text(os.path.join(found[0], "commondir")).strip():
        found.append(os.path.realpath(os.path.join(found[0], common)))
    for folder in list(found):
        hooks = HOOKS_PATH.findall(_small_text(os.path.join(folder, "config")))
        found += [os.path.realpath(os.path.join(root, os.path.expanduser(hook))) for hook in hooks]
    return tuple(folder for folder in found if folder not in (root, "/"))


def _small_text(path: str) -> str:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(65_536)
    except OSError:
        return ""
