from agentcli.frontend.tui.transcript.blocks import UserBlock
from agentcli.frontend.tui.transcript.earlier import STEP, Earlier
from agentcli.frontend.tui.transcript.pages import AHEAD
from agentcli.ledger.block import TextBlock, ToolCallBlock, ToolCallState, ToolResultBlock, ToolResultState
from agentcli.ledger.event import ReplyEndReason
from agentcli.ledger.message import AssistantMsg, UserMsg
from agentcli.runtime.replay import Replay
from tests.fakes.screen_conversation import FakeConversation
from tests.frontend.tui.looks import chat, screen_text, transcript, until, until_shown


def messages(count, last=()):
    found = []
    for n in range(count - len(last)):
        if n % 2 == 0:
            found.append(UserMsg(content=f"question {n}"))
            continue
        call = ToolCallBlock(id="c", name="Read", input='{"file_path": "a"}', state=ToolCallState.FINISHED)
        result = ToolResultBlock(id="c", name="Read", output="x", state=ToolResultState.SUCCESS)
        content = [call, result, TextBlock(text=f"answer {n}")]
        found.append(AssistantMsg(content=content, finished_reason=ReplyEndReason.COMPLETED))
    return [*found, *last]


class CountingReplay(Replay):
    """Counts the messages that were unfolded."""

    unfolded = 0

    def part(self, start, end):
        self.unfolded += end - start
        return super().part(start, end)


class Resumed(FakeConversation):
    """A conversation with a history of real messages."""

    def __init__(self, history, **changes):
        super().__init__(**changes)
        self.shown = CountingReplay(history, "s")

    def replay(self):
        return self.shown


def test_earlier_messages_are_given_from_the_end_backwards_and_none_is_missing():
    earlier = Earlier(Replay(messages(3 * STEP + 2), "s"), 3 * STEP + 2)
    parts = []
    while blocks := earlier():
        parts.insert(0, blocks)
    said = [block.text for blocks in parts for block in blocks if isinstance(block, UserBlock)]
    assert said == [f"question {n}" for n in range(0, 3 * STEP + 2, 2)]
    assert earlier() == []


def test_messages_that_show_nothing_do_not_end_the_past():
    silent = [AssistantMsg(finished_reason=ReplyEndReason.COMPLETED) for _ in range(3 * STEP)]
    (block,) = Earlier(Replay([UserMsg(content="first"), *silent], "s"), 3 * STEP + 1)()
    assert block.text == "first"


async def test_a_long_session_is_resumed_by_its_last_screen_and_read_on_by_scrolling():
    conversation = Resumed(messages(2001))
    async with chat(conversation).run_test() as pilot:
        await until_shown(pilot, "▌ question 2000")
        await until_shown(pilot, "answer 1999")
        height = transcript(pilot.app).size.height
        seen = conversation.shown.unfolded
        assert seen <= height + AHEAD + STEP
        for _ in range(40):
            await pilot.press("pageup")
            await pilot.pause()
        assert seen < conversation.shown.unfolded < 1000
        assert any("▌ question 1" in line for line in screen_text(pilot.app))


async def test_the_first_message_is_reached():
    conversation = Resumed(messages(200))
    async with chat(conversation).run_test() as pilot:
        await until_shown(pilot, "answer 199")

        async def up():
            await pilot.press("pageup")
            return any(line == "▌ question 0" for line in screen_text(pilot.app))

        for _ in range(200):
            if await up():
                break
        assert await up()
        await until(pilot, lambda: conversation.shown.unfolded == 200)


async def test_a_reply_that_was_cut_off_is_live_so_that_it_goes_on_in_its_own_block():
    call = ToolCallBlock(id="c9", name="Bash", input='{"command": "make"}', state=ToolCallState.ASKING)
    conversation = Resumed(messages(100, [AssistantMsg(content=[call])]))
    async with chat(conversation).run_test() as pilot:
        await until_shown(pilot, "Bash")
        assert list(pilot.app.screen.bridge.feed.tools) == ["c9"]
