"""`agentcli why`."""

from __future__ import annotations

import json
from argparse import Namespace

from agentcli.cli.say import row
from agentcli.runtime import why as story


def why(chosen: Namespace) -> int:
    """Tell how a call came to run, or not."""
    found = story.why(chosen.call, chosen.session)
    if chosen.json:
        print(json.dumps(found.to_json()))
        return 0
    row(found.title)
    for line in found.lines():
        row("  " + line)
    row(f"  call {found.call.id} of session {found.session_id}")
    return 0
