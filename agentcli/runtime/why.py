"""Why a call ran, or did not: who decided, when, by which rule, and what was shown. Read from the log alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from agentcli import paths
from agentcli.errors import UsageError
from agentcli.ledger.block import ToolCallBlock
from agentcli.ledger.event import UserConfirmResultEvent
from agentcli.ledger.message import Msg
from agentcli.session.loaded import Loaded
from agentcli.session.store import SessionStore
from agentcli.view.clean import clean
from agentcli.view.summary import call_target

SHORT = 12
"""So much of a digest tells it from others."""
SCOPES = {"session": "for this session", "project": "for this project", "everywhere": "everywhere"}


@dataclass(slots=True, frozen=True)
class Step:
    """One thing that was decided or done about a call."""

    at: str
    what: str
    """`asked`, `allowed`, `denied`, `waved through`, `started`, or the state of its result."""
    words: str = ""
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The record itself."""

    def to_json(self) -> dict[str, Any]:
        """The step for scripts."""
        return {"at": self.at, "what": self.what, "words": self.words, **self.more}


@dataclass(slots=True, frozen=True)
class Why:
    """All that a log says of a call."""

    session_id: str
    call: ToolCallBlock
    steps: Sequence[Step]

    @property
    def title(self) -> str:
        """The call in one line."""
        return f"{clean(self.call.name, newlines=False)}  {call_target(self.call.name, self.call.input)}".rstrip()

    def lines(self) -> Iterator[str]:
        """The steps, a clean line each."""
        for step in self.steps:
            day, _, rest = step.at.partition("T")
            line = f"{day} {rest[:8]:<8}  {step.what:<12}  {step.words}"
            yield clean(line, newlines=False, exact=True).rstrip()

    def to_json(self) -> dict[str, Any]:
        """The call for scripts."""
        call = {"id": self.call.id, "tool": self.call.name, "input": self.call.input}
        return {"session": self.session_id, "call": call, "steps": [step.to_json() for step in self.steps]}


def why(text: str, session: str | None = None) -> Why:
    """The story of a call.

    Args:
        text: its id or a beginning of it; empty for the last call.
        session: where it was made; None looks through all of them, the last used first.

    Raises:
        UsageError: there is no such call.
    """
    store = SessionStore(paths.data_dir())
    where = [store.find(session)] if session else [row.id for row in store.rows()]
    for session_id in where:
        if not session and not store.mentions(session_id, text):
            continue
        found = why_of(session_id, store.read(session_id), text)
        if found is not None:
            return found
    named = f"call {text!r}" if text else "call"
    raise UsageError(f"there is no {named} in {'session ' + where[0] if session else 'any session'}")


def why_of(session_id: str, loaded: Loaded, text: str = "") -> Why | None:
    """The story of the last call of a session that a text names; None where it names none."""
    for msg in reversed(loaded.messages):
        for call in reversed(msg.calls):
            if call.id.startswith(text):
                return Why(session_id, call, list(_steps(call, msg, loaded.records)))
    return None


def _steps(call: ToolCallBlock, msg: Msg, records: Sequence[Mapping[str, Any]]) -> Iterator[Step]:
    for record in records:
        at = str(record.get("ts", ""))
        more = {key: value for key, value in record.items() if key not in ("seq", "ts", "type")}
        if record["type"] == "decided":
            yield from (Step(at, *told, more) for told in _answered(call, record))
        elif record.get("call_id") == call.id:
            match record["type"]:
                case "asked":
                    yield Step(at, "asked", _shown(record.get("digest"), record.get("notes")), more)
                case "receipt":
                    yield Step(at, *_decided(record), more)
                case "started":
                    yield Step(at, "started", ", ".join(record.get("files") or ()), more)
                case _:
                    pass
    result = msg.result(call.id)
    if result is not None:
        yield Step(result.finished_at or result.created_at or "", result.state.value)


def _answered(call: ToolCallBlock, record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What an answer said of this call."""
    try:
        event = UserConfirmResultEvent.model_validate({key: record[key] for key in record if key not in ("seq", "ts", "type")})
    except ValidationError:
        return  # of another version
    for answer in event.confirm_results:
        if answer.tool_call.id != call.id:
            continue
        rules = [f"{rule.text} {SCOPES.get(rule.source, '')}".strip() for rule in answer.rules or ()]
        parts = [
            f"by {event.metadata.get('by', 'the user')}",
            f"for good: {', '.join(rules)}" if rules else "",
            f"with the words: {answer.reason}" if answer.reason else "",
        ]
        yield "allowed" if answer.confirmed else "denied", "; ".join(filter(None, parts))


def _decided(record: Mapping[str, Any]) -> tuple[str, str]:
    """A receipt in words."""
    mode, reason = record.get("mode"), record.get("reason")
    match record.get("behavior"), record.get("by"):
        case "allow", "answer":
            return "ran", f"as it was answered, in mode {mode}: {reason}"
        case "allow", _:
            what = "ran"
        case "deny", _:
            what = "denied"
        case _:
            what = "to be asked"
    source = f" (from {record.get('source')})" if record.get("by") == "rule" else ""
    return what, f"in mode {mode}: {reason}{source}"


def _shown(digest: object, notes: object) -> str:
    said = " ".join(str(note) for note in notes) if isinstance(notes, list) else ""  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return f"shown as {str(digest)[:SHORT]} {said}".rstrip() if digest else said
