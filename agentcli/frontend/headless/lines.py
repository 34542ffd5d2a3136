"""Lines of stdin as they come, and what a line says. Knows no conversation."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ValidationError

from agentcli.errors import RefusedInput
from agentcli.ledger.event import AnswerEvent, ExternalExecutionResultEvent, UserConfirmResultEvent, UserInterruptEvent
from agentcli.ledger.message import Msg

Input: TypeAlias = Msg | AnswerEvent
Model = TypeVar("Model", bound=BaseModel)

ANSWERS: dict[str, type[AnswerEvent]] = {
    "USER_CONFIRM_RESULT": UserConfirmResultEvent,
    "EXTERNAL_EXECUTION_RESULT": ExternalExecutionResultEvent,
    "USER_INTERRUPT": UserInterruptEvent,
}


def read_input(line: bytes) -> Input:
    """The message or answer of a line; `RefusedInput` says what is wrong with it."""
    try:
        data = json.loads(line)
    except ValueError as error:  # UnicodeDecodeError and JSONDecodeError
        raise RefusedInput(f"a line that is no JSON: {error}") from error
    except RecursionError as error:
        raise RefusedInput("a line that is nested too deeply") from error
    if not isinstance(data, dict):
        raise RefusedInput("a line that is no JSON object")
    fields = cast(dict[str, Any], data)
    if "role" in fields:
        return _message(fields)
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in ANSWERS:
        raise RefusedInput(f"a line of type {kind!r}; a message, {', '.join(ANSWERS)} are read")
    return _valid(ANSWERS[kind], fields, kind)


def _message(fields: dict[str, Any]) -> Msg:
    msg = _valid(Msg, fields, "message")
    if msg.role != "user" or not msg.content:
        raise RefusedInput("a message that is not the user's" if msg.role != "user" else "a message with nothing in it")
    return msg


def _valid(model: type[Model], fields: dict[str, Any], name: str) -> Model:
    try:
        return model.model_validate(fields)
    except ValidationError as error:
        fault = error.errors(include_url=False, include_input=False)[0]
        raise RefusedInput(f"a malformed {name}: {'.'.join(map(str, fault['loc']))}: {fault['msg']}") from error


def listen(fd: int, arrived: Callable[[bytes | None], None]) -> None:
    """Call `arrived` on the running loop with each line, and with None at the end.

    The thread reads the descriptor itself: a lock of `sys.stdin` that it held would stop the interpreter's end.
    """
    loop = asyncio.get_running_loop()

    def read() -> None:
        begun: list[bytes] = []  # the pieces of a line that has not ended; joined once, however long it is
        while chunk := _read(fd):
            *lines, rest = chunk.split(b"\n")
            if lines:
                lines[0] = b"".join([*begun, lines[0]])
                begun = []
            if rest:
                begun.append(rest)
            if not _tell(loop, arrived, lines):
                return
        _tell(loop, arrived, [b"".join(begun), None] if begun else [None])

    threading.Thread(target=read, name="stdin", daemon=True).start()


def _tell(loop: asyncio.AbstractEventLoop, arrived: Callable[[bytes | None], None], lines: Sequence[bytes | None]) -> bool:
    try:
        for line in lines:
            loop.call_soon_threadsafe(arrived, line)
    except RuntimeError:
        return False  # the loop has ended, and nobody reads any more
    return True


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 1 << 16)
    except OSError:
        return b""  # a closed or hung-up input has ended
