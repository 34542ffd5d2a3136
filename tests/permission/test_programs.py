import pytest

from agentcli.permission.programs import PROGRAMS
from agentcli.permission.sed import prints_only


@pytest.mark.parametrize(
    "line",
    [
        "cat -n src/a.py",
        "head -n 3 README.md",
        "head -20 README.md",
        "tail -n +5 README.md",
        "wc -l src/*.py",
        "cut -d: -f1 README.md",
        "tr a-z A-Z < README.md",
        "diff -u README.md docs/a.md",
        "uniq -c README.md",
        "grep -rn x src",
        "grep -e x -e y README.md",
        "grep -C 2 x README.md",
        "rg -n x src",
        "rg --files -g '*.py'",
        "find . -name '*.py' -type f",
        "find src -maxdepth 2 -newer README.md -print0",
        "stat -c %s README.md",
        "file README.md",
        "du -sh .",
        "df -h .",
        "tree -L 2",
        "ls -la",
        "pwd",
        "cd src && ls",
        "whoami",
        "id -u",
        "uname -a",
        "date +%F",
        "printf '%s\\n' x",
        'echo $HOME "$PATH"',
        "seq 1 5",
        "expr 2 + 2",
        "basename a/b .b",
        "realpath README.md",
        "test -f README.md",
        "[ -d src ] && echo yes",
        "type ls",
        "command -v ls",
        "which ls",
        "sha256sum README.md",
        "base64 README.md",
        "od -c README.md",
        "xxd -l 16 README.md",
        "strings -n 8 README.md",
        "column -t README.md",
        "sed -n '1,20p' README.md",
        "sed 's/a/b/g;$d' README.md",
        "jq -r '.a | keys[]' README.md",
        "ps aux",
        "git --version",
        "LC_ALL=C ls 2>/dev/null",
    ],
)
def test_proven_read_only(stage, line):
    assert stage.says(line, "explore") == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "sort -o f README.md",
        "sort README.md",
        "uniq README.md f",
        "find . -delete",
        "find . -fprint f",
        "find . -exec rm {} +",
        "find . '-delete'",
        "find . -ok rm {} ;",
        "find *",
        "rg --pre ./x y",
        "rg --pre=./x y",
        "rg -z y",
        "rg -f p y",
        "rg -L x",
        "grep -f p x",
        "grep -R x .",
        "sed -i s/a/b/ README.md",
        "sed -ni 1p README.md",
        "sed -n 'w f' README.md",
        "sed 's/a/b/w f' README.md",
        "sed '1e id' README.md",
        "sed s/a/b/e README.md",
        "sed -f p README.md",
        "sed -n 1p *",
        "tree -o f",
        "tree -R",
        "file -C -m x",
        "date -s 12:00",
        "date 01010000",
        "hostname evil",
        "xxd -r a b",
        "xxd a b",
        "od -w /etc/passwd",
        "strings -T x README.md",
        "strings @list",
        "strings -- '@list'",
        "strings -n @list README.md",
        "sha256sum -c sums",
        "md5sum --check sums",
        "b2sum -c sums",
        "cksum -c sums",
        "file -f names",
        "du -X names .",
        "diff --from-file=a b",
        "jq '\"m\" | modulemeta' README.md",
        "find -files0-from names",
        "xargs -a names cat",
        "base64 a b",
        "tail -f README.md",
        "wc --files0-from=x",
        "du --files0-from=x",
        "diff -l a b",
        "ps e",
        "ps auxe",
        "jq env README.md",
        "jq -n '$ENV'",
        "jq -f p README.md",
        "echo $OPENAI_API_KEY",
        "printf -v a x",
        "printf %n 'a[$(id)]'",
        "printf '%(%F)T'",
        "test -v 'a[$(id)]'",
        "[ -v a ]",
        "test 'a[$(id)]' -eq 1",
        "command ls",
        "cd -",
        "cd a b",
        "pushd src",
        "id root",
        "less README.md",
        "awk 1 README.md",
        "env",
        "printenv",
        "./ls",
        "/tmp/ls",
        "bin/cat README.md",
        "ls --colo",
        "cat --sho README.md",
        "cat -Q README.md",
        "git status",
        "git -c a=b log",
        "git log",
        "tee f",
        "xargs ls",
        "nohup ls",
        "time ls",
        "nice ls",
        "sudo ls",
        "\\ls",
        "l''s;rm x",
        "ls -la | sh",
        "mkfifo p",
        "ln -s a b",
        "export A=1",
        "set -x",
        "ulimit -c 0",
        "exec 3>f",
        "exit 0",
        "shopt -s x",
        "wait",
        "read x",
    ],
)
def test_not_proven_read_only(stage, line):
    assert stage.row(line)[2] == "deny"


def test_a_file_whose_name_is_an_option_is_no_operand(stage):
    assert stage.says("cat *", "explore") == "allow"
    stage.file(stage.project / "-n")
    assert stage.says("cat *", "explore") == "deny"


def test_a_glob_may_not_become_a_list_of_files(stage):
    stage.file(stage.project / "docs/b")
    assert stage.says("cd docs && strings *", "explore") == "allow"
    stage.file(stage.project / "docs/@b")
    assert stage.says("cd docs && strings *", "explore") == "deny"


def test_a_glob_is_the_files_that_it_names(stage):
    stage.link("docs/key.md", stage.home / ".ssh/id_rsa")
    assert [stage.says(line, "explore") for line in ("cat src/*.py", "cat docs/*.md", "cat src/out/*.txt", "cat .*")] == [
        "allow",
        "ask",
        "ask",
        "deny",
    ]


def test_a_cd_moves_what_is_named_after_it(stage):
    lines = (
        "cd src && cat a.py",
        "cd .. && cat outside/a.txt",
        "cd src/out && cat a.txt",
        "cd src; cat ../../x",
        "cd nowhere; cat ../x",
        "cd $x && cat a",
    )
    assert [stage.says(line, "explore") for line in lines] == ["allow", "ask", "ask", "ask", "ask", "deny"]


def test_a_quoted_tilde_is_a_name(stage):
    assert [stage.says(line, "explore") for line in ("cat ~/x", "cat '~/x'")] == ["ask", "allow"]


@pytest.mark.parametrize(
    "script",
    [
        "p",
        "5p",
        "$p",
        "1,20p",
        "/x/d",
        "/x/,/y/p",
        "2q",
        "s/a/b/",
        "s|a|b|gI",
        "1,3s/a/b/",
        "s/a/b/;s/c/d/",
        "s/[ab]/c/",
        "$!d",
        "/x/,+3p",
    ],
)
def test_scripts_of_sed_that_only_print(script):
    assert prints_only(script)


@pytest.mark.parametrize(
    "script",
    [
        "w f",
        "r f",
        "e id",
        "1e",
        "s/a/b/w f",
        "s/a/b/e",
        "s/a/b/;w f",
        "s/[/]w f/x/",
        "s/a\\\\/b/w f/",
        "/[/]/w f/d",
        "a\\\nx",
        "{p}",
        "p\nw f",
        "s/a",
        "",
        "y/a/b/",
        "i x",
    ],
)
def test_scripts_of_sed_that_may_do_more(script):
    assert not prints_only(script)


def test_every_row_says_why():
    assert all(program.why for program in PROGRAMS.values())
