import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentcli.errors import ToolError
from agentcli.workspace.text import Writing, is_binary, replace_text, writing_of

UTF16 = codecs.BOM_UTF16_LE
KEPT = {
    "crlf": (b"a\r\nb\r\nc", "b", "x\ny", b"a\r\nx\r\ny\r\nc"),
    "crlf over lines": (b"a\r\nb\r\nc", "a\nb", "z", b"z\r\nc"),
    "mixed ends": (b"a\nb\r\nc\nd\r\n", "c\nd", "c\ne", b"a\nb\r\nc\ne\r\n"),
    "invalid bytes": (b"x\xc3\xa9\x80 a\n\xff", "a", "b", b"x\xc3\xa9\x80 b\n\xff"),
    "bom": (codecs.BOM_UTF8 + b"a\nb", "a", "c", codecs.BOM_UTF8 + b"c\nb"),
    "latin-1": (b"caf\xe9 a", "caf\u00e9", "th\u00e9", b"th\xe9 a"),
    "utf-16": (UTF16 + "a\r\nb\u0a00".encode("utf-16-le"), "b", "\u20ac", UTF16 + "a\r\n\u20ac\u0a00".encode("utf-16-le")),
    "no final newline": (b"a\nb", "b", "c", b"a\nc"),
}


@pytest.mark.parametrize(("data", "old", "new", "after"), KEPT.values(), ids=KEPT)
def test_law_11_an_edit_changes_its_bytes_and_no_others(data, old, new, after):
    assert replace_text(data, old, new, False) == after


def test_replace_all_changes_every_place():
    assert replace_text(b"a b a", "a", "aa", True) == b"aa b aa"


REFUSED = {
    "same": (b"a", "a", "a", "same"),
    "empty": (b"a", "", "b", "empty"),
    "many": (b"a a a", "a", "b", "3 times"),
    "missing": (b"def spam(x):\n    return x\n", "def spam(y):", "b", "1: def spam"),
    "line numbers": (b"one\n", "     1\tone", "two", "line numbers"),
    "no such letter": (b"caf\xe9", "caf\u00e9", "\u20ac\u4e2d", "latin-1"),
}


@pytest.mark.parametrize(("data", "old", "new", "words"), REFUSED.values(), ids=REFUSED)
def test_an_unclear_edit_is_refused_with_a_reason(data, old, new, words):
    with pytest.raises(ToolError, match=words):
        replace_text(data, old, new, False)


def test_utf16_is_matched_at_whole_characters_only():
    data = UTF16 + "\u0141\u4100a".encode("utf-16-le")
    with pytest.raises(ToolError, match="not in the file"):
        replace_text(data, "\u4101", "x", False)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_law_11_any_bytes_around_an_edit_stay(left, right):
    data = left + b"<<needle>>" + right
    if writing_of(data).width > 1:
        return
    try:
        after = replace_text(data, "<<needle>>", "<<thread>>", False)
    except ToolError:
        return
    assert after == left + b"<<thread>>" + right


def test_a_replaced_file_keeps_its_writing():
    writing = writing_of(codecs.BOM_UTF8 + b"a\r\nb\r\n")
    assert writing == Writing("utf-8", codecs.BOM_UTF8, "\r\n")
    assert writing.whole("x\ny\n") == codecs.BOM_UTF8 + b"x\r\ny\r\n"


def test_binary_is_told_by_nul_but_not_in_utf16():
    assert [is_binary(data) for data in (b"a\0", b"a", UTF16 + b"a\0")] == [True, False, False]
