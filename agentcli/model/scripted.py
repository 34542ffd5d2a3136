"""A model that plays a script: for tests, demonstrations and measurements. It never opens a connection.

The form of a script is public (`{"turns": [[STEP, ...], ...]}`); every fault in it is named with its place.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

from agentcli.errors import ModelError, UsageError
from agentcli.model.base import CallPiece, DataPiece, Finish, ModelCard, ModelRequest, Piece, TextPiece, ThinkingPiece, UsagePiece

DELTA = 16
"""Characters of a piece."""
MOST_PIECES = 200
"""A long text is cut into larger pieces rather than into more."""
ERRORS = {
    "auth": (False, "The scripted provider refused the key."),
    "rate_limit": (True, "The scripted provider asked to slow down."),
    "connection": (True, "The scripted connection broke."),
    "context_length": (False, "The conversation is too long for the scripted model."),
    "server": (True, "The scripted provider failed."),
    "content_filter": (False, "The scripted provider filtered the answer."),
}
FINISHES = ("stop", "length", "content_filter")


@dataclass(slots=True, frozen=True)
class Delay:
    """The script waits."""

    seconds: float


Step: TypeAlias = Piece | Delay | ModelError


class ScriptedModel:
    """Plays one turn of a script for each attempt, retries included.

    Args:
        turns: a list of turns, or `{"turns": [...]}`.
        name: as shown to the user, and the place that a fault of the script names.
    """

    def __init__(self, turns: Sequence[Sequence[Mapping[str, Any]]] | Mapping[str, Any], name: str = "script") -> None:
        self.card = ModelCard(name=name, provider=f"script|{name}")
        self.requests: list[ModelRequest] = []
        """What each call was given, as it was then."""
        self._turns = read_turns(turns, name)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """Play the next turn."""
        self.requests.append(_as_it_is(request))
        number = len(self.requests)
        if number > len(self._turns):
            raise ModelError("bad_request", f"The script {self.card.name} has {len(self._turns)} turns; this is call {number}.")
        for step in self._turns[number - 1]:
            match step:
                case Delay():
                    await asyncio.sleep(step.seconds)
                case ModelError():
                    raise ModelError(step.kind, step.message, retryable=step.retryable, retry_after=step.retry_after)
                case _:
                    yield step
                    await asyncio.sleep(0)

    async def warm(self) -> None:
        """Nothing to load."""

    async def close(self) -> None:
        """Nothing to close."""


def script_model(path: str, name: str) -> ScriptedModel:
    """A model that plays the script in a file; `UsageError` names what is wrong with it."""
    try:
        script = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise UsageError(f"The script {path} cannot be read: {error.strerror or error}.") from error
    except ValueError as error:
        raise UsageError(f"The script {path} is not JSON: {error}.") from error
    return ScriptedModel(script, name)


def _as_it_is(request: ModelRequest) -> ModelRequest:
    """The request with copies of its messages; those that have ended change no more and are shared."""
    messages = [msg if msg.finished_at is not None else msg.model_copy(deep=True) for msg in request.messages]
    return replace(request, messages=messages, tools=list(request.tools))


# -- reading a script --------------------------------------------------------------------------


def read_turns(script: Any, name: str) -> list[list[Step]]:
    """The steps of each turn, ready to be played."""
    turns: Any = cast(Mapping[str, Any], script).get("turns") if isinstance(script, Mapping) else script
    if not _is_list(turns):
        raise UsageError(f'{name}: a script is an object {{"turns": [[STEP, ...], ...]}}.')
    return [_turn(turn, f"{name}: turn {number}") for number, turn in enumerate(turns, 1)]


def _turn(turn: Any, place: str) -> list[Step]:
    if not _is_list(turn):
        raise UsageError(f"{place} is not a list of steps.")
    steps: list[Step] = []
    for number, step in enumerate(turn, 1):
        where = f"{place}, step {number}"
        fields = _object(step, where)
        if len(fields) != 1:
            raise UsageError(f"{where} must have exactly one of {', '.join(STEPS)}; it has {', '.join(fields) or 'none'}.")
        kind, value = next(iter(fields.items()))
        read = STEPS.get(kind)
        if read is None:
            raise UsageError(f"{where}: unknown step {kind!r}; known are {', '.join(STEPS)}.")
        steps.extend(read(value, where, str(number)))
    ends = isinstance(steps[-1], Finish | ModelError) if steps else False
    return steps if ends else [*steps, Finish("stop")]


def _text(value: Any, where: str, key: str) -> Iterator[Step]:
    return map(TextPiece, _cut(_string(value, f"{where}: text")))


def _thinking(value: Any, where: str, key: str) -> Iterator[Step]:
    return (ThinkingPiece(part, key=key) for part in _cut(_string(value, f"{where}: thinking")))


def _call(value: Any, where: str, key: str) -> Iterator[Step]:
    call = _object(value, f"{where}: tool_call")
    if stray := call.keys() - {"id", "name", "input"}:
        raise UsageError(f"{where}: tool_call has no field {sorted(stray)[0]!r}; it has id, name and input.")
    given = call.get("input", "")
    name, call_id = (_string(call.get(part), f"{where}: tool_call.{part}") for part in ("name", "id"))
    arguments = given if isinstance(given, str) else json.dumps(_object(given, f"{where}: tool_call.input"), ensure_ascii=False)
    yield CallPiece(key, name=name, call_id=call_id)
    yield from (CallPiece(key, arguments=part) for part in _cut(arguments))


def _data(value: Any, where: str, key: str) -> Iterator[Step]:
    data = _object(value, f"{where}: data")
    media_type, content = (_string(data.get(part), f"{where}: data.{part}") for part in ("media_type", "data"))
    yield DataPiece(media_type, content, key=key)


def _usage(value: Any, where: str, key: str) -> Iterator[Step]:
    usage = _object(value, f"{where}: usage")
    for name, count in usage.items():
        if name not in UsagePiece.__slots__ or not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise UsageError(f"{where}: usage holds whole numbers for {', '.join(UsagePiece.__slots__)}; not {name}: {count!r}.")
    yield UsagePiece(**usage)


def _delay(value: Any, where: str, key: str) -> Iterator[Step]:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e9:
        raise UsageError(f"{where}: delay is a number of seconds, not {value!r}.")
    yield Delay(value)


def _error(value: Any, where: str, key: str) -> Iterator[Step]:
    retryable, message = ERRORS[_one_of(value, ERRORS, f"{where}: error")]
    yield ModelError(value, message, retryable=retryable, retry_after=0 if retryable else None)


def _finish(value: Any, where: str, key: str) -> Iterator[Step]:
    yield Finish(cast(Any, _one_of(value, FINISHES, f"{where}: finish")))


STEPS: dict[str, Callable[[Any, str, str], Iterator[Step]]] = {
    "thinking": _thinking,
    "text": _text,
    "tool_call": _call,
    "data": _data,
    "usage": _usage,
    "delay": _delay,
    "error": _error,
    "finish": _finish,
}


def _cut(text: str) -> Iterator[str]:
    size = max(DELTA, -(-len(text) // MOST_PIECES))
    return (text[at : at + size] for at in range(0, len(text), size))


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{where} is not an object.")
    return dict(cast(Mapping[str, Any], value))


def _string(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{where} is not a string.")
    return value


def _one_of(value: Any, allowed: Sequence[str] | Mapping[str, Any], where: str) -> str:
    if value not in allowed:
        raise UsageError(f"{where} is one of {', '.join(allowed)}; not {value!r}.")
    return value
