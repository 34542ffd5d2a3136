import secrets
import string

import pytest

from agentcli.ledger import event as ev
from agentcli.ledger.message import UserMsg
from agentcli.ledger.rule import PermissionMode

KEY = "ghp_" + "".join(secrets.choice(string.ascii_letters + string.digits) for _ in range(36))
END = [{"text": "done"}]


def call(name, **arguments):
    return [{"tool_call": {"id": "c1", "name": name, "input": arguments}}]


async def result(home, turn, **options):
    """The result of a call that was allowed, and all bytes that were saved."""
    conversation = await home.open(turn, END, mode=PermissionMode.BYPASS, **options)
    events = [event async for event in conversation.stream(UserMsg(content="go"))]
    if conversation.status.waiting:
        results = [ev.ConfirmResult(confirmed=True, tool_call=waiting) for waiting in conversation.status.waiting]
        answer = ev.UserConfirmResultEvent(reply_id=conversation.status.reply_id, confirm_results=results)
        events += [event async for event in conversation.stream(answer)]
    found = conversation._agent.state.context[-1].result("c1")  # pyright: ignore[reportPrivateUsage]
    await conversation.close()
    assert found is not None
    told = "".join(getattr(event, "delta", "") for event in events if event.type.startswith("TOOL_RESULT"))
    assert found.text in told
    return found, b"".join(home.bytes().values())


@pytest.mark.parametrize("name", ["Read", "Bash", "Grep"])
async def test_a_key_in_a_file_is_neither_saved_nor_shown_nor_sent(home, name):
    (home.project / "a.txt").write_text(f"key = {KEY}\nrest\n")
    turns = {
        "Read": call("Read", file_path="a.txt"),
        "Bash": call("Bash", command="cat a.txt"),
        "Grep": call("Grep", pattern="key"),
    }
    found, saved = await result(home, turns[name])
    assert ("key = [masked]" in found.text, found.metadata["masked"], KEY.encode() in saved) == (True, 1, False)
    assert found.text.endswith("[1 value that looks like a secret is masked]")


async def test_a_secret_variable_of_this_process_is_known_by_its_value(home, monkeypatch):
    monkeypatch.setenv("DEPLOY_PASSWORD", "correct-horse")
    (home.project / "a.txt").write_text("correct-horse\n")
    found, saved = await result(home, call("Bash", command="cat a.txt"))
    assert (found.text.splitlines()[0], b"correct-horse" in saved) == ("[masked]", False)


async def test_values_of_a_dotenv_file_are_masked_wherever_they_turn_up(home):
    (home.project / ".env").write_text("NAME=battery-staple\nSHORT=ab\n")
    (home.project / "a.txt").write_text("it is battery-staple\n")
    found, _ = await result(home, call("Read", file_path=".env"))
    assert ("NAME=[masked]" in found.text, "SHORT=[masked]" in found.text) == (True, True)
    found, saved = await result(home, call("Bash", command="cat a.txt"))
    assert (found.text.splitlines()[0], b"battery" in saved) == ("it is [masked]", False)


async def test_a_long_output_is_kept_without_secrets_too(home):
    (home.project / "a.txt").write_text("x" * 79 + "\n")
    line = f'for i in $(seq 2000); do cat a.txt; done; echo {KEY[:20]}""{KEY[20:]}'
    found, saved = await result(home, call("Bash", command=line))
    assert "kept" in found.metadata
    assert KEY.encode() not in saved


async def test_it_can_be_switched_off(home):
    (home.path / "config" / "config.toml").write_text("mask_secrets = false\n")
    (home.project / "a.txt").write_text(f"{KEY}\n")
    found, _ = await result(home, call("Bash", command="cat a.txt"))
    assert (found.text, "masked" in found.metadata) == (f"{KEY}\n", False)
