from agentcli.frontend.tui.transcript.blocks import NoticeBlock, UserBlock
from agentcli.frontend.tui.transcript.ink import text_of
from agentcli.frontend.tui.transcript.pages import AHEAD, KEPT, Pages, Past
from tests.frontend.tui.looks import sight


def filled(count, height=20):
    pages = Pages(sight())
    pages.add_unseen([UserBlock(f"message {n}") for n in range(count)])
    pages.forget(height)
    return pages


def lines(pages):
    return [text_of(row).rstrip() for row in pages.rows]


def test_only_the_tail_is_made():
    pages = filled(10_000)
    assert len(pages) <= 20 + AHEAD + 2
    assert lines(pages)[-1] == "▌ message 9999"


def test_earlier_rows_are_made_when_they_are_wanted_and_none_is_missing():
    pages = filled(1000)
    while pages.earlier(100):
        pass
    assert [line for line in lines(pages) if line] == [f"▌ message {n}" for n in range(1000)]


def test_a_block_that_grows_moves_what_is_below():
    pages = filled(5)
    pages.blocks[2].text = "one\ntwo"
    assert pages.change(pages.blocks[2]) == 1
    assert lines(pages)[4:8] == ["▌ one", "▌ two", "", "▌ message 3"]
    assert pages.block_at(7) is pages.blocks[3]
    assert pages.span(pages.blocks[4]) == (8, 10)


def test_a_run_of_compact_rows_has_no_gaps():
    pages = Pages(sight())
    for block in (UserBlock("q"), NoticeBlock("a"), NoticeBlock("b"), UserBlock("r")):
        pages.add(block)
    assert lines(pages) == ["▌ q", "", "· a", "· b", "", "▌ r"]


def test_the_oldest_rows_are_forgotten_when_there_are_too_many():
    pages = Pages(sight())
    for n in range(KEPT):
        pages.add(UserBlock(f"message {n}"))
    pages.trim()
    assert len(pages) <= KEPT
    assert lines(pages)[-1] == f"▌ message {KEPT - 1}"
    assert pages.block_at(len(pages) - 1) is pages.blocks[-1]


def test_a_block_that_is_taken_out_leaves_no_rows():
    pages = filled(3)
    pages.remove(pages.blocks[1], 20)
    assert [line for line in lines(pages) if line] == ["▌ message 0", "▌ message 2"]
    assert pages.change(UserBlock("never there")) == 0


class FakePast:
    """Gives the blocks of a list from its end backwards, some at a time, and counts how many it gave."""

    def __init__(self, blocks, step=7):
        self.left, self.step, self.given = list(blocks), step, 0

    def __call__(self):
        blocks, self.left = self.left[-self.step :], self.left[: -self.step]
        self.given += len(blocks)
        return blocks


def story(count):
    """Blocks whose gaps depend on their neighbours."""
    return [UserBlock(f"message {n}") if n % 3 == 0 else NoticeBlock(f"notice {n}") for n in range(count)]


def whole(blocks):
    pages = Pages(sight())
    for block in blocks:
        pages.add(block)
    return pages


def test_only_what_is_seen_of_the_past_is_fetched():
    past = FakePast([UserBlock(f"message {n}") for n in range(10_000)])
    pages = Pages(sight())
    pages.add_unseen([Past(past), UserBlock("the last")])
    assert past.given == 0
    pages.forget(20)
    assert lines(pages)[-1] == "▌ the last"
    assert len(pages) >= 20 + AHEAD
    assert past.given <= 20 + AHEAD
    assert pages.first > 0  # so that the view knows that there is more


def test_the_past_is_the_same_as_if_all_had_been_there_from_the_start():
    blocks = story(100)
    for last in range(0, 100, 9):
        for step in (1, 2, 7, 200):
            pages = Pages(sight())
            pages.add(Past(FakePast(blocks[:last], step)))
            for block in blocks[last:]:
                pages.add(block)
            while pages.earlier(30):
                assert lines(pages) == lines(whole(blocks))[-len(pages) :]
            assert (lines(pages), pages.first) == (lines(whole(blocks)), 0)


def test_blocks_keep_their_place_when_earlier_ones_are_fetched():
    late = story(4)
    pages = Pages(sight())
    pages.add_unseen([Past(FakePast([UserBlock(f"early {n}") for n in range(500)])), *late])
    pages.forget(20)
    for _ in range(2):
        start = pages.span(late[1])[0]
        assert lines(pages)[start : start + 2] == ["", "· notice 1"]
        assert [pages.block_at(pages.span(block)[0]) for block in late] == late
        late[1].text = "changed"
        assert pages.change(late[1]) == 0
        assert lines(pages)[start + 1] == "· changed"
        late[1].text = "notice 1"
        pages.change(late[1])
        pages.earlier(300)
    first = pages.blocks[0]
    pages.forget(20)
    pages.reach(first)
    assert pages.span(first)[1] > 0
    pages.remove(late[3], 20)
    assert lines(pages)[-1] == "· notice 2"
    assert pages.span(late[2])[1] == len(pages)


def test_a_past_without_anything_in_it_is_nothing():
    pages = Pages(sight())
    pages.add(Past(FakePast([])))
    pages.add(UserBlock("alone"))
    assert (lines(pages), pages.first) == (["▌ alone"], 0)
