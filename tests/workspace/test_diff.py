import difflib
import time

from hypothesis import given
from hypothesis import strategies as st

from agentcli.workspace.diff import Diff, unified

TEXT = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n"]), max_size=30).map("".join)


def test_a_change_a_new_file_and_a_missing_newline():
    assert unified("one\ntwo\n", "one\nthree\n", "a") == Diff("--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n", 1, 1)
    assert unified(None, "x\n", "a") == Diff("--- /dev/null\n+++ b/a\n@@ -0,0 +1,1 @@\n+x\n", 1, 0)
    assert unified("x", "y", "a").text.endswith("-x\n\\ No newline at end of file\n+y\n\\ No newline at end of file\n")
    assert unified("x", "x", "a") == Diff("", 0, 0)


@given(TEXT, TEXT)
def test_a_diff_applied_gives_the_new_text(before, after):
    assert applied(before, unified(before, after, "f").text or None) == after


def applied(before: str, text: str | None) -> str:
    if text is None:
        return before
    old, out, at = before.splitlines(True), [], 0
    for line in text.splitlines(True)[2:]:
        if line.startswith("@@"):
            start, count = map(int, line.split()[1][1:].split(","))
            start -= bool(count)
            out += old[at:start]
            at = start
        elif line[0] == "+":
            out.append(line[1:])
        else:
            assert old[at] == line[1:]
            at += 1
            out += [line[1:]] if line[0] == " " else []
    return "".join(out + old[at:])


def test_far_changes_are_parted_as_others_do_it():
    before = [f"{number}\n" for number in range(40)]
    after = [*before[:5], "x\n", *before[6:30], "y\n", *before[31:]]
    ours = unified("".join(before), "".join(after), "f").text
    assert ours == "".join(difflib.unified_diff(before, after, "a/f", "b/f"))


def test_a_large_change_is_quick():
    began = time.monotonic()
    diff = unified("".join(f"a{n}\n" for n in range(30_000)), "".join(f"b{n}\n" for n in range(30_000)), "f")
    assert (diff.summary, time.monotonic() - began < 1) == ("+30000 -30000", True)
