"""`agentcli run`."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace

from agentcli.cli.options import options_of
from agentcli.cli.say import say
from agentcli.errors import UsageError
from agentcli.frontend.headless.stream import Request, run_headless
from agentcli.runtime.assemble import Options, open_conversation
from agentcli.view.clean import clean


def run(chosen: Namespace) -> int:
    """One reply, or one for each line of stdin; the exit code of the last."""
    request = Request(
        prompt=_prompt(chosen),
        output=chosen.output,
        input_events=chosen.input == "events",
        on_ask=chosen.on_ask,
        answer=chosen.answer,
    )
    options = options_of(chosen, headless=True)
    if chosen.dry_run:
        return _show(options, request.prompt)

    async def opened() -> int:
        conversation = await open_conversation(options)
        try:
            return await run_headless(conversation, request)
        finally:
            await conversation.close()

    return asyncio.run(opened())


def _show(options: Options, prompt: str | None) -> int:
    """Print the request that would be sent."""
    from agentcli.runtime.dry_run import dry_run

    found = asyncio.run(dry_run(options, prompt))
    for notice in found.notices:
        say(notice)
    if sys.stdout.isatty():
        print(clean(found.body))
    else:
        sys.stdout.buffer.write(found.body.encode("utf-8", "replace") + b"\n")
        sys.stdout.buffer.flush()
    return 0


def _prompt(chosen: Namespace) -> str | None:
    parts = [_text(os.fsencode(chosen.prompt))] if chosen.prompt else []
    if chosen.read_stdin:
        if sys.stdin.isatty():
            print("reading the prompt from the terminal; Ctrl+D ends it", file=sys.stderr)
        parts.append(_text(sys.stdin.buffer.read()).removesuffix("\n"))
    prompt = "\n\n".join(part for part in parts if part)
    if not prompt.strip() and (chosen.read_stdin or chosen.prompt is not None):
        raise UsageError("the prompt is empty")
    return prompt or None


def _text(data: bytes) -> str:
    # Bytes that are no UTF-8 come as lone surrogates in an argument, and no wire carries those.
    return data.decode("utf-8", "replace")
