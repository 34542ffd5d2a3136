import json

import pytest

from agentcli.cli.main import main
from agentcli.errors import UsageError
from agentcli.ledger.message import UserMsg
from agentcli.runtime.assemble import open_conversation
from agentcli.runtime.command import SetModel
from agentcli.runtime.forking import fork_session
from agentcli.runtime.options import Options
from tests.fakes.agent import answer, call
from tests.fakes.endpoint import FakeEndpoint, said, sse

PRICED = """
[providers.here]
base_url = "{url}"
models = [{{ name = "m", price_input = 1.0, price_output = 10.0 }}, "free"]
"""


def usage(taken, made=0, cached=0, thought=0):
    details = {"prompt_tokens_details": {"cached_tokens": cached}, "completion_tokens_details": {"reasoning_tokens": thought}}
    return {"choices": [], "usage": {"prompt_tokens": taken, "completion_tokens": made, **details}}


def asking(taken, made=0):
    tasks = {"index": 0, "id": f"c{taken}", "function": {"name": "Tasks", "arguments": '{"tasks": []}'}}
    return 200, {}, [sse(said(tool_calls=[tasks]), said(finish="tool_calls"), usage(taken, made), "[DONE]")]


def saying(taken, made=0, **more):
    return 200, {}, [sse(said("over"), said(finish="stop"), usage(taken, made, **more), "[DONE]")]


def priced(home, server):
    (home.path / "config/config.toml").write_text(PRICED.format(url=server.url))


async def run(conversation, inputs):
    return [event async for event in conversation.stream(UserMsg(content=inputs) if isinstance(inputs, str) else inputs)]


async def test_tokens_and_cost_are_known_for_each_call_and_in_sum_and_outlive_the_process(home):
    async with FakeEndpoint([asking(1_000, 100), saying(2_000, 200, cached=500, thought=50)]) as server:
        priced(home, server)
        conversation = await open_conversation(Options(model="here/m", headless=True))
        events = await run(conversation, "go")
        costs = [event.metadata["cost"] for event in events if event.type == "MODEL_CALL_END"]
        assert costs == pytest.approx([0.002, 0.004])
        before = conversation.status
        assert (before.input_tokens, before.output_tokens, before.cached_tokens, before.reasoning_tokens) == (3_000, 300, 500, 50)
        assert before.cost == pytest.approx(0.006)
        await conversation.close()
        again = await open_conversation(Options(resume=before.session_id, headless=True))
        fork = await open_conversation(Options(resume=(await fork_session(before.session_id)).id, headless=True))
        assert (again.status.cost, fork.status.cost) == (before.cost, before.cost)
        assert again.status.cached_tokens == 500
        await again.close()
        await fork.close()


async def test_a_question_of_money_is_answered_after_a_kill(home):
    async with FakeEndpoint([asking(1_000_000), saying(10)]) as server:
        priced(home, server)
        options = Options(model="here/m", headless=True, max_cost=0.5)
        conversation = await open_conversation(options)
        first = await run(conversation, "go")
        assert first[-1].type == "REPLY_PAUSED"
        note = "This reply has cost $1.00; its budget is $0.50 (--max-cost). Allowed, it goes on to $1.50."
        assert first[-2].previews["c1000000"].notes == [note]
        await conversation.close()
        later = await open_conversation(Options(resume=conversation.status.session_id, headless=True, max_cost=0.5))
        announced = await run(later, None)
        assert announced[0].previews["c1000000"].notes == [note]
        assert (await run(later, answer(announced)))[-1].finished_reason == "completed"
        await later.close()


async def test_a_limit_of_money_that_cannot_hold_is_refused_without_a_screen_and_said_with_one(home):
    async with FakeEndpoint([]) as server:
        priced(home, server)
        with pytest.raises(UsageError, match="price of here/free is not known, so --max-cost cannot hold"):
            await open_conversation(Options(model="here/free", headless=True, max_cost=1.0))
        conversation = await open_conversation(Options(model="here/free", max_cost=1.0))
        assert "price of here/free is not known" in conversation.status.notices[-1]
        assert await conversation.do(SetModel("here/m")) == "Model: here/m"
        assert "price of here/free is not known" in await conversation.do(SetModel("here/free"))
        await conversation.close()


async def test_the_limits_of_the_configuration_hold_where_no_flag_says_otherwise(home):
    turns = [[call("c1", "Tasks", tasks=[]), {"usage": {"input_tokens": 50, "output_tokens": 0}}], [{"text": "over"}]]
    (home.path / "config/config.toml").write_text("max_tokens = 40\n")
    assert (await home.play(*turns))[1][-1].type == "REPLY_PAUSED"
    assert (await home.play(*turns, max_tokens=60))[1][-1].finished_reason == "completed"


@pytest.mark.parametrize(("how", "code"), [("stop", 10), ("deny", 4), ("allow", 0)])
def test_without_a_screen_the_flags_answer_the_question_of_a_budget(home, capfd, how, code):
    turns = [[call("c1", "Tasks", tasks=[]), {"usage": {"input_tokens": 50, "output_tokens": 1}}], [{"text": "over"}]]
    words = ["run", "--model", home.script(*turns), "--max-tokens", "40", "--on-ask", how, "--output", "json", "go"]
    assert main(words) == code
    said_ = capfd.readouterr()
    assert "This reply has taken 51 tokens; its budget is 40 (--max-tokens)." in said_.err
    row = json.loads(said_.out)
    assert (row["usage"]["input_tokens"], row["text"]) == (50, "over" if how == "allow" else "")
    assert row["finished_reason"] == {"stop": None, "deny": "exceed_max_iters", "allow": "completed"}[how]
