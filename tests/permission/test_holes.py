import os

import pytest

DENY = {"deny": "Read(secrets/**)"}


@pytest.fixture
def stage(stage):
    held = ("dd/f", "dd/keep", "s/.envrc", "s/.husky/pre-commit", "plain/a", "plain/b/c", "vault/secrets/k")
    for name in held:
        stage.file(stage.project / name)
    (stage.project / "e2/dd").mkdir(parents=True)
    stage.link("e2/dd/f", stage.outside / "a.txt")
    stage.link("leads", stage.outside / "a.txt")
    stage.link("proc", "/proc/self/cwd")
    return stage


# Names that are another thing for each process.


@pytest.fixture(
    params=["/proc/self/cwd", "/proc/thread-self/cwd", "/proc/1/cwd", "proc", "/proc/self/root{}", "/dev/..{}", "/proc/..{}"]
)
def way(request, stage):
    return request.param.format(stage.project)


def test_a_denied_file_is_not_read_through_a_process(stage, way):
    calls = [stage.read(f"{way}/secrets/k"), stage.grep(f"{way}/secrets"), stage.shell(f"cat {way}/secrets/k")]
    assert [stage.row(call, **DENY) for call in calls] == [["deny"] * 5] * 3


def test_a_denied_file_is_not_changed_through_a_process(stage, way):
    lines = (f"echo x > {way}/a.txt", f"touch {way}/a.txt", f"cp README.md {way}/a.txt")
    assert [stage.says(line, "accept_edits", deny="Edit(a.txt)") for line in lines] == ["deny"] * 3
    assert stage.says(stage.write(f"{way}/a.txt"), "bypass", deny="Edit(a.txt)") == "deny"


@pytest.mark.parametrize(
    "path", ["/proc/self/fd/3", "/dev/fd/3", "/dev/stdin", "/proc/*/cwd/secrets/k", "/p*/self/cwd/secrets/k"]
)
def test_what_only_the_process_knows_is_asked_where_a_rule_might_concern_it(stage, path):
    assert stage.row(f"cat {path}", **DENY) == ["ask", "ask", "deny", "ask", "deny"]
    assert stage.says(f"cat {path}", "accept_edits") == "ask"


# Words that name files.


@pytest.mark.parametrize(
    "line",
    [
        "grep -f secrets/k x",
        "grep -fsecrets/k x",
        "wc --files0-from=secrets/k",
        "xargs -a secrets/k echo",
        "less secrets/k",
        "curl -d@secrets/k x",
        "docker run -v secrets/k:/x y",
        "git show HEAD:secrets/k",
        "git diff",
        "git log -p",
        "tar cf - .",
        "cat $x",
        "ls | xargs cat",
    ],
)
def test_a_program_that_may_read_a_denied_file_is_asked(stage, line):
    assert (stage.says(line, "bypass", **DENY), stage.says(line, "bypass")) == ("ask", "allow")


@pytest.mark.parametrize(
    "line", ["git add .", "git log", "make", "python3 x.py", "pytest src", "git diff -- src", "echo secrets/k"]
)
def test_a_program_that_names_nothing_denied_is_not_asked(stage, line):
    assert stage.says(line, "bypass", **DENY) == "allow"


@pytest.mark.parametrize("line", ["(cat < secrets/k)", "cat $PWD/secrets/k", "diff secrets docs", "if true; then cat s*/k; fi"])
def test_a_denied_file_is_found_where_it_is_named_otherwise(stage, line):
    assert stage.says(line, "bypass", **DENY) == "deny"


# Copies and moves of folders.


@pytest.mark.parametrize(
    "line",
    [
        "cp -r dd e2",
        "cp -r s/. .",
        "cp -r s copy",
        "mv s moved",
        "cp s/.envrc .",
        "cp README.md leads",
        "cp -t src/out README.md",
        "mkdir q && cp conftest.py q",
        "cp -r plain q && cp -r q/. .",
        "cp -r plain q && cat q/a",
        "cp -P leads l && cp README.md l",
        "cp -rL plain q",
        "cp -r ../outside q",
        "mv later q",
        "cp -r plain/.. q",
    ],
)
def test_a_copy_whose_end_is_not_harmless_is_asked(stage, line):
    assert stage.says(line, "accept_edits") == "ask"


@pytest.mark.parametrize(
    "line", ["cp -r plain copy", "mv plain moved", "cp -r plain/. src", "mkdir -p q && mv README.md q", "cp -r dd e3"]
)
def test_a_copy_of_what_is_harmless_is_a_simple_change(stage, line):
    assert stage.says(line, "accept_edits") == "allow"


def test_a_folder_with_too_much_in_it_is_asked(stage):
    for number in range(2_001):
        (stage.project / f"plain/b/{number}").touch()
    assert stage.says("cp -r plain copy", "accept_edits") == "ask"
    assert stage.says("cp -r plain copy", "bypass", deny="Edit(copy/x)") == "ask"


@pytest.mark.parametrize("mode", ["accept_edits", "bypass"])
def test_what_a_folder_holds_meets_the_deny_rules(stage, mode):
    assert [stage.says(line, mode, deny="Edit(e2/dd/keep)") for line in ("cp -r dd e2", "mv dd e2")] == ["deny"] * 2
    assert [stage.says(line, mode, deny="Read(vault/secrets/**)") for line in ("mv vault v9", "cp -r vault v9")] == ["deny"] * 2
    assert stage.says("mv plain moved", mode, deny="Read(vault/secrets/**)") == "allow"


# Removals.


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf ~root",
        "rm -rf ~+",
        "rm -rf ./",
        "rm -rf $PWD",
        'rm -rf "$PWD"/',
        "rm -rf ../project",
        'rm -rf -- "$HOME"',
        'rm -rf "${HOME:?}"',
        "rm -rf $HOME/*",
        "rm -rf $x",
        "rm -rf $x/build",
        'rm -rf "$(pwd)"',
        "rm -rf {.git,build}",
        "rm -rf .*",
        "cd / && rm -rf *",
        "cd $x && rm -rf build",
        "find / -delete",
        "find -L / -delete",
        "find . -type f -delete",
        "find . -name '*' -delete",
        "find . ! -name x -delete",
        "find $x -name y -delete",
        "find . -exec rm -rf {} +",
        "find . -exec sudo rm -rf '{}' \\;",
        "find . -exec sh -c 'rm -rf \"$1\"' _ {} +",
        "find / -name x -exec rm -rf {} +",
        "find . | xargs rm -rf",
        "ls | xargs -I{} rm -rf {}",
        "ls | xargs -I % rm -rf %",
        "sh -c 'rm -rf $1' x /",
        "rm -rf /proc/self/cwd",
    ],
)
def test_a_removal_of_what_matters_or_cannot_be_told_is_asked_in_every_mode(stage, line):
    assert stage.row(line) == ["ask", "ask", "deny", "ask", "deny"]


@pytest.mark.parametrize(
    "line",
    [
        "rm -rf build",
        "rm -rf {build,dist}",
        "rm -rf $PWD/build",
        "rm -f *.py[co]",
        "rm -rf '~root'",
        "find . -name '*.pyc' -delete",
        "find . -name '*.pyc' -exec rm {} +",
        "find src -type d -empty -delete",
    ],
)
def test_a_removal_of_what_is_named_is_not_asked_in_bypass(stage, line):
    assert stage.says(line, "bypass") == "allow"


def test_what_is_fed_to_a_program_does_not_hide_it_from_an_exact_rule(stage):
    assert stage.says("ls | xargs curl", "bypass", deny="Bash(curl)") == "deny"


def test_a_hard_link_is_read_under_its_own_name(stage):
    os.link(stage.project / "secrets/k", stage.project / "other")
    assert stage.says(stage.read("other"), "bypass", **DENY) == "allow"
