"""From the arguments of a call to what the engine decides on: every place that the call names, resolved on disk.

Nothing is opened or changed here; what a shell line means is `permission.command`'s knowledge.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from agentcli.permission.command import Part, Reading, read_line
from agentcli.permission.programs import Use, changes_of, use_of
from agentcli.permission.subject import Command, Kind, Line, Subject, Target, Way
from agentcli.permission.word import Sort, Word
from agentcli.workspace.root import Located, Place, change_fault, is_folder

MAX_NAMES = 200
"""So many files may a glob name; more are not judged one by one."""
MAX_FOLDERS = 8
"""In so many folders may a line stand after its `cd`s."""


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
        named=tuple(tuple(word.shown for word in words) for words in reading.found),
        fault=reading.fault,
        unproven=reading.unproven,
    )
    targets = dict.fromkeys(target for made in commands for target in made.targets)
    targets.update(dict.fromkeys(walk.seen(reading)))
    return Subject(tool=tool, kind=Kind.SHELL, targets=tuple(targets), line=line)


def _target(place: Place, located: Located, way: Way) -> Target:
    fault = located.fault or (None if way is Way.LOOK else _fault_of_change(located.path))
    protected = located.protected if way is Way.LOOK else located.guarded
    why = located.why
    if way is Way.REMOVE and not protected and (held := place.holds(located.path)):
        protected, why = True, held
    return Target(located.path, way, located.inside, protected, fault=fault, why=why)


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

    def __post_init__(self) -> None:
        self.sure = [self.place.cwd]
        self.ever = [self.place.cwd]

    def commands(self, part: Part) -> Iterator[Command]:
        """The command of a part, and one more for each place that its output is written to."""
        if part.after != "&&":
            self.sure = list(self.ever)
        use = self._use(part.words)
        targets = [*self._targets(use), *self._each(part.reads, Way.LOOK)]
        proven = part.plain and not (self.lost and targets)
        yield Command(
            words=tuple(word.shown for word in part.words),
            read_only=use.read_only and proven,
            simple_change=use.simple_change and proven,
            targets=tuple(targets),
            plain=part.plain,
        )
        for target in self._each(part.writes, Way.EDIT):
            yield Command(words=(), targets=(target,))
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
        if self.lost or any(part.startswith(".") and ("*" in part or "?" in part) for part in parts):
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
            yield from self._put(source, end)

    def _walked(self, target: Target, use: Use) -> Target:
        """A program reads all that lies below, so what it comes upon counts."""
        if target.protected or target.fault or not target.inside:
            return replace(target, folder=True)
        secret = self.place.secret_below(target.path, not use.plain_names, use.follows)
        return replace(target, folder=True, protected=secret is not None, why=secret or target.why)

    def _put(self, source: Word, end: Word) -> Iterator[Target]:
        """What is put into a folder keeps its name."""
        name = os.path.basename(source.text.rstrip("/")) if source.readable else ""
        for target in self._each([end], Way.EDIT):
            if target.fault or name in ("", ".", "..") or not _is_folder(target.path):
                yield target
            else:
                yield _target(self.place, self.place.locate(os.path.join(target.path, name)), Way.EDIT)

    def _each(self, words: Sequence[Word], way: Way) -> Iterator[Target]:
        for word in words:
            for named in self._meant(word):
                for folder in self.sure:
                    yield from _named_targets(self.place.at(folder), _text(named), way)

    def _meant(self, word: Word) -> list[Word]:
        """The places of a word; a glob over all that a folder holds stands for the folder."""
        if word.sort is not Sort.GLOB:
            return [word] if _readable(word) else []
        folder, _, last = word.text.rpartition("/")
        names = self._names(word) if last.strip("*?") else None
        if names is not None:
            return names
        first = next((i for i, part in enumerate(folder.split("/")) if "*" in part or "?" in part), None)
        kept = folder if first is None else "/".join(folder.split("/")[:first])
        return [Word(kept or ("/" if word.text.startswith("/") else "."), home=word.home)]


def _named_targets(place: Place, text: str, way: Way) -> Iterator[Target]:
    """A link that is removed counts as itself and as what it leads to."""
    yield _target(place, place.locate(text), way)
    if way is Way.REMOVE:
        yield _target(place, place.locate_name(text), way)


def _readable(word: Word) -> bool:
    return word.readable or word.home or word.text == "."


def _text(word: Word) -> str:
    """As `Place.locate` wants it: `~` is the home folder only where bash sees it so."""
    return "./" + word.text if word.text.startswith("~") and not word.home else word.text or "./"
