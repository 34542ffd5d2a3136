import pytest

from agentcli.agent.gate import judge
from agentcli.ledger.block import ToolCallBlock
from agentcli.ledger.message import AssistantMsg
from agentcli.tool.builtin import builtin_tools
from tests.fakes.agent import Stand


def verdict(tmp_path, name, **arguments):
    import json

    stand = Stand([], *builtin_tools(), root=str(tmp_path), mode="bypass")
    stand.state.reply_id = "r"
    stand.state.context.append(AssistantMsg(id="r"))
    return judge(stand.agent._work, ToolCallBlock(id="c1", name=name, input=json.dumps(arguments)))


@pytest.mark.parametrize("command", ["pwd", "ls", "cat a.txt | wc -l", "pwd; ls"])
def test_a_proven_line_needs_no_record_before_it_starts(tmp_path, command):
    assert verdict(tmp_path, "Bash", command=command).harmless


@pytest.mark.parametrize(
    "command",
    [
        "echo x > f",
        "cat a.txt >> f",
        "export M=1; echo c1 >> ran.txt",
        "echo $(touch f)",
        "make",
        "for x in a; do touch $x; done",
        "echo 'unclosed",
        "",
        "# nothing",
    ],
)
def test_law_5_whatever_is_not_proven_has_a_record_before_it_starts(tmp_path, command):
    assert not verdict(tmp_path, "Bash", command=command).harmless


def test_law_5_looking_is_harmless_and_writing_is_not(tmp_path):
    assert verdict(tmp_path, "Read", file_path="a.txt").harmless
    assert not verdict(tmp_path, "Write", file_path="a.txt", content="").harmless


async def test_commands_are_asked_together_whatever_they_touch_and_an_edit_waits_for_the_command_before_it(tmp_path):
    from tests.fakes.agent import call

    (tmp_path / "ran.txt").write_text("x\n")
    steps = [
        call("c1", "Bash", command="echo a >> ran.txt"),
        call("c2", "Bash", command="echo b >> ran.txt"),
        call("c3", "Read", file_path="ran.txt"),
    ]
    events = await Stand([steps], *builtin_tools(), root=str(tmp_path)).run()
    assert [block.id for block in events[-1].waiting] == ["c1", "c2"]
