from __future__ import annotations

from agentcli.ledger.block import TextBlock, ThinkingBlock
from agentcli.model.base import Finish, ModelCard, TextPiece, ThinkingPiece
from tests.fakes.agent import Stand, refold, types

ITEM = {"type": "reasoning", "id": "rs_1", "encrypted_content": "E"}


class FakeAnswer:
    """A model that gives these pieces."""

    def __init__(self, *pieces):
        self.card = ModelCard(name="m")
        self.pieces = [*pieces, Finish("stop")]

    async def stream(self, request):
        for piece in self.pieces:
            yield piece

    async def warm(self):
        return None

    async def close(self):
        return None


async def replied(*pieces):
    stand = Stand([])
    stand.agent.model = FakeAnswer(*pieces)
    events = await stand.run()
    assert refold(events) == stand.state.context[-1]
    return events, stand.state.context[-1].content


def fields_of(block):
    return block.model_dump(exclude={"id", "created_at", "finished_at", "type"})


async def test_what_is_known_of_thinking_at_its_end_reaches_the_block():
    pieces = [ThinkingPiece("h", "0", {"origin": "o"}), ThinkingPiece("m", "0"), ThinkingPiece("", "0", {"item": ITEM})]
    events, [thought, _] = await replied(*pieces, TextPiece("a", "1"))
    assert fields_of(thought) == {"thinking": "hm", "origin": "o", "item": ITEM}
    told = [event.metadata for event in events if event.type in ("THINKING_BLOCK_START", "THINKING_BLOCK_END")]
    assert told == [{"origin": "o"}, {"item": ITEM}]


async def test_thinking_without_a_word_is_a_block_of_its_own():
    pieces = [ThinkingPiece("", "0", {"item": ITEM}), ThinkingPiece("", "1", {"item": {**ITEM, "id": "rs_2"}})]
    _, content = await replied(*pieces, TextPiece("a"))
    assert [type(block) for block in content] == [ThinkingBlock, ThinkingBlock, TextBlock]
    assert [block.model_extra["item"]["id"] for block in content[:2]] == ["rs_1", "rs_2"]


async def test_texts_of_two_keys_are_two_blocks_with_fields_of_their_own():
    pieces = [TextPiece("a", "0", {"phase": "commentary"}), TextPiece("b", "1"), TextPiece("", "1", {"phase": "final_answer"})]
    events, content = await replied(*pieces, TextPiece("", "2", {"phase": "never shown"}))
    assert [fields_of(block) for block in content] == [
        {"text": "a", "phase": "commentary"},
        {"text": "b", "phase": "final_answer"},
    ]
    assert types(events).count("TEXT_BLOCK_START") == 2
