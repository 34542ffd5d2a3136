"""`agentcli inbox`: the questions that wait, over all sessions; on a terminal each can be answered with a letter."""

from __future__ import annotations

import asyncio
import json
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from itertools import groupby

from agentcli.cli.say import row, say
from agentcli.cli.sessions import titled
from agentcli.errors import AgentcliError
from agentcli.frontend.headless.stream import Request, run_headless
from agentcli.runtime.assemble import Options, open_conversation
from agentcli.runtime.inbox import Answer, Answered, Preview, Waiting, previews_of, questions_of, waiting_questions
from agentcli.view.clean import clean
from agentcli.view.summary import age, ago, plural, utc_now

if sys.platform != "win32":
    import termios

ALLOW, DENY, LEAVE, QUIT = "y", "n", "s", "q"
KEYS = f"[{ALLOW}] allow once  [{DENY}] deny  [{LEAVE}] leave it waiting  [{QUIT}] quit: "


def inbox(chosen: Namespace) -> int:
    """List what waits, or go through it with the person at the terminal."""
    waiting = asyncio.run(waiting_questions())
    if chosen.json:
        for one in waiting:
            print(json.dumps(one.to_json()))
    elif not waiting:
        print("nothing waits for an answer")
    elif sys.stdin.isatty() and sys.stdout.isatty():
        _go_through(waiting)
    else:
        for _, group in groupby(waiting, lambda one: one.session.id):
            _list(list(group))
    return 0


# -- as a list ---------------------------------------------------------------------------------


def _list(group: Sequence[Waiting]) -> None:
    session, now = group[0].session, utc_now()
    row(session.id, titled(session.title), session.cwd)
    for one in group:
        row(" ", f"{age(one.asked_at, now):>8}", one.call.name, one.shown_target)
    if session.held_by is not None:
        row(" ", f"process {session.held_by} holds it: answer it there")
    else:
        row(" ", f"agentcli run --resume {session.id} --answer allow|deny, or agentcli chat --resume {session.id}")


# -- at a terminal -----------------------------------------------------------------------------


def _go_through(waiting: Sequence[Waiting]) -> None:
    sessions = list(dict.fromkeys(one.session.id for one in waiting))
    print(f"{plural(len(waiting), 'question')} in {plural(len(sessions), 'session')}")
    for session_id in sessions:
        try:
            if not _settle(session_id):
                return
        except AgentcliError as error:
            say(f"session {session_id}: {error}")


def _settle(session_id: str) -> bool:
    """Ask until nothing but what the person left waits in a session; whether to go on with the next one."""
    left: set[str] = set()
    # Looked at anew each time: an answer may have been given elsewhere, and a reply that goes on may ask again.
    while waiting := [one for one in asyncio.run(questions_of(session_id)) if one.call.id not in left]:
        session = waiting[0].session
        previews = asyncio.run(previews_of(session_id))
        print()
        row("--", titled(session.title), session.cwd, f"session {session.id}")
        if session.held_by is not None:
            for one in waiting:
                _show(one, previews.get(one.call.id))
            row(f"process {session.held_by} holds this session: answer it there")
            return True
        letters = _ask(waiting, previews)
        left |= {call_id for call_id, letter in letters.items() if letter == LEAVE}
        _answer(session_id, letters, previews)
        if QUIT in letters.values():
            return False
    return True


def _ask(waiting: Sequence[Waiting], previews: Mapping[str, Preview]) -> dict[str, str]:
    """Call id -> the letter that was given; what stands behind a `q` was not asked."""
    letters: dict[str, str] = {}
    for one in waiting:
        _show(one, previews.get(one.call.id))
        letters[one.call.id] = _letter()
        if letters[one.call.id] == QUIT:
            break
    return letters


def _show(one: Waiting, preview: Preview | None) -> None:
    print()
    row(
        f"Allow {one.call.name}?",
        preview.target if preview is not None else one.target,
        f"(asked {ago(one.asked_at, utc_now())})",
    )
    for line in clean(preview.body if preview is not None else one.call.input, exact=True).splitlines():
        print(f"  {line}")
    for mark, sentences in (("!", preview.risks), ("*", preview.notes)) if preview is not None else ():
        for sentence in sentences:
            row(mark, sentence)


def _letter() -> str:
    """One of the letters; the end of the input quits."""
    if sys.platform != "win32":
        termios.tcflush(sys.stdin, termios.TCIFLUSH)  # what was typed before the question was seen is no answer to it
    while True:
        print(KEYS, end="", flush=True)
        line = sys.stdin.readline()
        letter = line.strip().lower()[:1] if line else QUIT
        if letter in (ALLOW, DENY, LEAVE, QUIT):
            return letter


def _answer(session_id: str, letters: Mapping[str, str], previews: Mapping[str, Preview]) -> None:
    """Give the answers as `run --resume` would, and let the reply go on; a new question is left waiting."""
    answers = [
        Answer(call_id, letter == ALLOW, previews[call_id].digest if call_id in previews else None)
        for call_id, letter in letters.items()
        if letter in (ALLOW, DENY)
    ]
    if not answers:
        return

    async def answered() -> None:
        conversation = await open_conversation(Options(resume=session_id, headless=True))
        try:
            await run_headless(Answered(conversation, answers), Request())
        finally:
            await conversation.close()

    asyncio.run(answered())
