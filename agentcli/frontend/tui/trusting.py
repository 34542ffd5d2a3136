"""The question whether the settings of a repository are used."""

from __future__ import annotations

from agentcli.frontend.tui.screens.paper import Choice, Text
from agentcli.runtime.trust import Offer

YES, NO = "y", "n"


def trust_text(offer: Offer) -> Text:
    """All that the repository brings, and what can be said to it; no answer means no, and is asked again."""
    body = "\n".join(f"--- {path}\n\n{content.rstrip()}\n" for path, content in offer.texts)
    return Text(
        title="This repository brings settings of its own",
        lead=(offer.root, "Used, they hold as long as they stay as they are: what they allow is not asked any more."),
        body=body,
        choices=(Choice(NO, "do not use them"), Choice(YES, "use them")),
        leaves="not now",
    )
