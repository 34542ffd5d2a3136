"""`agentcli themes`."""

from __future__ import annotations

import json
from argparse import Namespace

from agentcli import paths
from agentcli.cli.say import row, say
from agentcli.view.theme import load_themes


def themes(chosen: Namespace) -> int:
    """The themes found."""
    found = load_themes(reversed(paths.themes_dirs()))
    for name, theme in sorted(found.found.items()):
        if chosen.json:
            print(json.dumps({"name": name, "label": theme.label, "dark": theme.dark}))
        else:
            row(name, theme.label, "dark" if theme.dark else "light")
    for warning in found.warnings:
        say(warning)
    return 0
