import time

import pytest

from agentcli.errors import ToolError
from agentcli.workspace.text import replace_text

CODE = b"def f():\n\tif x:\n\t\treturn  1\n\ndef g(a, b):\n    pass\n"
SAID = {
    "indentation": (CODE, "if x:\n    return 1", r'at line 2 .* white space.* JSON string: "\\tif x:\\n\\t\\treturn  1"$'),
    "line breaks": (CODE, "def g(a,\n      b):", r'at line 5 .* white space.*: "def g\(a, b\):"$'),
    "quotes": ("say(“hi”)\n".encode(), 'say("hi")', r'quotes or dashes.*: "say\(\\u201chi\\u201d\)"$'),
    "a blank that does not break": ("a\u00a0b\n".encode(), "a b", r'white space.*: "a\\u00a0b"$'),
    "a hidden letter": ("a\u200bb\n".encode(), "ab", r'"a\\u200bb"$'),
    "twice": (b"a  b\na  b\n", "a b", r"at line 1 \(and more places\)"),
    "escaped once too often": (b"a\nb\n", "a\\nb", "escaped once too often"),
    "accents": ("cafe\u0301\n".encode(), "caf\u00e9", "a letter and a mark"),
    "a near line": (CODE, "def g(a, c):\n    return", r"the nearest lines are:\n1: def f\(\):\n5: def g\(a, b\):$"),
    "nothing near": (CODE, "zzzz qqqq", r"spaces and tabs too\)$"),
    "many": (b"a\nb\na\nc\na\n", "a", r"3 times \(lines 1, 3 and 5\)"),
    "very many": (b"a\n" * 9, "a", r"9 times \(lines 1, 2, 3, 4, 5 \.\.\.\)"),
    "many in a line": (b"\na a\n", "a", r"2 times \(all in line 2\)"),
    "overlapping": (b"\naaa\n", "aa", "twice at line 2, and the two overlap"),
    "line ends alone": (b"a\nb\n", "a\nb", "same"),
    "line ends alone, in the arguments": (b"a\nb\n", "a\nb\n", "line ends alone"),
}


@pytest.mark.parametrize("name", SAID)
def test_an_edit_that_is_not_clear_says_what_there_is(name):
    data, old, words = SAID[name]
    new = {"line ends alone": old, "line ends alone, in the arguments": "a\r\nb\r\n"}.get(name, "new")
    with pytest.raises(ToolError, match=words):
        replace_text(data, old, new, False)


def test_overlapping_places_are_replaced_from_the_left_where_all_are_meant():
    assert replace_text(b"aaaaa", "aa", "b", True) == b"bba"


def test_two_line_ends_are_not_two_places():
    assert replace_text(b"a\r\n\r\nb", "\n\n", "\n", False) == b"a\r\nb"


LINES = {
    "words": b"some words of a line, number %d\n",
    "a long word": b"x" * 5_000 + b"%d\n",
    "short words": b"a " * 2_000 + b"%d\n",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_what_is_near_is_found_in_bounded_time(line):
    data = b"".join(line % number for number in range(12_000_000 // len(line)))
    start = time.process_time()
    with pytest.raises(ToolError, match="not in the file"):
        replace_text(data, "words of another line\n" * 50 + "y" * 5_000, "new", False)
    assert time.process_time() - start < 6
