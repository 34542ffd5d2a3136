import shutil
import subprocess

import pytest

from agentcli.workspace.grep import Hit, Query, own_words, read_hit, ripgrep_words

PROGRAMS = ["own", pytest.param("rg", marks=pytest.mark.skipif(not shutil.which("rg"), reason="needs ripgrep"))]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.py").write_bytes(b"one\r\ntwo\nThree\nfour\n\nsix two\n")
    (tmp_path / "b.txt").write_text("two\n")
    (tmp_path / ".hidden").write_text("two\n")
    (tmp_path / "x.log").write_text("two\n")
    (tmp_path / "bin").write_bytes(b"two\0two\n")
    (tmp_path / ".gitignore").write_text("*.log\n")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("two\n")
    (tmp_path / "link").symlink_to(tmp_path / "b.txt")
    return tmp_path


def found(program, folder, pattern, path=".", **more):
    query = Query(pattern, str(folder / path).removesuffix("/."), str(folder), **more)
    words = own_words(query) if program == "own" else ripgrep_words(shutil.which("rg"), query)
    done = subprocess.run(words, capture_output=True, cwd="/", timeout=10)
    hits = [hit for line in done.stdout.decode().split("\n") if (hit := read_hit(line))]
    return [(hit.path.removeprefix(f"{folder}/"), hit.line, hit.text.rstrip("\r"), hit.match) for hit in hits]


@pytest.mark.parametrize("program", PROGRAMS)
class TestBothPrograms:
    def test_ignored_binary_and_linked_files_are_left_out(self, program, folder):
        wanted = [(".hidden", 1, "two", True), ("a.py", 2, "two", True), ("a.py", 6, "six two", True), ("b.txt", 1, "two", True)]
        assert found(program, folder, "two") == wanted

    def test_one_file_may_be_named_even_if_ignored(self, program, folder):
        assert found(program, folder, "two", "x.log") == [("x.log", 1, "two", True)]

    def test_glob_and_case(self, program, folder):
        assert found(program, folder, "TWO|three", glob="*.py", ignore_case=True) == [
            ("a.py", 2, "two", True),
            ("a.py", 3, "Three", True),
            ("a.py", 6, "six two", True),
        ]

    def test_lines_around_a_match_come_once(self, program, folder):
        lines = [(line, match) for _, line, _, match in found(program, folder, "two", "a.py", context=2)]
        assert lines == [(1, False), (2, True), (3, False), (4, False), (5, False), (6, True)]

    def test_a_pattern_that_looks_like_an_option_is_a_pattern(self, program, folder):
        assert found(program, folder, "--pre=touch x") == []


def test_a_line_of_the_answer_is_read_exactly():
    assert read_hit("a:1-b\x003:x:y") == Hit("a:1-b", 3, "x:y", True)
    assert [read_hit(line) for line in ("--", "", "words")] == [None, None, None]
