from agentcli.frontend.tui.transcript.diff import counts, diff_rows, file_rows
from tests.frontend.tui.looks import INK, words

DIFF = """--- a/x
+++ b/x
@@ -9,3 +9,3 @@ def f():
 one
-    two
+    2\x1b[2J
 three
@@ -40 +40 @@
-a
+b
\\ No newline at end of file
"""


def test_lines_have_numbers_and_signs_and_nothing_hides():
    assert words(diff_rows(DIFF, INK, 40)) == [
        " 9   one",
        "10 -     two",
        "10 +     2␛[2J",
        "11   three",
        "   ⋮",
        "40 - a",
        "40 + b",
        "     No newline at end of file",
    ]


def test_a_long_line_is_broken_not_cut():
    rows = words(diff_rows("@@ -1 +1 @@\n+" + "x" * 50, INK, 24))
    assert "".join(row.replace("1 +", "").strip() for row in rows) == "x" * 50


def test_counts():
    assert counts(DIFF) == (2, 2)


def test_a_new_file_says_how_it_ends():
    assert words(file_rows("a\nb\n", INK, 40)) == ["1 + a", "2 + b"]
    assert words(file_rows("a", INK, 60)) == ["1 + a", "    no newline at the end of the file"]
    assert words(file_rows("", INK, 40)) == ["    an empty file"]


def test_a_removed_line_that_looks_like_a_header_is_shown():
    assert words(diff_rows("--- a\n+++ b\n@@ -1 +1 @@\n--- secret\n+++ other", INK, 40)) == ["1 - -- secret", "1 + ++ other"]
