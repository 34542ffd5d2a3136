"""Tool names that both wires allow, and the way back. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agentcli.model.base import ToolSchema

UNNAMED = "unnamed"
"""Stands for a name that never came: the call stays visible, and no tool has this name."""
ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")
LONGEST_NAME = 64


class Names:
    """Tool names that the wire allows; legal ones stay, the others get one of their own."""

    def __init__(self, tools: Sequence[ToolSchema]) -> None:
        self._legal: dict[str, str] = {}
        self._offered = dict.fromkeys(tool.name for tool in tools)
        for name in sorted(self._offered, key=_is_illegal):
            self.legal(name)

    def legal(self, name: str) -> str:
        """The name on the wire, the same each time."""
        if name not in self._legal:
            self._legal[name] = name if not _is_illegal(name) else self._free(ILLEGAL.sub("_", name)[:LONGEST_NAME] or UNNAMED)
        return self._legal[name]

    @property
    def differing(self) -> dict[str, str]:
        """Names of tools that were changed, to be restored in the answer."""
        return {legal: name for name, legal in self._legal.items() if legal != name and name in self._offered}

    def _free(self, wanted: str) -> str:
        taken, name, number = set(self._legal.values()), wanted, 2
        while name in taken:
            name = f"{wanted[: LONGEST_NAME - 4]}_{number}"
            number += 1
        return name


def _is_illegal(name: str) -> bool:
    return not name or len(name) > LONGEST_NAME or ILLEGAL.search(name) is not None
