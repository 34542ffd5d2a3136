"""`agentcli sessions`: what is saved, as lists and lines. Only `fork`, `title` and `rm` change anything."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentcli.cli.say import row, say
from agentcli.errors import UsageError
from agentcli.runtime import catalogue
from agentcli.view.clean import clean
from agentcli.view.summary import call_target, plural

HITS_SHOWN = 5
NOT_WHOLE = 1


def sessions(chosen: Namespace) -> int:
    """One of the actions; its exit code."""
    match chosen.action:
        case "show":
            return _show(chosen.id, chosen.json)
        case "search":
            return _search(chosen.text, chosen.json)
        case "export":
            return _export(chosen)
        case "fork":
            return _fork(chosen.id, chosen.json)
        case "title":
            return _title(chosen.id, chosen.text)
        case "verify":
            return _verify(chosen.id, chosen.json)
        case "rm":
            return _remove(chosen.id, chosen.yes)
        case _:
            return _list(chosen.json)


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
        row(saved.id, when(saved.updated_at), f"{saved.messages:>4}", titled(saved.title), saved.cwd, waiting, held)
    hidden = catalogue.hidden_sessions(rows)
    if hidden:
        names = ", ".join(hidden[:3]) + (", ..." if len(hidden) > 3 else "")
        say(f"{plural(len(hidden), 'file')} among the sessions cannot be read as one and is not listed: {names}")
    return 0


def _show(prefix: str, as_json: bool) -> int:
    story = catalogue.session_story(prefix)
    _say_lost(story)
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


def _search(text: str, as_json: bool) -> int:
    found = False
    last, shown = "", 0
    for hit in catalogue.search_sessions(text):
        found = True
        if as_json:
            print(json.dumps(hit.to_json()))
            continue
        if hit.row.id != last:
            last, shown = hit.row.id, 0
            row(hit.row.id, when(hit.row.updated_at), titled(hit.row.title), hit.row.cwd)
        shown += 1
        if shown <= HITS_SHOWN:
            kind = "" if hit.found.block in ("text", "title") else f"({hit.found.block.replace('_', ' ')})"
            row(" ", hit.found.role, when(hit.found.at), kind, hit.excerpt)
        elif shown == HITS_SHOWN + 1:
            print("    ... and more; --json gives all")
    if not found:
        say(f"no session holds {text!r}")
    return 0


def _export(chosen: Namespace) -> int:
    from agentcli.runtime.export.write import exported

    story = catalogue.session_story(chosen.id)
    _say_lost(story)
    by_name = "html" if chosen.output and chosen.output.lower().endswith((".html", ".htm")) else "md"
    pieces = exported(story, chosen.format or by_name)
    if chosen.output is None:
        for piece in pieces:
            sys.stdout.buffer.write(piece.encode())
        sys.stdout.flush()
        return 0
    try:
        with Path(chosen.output).open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(pieces)
    except OSError as error:
        raise UsageError(f"{chosen.output} cannot be written: {error.strerror}") from error
    return 0


def _fork(prefix: str, as_json: bool) -> int:
    from agentcli.runtime.forking import fork_session

    fork = asyncio.run(fork_session(prefix))
    for sentence in fork.lost:
        say(f"not in the fork: {sentence}")
    print(json.dumps({"id": fork.id, "parent": fork.parent}) if as_json else fork.id)
    return 0


def _title(prefix: str, text: str) -> int:
    from agentcli.runtime.title import entitle

    given = asyncio.run(entitle(prefix, text))
    for sentence in given.lost:
        say(sentence)
    say(f"{given.id}: {given.title}")
    return 0


def _verify(prefix: str | None, as_json: bool) -> int:
    whole = True
    for health in catalogue.verify_sessions(prefix):
        whole = whole and not health.lost and health.fault is None
        if health.fault is not None:
            say(health.fault)
        elif as_json:
            print(json.dumps(health.to_json()))
        else:
            row(health.id, "ok" if not health.lost else f"{len(health.lost)} lost:")
            for sentence in health.lost:
                row(" ", sentence)
    return 0 if whole else NOT_WHOLE


def _remove(prefix: str, sure: bool) -> int:
    saved = catalogue.session_row(prefix)
    session_id = saved if isinstance(saved, str) else saved.id
    if not sure and not _agreed(saved):
        say(f"session {session_id} was kept")
        return 1
    gone = catalogue.remove_session(session_id)
    say(f"removed: {', '.join(gone)}")
    return 0


def _agreed(saved: catalogue.SessionRow | str) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("there is no terminal to ask on; --yes removes without asking")
    if isinstance(saved, str):
        what = f"{saved}, whose log is no session any more"
    else:
        waiting = f", {plural(saved.waiting, 'open question')}" if saved.waiting else ""
        what = f"{saved.id}: {titled(saved.title)} ({plural(saved.messages, 'message')}{waiting}, in {saved.cwd})"
    print(clean(f"Remove session {what}, for good? [y/N] ", newlines=False), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _say_lost(story: catalogue.Story) -> None:
    for sentence in story.lost:
        say(sentence)


def when(moment: str) -> str:
    """A time of a log as a person reads it, in UTC."""
    return moment[:16].replace("T", " ")


def titled(title: str) -> str:
    """A title, or that there is none."""
    return title or "(no title)"
