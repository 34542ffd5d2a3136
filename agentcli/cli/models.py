"""`agentcli models`."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict

from agentcli.cli.say import row
from agentcli.runtime.models import model_rows


def models(chosen: Namespace) -> int:
    """The configured models; the current one has a mark."""
    for model in model_rows():
        if chosen.json:
            print(json.dumps(asdict(model)))
        else:
            row("*" if model.current else " ", model.name, model.api, model.endpoint, model.fault or "")
    return 0
