"""What is masked in the results of calls: known for the session, and for each call by what it looks at."""

from __future__ import annotations

import os
from collections.abc import Iterable

from agentcli.permission.subject import Target, Way
from agentcli.view.summary import plural
from agentcli.workspace.secrets import Mask, dotenv_values, is_dotenv


class Masks:
    """Makes the mask of each call.

    Args:
        values: secrets of this process, by their text.
        wanted: False leaves every text as it is.
    """

    def __init__(self, values: Iterable[str] = (), *, wanted: bool = True) -> None:
        self.values = set(values)
        self.wanted = wanted

    def add(self, value: str | None) -> None:
        """Another secret of this process: a key that was given meanwhile."""
        if value:
            self.values.add(value)

    def of(self, targets: Iterable[Target], root: str) -> Mask | None:
        """The mask of a call by its targets; what `.env` files set is known to every call that may come upon them."""
        if not self.wanted:
            return None
        looked_at = [target.path for target in targets if target.way is Way.LOOK]
        files = {path for path in looked_at if is_dotenv(path)}
        values = self.values.union(*map(dotenv_values, {*files, os.path.join(root, ".env")}))
        return Mask(values, settings=bool(looked_at) and files == set(looked_at))

    def plain(self) -> Mask | None:
        """A mask for a text of which nothing more is known."""
        return Mask(self.values) if self.wanted else None


def masked(text: str, mask: Mask | None) -> str:
    """A whole text without secrets."""
    return mask.feed(text, final=True) if mask is not None else text


def told(count: int) -> str:
    """What the model and the user are told of it."""
    return f"[{plural(count, 'value')} that look{'s' if count == 1 else ''} like a secret {'is' if count == 1 else 'are'} masked]"
