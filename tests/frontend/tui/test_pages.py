from agentcli.frontend.tui.transcript.blocks import NoticeBlock, UserBlock
from agentcli.frontend.tui.transcript.ink import text_of
from agentcli.frontend.tui.transcript.pages import AHEAD, KEPT, Pages
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
