"""Which scripts of sed only print: no `w`, `r`, `e` in any form. Anything that could be read in two ways is refused."""

from __future__ import annotations

import re

ADDRESS = r"(?:\d+|\$|/(?:[^/\\\n]|\\.)*/)"
UPTO = rf"(?:{ADDRESS}|[+~]\d+)"
PICK = re.compile(rf"(?:{ADDRESS}(?:,{UPTO})?!?)?\s*(?:[pdq=]|q\d+)\Z")
CHANGE = re.compile(rf"(?:{ADDRESS}(?:,{UPTO})?!?)?\s*s(?P<mark>[/|,#:@!%])(?P<rest>.*)\Z")
FLAGS = re.compile(r"[gpiI0-9]*\Z")


def prints_only(script: str) -> bool:
    """The script can do nothing but print; commands are divided by `;` outside of `s`."""
    if any(mark in script for mark in "\n{}") or not _brackets_are_plain(script):
        return False
    return _harmless(script) or (";" in script and all(_harmless(command) for command in script.split(";")))


def _harmless(command: str) -> bool:
    return PICK.match(command.strip()) is not None or _substitutes(command.strip())


def _substitutes(command: str) -> bool:
    found = CHANGE.match(command)
    if not found:
        return False
    mark, rest = found["mark"], found["rest"]
    pieces = re.split(rf"(?<!\\){re.escape(mark)}", rest)
    return len(pieces) == 3 and "\\\\" not in rest and FLAGS.match(pieces[2]) is not None


def _brackets_are_plain(script: str) -> bool:
    """Inside `[...]` seds disagree whether the mark ends the pattern; such scripts are refused."""
    return not any(re.search(r"[^\w\s.^*+?$-]", inside) for inside in re.findall(r"\[([^\]]*)\]?", script))
