import pytest

from agentcli.errors import ToolError
from agentcli.permission.subject import Kind
from tests.fakes.hands import FakeHands


async def test_the_list_is_replaced_whole(tmp_path):
    hands = FakeHands(tmp_path)
    tasks = [{"title": "a", "state": "done"}, {"title": "b", "state": "in_progress"}]
    done = await hands("Tasks", tasks=tasks)
    assert (done.text, done.metadata) == ("the list is kept: 1 of 2 done", {"tasks": tasks, "summary": "1 of 2 done"})
    assert hands.kit.get("Tasks").subject({"tasks": []}, hands.context.place).kind is Kind.FREE


async def test_an_unknown_state_is_refused(tmp_path):
    with pytest.raises(ToolError, match="in_progress"):
        await FakeHands(tmp_path)("Tasks", tasks=[{"title": "a", "state": "soon"}])
