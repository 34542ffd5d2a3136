"""`agentcli models`."""

from __future__ import annotations

import json
from argparse import Namespace
from dataclasses import asdict

from agentcli.cli.say import row
from agentcli.runtime.models import ModelRow, all_model_rows


def models(chosen: Namespace) -> int:
    """What can be used now, and why the rest cannot; the current model has a mark."""
    rows = all_model_rows()
    if chosen.json:
        for model in rows:
            print(json.dumps(asdict(model)))
        return 0
    absent = [model for model in rows if model.any_model and model.fault and model.endpoint.startswith("https:")]
    for model in rows:
        if model not in absent:
            row("*" if model.current else " ", model.name, model.api, model.endpoint, _size(model), model.fault or "")
    if absent:
        row(" ", f"with a key: {', '.join(model.provider for model in absent)} (--json says which variable)")
    return 0


def _size(model: ModelRow) -> str:
    return f"{model.context_size:,} tokens" if model.context_size else ""
