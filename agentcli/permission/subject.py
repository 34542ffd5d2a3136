"""What the engine needs to know of a call: its tool and its resolved targets. Tools resolve, the engine only decides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Way(StrEnum):
    """What a call does to a target."""

    LOOK = "look"
    WRITE = "write"
    """Replaces or makes a file (`Write`)."""
    EDIT = "edit"
    """Any other change of content (`Edit`, a shell redirection ...)."""
    REMOVE = "remove"


class Kind(StrEnum):
    """Which row of the table a call belongs to."""

    FILE = "file"
    SHELL = "shell"
    FUNCTION = "function"
    """Function, external and MCP tools."""
    FREE = "free"
    """Task list, Skill, tool groups: allowed in every mode."""


@dataclass(slots=True, frozen=True)
class Target:
    """A place that a call looks at or changes."""

    path: str
    """Absolute, links followed."""
    way: Way
    inside: bool
    """Below the root or an added folder."""
    protected: bool = False
    """For this way of touching it."""
    folder: bool = False
    """The contents of all that lies below it are touched too, by a program that leaves nothing out."""
    fault: str | None = None
    """Why nothing can open it (NUL, link loop ...)."""
    why: str = ""
    """What it is protected as, in a few words."""
    kept: bool = False
    """An output of this very session, to be looked at."""


@dataclass(slots=True, frozen=True)
class Command:
    """One simple command of a line; a redirection that writes is one of its own, without words."""

    words: tuple[str, ...]
    """argv as bash will pass it; a word that is only known when it runs starts with `UNKNOWN`."""
    read_only: bool = False
    """Proven: the program and all its options are known to change nothing."""
    simple_change: bool = False
    """mkdir, touch, cp, mv: changes only its targets, nothing else."""
    targets: tuple[Target, ...] = ()
    """The places that it names, as far as they are seen."""
    plain: bool = True
    """False: something before the words changes what they mean (`PATH=. make`); no allow rule with a content covers it."""


UNKNOWN = "\0"
"""Starts a word that is only known when it runs; no real word and no rule can hold it."""


@dataclass(slots=True, frozen=True)
class Line:
    """A shell line in two readings: what it will run exactly, and every program that is named anywhere in it."""

    text: str
    commands: tuple[Command, ...] = ()
    """The exact reading; empty where there is none."""
    named: tuple[tuple[str, ...], ...] = ()
    """argv of every program named anywhere: in substitutions, control flow, behind wrappers. For deny and ask rules."""
    fault: str | None = None
    """Why some part could not be read at all, so that a denied program may hide there."""
    unproven: str | None = None
    """Why there is no exact reading."""

    @property
    def proven(self) -> bool:
        """Every command of the line is known, and known to change nothing but what its redirections name."""
        whole = self.fault is None and self.unproven is None and bool(self.commands)
        return whole and all(command.read_only for command in self.commands)


@dataclass(slots=True, frozen=True)
class Subject:
    """A call, as the engine sees it."""

    tool: str
    kind: Kind
    targets: tuple[Target, ...] = ()
    """Every place that is seen, in the parts of a shell line that cannot be proven too."""
    mentioned: tuple[Target, ...] = ()
    """Places that words of programs that are not known may name: only deny and ask rules look at them."""
    line: Line | None = None
    """For `Kind.SHELL`."""
    read_only: bool = False
    """For `Kind.FUNCTION`: marked read-only by the program that gives the tool."""
    fault: str | None = None
    """Why the call can never run; it is denied with these words."""
