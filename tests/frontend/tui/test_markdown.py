import pytest

from agentcli.frontend.tui.transcript.markdown import markdown_rows
from tests.frontend.tui.looks import INK, words


def shown(source, width=40):
    return words(markdown_rows(source, INK, width))


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("# Title\ntext", ["Title", "", "text"]),
        ("one\ntwo", ["one", "two"]),
        ("- a\n- b\n  - c", ["• a", "• b", "  • c"]),
        ("9. a\n10. b", [" 9. a", "10. b"]),
        ("> quote", ["▏ quote"]),
        ("[docs](http://evil.test)", ["docs (http://evil.test)"]),
        ("<http://a.test>", ["http://a.test"]),
        ("![x](http://evil.test/?q=S)", ["image: x (http://evil.test/?q=S)"]),
        ("<b>bold</b>", ["<b>bold</b>"]),
        ("a [bold]x[/bold] [/nope]", ["a [bold]x[/bold] [/nope]"]),
        ("x &#x202e; y", ["x <U+202E> y"]),
        ("`a\x1b[2J`x", ["ax"]),
        ("```python\nx = 1\n```", [" x = 1"]),
        ("```nolanguage\nx\n```", [" x"]),
        ("    indented", [" indented"]),
        ("| a | b |\n|---|---|\n| 1 | two |", ["a  b", "──────", "1  two"]),
        ("", []),
    ],
)
def test_markdown(source, lines):
    assert shown(source) == lines


def test_long_words_and_wide_tables_stay_inside():
    source = "x" * 100 + "\n\n| a | b |\n|---|---|\n| " + "word " * 20 + "| " + "y" * 50 + " |"
    assert all(len(line) <= 40 for line in shown(source))


def test_what_is_nested_too_deep_is_shown_plainly():
    assert "deep" in "".join(shown("> " * 60 + "deep", 20))
    assert "x59" in "".join(shown("".join("  " * n + f"- x{n}\n" for n in range(60)), 20))
