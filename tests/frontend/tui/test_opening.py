import json

import pytest

from agentcli.errors import UsageError
from agentcli.frontend.tui.opening import Opened
from agentcli.ledger.message import UserMsg
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime import catalogue
from agentcli.runtime.options import Options


@pytest.fixture
def flags(tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "AGENTCLI_MODEL", "AGENTCLI_MODE", "AGENTCLI_API"):
        monkeypatch.delenv(name, raising=False)
    for name in ("data", "config"):
        monkeypatch.setenv(f"AGENTCLI_{name.upper()}_DIR", str(tmp_path / name))
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": [[{"text": "over"}]]}))
    return {"model": f"script:{script}"}


async def played(flags, **more):
    """A saved session; its id."""
    opened = Opened(Options(**flags, **more))
    conversation = await opened.begin()
    _ = [event async for event in conversation.stream(UserMsg(content="go"))]
    await opened.close(conversation)
    return conversation.status.session_id


def held():
    return {choice.id for step in catalogue.session_choices(None) for choice in step if choice.held_by}


async def test_a_picked_session_is_opened_with_the_flags(flags):
    saved = await played(flags)
    opened = Opened(Options(**flags, mode=PermissionMode.EXPLORE))
    conversation = await opened.resume(saved, fork=False)
    assert (conversation.status.session_id, conversation.status.mode) == (saved, PermissionMode.EXPLORE)
    await opened.close(conversation)


async def test_a_session_that_is_left_is_given_back_and_the_flags_were_for_the_first(flags):
    saved = await played(flags, mode=PermissionMode.ACCEPT_EDITS)
    opened = Opened(Options(**flags, mode=PermissionMode.EXPLORE))
    first = await opened.begin()
    _ = [event async for event in first.stream(UserMsg(content="go"))]
    second = await opened.resume(saved, fork=False)
    assert held() == {first.status.session_id, saved}
    await opened.close(first)
    assert (held(), second.status.mode) == ({saved}, PermissionMode.ACCEPT_EDITS)
    await opened.close(second)
    assert held() == set()


async def test_a_copy_leaves_the_session_alone(flags):
    saved = await played(flags)
    opened = Opened(Options(**flags))
    conversation = await opened.resume(saved, fork=True)
    assert conversation.status.session_id not in ("", saved)
    await opened.close(conversation)


async def test_what_cannot_be_opened_leaves_the_present_one(flags):
    opened = Opened(Options(**flags))
    present = await opened.begin()
    with pytest.raises(UsageError):
        await opened.resume("nosuch", fork=False)
    assert opened.conversation is present
    await opened.close(present)
