from hypothesis import given
from hypothesis import strategies as st

from agentcli.workspace.output import Ends, Sieve


def sieved(*pieces: bytes) -> str:
    sieve = Sieve()
    return "".join(map(sieve.feed, pieces)) + sieve.feed(b"", final=True)


@given(st.text(st.characters(exclude_characters="\0\ufffd", exclude_categories=("Cs",)), max_size=60), st.integers(1, 5))
def test_text_comes_through_however_it_is_cut(text, size):
    data = text.encode()
    assert sieved(*(data[at : at + size] for at in range(0, len(data), size))) == text


def test_a_few_bad_bytes_are_shown_as_replacements():
    assert sieved(b"ok\xff\xfe\x80end\0\n") == "ok\ufffd\ufffd\ufffdend\ufffd\n"


def test_binary_is_told_once_with_the_text_around_it():
    assert sieved(b"before\n", b"\0" * 50_000, b"\0" * 50_000, b"after\n") == (
        "before\n[binary output, about 100000 bytes, left out]after\n"
    )


@given(st.lists(st.text("ab\n", max_size=30), max_size=20))
def test_head_and_tail_are_kept_and_the_rest_is_counted(pieces):
    ends = Ends(10, 20)
    head = "".join(ends.add(piece)[0] for piece in pieces)
    text = "".join(pieces)
    out = len(text) - 30
    lines = text[10 : 10 + out].count("\n") if out > 0 else 0
    counted = f"{lines} line{'s' * (lines != 1)}, " if lines else ""
    line = f"[{counted}{out:,} characters left out from line {text[:10].count(chr(10)) + 1} on; here]"
    wanted = text if out <= 0 else f"{text[:10]}\n{line}\n{text[-20:]}"
    assert (head + ends.tail("here"), ends.cut, ends.line_count) == (
        wanted,
        out > 0,
        len(text.split("\n")) - (text[-1:] in ("", "\n")),
    )


def test_memory_is_bounded():
    ends = Ends(10, 1000)
    for _ in range(10_000):
        ends.add("x" * 100)
    assert ends.held <= 1100
