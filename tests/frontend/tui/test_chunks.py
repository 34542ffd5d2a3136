import time

from hypothesis import given
from hypothesis import strategies as st

from agentcli.frontend.tui.transcript.chunks import LARGE, LONG_FENCE, Chunk, Chunker


def chunks(text, size=7):
    chunker, found = Chunker(), []
    for at in range(0, len(text), size):
        found += chunker.feed(text[at : at + size])
    return found + chunker.end()


def test_a_paragraph_is_final_when_the_next_block_begins():
    chunker = Chunker()
    assert chunker.feed("one\n\n") == []
    assert chunker.feed("two\n") == [Chunk("one\n")]
    assert chunker.tail == Chunk("two\n")


def test_a_fence_is_one_chunk_with_its_blank_lines():
    assert chunks("```py\na\n\nb\n```\nafter\n") == [Chunk("```py\na\n\nb\n```"), Chunk("after\n")]


def test_a_loose_list_stays_together():
    assert chunks("1. a\n\n2. b\n\n   more\n\nafter\n") == [Chunk("1. a\n\n2. b\n\n   more\n"), Chunk("after\n")]


def test_a_long_fence_goes_on_in_the_next_chunk():
    body = "".join(f"line {n}\n" for n in range(LONG_FENCE + 5))
    first, second = chunks(f"```py\n{body}```")
    assert first.source.endswith("\n```")
    assert second.source.startswith("```py\n")
    assert (first.joined, second.joined) == (False, True)


@given(st.text(alphabet="ab `~\n-1.#> ", max_size=200), st.integers(1, 9))
def test_the_pieces_do_not_matter(text, size):
    assert chunks(text, size) == chunks(text, 1000)


@given(st.text(alphabet="ab\n- ", max_size=200))
def test_no_word_is_lost(text):
    assert "".join("".join(chunk.source.split()) for chunk in chunks(text)) == "".join(text.split())


def test_a_line_without_end_is_broken():
    found = chunks("word " * 4000)
    assert max(len(chunk.source) for chunk in found) <= LARGE
    assert sum(chunk.source.count("word") for chunk in found) == 4000


def test_a_megabyte_takes_no_more_than_its_share():
    def seconds(size):
        text = "".join(f"Line {n} of a long answer.\n\n" for n in range(size // 28))
        began = time.process_time()
        chunks(text, 50)
        return time.process_time() - began

    large, small = (min(seconds(size) for _ in range(3)) for size in (400_000, 100_000))
    assert large < 12 * max(small, 0.005)
