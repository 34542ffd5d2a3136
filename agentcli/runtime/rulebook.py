"""The permission rules that hold in a folder: listed, tried without running anything, taken away."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agentcli import paths
from agentcli.config.load import load_settings
from agentcli.config.rules import RulesFile
from agentcli.config.settings import Settings
from agentcli.errors import UsageError
from agentcli.ledger.rule import PermissionContext, PermissionMode
from agentcli.permission.rules import unknown_tools
from agentcli.runtime.examples import check_examples
from agentcli.runtime.rules import LATER, list_rules, test_lines
from agentcli.runtime.where import find_place
from agentcli.session.uses import RuleUses
from agentcli.tool.builtin import builtin_tools
from agentcli.workspace.root import Place


@dataclass(slots=True, frozen=True)
class Rulebook:
    """The rules of the configuration, and those given by keypress, as one folder sees them."""

    place: Place
    settings: Settings
    kept: RulesFile

    @classmethod
    def open(cls, cwd: str | None, add_dirs: Sequence[str]) -> Rulebook:
        """The rulebook of a working folder."""
        place = find_place(cwd or os.getcwd(), add_dirs)
        settings = load_settings(place.root)
        check_examples(settings.levels, place, builtin_tools())
        return cls(place, settings, RulesFile(paths.config_dir()))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences for the user."""
        known = [*(tool.name for tool in builtin_tools()), *LATER]
        return (*self.settings.warnings, *unknown_tools(self.settings.rules, known))

    def rows(self) -> list[dict[str, Any]]:
        """Every rule, its behaviour, where it comes from, and what it last decided."""
        return list_rules(self._context(), RuleUses(paths.data_dir()))

    def test(self, lines: Iterable[str]) -> Iterator[dict[str, Any]]:
        """One answer for each line."""
        mode = self.settings.mode or PermissionMode.DEFAULT
        return test_lines(lines, self.place, self._context(), mode, builtin_tools())

    def remove(self, text: str, *, everywhere: bool) -> None:
        """Forget a rule that was given by keypress; `UsageError` where there is none."""
        if self.kept.remove(text, None if everywhere else self.place.root):
            return
        where = "everywhere" if everywhere else f"for {self.place.root}"
        own = text in {rule.text for rule in self.settings.rules}
        more = f"; it stands in {paths.config_dir() / 'config.toml'}, where you can take it out" if own else ""
        raise UsageError(f"no rule {text} was given {where}{more}")

    def _context(self) -> PermissionContext:
        place = self.place
        return PermissionContext(
            root=place.root,
            home=place.home,
            working_directories=list(place.added),
            rules=[*self.settings.rules, *self.kept.load(place.root)],
        )
