"""Programs that run another program named in their own words: where that one starts. A table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
SHELLS = frozenset(("sh", "bash", "dash", "zsh", "ksh", "ash", "mksh", "fish"))


@dataclass(slots=True, frozen=True)
class Wrapper:
    """How to pass over a wrapper's own words."""

    takes: str = ""
    """Short options that have a value."""
    plain: str = ""
    """Short options without one."""
    long_takes: tuple[str, ...] = ()
    """Long options whose value is the next word; any other long option has none, or holds it after `=`."""
    long_plain: tuple[str, ...] = ()
    operands: int = 0
    """Words of its own before the inner program."""
    assignments: bool = False
    """`NAME=value` may stand before the inner program."""
    numbers: bool = False
    """`-5` is an option too."""
    text: bool = False
    """All that follows is shell text, not words."""


WRAPPERS: dict[str, Wrapper] = {
    "env": Wrapper(
        "uCa", "i0v", ("--unset", "--chdir", "--argv0"), ("--ignore-environment", "--null", "--debug"), assignments=True
    ),
    "command": Wrapper(plain="p"),
    "builtin": Wrapper(),
    "coproc": Wrapper(),
    "exec": Wrapper("a", "cl"),
    "nice": Wrapper("n", long_takes=("--adjustment",), numbers=True),
    "nohup": Wrapper(),
    "timeout": Wrapper("ks", "fpv", ("--kill-after", "--signal"), ("--foreground", "--preserve-status", "--verbose"), operands=1),
    "xargs": Wrapper(
        "adEILnPsRJS",
        "0ptrxo",
        ("--arg-file", "--delimiter", "--max-lines", "--max-args", "--max-procs", "--max-chars", "--process-slot-var"),
        ("--null", "--no-run-if-empty", "--interactive", "--verbose", "--exit", "--open-tty"),
    ),
    "time": Wrapper("fo", "apvqlh", ("--format", "--output"), ("--append", "--portability", "--verbose", "--quiet")),
    "stdbuf": Wrapper("ioe", long_takes=("--input", "--output", "--error")),
    "ionice": Wrapper("cn", "t", ("--class", "--classdata"), ("--ignore",)),
    "chrt": Wrapper("TPD", "bfiorRvadG", operands=1),
    "taskset": Wrapper(plain="c", long_plain=("--cpu-list",), operands=1),
    "setsid": Wrapper(plain="cfw", long_plain=("--ctty", "--fork", "--wait")),
    "sudo": Wrapper(
        "ughpCrtTUDRac",
        "AbBEHkKnPSsi",
        (
            "--user",
            "--group",
            "--host",
            "--prompt",
            "--close-from",
            "--chdir",
            "--chroot",
            "--role",
            "--type",
            "--command-timeout",
        ),
        ("--background", "--preserve-env", "--set-home", "--non-interactive", "--stdin", "--login", "--shell"),
        assignments=True,
    ),
    "doas": Wrapper("uCa", "nLs"),
    "chroot": Wrapper(operands=1),
    "unshare": Wrapper(plain="mnpuifrUC"),
    "strace": Wrapper("eoPpsSuaEbIOX", "cCdfFhiqrtTvVwxyzkDnAZ"),
    "ltrace": Wrapper("eolasuFnpD", "cCfhiLrStTbV"),
    "watch": Wrapper(
        "n", "bdegtxpc", ("--interval",), ("--beep", "--differences", "--errexit", "--chgexit", "--no-title"), text=True
    ),
    "flock": Wrapper("wEc", "seuxnoF", ("--timeout", "--wait", "--conflict-exit-code"), operands=1),
    "parallel": Wrapper("jnNILdaCS", "kqtvuXm", text=True),
    "busybox": Wrapper(),
    "toybox": Wrapper(),
    "caffeinate": Wrapper("tw", "dimsu"),
    "catchsegv": Wrapper(),
    "unbuffer": Wrapper(plain="p"),
    "eval": Wrapper(text=True),
}
ACTIONS: dict[str, frozenset[str]] = {
    "find": frozenset(("-exec", "-execdir", "-ok", "-okdir")),
    "fd": frozenset(("-x", "-X", "--exec", "--exec-batch")),
    "fdfind": frozenset(("-x", "-X", "--exec", "--exec-batch")),
}
"""Programs that run the words behind one of their options."""
TEXTS: dict[str, tuple[str, ...]] = {
    "su": ("-c", "--command"),
    "script": ("-c", "--command"),
    "flock": ("-c", "--command"),
    "env": ("-S", "--split-string"),
}
"""Options whose value is shell text."""
REBINDERS = frozenset(("alias", "hash", "enable", "trap", "source", "."))
"""Builtins after which names no longer mean what they say, or which run text from elsewhere."""


@dataclass(slots=True, frozen=True)
class Inner:
    """What a command runs besides itself."""

    starts: tuple[int, ...] = ()
    """Where inner argvs begin."""
    texts: tuple[str, ...] = ()
    """Shell text that it will run."""
    fault: str | None = None
    """Why it cannot be told."""


def name_of(word: str) -> str:
    """The program of a first word, whatever its path."""
    name = word.rsplit("/", 1)[-1].casefold()
    return name.removesuffix(".exe") or word


def inner_of(words: Sequence[str]) -> Inner:
    """What a simple command runs besides itself; the first word is known."""
    name = name_of(words[0])
    if name in SHELLS:
        return _shell(name, words)
    if name in REBINDERS:
        return Inner(fault=f"{name} runs, or renames, what is not seen here")
    if name in ACTIONS:
        return Inner(tuple(i + 1 for i, word in enumerate(words[:-1]) if word in ACTIONS[name]))
    if name in TEXTS and (texts := _values(words, TEXTS[name])):
        return Inner(texts=texts)
    wrapper = WRAPPERS.get(name)
    return Inner() if wrapper is None else _wrapped(name, wrapper, words)


def _wrapped(name: str, wrapper: Wrapper, words: Sequence[str]) -> Inner:
    index, end = 1, len(words)
    while index < end and words[index].startswith("-") and words[index] != "-":
        word = words[index]
        if word == "--":
            index += 1
            break
        width = _option(wrapper, word)
        if width is None:
            return Inner() if name == "command" and word in ("-v", "-V") else Inner(fault=f"{name} {word} is not known")
        index += width
    while wrapper.assignments and index < end and ASSIGNMENT.match(words[index]):
        index += 1
    index += wrapper.operands
    if index >= end:
        return Inner()
    return Inner(texts=(" ".join(words[index:]),)) if wrapper.text else Inner(starts=(index,))


def _option(wrapper: Wrapper, word: str) -> int | None:
    """How many words an option takes; None if it is not known."""
    if word.startswith("--"):
        head = word.partition("=")[0]
        if head in wrapper.long_takes:
            return 1 if "=" in word else 2
        return 1 if head in wrapper.long_plain else None
    if wrapper.numbers and word[1:].lstrip("-").isdigit():
        return 1
    for place, letter in enumerate(word[1:], 2):
        if letter in wrapper.takes:
            return 2 if place == len(word) else 1
        if letter not in wrapper.plain:
            return None
    return 1


def _shell(name: str, words: Sequence[str]) -> Inner:
    for index, word in enumerate(words[1:], 1):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            rest = [w for w in words[index + 1 :] if not w.startswith(("-", "+"))]
            return Inner(texts=(rest[0],)) if rest else Inner(fault=f"{name} is given no text")
        if not word.startswith(("-", "+")):
            return Inner()
    return Inner(fault=f"{name} reads its commands from elsewhere")


def _values(words: Sequence[str], options: tuple[str, ...]) -> tuple[str, ...]:
    found = [words[i + 1] for i, word in enumerate(words[:-1]) if word in options]
    for word in words[1:]:
        for option in options:
            tail = word.removeprefix(option + "=") if option.startswith("--") else word.removeprefix(option)
            if tail not in (word, ""):
                found.append(tail)
    return tuple(found)
