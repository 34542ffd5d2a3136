"""What a simple command does to the disk, and how its options are told from its operands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agentcli.permission.word import Sort, Word


@dataclass(slots=True, frozen=True)
class Use:
    """What one simple command does, as far as its words tell."""

    read_only: bool = False
    simple_change: bool = False
    looks: tuple[Word, ...] = ()
    walks: tuple[Word, ...] = ()
    """Folders whose contents are read, all that lies below."""
    edits: tuple[Word, ...] = ()
    removes: tuple[Word, ...] = ()
    puts: tuple[tuple[Word, Word], ...] = ()
    """A thing and the place that it is put at, or below it under its own name, should that be a folder."""
    deep: bool = False
    """What is put may be a folder, with all that lies below, or a link."""
    mentions: tuple[Word, ...] = ()
    """Words that may name files, of a program that is not known."""
    sweeps: tuple[Word, ...] = ()
    """Folders that such a program may read, all that lies below."""
    plain_names: bool = False
    """The walk leaves out names that start with a dot."""
    follows: bool = False
    """The walk goes where links lead."""


UNKNOWN_USE = Use()


@dataclass(slots=True, frozen=True)
class Parsed:
    """The words of a command, sorted by a table."""

    options: dict[str, list[Word]] = field(default_factory=dict[str, list[Word]])
    """Each option as its table spells it, with the values that it was given."""
    operands: tuple[Word, ...] = ()

    def has(self, *names: str) -> bool:
        """One of these options was given."""
        return any(name in self.options for name in names)

    def values(self, *names: str) -> list[Word]:
        """What these options were given."""
        return [value for name in names for value in self.options.get(name, ())]


@dataclass(slots=True, frozen=True)
class Options:
    """Which options a program may be given; an option that is not here makes the command unknown."""

    flags: str = ""
    """Short options without a value; they may be bundled."""
    takes: str = ""
    """Short options with a value that is never left out: else the next word would be a file that nobody sees."""
    longs: frozenset[str] = frozenset()
    """Long options without a value, or with one after `=`; never abbreviated."""
    long_takes: frozenset[str] = frozenset()
    """Long options whose value may be the next word."""
    numbers: bool = False
    """`-20` is an option."""
    bundles: bool = True

    def parse(self, words: Sequence[Word]) -> Parsed | None:
        """Sort the words after the program; None where one is not known."""
        options: dict[str, list[Word]] = {}
        operands: list[Word] = []
        rest = list(reversed(words))
        while rest:
            word = rest.pop()
            if word.sort is not Sort.SURE or word.home or not word.text.startswith("-") or word.text == "-":
                operands.append(word)
            elif word.text == "--":
                operands += reversed(rest)
                break
            elif not self._take(word.text, rest, options):
                return None
        return Parsed(options, tuple(operands))

    def _take(self, text: str, rest: list[Word], options: dict[str, list[Word]]) -> bool:
        if self.numbers and text[1:].isdigit():
            return True
        if text.startswith("--"):
            return self._long(text, rest, options)
        return (self.bundles or len(text) == 2) and self._short(text, rest, options)

    def _long(self, text: str, rest: list[Word], options: dict[str, list[Word]]) -> bool:
        head, equals, value = text.partition("=")
        if head in self.longs or (equals and head in self.long_takes):
            options.setdefault(head, []).append(Word(value))
            return True
        if head not in self.long_takes or not rest:
            return False
        options.setdefault(head, []).append(rest.pop())
        return options[head][-1].sort is Sort.SURE

    def _short(self, text: str, rest: list[Word], options: dict[str, list[Word]]) -> bool:
        for place, letter in enumerate(text[1:], 2):
            name = "-" + letter
            if letter in self.takes:
                if place == len(text) and not rest:
                    return False
                value = Word(text[place:]) if place < len(text) else rest.pop()
                options.setdefault(name, []).append(value)
                return value.sort is Sort.SURE
            if letter not in self.flags:
                return False
            options.setdefault(name, [])
        return True


def names(text: str) -> frozenset[str]:
    """Words, written short."""
    return frozenset(text.split())


def options(
    flags: str = "", takes: str = "", longs: str = "", long_takes: str = "", *, numbers: bool = False, bundles: bool = True
) -> Options:
    """Options, written short; the long ones without their dashes."""
    return Options(flags, takes, _dashed(longs), _dashed(long_takes), numbers, bundles)


def _dashed(text: str) -> frozenset[str]:
    return frozenset("--" + name for name in text.split())
