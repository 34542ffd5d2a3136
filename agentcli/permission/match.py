"""Does a rule match: words of a command, or a path. Deny and ask rules are read widely, allow rules narrowly."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache

from agentcli.ledger.rule import PermissionContext
from agentcli.permission.subject import UNKNOWN
from agentcli.permission.wrappers import name_of


class Match(IntEnum):
    """How surely words are those of a rule."""

    NO = 0
    PERHAPS = 1
    """They may turn out to be, when they run."""
    YES = 2


@dataclass(slots=True, frozen=True)
class WordRule:
    """The content of a shell rule."""

    words: tuple[str, ...]
    further: bool
    """Any further words may follow."""

    @classmethod
    def parse(cls, content: str) -> WordRule:
        """`git diff:*` or `git diff *` is the words and any further ones; anything else is that command exactly."""
        text = content.strip()
        for ending in (":*", " *"):
            if text.endswith(ending):
                return cls(_words(text.removesuffix(ending)), further=True)
        return cls((), further=True) if text == "*" else cls(_words(text), further=False)

    def allows(self, words: Sequence[str]) -> bool:
        """Narrow: compared as written."""
        if any(word.startswith(UNKNOWN) for word in words[: len(self.words)]) or any(UNKNOWN in word for word in self.words):
            return False
        return self._fits(tuple(words), self.words)

    def forbids(self, words: Sequence[str]) -> Match:
        """Wide: the program by its name, and whatever could turn out to be these words."""
        if not self.words:
            return Match.YES
        if name_of(words[0]) != name_of(self.words[0]):
            return Match.NO
        rest, wanted = tuple(words[1:]), self.words[1:]
        if self._fits(rest, wanted):
            return Match.YES
        return Match.PERHAPS if self._may_fit(rest, wanted) else Match.NO

    def _fits(self, words: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
        return words[: len(wanted)] == wanted if self.further else words == wanted

    def _may_fit(self, words: tuple[str, ...], wanted: tuple[str, ...]) -> bool:
        """A word that is not known stands where it matters, or options stand before what is forbidden (`git -C x push`)."""
        if not wanted:
            return False
        if any(word.startswith(UNKNOWN) for word in words[: len(wanted)]):
            return True
        if not words or not words[0].startswith("-") or wanted[0].startswith("-"):
            return False
        starts = [i for i in range(1, len(words)) if self._fits(words[i:], wanted)]
        return bool(starts)


def _words(text: str) -> tuple[str, ...]:
    if any(mark in text for mark in "'\"\\"):
        from agentcli.permission.command import words_of

        return words_of(text) or tuple(text.split())
    return tuple(text.split())


@dataclass(slots=True, frozen=True)
class PathRule:
    """The content of a file rule, made ready for one base folder."""

    exact: re.Pattern[str]
    """Matches the path itself, relative to the base."""
    folder: str | None
    """`x` of a rule `x/**`: looking at the folder itself is covered too."""
    base: str
    fixed: str
    """The part of the pattern before its first wildcard, as an absolute path; all that it can match lies below."""
    floating: bool
    """A name at any depth."""

    def allows(self, path: str, look: bool) -> bool:
        """Narrow: the path itself."""
        relative = _relative(path, self.base)
        if relative is None:
            return False
        return self.exact.fullmatch(relative) is not None or (look and self.folder is not None and relative == self.folder)

    def forbids(self, path: str) -> bool:
        """Wide: the path, or a folder above it."""
        relative = _relative(path, self.base)
        if relative is None:
            return False
        parts = relative.split("/") if relative else []
        above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)] or [""]
        return any(self.exact.fullmatch(name) or name == self.folder for name in above)

    def lies_below(self, folder: str) -> bool:
        """What it names may lie below a folder."""
        return self.floating or _relative(self.fixed, folder) is not None


def path_rules(content: str, context: PermissionContext, wide: bool) -> tuple[PathRule, ...]:
    """A file rule for each folder that it is relative to: the root, for deny and ask rules the added folders too."""
    bases = (context.root, *context.working_directories) if wide else (context.root,)
    return _path_rules(content, bases, context.home)


@lru_cache(maxsize=512)
def _path_rules(content: str, bases: tuple[str, ...], home: str) -> tuple[PathRule, ...]:
    if UNKNOWN in content:
        return ()
    if content == "~" or content.startswith("~/"):
        return (_path_rule(content[2:], home, anchored=True),)
    if content.startswith("/"):
        return (_path_rule(content[1:], "/", anchored=True),)
    anchored = content.startswith("./")
    return tuple(_path_rule(content.removeprefix("./"), base, anchored) for base in bases if base)


def _path_rule(pattern: str, base: str, anchored: bool) -> PathRule:
    pattern = re.sub(r"/{2,}", "/", pattern).rstrip("/")
    floating = not anchored and "/" not in pattern and pattern != "**"
    body = "".join(_translated(pattern))
    fixed = re.split(r"[*?\[\\]", pattern)[0]
    stem = fixed if fixed == pattern else fixed.rpartition("/")[0]
    folder = _unescaped(pattern.removesuffix("/**")) if pattern.endswith("/**") and not re.search(r"[*?]", pattern[:-3]) else None
    return PathRule(
        exact=re.compile(f"(?:.*/)?{body}" if floating else body, re.DOTALL),
        folder="" if pattern == "**" else folder,
        base=base,
        fixed=(base.rstrip("/") + "/" + stem).rstrip("/") or "/",
        floating=floating,
    )


PIECES = re.compile(
    r"(?P<any>\*\*/)|(?P<all>\*\*)|(?P<star>\*)|(?P<one>\?)|(?P<set>\[!?\]?[^\]/]*\])|\\(?P<escaped>.)|(?P<other>.)", re.DOTALL
)


def _translated(pattern: str) -> list[str]:
    """Regular expressions for the pieces of a pattern; `*` and `?` keep to their folder, `**` does not."""
    made: list[str] = []
    for piece in PIECES.finditer(pattern):
        match piece.lastgroup:
            case "any":
                made.append("(?:.+/)?")
            case "all":
                made.append(".+")
            case "star":
                made.append("[^/]*")
            case "one":
                made.append("[^/]")
            case "set":
                made.append(_set(piece["set"]))
            case _:
                made.append(re.escape(piece["escaped"] or piece["other"]))
    return made


def _set(text: str) -> str:
    inner = text[1:-1]
    sign = "^/" if inner.startswith("!") else ""
    letters = re.sub(r"([\\\[\]^&~|])", r"\\\1", inner.removeprefix("!"))
    try:
        re.compile(f"[{letters}]")
    except re.error:
        return re.escape(text)
    return f"(?!/)[{sign}{letters}]"


def _unescaped(pattern: str) -> str:
    return re.sub(r"\\(.)", r"\1", pattern)


def _relative(path: str, base: str) -> str | None:
    """The path below the base; empty for the base itself, None for anything else."""
    if path == base:
        return ""
    stem = base.rstrip("/") + "/"
    return path.removeprefix(stem) if path.startswith(stem) else None
