"""`agentcli rules`."""

from __future__ import annotations

import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from agentcli.cli.say import row, say
from agentcli.runtime.rulebook import Rulebook
from agentcli.view.summary import ago, utc_now


def rules(chosen: Namespace) -> int:
    """List the rules that hold here, try them, or take one away."""
    book = Rulebook.open(chosen.cwd, chosen.add_dir)
    for warning in book.warnings:
        say(warning)
    match chosen.action:
        case "test":
            for answer in book.test(_lines()):
                print(json.dumps(answer), flush=True)
        case "rm":
            book.remove(chosen.rule, everywhere=chosen.everywhere)
        case _:
            for rule in book.rows():
                if chosen.json:
                    print(json.dumps(rule))
                else:
                    row(f"{rule['behavior']:<5}", rule["rule"], f"({rule['source']})", _last(rule["last"]))
    return 0


def _last(use: dict[str, Any] | None) -> str:
    """What a rule last decided."""
    if use is None:
        return ""
    return f"last {ago(str(use.get('at')), utc_now())}: {use.get('tool')} {use.get('target')}"


def _lines() -> Iterator[str]:
    for line in sys.stdin.buffer:
        yield line.decode("utf-8", "replace")
