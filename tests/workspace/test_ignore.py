import time

import pytest

from agentcli.workspace.ignore import ignore_file, matches
from agentcli.workspace.pattern import braces, fits
from agentcli.workspace.walk import Walk

RULES = [
    ("*.log", "a/b.log", False, True),
    ("*.log", "a/b.txt", False, None),
    ("build/", "build", True, True),
    ("build/", "build", False, None),
    ("/top", "top", False, True),
    ("/top", "a/top", False, None),
    ("a/*.c", "a/x.c", False, True),
    ("a/*.c", "a/b/x.c", False, None),
    ("**/x", "a/b/x", False, True),
    ("a/**", "a/b/c", False, True),
    ("a/**", "a", True, None),
    ("a/**/z", "a/z", False, True),
    ("*.log\n!keep.log", "keep.log", False, False),
    ("!keep.log\n*.log", "keep.log", False, True),
    ("# note\n\n", "# note", False, None),
    ("\\#x", "#x", False, True),
    ("\\!x", "!x", False, True),
    ("x  ", "x", False, True),
    ("[!a].c", "b.c", False, True),
    ("[^a].c", "a.c", False, None),
    ("?.c", "a.c", False, True),
    ("*", "a/b", False, True),
]


@pytest.mark.parametrize(("text", "path", "folder", "wanted"), RULES)
def test_rules_mean_what_git_means(text, path, folder, wanted):
    found = ignore_file(text)
    assert (found.verdict(path.split("/"), folder) if found else None) is wanted


def test_a_hostile_pattern_takes_no_time():
    began = time.monotonic()
    matches(["a" * 250], ["*a" * 60 + "b"])
    matches(["a"] * 200, ["**", "a"] * 60 + ["b"])
    assert time.monotonic() - began < 1


def test_braces_and_fits():
    assert braces("*.{py,{c,h}}") == ["*.py", "*.c", "*.h"] or set(braces("*.{py,{c,h}}")) == {"*.py", "*.c", "*.h"}
    assert len(braces("{a,b}" * 12)) <= 64
    assert [fits(path, ["*.py"]) for path in ("a.py", "a/b.py", "a.pyc")] == [True, True, False]
    assert [fits(path, ["a/*.py"]) for path in ("a/b.py", "b/a/b.py")] == [True, False]


def tree(root, *names):
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x\n")


def names(walk):
    return [entry.relative + "/" * entry.folder for entry in walk.entries()]


def test_a_walk_leaves_out_ignored_files_git_and_links(tmp_path):
    tree(tmp_path, ".git/config", "a/keep.py", "a/x.log", "a/deep/y.tmp", "a/deep/z.tmp", "build/out", "b.py")
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\n")
    (tmp_path / "a/deep/.gitignore").write_text("*.tmp\n!z.tmp\n")
    (tmp_path / "loop").symlink_to(tmp_path)
    walk = Walk(str(tmp_path), str(tmp_path), lambda path: True)
    everything = [".gitignore", "a/", "b.py", "loop", "a/deep/", "a/keep.py", "a/deep/.gitignore", "a/deep/z.tmp"]
    assert names(walk) == everything


def test_rules_of_folders_above_hold_below(tmp_path):
    tree(tmp_path, "a/b/x.log", "a/b/y.py")
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / "a/.gitignore").write_text("/b/y.py\n")
    assert names(Walk(str(tmp_path / "a/b"), str(tmp_path), lambda path: True)) == []


def test_an_ignored_folder_that_is_named_is_walked(tmp_path):
    tree(tmp_path, "build/out")
    (tmp_path / ".gitignore").write_text("build/\n")
    assert names(Walk(str(tmp_path / "build"), str(tmp_path), lambda path: True)) == ["out"]


def test_what_may_not_be_looked_at_is_counted(tmp_path):
    tree(tmp_path, "secret/a", "secret/b", "open")
    walk = Walk(str(tmp_path), str(tmp_path), lambda path: not path.endswith("secret"))
    assert (names(walk), walk.kept_out) == (["open"], 1)
