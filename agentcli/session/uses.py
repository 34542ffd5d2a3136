"""What each permission rule last decided: a note beside the sessions that can be lost without harm."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

log = logging.getLogger(__name__)

MOST = 500
"""So many rules are remembered, the ones used last."""
KEPT = ("at", "tool", "target", "session", "call_id")


class RuleUses:
    """`<data dir>/rules-used.json`. Two processes may take a note from each other; the logs hold every receipt."""

    def __init__(self, data_dir: Path) -> None:
        self.file = data_dir / "rules-used.json"

    def note(self, behavior: str, rule: str, use: Mapping[str, Any]) -> None:
        """Remember that a rule decided a call; `use` holds what of `KEPT` is known."""
        uses = self.all()
        uses.pop(key_of(behavior, rule), None)
        uses[key_of(behavior, rule)] = {key: use[key] for key in KEPT if key in use}
        last = dict(list(uses.items())[-MOST:])
        try:
            handle, name = tempfile.mkstemp(prefix=".rules-used-", dir=self.file.parent)  # 0600 by itself
            with os.fdopen(handle, "w", encoding="ascii") as out:
                json.dump(last, out)
            os.replace(name, self.file)
        except OSError:
            # Only `rules list` shows it; a reply does not end for that.
            log.warning("the last use of a rule could not be noted", exc_info=True)

    def all(self) -> dict[str, dict[str, Any]]:
        """Everything that is known, the last use last; nothing where the file is missing or broken."""
        try:
            found: object = json.loads(self.file.read_bytes())
        except (OSError, ValueError):
            return {}
        known = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        return {key: use for key, use in known.items() if isinstance(use, dict)}


def key_of(behavior: str, rule: str) -> str:
    """By what a rule is found in `RuleUses.all`."""
    return f"{behavior} {rule}"
