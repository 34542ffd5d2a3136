"""From the arguments of a call to what the engine decides on: every place that the call names, resolved on disk.

Nothing is opened or changed here; what a shell line means is `permission.command`'s knowledge.
"""

from __future__ import annotations

import glob
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch

from agentcli.permission.command import Part, Reading, read_line
from agentcli.permission.programs import Use, changes_of, use_of
from agentcli.permission.subject import Command, Kind, Line, Subject, Target, Way
from agentcli.permission.word import GIVEN, Sort, Word
from agentcli.workspace.root import Located, Place, below, change_fault, is_folder, names_below

MAX_NAMES = 200
"""So many files may a glob name; more are not judged one by one."""
MAX_FOLDERS = 8
"""In so many folders may a line stand after its `cd`s."""
MAX_HELD = 2_000
"""So many names below the folders that a line copies or moves are judged; more are asked about."""
WILD = re.compile(r"[*?\[]")
PROCESSES = ("/proc", "/dev")
MAX_MEANINGS = 4
"""So often is a name that depends on the process replaced by what it means."""


def file_subject(tool: str, path: str, way: Way, place: Place) -> Subject:
    """A call on one file."""
    target = _target(place, place.locate(path), way)
    return Subject(tool=tool, kind=Kind.FILE, targets=(target,), fault=target.fault)


def look_subject(tool: str, path: str, place: Place, folder: bool) -> Subject:
    """A call that looks at a file or folder; a walk of ours leaves out what is denied, so the folder is all it names."""
    target = _target(place, place.locate(path or ("." if folder else "")), Way.LOOK)
    return Subject(tool=tool, kind=Kind.FILE, targets=(target,), fault=target.fault)


def free_subject(tool: str) -> Subject:
    """A call that touches nothing outside the conversation."""
    return Subject(tool=tool, kind=Kind.FREE)


def shell_subject(tool: str, command: str, place: Place) -> Subject:
    """A shell line: what it runs exactly, where that can be told, and all that it names."""
    reading = read_line(command)
    walk = Walk(place)
    commands = tuple(made for part in reading.parts for made in walk.commands(part))
    line = Line(
        text=command,
        commands=commands,
        named=tuple(tuple(word.shown for word in words if word != GIVEN) for words in reading.found),
        fault=reading.fault,
        unproven=reading.unproven,
    )
    targets = dict.fromkeys(target for made in commands for target in made.targets)
    targets.update(dict.fromkeys(walk.seen(reading)))
    return Subject(tool=tool, kind=Kind.SHELL, targets=tuple(targets), mentioned=tuple(dict.fromkeys(walk.mentioned)), line=line)


def _target(place: Place, located: Located, way: Way) -> Target:
    fault = located.fault or (None if way is Way.LOOK else _fault_of_change(located.path))
    # One file by its name: a folder may hold links, and what a link leads to was resolved before.
    kept = way is Way.LOOK and located.kept and not _is_folder(located.path)
    protected = (located.protected and not kept) if way is Way.LOOK else located.guarded
    why = "" if kept else located.why
    if way is Way.REMOVE and not protected and (held := place.holds(located.path)):
        protected, why = True, held
    return Target(located.path, way, located.inside, protected, fault=fault, why=why, kept=kept)


def _fault_of_change(path: str) -> str | None:
    try:
        return change_fault(path)
    except OSError as error:
        return (error.strerror or str(error)).lower()


def _is_folder(path: str) -> bool:
    try:
        return is_folder(path)
    except OSError:
        return False


@dataclass(slots=True)
class Walk:
    """Goes along the commands of a line and keeps in which folders it may stand."""

    place: Place
    sure: list[str] = field(default_factory=list[str])
    """The folders of now if every command before has worked."""
    ever: list[str] = field(default_factory=list[str])
    """All folders in which it may stand, should one have failed."""
    lost: bool = False
    """A `cd` went somewhere that is not known."""
    changed: bool = False
    """A command before may have made what is named now."""
    shifted: bool = False
    """One has put folders or links elsewhere, so what lies on disk now says nothing of what will be named."""
    unseen: bool = False
    """What the command of now copies or moves could not be looked through."""
    held: int = 0
    """So many names below copied and moved folders are judged by now."""
    mentioned: list[Target] = field(default_factory=list[Target])
    """For deny and ask rules alone."""

    def __post_init__(self) -> None:
        self.sure = [self.place.cwd]
        self.ever = [self.place.cwd]

    def commands(self, part: Part) -> Iterator[Command]:
        """The command of a part, and one more for each place that its output is written to."""
        if part.after != "&&":
            self.sure = list(self.ever)
        use = self._use(part.words)
        self.unseen, shifted = False, self.shifted
        targets = [*self._targets(use), *self._each(part.reads, Way.LOOK)]
        proven = part.plain and not self.unseen and not ((self.lost or shifted) and targets)
        yield Command(
            words=tuple(word.shown for word in part.words),
            read_only=use.read_only and proven,
            simple_change=use.simple_change and proven,
            targets=tuple(targets),
            plain=part.plain,
        )
        for target in self._each(part.writes, Way.EDIT):
            yield Command(words=(), targets=(target,))
        self.changed = self.changed or not use.read_only or bool(part.writes)
        self._moved(part.words)

    def seen(self, reading: Reading) -> Iterator[Target]:
        """Every place that is named only in the loose reading."""
        judged = {part.words for part in reading.parts}
        for words in reading.found:
            if words not in judged:
                self.sure = list(self.ever)
                yield from self._targets(changes_of(words))
                self._moved(words)
        self.sure = list(self.ever)
        if not reading.parts:
            yield from self._each(reading.reads, Way.LOOK)
            yield from self._each([word for word in reading.writes if word.text != "/dev/null"], Way.EDIT)

    def _moved(self, words: tuple[Word, ...]) -> None:
        if words[0].text in ("pushd", "popd"):
            self.lost = True
        if words[0].text != "cd":
            return
        to = Word("~", home=True) if len(words) == 1 else words[1]
        if len(words) > 2 or to.sort is not Sort.SURE or to.text.startswith("-"):
            self.lost = True
            return
        new = [path for folder in self.sure for path in self._reached(folder, to)]
        self.sure = list(dict.fromkeys(new))
        self.ever = list(dict.fromkeys([*self.ever, *new]))
        self.lost = self.lost or len(self.ever) > MAX_FOLDERS

    def _reached(self, folder: str, to: Word) -> list[str]:
        """`cd` reads `..` in the text, the kernel on disk; where the two differ both count."""
        text = self.place.home + to.text[1:] if to.home else to.text
        written = os.path.normpath(os.path.join(folder, text))
        located = self.place.at(folder).locate(text if os.path.isabs(text) else "./" + text)
        return [written, located.path] if ".." in text.split("/") else [os.path.join(folder, text)]

    def _use(self, words: tuple[Word, ...]) -> Use:
        """What a command does; globs of a harmless program are replaced by the files that they name now."""
        use = use_of(words)
        if not use.read_only or not any(word.sort is Sort.GLOB for word in words):
            return use
        named = [self._names(word) if word.sort is Sort.GLOB else [word] for word in words]
        if any(names is None for names in named):
            return changes_of(words)
        flat = tuple(name for names in named for name in names or ())
        return replace(use, looks=flat[1:]) if words[0].text == "echo" else use_of(flat)

    def _names(self, word: Word) -> list[Word] | None:
        """The files that a glob names now; None if they are too many or cannot be told."""
        parts = word.text.split("/")
        if self.lost or self._of_processes(word) or any(part.startswith(".") and ("*" in part or "?" in part) for part in parts):
            return None
        pattern = self.place.home + word.text[1:] if word.home else word.text
        found = [name for folder in self.sure for name in glob.glob(pattern, root_dir=folder)]
        if len(found) > MAX_NAMES or any(name.startswith("-") for name in found):
            return None
        return [Word(name) for name in dict.fromkeys(found)] or [Word(word.text, home=word.home)]

    def _targets(self, use: Use) -> Iterator[Target]:
        yield from self._each(use.looks, Way.LOOK)
        yield from (self._walked(target, use) for target in self._each(use.walks, Way.LOOK))
        yield from self._each(use.edits, Way.EDIT)
        yield from self._each(use.removes, Way.REMOVE)
        for source, end in use.puts:
            yield from self._put(source, end, use)
        self.mentioned += self._each(use.mentions, Way.LOOK)
        self.mentioned += [replace(target, folder=not _is_file(target.path)) for target in self._each(use.sweeps, Way.LOOK)]

    def _walked(self, target: Target, use: Use) -> Target:
        """A program reads all that lies below, so what it comes upon counts."""
        if target.protected or target.fault or not target.inside:
            return replace(target, folder=True)
        if _is_file(target.path):
            return target
        secret = self.place.secret_below(target.path, not use.plain_names, use.follows)
        return replace(target, folder=True, protected=secret is not None, why=secret or target.why)

    def _put(self, source: Word, end: Word, use: Use) -> Iterator[Target]:
        """What is put into a folder keeps its name, and so does all that it holds."""
        for folder in self.sure:
            place = self.place.at(folder)
            for one, _ in self._meant(source, Way.LOOK) or [(Word("."), True)]:
                yield from self._put_one(place, one, end, use)

    def _put_one(self, place: Place, source: Word, end: Word, use: Use) -> Iterator[Target]:
        here = place.locate(_text(source))
        names = self._held(place, source, here, use)
        for name in names:
            yield _target(place, place.locate(os.path.join(here.path, name)), Way.LOOK)
            if use.removes:
                yield _target(place, place.locate_name(os.path.join(here.path, name)), Way.REMOVE)
        if self.unseen:
            yield replace(_target(place, here, Way.LOOK), folder=True)
        for word, _ in self._meant(end, Way.EDIT):
            for base in self._bases(place, source, word):
                for target in _named_targets(place, base, Way.EDIT):
                    yield replace(target, folder=self.unseen)
                yield from (_target(place, place.locate(os.path.join(base, name)), Way.EDIT) for name in names)

    def _held(self, place: Place, source: Word, here: Located, use: Use) -> list[str]:
        """The names below what is copied or moved whole."""
        if not use.deep or (_is_file(here.path) and not _is_link(place, source)):
            return []
        self.shifted = True
        names = names_below(here.path, MAX_HELD - self.held) if _is_folder(here.path) else None
        links = _is_folder(here.path) and use.follows
        # What is not there yet, or may be changed by the line itself, cannot be looked through.
        if names is None or links or self.changed or here.fault:
            self.unseen = self.unseen or not _is_file(here.path)
        self.held += len(names or ())
        return names or []

    def _bases(self, place: Place, source: Word, end: Word) -> list[str]:
        """Where the thing will stand."""
        written = _text(end)
        text = _text(source).rstrip("/")
        name = os.path.basename(place.home if source.home and text == "~" else text)
        located = place.locate(written)
        if located.fault:
            return [written]
        if name in ("", "..") or not (source.readable or source.home or source.guessed):
            self.unseen = True
            return [located.path]
        under = os.path.normpath(os.path.join(located.path, name))
        if _is_folder(located.path):
            return [under]
        return [located.path, under] if self.changed and under != located.path else [located.path]

    def _each(self, words: Sequence[Word], way: Way) -> Iterator[Target]:
        for word in words:
            meant = self._meant(word, way)
            if not meant:
                yield from self._hidden(word.source or word.text, way, "it is only known when it runs")
            for named, deep in meant:
                text = _text(named)
                if self.lost and way is Way.REMOVE and not text.startswith(("/", "~")):
                    yield from self._hidden(text, way, "in which folder it stands is only known when it runs")
                for folder in self.sure:
                    for target in _named_targets(self.place.at(folder), text, way):
                        yield replace(target, folder=True) if deep else target

    def _hidden(self, text: str, way: Way, fault: str) -> Iterator[Target]:
        """What cannot be told is asked about where it is removed; else it counts for deny and ask rules alone."""
        target = Target(text, way, inside=False, fault=fault)
        if way is Way.REMOVE:
            yield target
        else:
            self.mentioned.append(target)

    def _meant(self, word: Word, way: Way) -> list[tuple[Word, bool]]:
        """The places of a word, and whether each stands for all that it holds; a glob that cannot be told is its folder."""
        if word.sort is not Sort.GLOB:
            return [(word, False)] if word.readable or word.home or word.guessed else []
        folder, _, last = word.text.rpartition("/")
        if self._of_processes(word):
            return []
        names = self._names(word)
        told = [(name, False) for name in names or ()]
        if names is not None and (last.strip("*?") or way is Way.LOOK):
            return told
        return [*told, (_above(folder, word), names is None)]

    def _of_processes(self, word: Word) -> bool:
        """A glob that may go through names which are another thing for each process: it finds other files when it runs."""
        folder = word.text.rpartition("/")[0]
        wild = next((part for part in folder.split("/") if WILD.search(part)), None)
        if wild is None:
            return False
        above = _text(_above(folder, word))
        kept = {self.place.at(here).locate(above).path for here in self.sure}
        return any(
            below(path, PROCESSES) or (path == "/" and any(fnmatch(name[1:], wild) for name in PROCESSES)) for path in kept
        )


def _above(folder: str, word: Word) -> Word:
    """The part of a glob's folder before its first wildcard."""
    parts = folder.split("/")
    first = next((i for i, part in enumerate(parts) if WILD.search(part)), len(parts))
    return Word("/".join(parts[:first]) or ("/" if word.text.startswith("/") else "."), home=word.home)


def _named_targets(place: Place, text: str, way: Way) -> Iterator[Target]:
    """A link that is removed counts as itself and as what it leads to; a name of a process, as what that may mean too."""
    located = place.locate(text)
    yield _target(place, located, way)
    for _ in range(MAX_MEANINGS):
        if located.means is None:
            break
        located = place.locate(located.means)
        yield _target(place, located, way)
    if way is Way.REMOVE:
        yield _target(place, place.locate_name(text), way)


def _is_file(path: str) -> bool:
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def _is_link(place: Place, word: Word) -> bool:
    named = place.locate_name(_text(word))
    return named.fault is None and os.path.islink(named.path)


def _text(word: Word) -> str:
    """As `Place.locate` wants it: a tilde is a home folder only where bash sees it so."""
    if word.text.startswith("~") and not word.home and not word.source.startswith("~"):
        return "./" + word.text
    return word.text or "./"
