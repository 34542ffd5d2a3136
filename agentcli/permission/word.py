"""One word of a shell line, and how surely we know what bash will make of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

from agentcli.permission.subject import UNKNOWN

if TYPE_CHECKING:
    from tree_sitter import Node


class Sort(StrEnum):
    """How a word is known."""

    SURE = "sure"
    """Exactly what bash passes on."""
    GLOB = "glob"
    """Sure but for `*` and `?`, which name files."""
    VARIABLE = "variable"
    """Holds variables: no program runs, but what it is shows only then. The text is a guess for `$HOME` and `$PWD`."""
    LOOSE = "loose"
    """Read well enough to see what is meant, not well enough to prove anything."""
    HIDDEN = "hidden"
    """Only known when it runs, and a program may run to make it."""


@dataclass(slots=True, frozen=True)
class Word:
    """A decoded word."""

    text: str
    sort: Sort = Sort.SURE
    home: bool = False
    """Began with the home folder, unquoted `~` or `$HOME`; the text starts with `~`."""
    source: str = ""

    @property
    def readable(self) -> bool:
        """The text is what the word means."""
        return self.sort in (Sort.SURE, Sort.LOOSE)

    @property
    def guessed(self) -> bool:
        """Holds `$HOME` or `$PWD` at its start and no other variable, so the text tells what it means."""
        return self.sort is Sort.VARIABLE and "$" not in self.text and "\\" not in self.text

    @property
    def shown(self) -> str:
        """For a comparison with rules: the text, or a mark where it is not known."""
        return self.text if self.readable else UNKNOWN + self.source


GIVEN = Word("", Sort.HIDDEN, source="what it is given")
"""Stands for the words that another program adds, as `xargs` does."""
PLAIN = re.compile(r"[A-Za-z0-9_./:=@%+,#-]*\Z")
"""In an unquoted word only these mean the same to the grammar and to bash."""
GLOBBED = re.compile(r"[A-Za-z0-9_./:=@%+,#*?-]*\Z")
LOOSE_SPECIAL = re.compile(r"(?<!\\)[*?\[\]{}]")
VARIABLE = re.compile(r"\$(?:([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)\})\Z")
KNOWN_VARIABLES = {"HOME": "~", "PWD": "."}
PRINTABLE_VARIABLES = frozenset(("HOME", "PATH", "PWD", "USER", "LOGNAME", "SHELL", "LANG", "TERM", "HOSTNAME", "OSTYPE", "UID"))
"""Hold no secrets, so `echo` may print them."""
ESCAPED_IN_STRING = re.compile(r"\\([$`\"\\])|\\\n")


def decode(node: Node, source: bytes) -> Word:
    """The word of a node, as bash would see it."""
    raw = source[node.start_byte : node.end_byte].decode()
    match node.type:
        case "word" | "number" | "command_name" | "test_operator" | "variable_name" if node.named_child_count == 0:
            return _bare(raw)
        case "command_name" if node.named_child_count == 1:
            return decode(node.named_children[0], source)
        case "raw_string":
            return Word(raw[1:-1], source=raw)
        case "string":
            return _string(node, raw)
        case "simple_expansion" | "expansion":
            return _variable(raw)
        case "concatenation" if "{}" in raw and PLAIN.match(raw.replace("{}", "")):
            # Braces with nothing between them are plain letters for bash, and a place to fill for find and xargs.
            return Word(raw, Sort.LOOSE, source=raw)
        case "concatenation":
            return _joined([decode(child, source) for child in node.children], node, raw)
        case _:
            return Word(raw, Sort.HIDDEN, source=raw)


def _bare(raw: str) -> Word:
    if raw.startswith("~") and (raw == "~" or raw[1] == "/") and PLAIN.match(raw[1:]):
        return Word(raw, home=True, source=raw)
    if raw.startswith(("#", "~")):
        return Word(raw, Sort.LOOSE, source=raw)
    if PLAIN.match(raw):
        return Word(raw, source=raw)
    if GLOBBED.match(raw):
        return Word(raw, Sort.GLOB, source=raw)
    if raw.startswith("~/") and GLOBBED.match(raw[1:]):
        return Word(raw, Sort.GLOB, home=True, source=raw)
    if LOOSE_SPECIAL.search(raw):
        return Word(raw, Sort.HIDDEN, source=raw)
    return Word(re.sub(r"\\(.)", r"\1", raw.replace("\\\n", ""), flags=re.DOTALL), Sort.LOOSE, source=raw)


def _string(node: Node, raw: str) -> Word:
    inner = raw[1:-1]
    kinds = {child.type for child in node.named_children}
    bare = ESCAPED_IN_STRING.sub("", inner)
    if kinds <= {"string_content"} and "$" not in bare and "`" not in bare:
        return Word(ESCAPED_IN_STRING.sub(lambda found: found[1] or "", inner), source=raw)
    if kinds <= {"string_content", "simple_expansion", "expansion"} and "`" not in bare:
        return _expanded(inner, [child.text or b"" for child in node.named_children if child.type != "string_content"], raw)
    return Word(raw, Sort.HIDDEN, source=raw)


def _expanded(inner: str, variables: list[bytes], raw: str) -> Word:
    """A string with variables; only plain `$NAME` and `${NAME}` are harmless."""
    if not variables or not all(VARIABLE.match(name.decode()) for name in variables):
        return Word(raw, Sort.HIDDEN, source=raw)
    name = variables[0].decode()
    first, rest = _variable(name), inner.removeprefix(name)
    if len(variables) == 1 and inner.startswith(name) and first.guessed and (not rest or rest.startswith("/")):
        return Word(first.text + rest, Sort.VARIABLE, home=first.home, source=raw)
    return Word(inner, Sort.VARIABLE, source=raw)


def _variable(raw: str) -> Word:
    found = VARIABLE.match(raw)
    if not found:
        return Word(raw, Sort.HIDDEN, source=raw)
    text = KNOWN_VARIABLES.get(found[1] or found[2], raw)
    return Word(text, Sort.VARIABLE, home=text == "~", source=raw)


def _joined(parts: list[Word], node: Node, raw: str) -> Word:
    touching = all(left.end_byte == right.start_byte for left, right in pairwise(node.children))
    sorts = {part.sort for part in parts}
    if not touching or Sort.HIDDEN in sorts:
        return Word(raw, Sort.HIDDEN, source=raw)
    text, home = "".join(part.text for part in parts), parts[0].home
    if Sort.GLOB in sorts and len(sorts) > 1:
        # A quoted star beside one that is not quoted: which is which is lost in the text.
        return Word(raw, Sort.HIDDEN if Sort.LOOSE in sorts else Sort.VARIABLE, source=raw)
    if any(part.home or part.sort is Sort.VARIABLE for part in parts[1:]):
        return Word(raw, Sort.VARIABLE if Sort.VARIABLE in sorts else Sort.LOOSE, source=raw)
    if parts[0].guessed and not text.startswith(parts[0].text + "/") and text != parts[0].text:
        return Word(raw, Sort.VARIABLE, source=raw)
    sort = next(sort for sort in (Sort.LOOSE, Sort.VARIABLE, Sort.GLOB, Sort.SURE) if sort in sorts)
    return Word(text, sort, home=home and (text == "~" or text.startswith("~/")), source=raw)
