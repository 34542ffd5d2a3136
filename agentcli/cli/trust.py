"""`agentcli trust`: what the repository brings of its own, shown whole, and whether it may steer us."""

from __future__ import annotations

import json
import sys
from argparse import Namespace

from agentcli.cli.say import row, say
from agentcli.runtime.trust import Offer, decide, forget, offer
from agentcli.view.clean import clean

SAID = {True: "trusted", False: "not trusted", None: "not decided"}


def trust(chosen: Namespace) -> int:
    """Show it, and take the user's word where it is given."""
    if chosen.forget:
        say("forgotten" if forget(chosen.cwd) else "nothing was said for this repository")
        return 0
    found = offer(chosen.cwd)
    if found is None:
        say("this repository brings no settings of its own")
        return 0
    word = chosen.answer
    if chosen.json:
        files = [{"path": path, "content": text} for path, text in found.texts]
        print(json.dumps({"root": found.root, "digest": found.found.digest, "trusted": found.said, "files": files}))
    else:
        _show(found)
        if word is None and found.said is None and sys.stdin.isatty() and sys.stdout.isatty():
            word = _asked()
    if word is not None:
        decide(found, word)
        say(f"{SAID[word]}: {found.found.names} of {found.root}, as it stands now")
    return 0


def _show(found: Offer) -> None:
    row(found.root, f"({SAID[found.said]})")
    for path, text in found.texts:
        row(f"--- {path}")
        for line in text.splitlines():
            print(clean("    " + line, newlines=False, exact=True).rstrip())


def _asked() -> bool | None:
    try:
        answer = input("Use these settings? What they allow is not asked any more. [y/N] ")
    except EOFError:
        return None
    return answer.strip().lower() in ("y", "yes")
