import io
import json
import subprocess
import sys

import pytest

from agentcli.cli.main import main
from agentcli.errors import UsageError
from agentcli.ledger.message import UserMsg
from agentcli.runtime.assemble import open_conversation
from agentcli.runtime.dry_run import dry_run, request_text
from agentcli.runtime.options import Options
from agentcli.tool.builtin import builtin_tools
from tests.fakes.agent import call
from tests.fakes.endpoint import FakeEndpoint, said, sse

SECRET = "sk-never-shown-0123456789"
APIS = ("chat", "responses")


@pytest.fixture
def endpoint(home, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_MODEL", "some-model")
    return home


def shown(capfdbinary, *words):
    code = main(["run", "--dry-run", *words])
    found = capfdbinary.readouterr()
    return code, found.out, found.err


@pytest.mark.parametrize("api", APIS)
def test_the_first_request_with_the_built_in_tools_is_under_8000_bytes(endpoint, capfdbinary, api):
    code, out, err = shown(capfdbinary, "--api", api, "Read config.toml and tell me the database address")
    assert (code, err) == (0, b"")
    assert len(out) < 8_000
    assert SECRET.encode() not in out
    body = json.loads(out)
    assert body["model"] == "some-model"
    assert len(body["tools"]) == len(builtin_tools())
    assert "Read config.toml" in json.dumps(body["messages" if api == "chat" else "input"])


@pytest.mark.parametrize("api", APIS)
def test_two_processes_make_the_same_bytes(endpoint, api):
    command = [sys.executable, "-m", "agentcli", "run", "--dry-run", "--api", api, "grüße"]
    made = {subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2)}
    assert len(made) == 1


def test_no_session_is_made_and_nothing_is_locked(endpoint, capfdbinary):
    assert shown(capfdbinary, "go")[0] == 0
    assert endpoint.bytes() == {}


@pytest.mark.parametrize("api", APIS)
async def test_what_is_shown_is_what_is_sent(endpoint, api):
    if api == "chat":
        stream = sse(said("hello"), said(finish="stop"), "[DONE]")
    else:
        end = {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": []}}
        stream = sse({"type": "response.output_text.delta", "delta": "hello", "item_id": "i"}, end)
    async with FakeEndpoint([(200, {}, [stream])]) as server:
        table = f'[providers.here]\nbase_url = "{server.url}"\nmodels = ["m"]\n'
        (endpoint.path / "config/config.toml").write_text(table)
        options = Options(model="here/m", api=api, headless=True)
        text = (await dry_run(options, "go")).body
        assert server.connections == 0
        conversation = await open_conversation(options)
        assert await request_text(conversation, "go") == text
        async for _ in conversation.stream(UserMsg(content="go")):
            pass
        await conversation.close()
        assert server.requests == [json.loads(text)]


async def test_a_resumed_session_is_shown_with_its_history_and_stays_as_it_is(endpoint):
    session, _ = await endpoint.play([{"text": "I am here."}], say="first")
    before = endpoint.bytes()
    found = await dry_run(Options(resume=session, headless=True), "second")
    messages = json.loads(found.body)["messages"]
    assert [message["content"] for message in messages[1:]] == ["first", "I am here.", "second"]
    assert endpoint.bytes() == before


async def test_a_reply_that_was_cut_off_is_repaired_in_what_is_shown_only(endpoint):
    (endpoint.project / "a.txt").write_text("hello")
    conversation = await endpoint.open([call("c1", "Tasks", tasks=[]), call("c2", "Tasks", tasks=[])])
    events = conversation.stream(UserMsg(content="go"))
    async for event in events:
        if event.type == "MODEL_CALL_END":
            break
    await events.aclose()
    await conversation.close()
    session = conversation.status.session_id
    before = endpoint.bytes()
    messages = json.loads((await dry_run(Options(resume=session, headless=True), "on")).body)["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert endpoint.bytes() == before


async def test_a_session_that_waits_would_send_nothing(endpoint):
    session, events = await endpoint.play([call("c1", "Read", file_path="a.txt")])
    assert events[-1].type == "REPLY_PAUSED"
    with pytest.raises(UsageError, match="waits for an answer"):
        await dry_run(Options(resume=session, headless=True), "go")


async def test_a_session_that_another_process_writes_can_be_looked_at(endpoint):
    conversation = await endpoint.open([{"text": "ok"}])
    async for _ in conversation.stream(UserMsg(content="go")):
        pass
    found = await dry_run(Options(resume=conversation.status.session_id, headless=True), "on")
    await conversation.close()
    assert "go" in found.body


def test_stdin_is_read_only_where_it_is_asked_for(endpoint, capfdbinary, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"from stdin")))
    assert b"from stdin" not in shown(capfdbinary)[1]
    assert b"from stdin" in shown(capfdbinary, "-")[1]


def test_a_model_that_sends_nothing_is_shown_as_one_of_an_endpoint_would_be_asked(home, capfdbinary):
    code, out, err = shown(capfdbinary, "--model", "demo", "go")
    assert (code, json.loads(out)["messages"][-1]) == (0, {"role": "user", "content": "go"})
    assert err == b"agentcli: demo sends nothing; a model of an endpoint would be asked like this.\n"


def test_without_a_model_it_says_so(home, capfdbinary):
    code, out, err = shown(capfdbinary, "go")
    assert (code, out) == (2, b"")
    assert b"no model is configured" in err
