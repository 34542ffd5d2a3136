from __future__ import annotations

from agentcli.ledger.block import TextBlock, ToolCallBlock, ToolCallState, ToolResultBlock, ToolResultState
from agentcli.ledger.event import ContextCompressedEvent, ReplyEndReason
from agentcli.ledger.message import AssistantMsg, Msg, UserMsg
from agentcli.runtime.replay import Item, Replay

CUT = ContextCompressedEvent(reply_id="", tokens_before=900, tokens_after=90, summary="short")


def history(count: int) -> list[Msg]:
    """Questions and replies in turn, each reply with a call."""
    messages: list[Msg] = []
    for n in range(count):
        if n % 2 == 0:
            messages.append(UserMsg(content=f"question {n}"))
            continue
        call = ToolCallBlock(id=f"c{n}", name="Read", input="{}", state=ToolCallState.FINISHED)
        result = ToolResultBlock(id=call.id, name="Read", output="x", state=ToolResultState.SUCCESS)
        msg = AssistantMsg(content=[call, result, TextBlock(text=f"answer {n}")], finished_reason=ReplyEndReason.COMPLETED)
        messages.append(msg)
    return messages


def told(items: list[Item]) -> list[object]:
    """The items without what each unfolding makes anew."""
    return [item.model_dump(exclude={"id", "created_at"}) for item in items]


def test_a_history_in_stretches_is_the_history():
    for count in (0, 1, 2, 7):
        for cut in (None, *((place, CUT) for place in range(count + 1))):
            replay = Replay(history(count), "s", cut)
            whole = told(list(replay))
            assert len(replay) == count
            for at in range(count + 1):
                stretches = [*replay.part(0, at), *(replay.part(at, count) if at < count else [])]
                assert told(stretches) == whole


def test_the_note_of_a_compression_stands_once_and_before_what_is_sent_whole():
    messages = history(4)
    for place in range(5):
        items = list(Replay(messages, "s", (place, CUT)))
        at = items.index(CUT)
        assert items.count(CUT) == 1
        assert told(items[:at]) == told(list(Replay(messages[:place], "s")))


def test_what_is_said_after_it_was_made_is_no_part_of_a_replay():
    messages = history(2)
    replay = Replay(messages, "s")
    messages.append(UserMsg(content="later"))
    assert told(list(replay)) == told(list(Replay(messages[:2], "s")))
