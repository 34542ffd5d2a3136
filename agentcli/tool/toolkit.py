"""The tools of one agent, by name, in the order in which they were added."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator

from agentcli.model.base import ToolSchema
from agentcli.tool.base import ToolBase


class Toolkit:
    """What a model is offered. A name is never guessed: `near` only says what was perhaps meant."""

    def __init__(self, tools: Iterable[ToolBase] = ()) -> None:
        self._tools: dict[str, ToolBase] = {}
        for tool in tools:
            self.add(tool)

    def __iter__(self) -> Iterator[ToolBase]:
        return iter(self._tools.values())

    def add(self, tool: ToolBase) -> None:
        """Offer one more tool. ValueError if its name is taken."""
        if tool.name in self._tools:
            raise ValueError(f"there is a tool {tool.name} already")
        self._tools[tool.name] = tool

    def get(self, name: str) -> ToolBase | None:
        """The tool of exactly this name."""
        return self._tools.get(name)

    def schemas(self) -> list[ToolSchema]:
        """What a model is told."""
        return [ToolSchema(tool.name, tool.description, tool.parameters) for tool in self._tools.values()]

    def near(self, name: str) -> list[str]:
        """Names that somebody who wrote this one may have meant, the likeliest first."""
        folded: dict[str, list[str]] = {}
        for known in self._tools:
            folded.setdefault(known.casefold(), []).append(known)
        close = difflib.get_close_matches(name.strip().casefold()[:200], folded, n=3, cutoff=0.6)
        return [known for key in close for known in folded[key]]
