"""What the repository of a folder brings to steer us, as data; and the user's word on it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from agentcli import paths
from agentcli.config.trust import Brought, TrustFile, brought
from agentcli.runtime.where import find_place


@dataclass(slots=True, frozen=True)
class Offer:
    """What may be trusted."""

    found: Brought
    said: bool | None
    """What the user said to this very content; None: nothing yet."""

    @property
    def root(self) -> str:
        """The repository."""
        return self.found.root

    @property
    def texts(self) -> Sequence[tuple[str, str]]:
        """Path and content of each file; the content is foreign text."""
        return [(path, data.decode("utf-8", "backslashreplace")) for path, data in self.found.files]


def offer(cwd: str | None) -> Offer | None:
    """What the repository of a folder brings; None where that is nothing. ConfigError where it cannot be used at all."""
    found = brought(find_place(cwd or os.getcwd(), ()).root)
    return None if found is None else Offer(found, TrustFile(paths.config_dir()).said(found))


def decide(offered: Offer, trusted: bool) -> None:
    """Keep the user's word on this very content."""
    TrustFile(paths.config_dir()).say(offered.found, trusted)


def forget(cwd: str | None) -> bool:
    """Forget what was said for the repository of a folder; False where that was nothing."""
    return TrustFile(paths.config_dir()).forget(find_place(cwd or os.getcwd(), ()).root)
