import random
import shutil
import subprocess

import pytest

from agentcli.permission.command import MAX_COMMANDS, MAX_EXACT, read_line, words_of
from agentcli.permission.word import Sort


def words(line):
    return [[word.text for word in part.words] for part in read_line(line).parts]


@pytest.mark.parametrize(
    ("line", "argvs"),
    [
        ("ls -la src", [["ls", "-la", "src"]]),
        ("  ls   -l\t", [["ls", "-l"]]),
        ("a 'b c' \"d e\" f'g'\"h\"", [["a", "b c", "d e", "fgh"]]),
        ('a "x\\$y\\`z\\"q\\\\" \'\\n\'', [["a", 'x$y`z"q\\', "\\n"]]),
        ("a '' \"\"", [["a", "", ""]]),
        ("a 'one\ntwo'", [["a", "one\ntwo"]]),
        ("a; b && c || d | e\nf", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a # b; c", [["a"]]),
        ("a b#c", [["a", "b#c"]]),
        ("a \\\n  b", [["a", "b"]]),
        ("a 2>/dev/null >&2 2>&1", [["a"]]),
        ("a b2>&1", [["a", "b2"]]),
        ("LC_ALL=C a", [["a"]]),
        ("[ -d src ]", [["[", "-d", "src", "]"]]),
        ("a ~/x", [["a", "~/x"]]),
    ],
)
def test_the_exact_reading(line, argvs):
    assert words(line) == argvs


@pytest.mark.parametrize(
    "line",
    [
        "a $(b)",
        "a `b`",
        "a <(b)",
        "a ${b:-c}",
        "a $((1))",
        "$'a' b",
        '$"a" b',
        "a {b,c}",
        "a b\\c",
        "a\\\nb",
        "a --p\\\nre=x",
        "a [b]",
        "a !b",
        "a & b",
        "a |& b",
        "! a",
        "{ a; }",
        "(a)",
        "if a; then b; fi",
        "for a in b; do c; done",
        "a() { b; }",
        "a <<E\nx\nE",
        "a <<< b",
        "a <> b",
        "a > $b",
        "a > b c",
        "a -i1>&2",
        "a \\ \n",
        'a "b$"',
        "a < /dev/tcp/x/1",
        "a=b",
        "export a=b",
        "[[ -d a ]]",
        "[ -d a -o -d b ]",
        "a\rb",
        "a\x0bb",
        "a\x0cb",
        "a\0b",
        "a\u00a0b",
        "a\u202eb",
        "a\u200bb",
        "a\ufeff",
        "a 'b",
        'a "b',
        "a)",
        "a &&",
        "| a",
        "then",
        "time",
        "$a",
        "~/x",
        "",
        "a " + "b" * MAX_EXACT,
        "a;" * (MAX_COMMANDS + 1),
    ],
)
def test_what_has_no_exact_reading(line):
    parts = read_line(line).parts
    assert parts == () or line == "time"


def test_words_that_only_bash_knows_are_marked():
    assert [(word.text, word.sort) for word in read_line('a *.py "$x" $HOME/y').parts[0].words] == [
        ("a", Sort.SURE),
        ("*.py", Sort.GLOB),
        ("$x", Sort.VARIABLE),
        ("~/y", Sort.VARIABLE),
    ]


def test_redirections_are_told_apart():
    (part,) = read_line("a < b > c 2>> d &> e 2>/dev/null").parts
    assert ([word.text for word in part.reads], [word.text for word in part.writes]) == (["b"], ["c", "d", "e"])


def test_an_assignment_may_change_what_the_words_mean():
    assert [read_line(line).parts[0].plain for line in ("LC_ALL=C ls", "PATH=. ls", "LC_ALL=$x ls")] == [True, False, False]


def test_the_loose_reading_finds_every_program():
    found = read_line('a $(b "$(c)") | timeout 5 d; if e; then f; fi').found
    assert sorted(words[0].text for words in found) == ["a", "b", "c", "d", "e", "f", "timeout"]


@pytest.mark.parametrize(
    "line", ["a" * 70_000, "(" * 5_000, "$(" * 3_000 + ")" * 3_000, "a;" * 20_000, "eval " * 2_000 + "a"], ids=range(5)
)
def test_any_size_and_depth_has_an_answer(line):
    assert read_line(line).unproven


def test_words_of_one_plain_command():
    assert (words_of("git commit -m 'a b'"), words_of("a; b"), words_of("a $x")) == (("git", "commit", "-m", "a b"), None, None)


PIECES = [
    "stub",
    " ",
    "\t",
    "\n",
    ";",
    "&&",
    "||",
    "'",
    '"',
    "\\",
    "a",
    "b",
    "-x",
    "=",
    "#",
    "~",
    "$",
    "$a",
    "{",
    "}",
    "*",
    "(",
    ")",
    "[",
    "]",
    "]]",
    "!",
    "`",
    "&",
    "<",
    ">",
    "é",
    "\u2028",
    "\r",
    "1",
    ",",
    "%",
    "^",
    ":",
    "\\\n",
    "2>&1",
]


def lines(count):
    chance = random.Random(7)
    return ["stub " + "".join(chance.choice(PIECES) for _ in range(chance.randrange(1, 9))) for _ in range(count)]


bash = shutil.which("bash") or ""


@pytest.mark.skipif(not bash, reason="compares with bash")
def test_an_exact_reading_is_what_bash_runs(tmp_path):
    compared = 0
    for line in lines(12_000):
        parts = read_line(line).parts
        plain = parts and all(word.sort is Sort.SURE and not word.home for part in parts for word in part.words)
        if not plain or any(part.words[0].text != "stub" or part.writes or part.reads or part.after == "||" for part in parts):
            continue
        if compared >= 150:
            break
        compared += 1
        script = 'stub() { printf \'%s\\0\' "$#" "$@"; }\n' + line
        done = subprocess.run(
            [bash, "--norc", "-c", script], cwd=tmp_path, capture_output=True, env={"PATH": "/nowhere", "LANG": "C.UTF-8"}
        )
        said = [text for part in parts for text in (str(len(part.words) - 1), *(word.text for word in part.words[1:]))]
        assert done.stdout.decode() == "".join(text + "\0" for text in said), line
    assert compared > 100
