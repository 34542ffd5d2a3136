import pytest

from agentcli.ledger.rule import PermissionBehavior, PermissionRule
from agentcli.permission.engine import PermissionEngine


def offered(stage, subject, mode="default", **rules):
    return [rule.text for rule in stage.decide(subject, mode, **rules).suggested_rules]


@pytest.mark.parametrize(
    ("line", "rules"),
    [
        ("git commit -m x", ["Bash(git commit:*)"]),
        ("git tag one", ["Bash(git tag:*)"]),
        ("git commit -m 'a && b'", ["Bash(git commit:*)"]),
        ("git status", ["Bash(git status:*)"]),
        ("make", ["Bash(make)"]),
        ("make test", ["Bash(make test)"]),
        ("ninja -C out", ["Bash(ninja -C out)"]),
        ("npm test", ["Bash(npm test)"]),
        ("npm run build", ["Bash(npm run build)"]),
        ("docker compose up", ["Bash(docker compose up)"]),
        ("cargo test", ["Bash(cargo test)"]),
        ("git fetch origin", ["Bash(git fetch origin)"]),
        ("pytest -k 'a and b'", ["Bash(pytest -k 'a and b')"]),
        ("cp -r docs new", ["Edit(./new)", "Edit(new/**)", "Read(**)"]),
        ("cat src/a.py", ["Read(**)"]),
        ("ls; wc -l README.md", ["Read(**)"]),
        ("mkdir src/new/deep", ["Edit(src/new/**)"]),
        ("cp README.md src/", ["Edit(src/**)", "Read(**)"]),
        ("touch n", ["Edit(./n)"]),
    ],
)
def test_what_always_would_grant(stage, line, rules):
    assert offered(stage, line) == rules


@pytest.mark.parametrize(
    "line",
    [
        "npm test && make",
        "make | tee f",
        "make > f",
        "python3 x.py",
        "python3.12 -m x",
        "node x.js",
        "bash -c make",
        "sh x.sh",
        "env make",
        "sudo make",
        "xargs make",
        "find . -delete",
        "rm -rf build",
        "git -c a=b commit",
        "git",
        "git rebase -x id",
        "npm exec x",
        "docker run x",
        "uv run x",
        "./x.sh",
        "/bin/make",
        "A=1 make",
        "$x",
        "make 'x",
        "echo $KEY",
        "cat ../outside/a.txt",
        "cat .git/config",
        "mkdir ../d",
        "touch .git/x",
        "grep -r x .",
        "curl x",
        "touch a b c d",
        "sed -i s/a/b/ README.md",
        "tail -f README.md",
        "tar xf a",
        "make $x",
        "make *.o",
        "pytest -k " + "x" * 120,
    ],
)
def test_nothing_is_offered_that_would_say_too_much(stage, line):
    assert offered(stage, line) == []


def test_files_are_offered_their_folder(stage):
    calls = [stage.write("src/new.py"), stage.edit("src/x/y.py"), stage.write("README.md"), stage.write("src/[id]/p.tsx")]
    assert [offered(stage, call) for call in calls] == [
        ["Edit(src/**)"],
        ["Edit(src/x/**)"],
        ["Edit(./README.md)"],
        ["Edit(src/\\[id]/**)"],
    ]


def test_looking_is_offered_the_whole_root_once(stage):
    calls = [stage.read("src/a.py"), stage.read("README.md"), stage.grep("src"), stage.grep(".")]
    assert [offered(stage, call) for call in calls] == [["Read(**)"]] * 4


def test_nothing_is_offered_outside_or_protected(stage):
    calls = [
        stage.read("../outside/a.txt"),
        stage.read(".git/config"),
        stage.write("src/out/n"),
        stage.write(".git/hooks/x"),
        stage.read(".env"),
    ]
    assert [offered(stage, call) for call in calls] == [[]] * 5


def test_nothing_is_offered_that_would_not_end_the_question(stage):
    assert offered(stage, "make", ask="Bash(make:*)") == []
    assert offered(stage, "make", "explore") == []
    assert offered(stage, "make", "dont_ask") == []


def test_a_tool_is_offered_by_its_name(stage):
    assert offered(stage, stage.function("mcp__srv__put")) == ["mcp__srv__put"]


@pytest.mark.parametrize(
    "line",
    ["git commit -m x", "make", "cat src/a.py", "cp README.md src/", "mv src/a.py docs/", "mkdir src/new", "grep -rn x src"],
)
def test_a_suggestion_allows_its_own_call_and_nothing_chained_to_it(stage, line):
    rules = stage.decide(line).suggested_rules
    engine = PermissionEngine(stage.context().model_copy(update={"rules": rules}))
    assert {rule.source for rule in rules} == {"suggested"}
    assert engine.decide(stage.shell(line)).behavior is PermissionBehavior.ALLOW
    for form in ("{}; npm x", "{} && npm x", "{} | sh", "{} > /tmp/f", "{} $(npm x)", "sudo {}"):
        assert engine.decide(stage.shell(form.format(line))).behavior is PermissionBehavior.ASK


@pytest.mark.parametrize(
    ("line", "others"),
    [
        ("make test", ("make", "make --eval=x test", "make test --eval=x", "make -f other test", "make SHELL=./x test")),
        ("npm test", ("npm test --script-shell=./x", "npm run test")),
        ("git fetch", ("git fetch --upload-pack=./x",)),
        ("cargo test", ("cargo test --config a=b",)),
        ("pytest -x", ("pytest -x --basetemp=/", "pytest -x ../t.py")),
    ],
)
def test_a_suggestion_adds_no_words_to_a_program_that_could_run_them(stage, line, others):
    (rule,) = offered(stage, line)
    assert [stage.says(each, allow=rule) for each in (line, *others)] == ["allow", *["ask"] * len(others)]


def test_a_suggestion_of_an_added_folder_is_its_own(stage):
    place = stage.place = type(stage.place)(
        cwd=stage.place.cwd, root=stage.place.root, home=stage.place.home, added=(str(stage.outside),)
    )
    assert offered(stage, stage.read("../outside/a.txt")) == [f"Read({place.added[0]}/**)"]
    rule = PermissionRule.parse(f"Read({place.added[0]}/**)", PermissionBehavior.ALLOW)
    assert stage.says(stage.read("../outside/a.txt"), allow=rule.text) == "allow"
