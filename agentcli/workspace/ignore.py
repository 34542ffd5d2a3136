"""What `.gitignore` files leave out. Only files are read: asking git would let a repository run programs."""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

IGNORE_BYTES = 1_000_000


@dataclass(slots=True, frozen=True)
class Rule:
    """One line of an ignore file."""

    takes_back: bool
    folders_only: bool
    parts: tuple[str, ...]
    anywhere: bool
    """Compared with the last part only."""


@dataclass(slots=True, frozen=True)
class IgnoreFile:
    """The rules of one folder, for what lies below it."""

    rules: tuple[Rule, ...]
    names: re.Pattern[str] | None
    """Where no rule takes back: all rules for any name at once, because a walk asks for every file."""
    folder_names: re.Pattern[str] | None

    def verdict(self, parts: Sequence[str], folder: bool) -> bool | None:
        """Whether a path is left out; None if no rule speaks of it."""
        if self.names is not None or self.folder_names is not None:
            if self.names is not None and self.names.match(parts[-1]):
                return True
            if folder and self.folder_names is not None and self.folder_names.match(parts[-1]):
                return True
        for rule in reversed(self.rules):
            if rule.folders_only and not folder:
                continue
            if matches(parts[-1:] if rule.anywhere else parts, rule.parts):
                return not rule.takes_back
        return None


def matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether a path matches a pattern part by part; `**` stands for any parts. Never more than parts times parts."""
    reached = {0}
    for index, wanted in enumerate(pattern):
        if wanted == "**":
            first = min(reached)
            # at the end `a/**` is what lies below `a`, not `a` itself
            reached = set(range(first + (index == len(pattern) - 1 and index > 0), len(parts) + 1))
        else:
            test = part_pattern(wanted)
            reached = {at + 1 for at in reached if at < len(parts) and test.match(parts[at])}
        if not reached:
            return False
    return len(parts) in reached


@lru_cache(4096)
def part_pattern(text: str) -> re.Pattern[str]:
    """One part of a pattern; fnmatch makes expressions that cannot run away."""
    return re.compile(fnmatch.translate(unescaped(text)))


def unescaped(text: str) -> str:
    """Backslashes written as brackets, and `[^` as `[!`, as fnmatch wants them."""
    text = re.sub(r"\\(.)", lambda found: f"[{found[1]}]" if found[1] in "*?[" else found[1], text)
    return text.replace("[^", "[!")


def parse_rule(line: str) -> Rule | None:
    """A line's rule; None for a comment or an empty one."""
    line = line.rstrip("\r\n")
    line = re.sub(r"(?<!\\) +\Z", "", line)
    if not line or line.startswith("#"):
        return None
    takes_back = line.startswith("!")
    line = line.removeprefix("!")
    folders_only = line.endswith("/")
    line = line.rstrip("/")
    if not line:
        return None
    anywhere = "/" not in line
    return Rule(takes_back, folders_only, tuple(part for part in line.split("/") if part), anywhere)


def ignore_file(text: str) -> IgnoreFile | None:
    """The rules of an ignore file's text; None if it has none."""
    rules = tuple(rule for rule in map(parse_rule, text.split("\n")) if rule is not None)
    if not rules:
        return None
    if any(rule.takes_back for rule in rules):
        return IgnoreFile(rules, None, None)
    simple = [rule for rule in rules if rule.anywhere and rule.parts[0] != "**"]
    rest = tuple(rule for rule in rules if rule not in simple)
    return IgnoreFile(
        rest,
        joined([rule.parts[0] for rule in simple if not rule.folders_only]),
        joined([rule.parts[0] for rule in simple if rule.folders_only]),
    )


def joined(patterns: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(fnmatch.translate(unescaped(text)) for text in patterns)) if patterns else None


def read_ignore(path: str) -> IgnoreFile | None:
    """The rules of a file on disk; None where there is none that can be read."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), encoding="utf-8", errors="replace") as file:
            return ignore_file(file.read(IGNORE_BYTES))
    except (OSError, re.error):
        return None


class Ignores:
    """The ignore files that hold for a folder: its own, and those of the folders above up to the repository's root."""

    def __init__(self, top: str, stack: tuple[tuple[int, IgnoreFile], ...] = ()) -> None:
        self.top, self.stack = top, stack

    @classmethod
    def above(cls, folder: str, top: str) -> Ignores:
        """What holds for a folder by the folders above it, its own file not yet read."""
        if folder != top and not folder.startswith(top.rstrip("/") + "/"):
            top = folder
        own = read_ignore(os.path.join(top, ".git/info/exclude"))
        ignores = cls(top, ((0, own),) if own is not None else ())
        parts = [part for part in os.path.relpath(folder, top).split("/") if part != "."]
        for depth in range(len(parts)):
            ignores = ignores.into(os.path.join(top, *parts[:depth]))
        return ignores

    def into(self, folder: str) -> Ignores:
        """What holds inside a folder."""
        own = read_ignore(os.path.join(folder, ".gitignore"))
        if own is None:
            return self
        depth = 0 if folder == self.top else os.path.relpath(folder, self.top).count("/") + 1
        return Ignores(self.top, (*self.stack, (depth, own)))

    def leaves_out(self, parts: Sequence[str], folder: bool) -> bool:
        """Whether a path, in parts below the top, is left out; the nearest file that speaks of it decides."""
        for depth, rules in reversed(self.stack):
            verdict = rules.verdict(parts[depth:], folder)
            if verdict is not None:
                return verdict
        return False
