"""Glob patterns of a person or a model: braces, and paths compared part by part."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentcli.workspace.ignore import matches


def parts_of(glob: str) -> list[str]:
    """A glob, part by part."""
    return [part for part in glob.split("/") if part not in ("", ".")]


def fits(relative: str, globs: Sequence[str]) -> bool:
    """Whether a path matches one of the globs; one without a slash is compared with the name."""
    parts = relative.split("/")
    return any(matches(parts if "/" in glob else parts[-1:], parts_of(glob)) for glob in globs)


def braces(glob: str, most: int = 64) -> list[str]:
    """`*.{a,b}` as `*.a` and `*.b`, no more than `most` of them."""
    found = re.search(r"\{([^{}]*,[^{}]*)\}", glob)
    if found is None or most < 1:
        return [glob]
    choices = found[1].split(",")[:most]
    share = most // len(choices)
    return [whole for choice in choices for whole in braces(glob[: found.start()] + choice + glob[found.end() :], share)]
