"""`agentcli sessions`."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from agentcli.cli.say import row, say
from agentcli.runtime import catalogue
from agentcli.view.clean import clean
from agentcli.view.summary import call_target


def sessions(chosen: Namespace) -> int:
    """List the saved sessions, or show one."""
    return _show(chosen.id, chosen.json) if chosen.action == "show" else _list(chosen.json)


def _list(as_json: bool) -> int:
    rows = catalogue.session_rows()
    if not rows and not as_json:
        print("no sessions yet")
    for saved in rows:
        if as_json:
            print(json.dumps(saved.to_json()))
            continue
        waiting = f"{saved.waiting} waiting" if saved.waiting else ""
        held = f"held by {saved.held_by}" if saved.held_by else ""
        when = saved.updated_at[:16].replace("T", " ")
        row(saved.id, when, f"{saved.messages:>4}", saved.title or "(no title)", saved.cwd, waiting, held)
    return 0


def _show(prefix: str, as_json: bool) -> int:
    story = catalogue.session_story(prefix)
    for sentence in story.lost:
        say(sentence)
    for msg in story.messages:
        fields = msg.model_dump(mode="json")
        if as_json:
            print(json.dumps(fields))
            continue
        print(clean(f"{msg.role}:", newlines=False))
        for block in fields["content"]:
            for line in _block(block):
                print(f"  {line}")
    return 0


def _block(block: dict[str, Any]) -> Iterator[str]:
    """The lines of a block; a result is only counted, the whole of it is in `--json`."""
    match block["type"]:
        case "text":
            yield from clean(block["text"]).splitlines()
        case "thinking":
            yield from (f"(thinking) {line}" for line in clean(block["thinking"]).splitlines())
        case "hint" if isinstance(block["hint"], str):
            yield from (f"> {line}" for line in clean(block["hint"]).splitlines())
        case "tool_call":
            yield f"{clean(block['name'], newlines=False)} {call_target(block['name'], block['input'])} [{block['state']}]"
        case "tool_result":
            yield f"  -> {block['state']}"
        case kind:
            yield f"({clean(kind, newlines=False)})"
