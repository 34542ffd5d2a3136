import pytest

from agentcli.frontend.tui.transcript.blocks import ErrorBlock, NoticeBlock, ThinkingBlock, UserBlock
from agentcli.frontend.tui.transcript.tool_call import ToolBlock
from agentcli.ledger.block import ToolResultState
from agentcli.ledger.event import ErrorInfo
from tests.frontend.tui.looks import sight, words


def test_what_the_user_said_has_its_mark_on_every_row():
    assert words(UserBlock("one\ntwo").rows(sight())) == ["▌ one", "▌ two"]


def test_a_long_message_is_folded_until_opened():
    block = UserBlock("\n".join(f"line {n}" for n in range(3000)))
    assert words(block.rows(sight()))[-1] == "▌ … 2,988 more lines"
    assert len(block.rows(sight(details=True))) == 3000


def test_thinking_is_one_row_until_opened():
    block = ThinkingBlock(["deep ", "thought"])
    assert words(block.rows(sight())) == ["▸ Thinking …"]
    block.over, block.seconds = True, 2.0
    assert words(block.rows(sight())) == ["▸ Thought for 2 s"]
    assert words(block.rows(sight(details=True))) == ["▾ Thought for 2 s", "  deep thought"]
    block.seconds = 0.0004
    assert words(block.rows(sight())) == ["▸ Thought"]


def tool(state, result="", name="Bash", arguments='{"command": "pytest -q"}', **more):
    return ToolBlock(name, [arguments], [result], state=None if state is None else ToolResultState(state), **more)


def at_right(left, right, width=59):
    return left + right.rjust(width - len(left))


@pytest.mark.parametrize(
    ("block", "row"),
    [
        (tool(None), "◌ Bash    pytest -q"),
        (tool(None, waiting="asked"), at_right("? Bash    pytest -q", "asks")),
        (tool("running"), "◐ Bash    pytest -q"),
        (tool("success", "ok", seconds=0.003, metadata={"summary": "exit 0"}), at_right("● Bash    pytest -q", "exit 0  3 ms")),
        (tool("error", "boom"), at_right("✕ Bash    pytest -q", "failed")),
        (tool("denied", "The user denied it."), at_right("✕ Bash    pytest -q", "denied")),
        (tool("interrupted", "Stopped: effects unknown."), at_right("– Bash    pytest -q", "effects unknown")),
    ],
)
def test_a_call_is_one_row_with_its_mark(block, row):
    assert words(block.rows(sight()))[0] == row


def test_the_right_column_goes_first_where_it_is_narrow():
    block = tool("success", seconds=0.003, metadata={"summary": "exit 0"})
    assert words(block.rows(sight(24))) == ["● Bash    pytest -q"]


def test_live_output_shows_its_last_lines():
    block = tool("running")
    block.show_progress("".join(f"row {n}\n" for n in range(100)))
    assert words(block.rows(sight()))[1:] == [f"          row {n}" for n in range(95, 100)]


def test_a_failure_says_its_first_words_unasked():
    block = tool("error", "\nno such file\nmore\nand more")
    assert words(block.rows(sight()))[1:] == ["          no such file", "          more"]


def test_an_edit_opens_to_its_diff():
    block = tool(
        "success",
        "done",
        "Edit",
        '{"file_path": "/home/me/shop/a.py"}',
        metadata={"diff": "@@ -1 +1 @@\n-a\n+b\n", "summary": "+1 -1"},
    )
    assert words(block.rows(sight(details=True)))[1:] == ["  1 - a", "  1 + b"]


def test_an_opened_call_shows_arguments_and_result_and_counts_what_it_leaves_out():
    rows = words(tool("success", "".join(f"{n}\n" for n in range(500))).rows(sight(details=True)))
    assert rows[1] == "  command  pytest -q"
    assert "  … 420 lines not shown" in rows


def test_arguments_of_a_call_are_never_markup_nor_control():
    block = tool("success", "[/x]\x1b[2J", "Read", '{"file_path": "[red]\\u001b[2J\\u202e"}')
    assert "[red]␛[2J<U+202E>" in words(block.rows(sight()))[0]
    assert "  [/x]" in words(block.rows(sight(details=True)))


def test_an_error_says_what_happened_and_what_to_do():
    rows = words(ErrorBlock(ErrorInfo(kind="connection", message="getaddrinfo failed")).rows(sight(90)))
    assert rows == [
        "✕ The provider cannot be reached.",
        "  Check the network and OPENAI_BASE_URL, then send again.",
        "  getaddrinfo failed",
    ]


def test_long_words_of_a_provider_are_folded():
    block = ErrorBlock(ErrorInfo(kind="server", message="x\n" * 30))
    assert words(block.rows(sight()))[-1].startswith("▸ x")
    assert len(block.rows(sight(details=True))) == 32


def test_a_notice_is_cleaned():
    assert words(NoticeBlock("a\x1b[2J\u202eb").rows(sight())) == ["· a<U+202E>b"]
