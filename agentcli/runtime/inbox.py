"""What waits for an answer, over all sessions. Reads only: no lock is taken, nothing is repaired, no model is called."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from agentcli import paths
from agentcli.agent.agent import Agent, Input
from agentcli.config.load import load_settings
from agentcli.config.rules import RulesFile
from agentcli.errors import SessionError, UsageError
from agentcli.ledger.block import ToolCallBlock, ToolCallState
from agentcli.ledger.event import AgentEvent, ConfirmResult, RequireUserConfirmEvent, UserConfirmResultEvent
from agentcli.ledger.preview import Preview
from agentcli.ledger.rule import PermissionContext, PermissionMode
from agentcli.model.scripted import ScriptedModel
from agentcli.runtime.conversation import Conversation, Status
from agentcli.runtime.restore import restore, saved_of
from agentcli.runtime.where import find_place
from agentcli.session.index import SessionRow
from agentcli.session.store import Loaded, SessionStore
from agentcli.tool.builtin import builtin_tools
from agentcli.tool.toolkit import Toolkit
from agentcli.view.summary import call_target
from agentcli.workspace.root import Place


@dataclass(slots=True, frozen=True)
class Waiting:
    """A question that is open."""

    session: SessionRow
    reply_id: str
    call: ToolCallBlock
    target: str
    """The resolved path, or the program."""
    asked_at: str

    @property
    def shown_target(self) -> str:
        """The file, the whole command, the pattern, as one clean line."""
        return call_target(self.call.name, self.call.input)

    def to_json(self) -> dict[str, Any]:
        """The row for scripts; `held_by` only where it is held."""
        row = {
            "session_id": self.session.id,
            "reply_id": self.reply_id,
            "call_id": self.call.id,
            "tool": self.call.name,
            "target": self.target,
            "asked_at": self.asked_at,
            "cwd": self.session.cwd,
        }
        return row if self.session.held_by is None else {**row, "held_by": self.session.held_by}


async def waiting_questions() -> list[Waiting]:
    """Every open confirmation of every session, those of the last used session first."""
    store = SessionStore(paths.data_dir())
    return [one for session_id in store.may_ask() for one in await _of_session(store, session_id)]


async def questions_of(session_id: str) -> list[Waiting]:
    """The open confirmations of one session."""
    return await _of_session(SessionStore(paths.data_dir()), session_id)


async def _of_session(store: SessionStore, session_id: str) -> list[Waiting]:
    row = store.row(session_id)
    try:
        loaded = store.read(session_id)
    except SessionError:
        return []  # it was removed meanwhile, or its first line is cut: `sessions verify` tells
    if row is None:
        return []
    # Nothing is run or shown here, so any folder will do; the present one may be gone.
    agent = _agent(loaded, session_id, PermissionContext(), Place.find(str(store.folder)))
    if row.held_by is None:
        # As a resume would find it. What a living process has allowed is on its way and is asked no more.
        await agent.recover(from_log=True, records=loaded.records)
    asked = [call for call in agent.waiting if call.state == ToolCallState.ASKING]
    return [_waiting(row, agent, call, loaded) for call in asked]


def _waiting(row: SessionRow, agent: Agent, call: ToolCallBlock, loaded: Loaded) -> Waiting:
    question, record = agent.state.questions.get(call.id), _asked(loaded, call.id)
    asked_at = question.asked_at if question is not None and record else call.created_at or row.updated_at
    target = record.get("target") or call_target(call.name, call.input)
    return Waiting(row, agent.state.reply_id, call, str(target), asked_at)


def _asked(loaded: Loaded, call_id: str) -> Mapping[str, Any]:
    for record in reversed(loaded.records):
        if record["type"] == "asked" and record.get("call_id") == call_id:
            return record
    return {}


async def previews_of(session_id: str) -> dict[str, Preview]:
    """Call id -> what its question shows now. `UsageError` where the session's folder is gone."""
    loaded = SessionStore(paths.data_dir()).read(session_id)
    saved = saved_of(loaded)
    if not os.path.isdir(saved.cwd):
        where = f"is gone ({saved.cwd})" if saved.cwd else "is not known any more"
        raise UsageError(f"its folder {where}; answer with: agentcli run --resume {session_id} --cwd DIR --answer allow|deny")
    place = find_place(saved.cwd, (), session_id)
    rules = [*load_settings(place.root).rules, *RulesFile(paths.config_dir()).load(place.root)]
    mode = saved.mode or PermissionMode.EXPLORE  # as a resume takes it where the log does not say it any more
    agent = _agent(loaded, session_id, PermissionContext(mode=mode, root=place.root, home=place.home, rules=rules), place)
    await agent.recover(from_log=True, records=loaded.records)
    if not agent.waiting:
        return {}
    found: dict[str, Preview] = {}
    async with aclosing(agent.reply_stream(None)) as events:
        async for event in events:
            if isinstance(event, RequireUserConfirmEvent):
                found.update(event.previews)
    return found


def _agent(loaded: Loaded, session_id: str, permission: PermissionContext, place: Place) -> Agent:
    """An agent that has no journal and nothing to say: it only knows what stands open."""
    state = restore(loaded, session_id, permission)
    return Agent("agent", "", ScriptedModel([]), Toolkit(builtin_tools()), state, place=place)


@dataclass(slots=True, frozen=True)
class Answer:
    """A person's word on one question, and the digest of what was shown."""

    call_id: str
    allowed: bool
    digest: str | None


class Answered:
    """A conversation whose announcement of what waits is replaced by these answers; all else is as it was."""

    def __init__(self, conversation: Conversation, answers: Sequence[Answer]) -> None:
        self._conversation, self._answers = conversation, {answer.call_id: answer for answer in answers}

    @property
    def status(self) -> Status:
        return self._conversation.status

    def stream(self, inputs: Input) -> AsyncIterator[AgentEvent]:
        return self._conversation.stream(self._confirmation() if inputs is None else inputs)

    def steer(self, text: str) -> None:
        self._conversation.steer(text)

    def take_back(self) -> list[str]:
        return self._conversation.take_back()

    def interrupt(self) -> None:
        self._conversation.interrupt()

    def _confirmation(self) -> UserConfirmResultEvent:
        given, status = self._answers, self.status
        results = [
            ConfirmResult(confirmed=given[call.id].allowed, tool_call=call, digest=given[call.id].digest)
            for call in status.waiting
            if call.id in given and call.state == ToolCallState.ASKING
        ]
        by = {"by": "the user, in the inbox"}
        return UserConfirmResultEvent(reply_id=status.reply_id, confirm_results=results, metadata=by)
