"""`agentcli doctor`."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict

from agentcli.cli.say import row
from agentcli.runtime.doctor import checks


def doctor(chosen: Namespace) -> int:
    """What works here and what does not."""
    for check in checks():
        if chosen.json:
            print(json.dumps(asdict(check)))
        else:
            row("ok" if check.ok else "--", f"{check.name:<13}", check.detail)
            if check.hint:
                row(" " * 17, check.hint)
    return 0
