import pytest

from agentcli.ledger.rule import PermissionBehavior, PermissionRule
from agentcli.permission.engine import covers

CHAINS = ("{} && touch f", "{}; touch f", "{} || touch f", "{} | tee f", "{} & touch f", "{}\ntouch f", "{} |& tee f")
HIDDEN = ('{} "$(touch f)"', "{} `touch f`", "{} <(touch f)", "{} > f", "{} >> f", "{} >| f", "{} &> f", "{} ${{x:=$(touch f)}}")


# Words of a shell line.


@pytest.mark.parametrize(
    "line", ["git commit", "git commit -m x", "  git  commit -m x", "git commit -m 'a && b; c | d'", 'git commit "$x" *.py']
)
def test_words_and_further_ones_are_allowed(stage, line):
    assert stage.says(line, allow="Bash(git commit:*)") == "allow"


@pytest.mark.parametrize(
    "line",
    [
        *(form.format("git commit -m x") for form in (*CHAINS, *HIDDEN)),
        "touch f; git commit",
        "git commit-tree x",
        "git commitx",
        "GIT commit",
        "./git commit",
        "/tmp/git commit",
        "git -C x commit",
        "git -c a=b commit",
        "git $x commit",
        "$x git commit",
        "sudo git commit",
        "xargs git commit",
        "bash -c 'git commit'",
        "PATH=. git commit",
        "LD_PRELOAD=x git commit",
        "git() { touch f; }; git commit",
        "alias git=touch; git commit",
        "if git commit; then touch f; fi",
        "(git commit; touch f)",
        "git commit -m 'x",
        "git commit &&",
        "git commit -F - <<EOF\nx\nEOF\ntouch f",
        "git commit -m x\rtouch f",
        "git\u00a0commit",
        "git com\u200bmit",
        "git commit\0; touch f",
    ],
)
def test_nothing_beside_the_words_is_allowed(stage, line):
    assert stage.says(line, allow="Bash(git commit:*)") == "ask"


def test_every_part_needs_a_rule_or_must_be_known(stage):
    rules = {"allow": ["Bash(git add:*)", "Bash(git commit:*)", "Read(**)"]}
    lines = ("git add . && git commit -m x", "cat src/a.py; git commit", "cd src && git add .", "git add . && git push")
    assert [stage.says(line, **rules) for line in lines] == ["allow", "allow", "allow", "ask"]


def test_a_rule_without_a_star_is_that_command_exactly(stage):
    lines = ("make test", "make test2", "make test -j8", "make", "mktest x")
    assert [stage.says(line, allow="Bash(make test)") for line in lines] == ["allow", "ask", "ask", "ask", "ask"]


def test_a_rule_for_the_whole_tool_covers_every_line_that_can_be_read(stage):
    lines = ("make", "for f in a; do rm $f; done", "make > f", "make 'x", "$x y")
    assert [stage.says(line, allow="Bash") for line in lines] == ["allow", "allow", "allow", "ask", "ask"]


def test_a_redirection_needs_a_rule_for_its_file(stage):
    assert stage.says("make > src/log", allow=["Bash(make:*)"]) == "ask"
    assert stage.says("make > src/log", allow=["Bash(make:*)", "Edit(src/**)"]) == "allow"


@pytest.mark.parametrize(
    "line",
    [
        "curl",
        "  curl x",
        "echo a; curl x",
        "echo a | curl -d @- x",
        "echo a & curl x",
        "ls\ncurl x",
        "'curl' x",
        "cu''rl x",
        "c\\url x",
        "/usr/bin/curl x",
        "../bin/curl x",
        "echo $(curl x)",
        "echo `curl x`",
        'echo "$(curl x)"',
        "cat <(curl x)",
        "(curl x)",
        "{ curl x; }",
        "! curl x",
        "if true; then curl x; fi",
        "f() { curl x; }; f",
        "x=$(curl y) make",
        "cat <<EOF\n$(curl x)\nEOF",
        "> f curl x",
        "env A=1 curl x",
        "env -i curl x",
        "command curl x",
        "nice -n 5 curl x",
        "timeout 5 nice env /usr/bin/curl x",
        "timeout -k 1 5 curl x",
        "xargs -n1 curl",
        "sudo -u bob curl x",
        "time -p curl x",
        "coproc curl x",
        "find . -exec curl {} +",
        "bash -c 'curl x'",
        "bash -lc 'ls; curl x'",
        "env -S 'curl x'",
        "eval 'cu''rl x'",
        "true && " * 60 + "curl x",
    ],
)
def test_a_denied_program_is_found_wherever_it_is_named(stage, line):
    assert stage.row(line, deny="Bash(curl:*)") == ["deny"] * 5


@pytest.mark.parametrize(
    "line",
    [
        "curl 'x",
        "make &&",
        "$x y",
        "a=curl; $a x",
        "c{u,}rl x",
        "/usr/bin/cur? x",
        "cu\\\nrl x",
        "echo x | sh",
        'sh -c "$x"',
        "timeout --odd 5 curl",
        ". ./x.sh",
        "alias ls=curl\nls",
        "echo ${x@P}",
        "git\u200b x",
        "curl\rx",
        "x" * 70_000,
    ],
)
def test_what_cannot_be_read_is_asked_where_a_rule_might_concern_it(stage, line):
    assert stage.row(line, deny="Bash(curl:*)") == ["ask", "ask", "deny", "ask", "deny"]
    assert stage.says(line, "bypass", ask="Bash(curl:*)") == "ask"
    assert stage.says(line, "bypass") == "allow"


def test_options_before_a_denied_word_do_not_hide_it(stage):
    lines = ("git push", "git -C x push", "git -c a.b=c push -f", "git $x push", "git log", "git -C x log")
    assert [stage.says(line, "bypass", deny="Bash(git push:*)") for line in lines] == [
        "deny",
        "ask",
        "ask",
        "ask",
        "allow",
        "allow",
    ]


@pytest.mark.parametrize("line", ["make x", "curlew x", "echo curl", "for f in a; do echo $f; done"])
def test_a_deny_rule_concerns_its_program_alone(stage, line):
    assert stage.says(line, "bypass", deny="Bash(curl:*)") == "allow"


# Paths.


@pytest.mark.parametrize(
    ("rule", "path", "answer"),
    [
        ("Write(src/**)", "src/a.py", "allow"),
        ("Write(src/**)", "src/new/deep/n.py", "allow"),
        ("Write(src/**)", "src/[id]/page.tsx", "allow"),
        ("Write(src/**)", "./src//x/../a.py", "allow"),
        ("Write(src/**)", "alias/a.py", "allow"),
        ("Write(src/**)", "src/../docs/a.md", "ask"),
        ("Write(src/**)", "srcx/a.py", "ask"),
        ("Write(src/**)", "src-evil/a.py", "ask"),
        ("Write(src/**)", "src/out/a.txt", "ask"),
        ("Write(src/**)", "src/..", "ask"),
        ("Write(**)", "../outside/a.txt", "ask"),
        ("Write(**)", "src/a.py", "allow"),
        ("Write(*.md)", "docs/a.md", "allow"),
        ("Write(docs/*)", "docs/a.md", "allow"),
        ("Write(docs/*)", "docs/x/a.md", "ask"),
        ("Write(./README.md)", "README.md", "allow"),
        ("Write(./README.md)", "docs/README.md", "ask"),
        ("Write(README.md)", "docs/README.md", "allow"),
        ("Write(**/x/*.py)", "src/x/y.py", "allow"),
        ("Write(src/**/y.py)", "src/y.py", "allow"),
        ("Write(src/?.py)", "src/a.py", "allow"),
        ("Write(src/[!b].py)", "src/a.py", "allow"),
        ("Write(src/[!a].py)", "src/a.py", "ask"),
        ("Write(src/\\[id\\]/**)", "src/[id]/p", "allow"),
        ("Write(src/[id]/**)", "src/[id]/p", "ask"),
        ("Write(~/notes/**)", "~/notes/a", "allow"),
        ("Write(~/notes/**)", "~/notes/../other", "ask"),
        ("Edit(src/**)", "src/a.py", "allow"),
        ("Read(src/**)", "src/a.py", "ask"),
        ("Read", "src/a.py", "ask"),
    ],
)
def test_file_rules_compare_resolved_paths(stage, rule, path, answer):
    assert stage.says(stage.write(path), allow=rule) == answer


def test_write_covers_write_alone(stage):
    assert stage.says(stage.edit("src/a.py"), allow="Write(src/**)") == "ask"
    assert stage.says(stage.edit("src/a.py"), deny="Write(src/**)") == "ask"


def test_absolute_rules_are_the_file_systems(stage):
    rule = f"Write({stage.outside}/**)"
    assert [stage.says(stage.write(path), allow=rule) for path in ("../outside/n", "../outsidex/n", "../outside/../n")] == [
        "allow",
        "ask",
        "ask",
    ]


def test_read_is_the_rule_for_every_way_of_looking(stage):
    calls = [
        stage.read("src/a.py"),
        stage.grep("src"),
        stage.shell("cat src/a.py"),
        stage.shell("ls src"),
        stage.shell("wc -l < src/a.py"),
    ]
    assert [stage.says(call, allow="Read(src/**)") for call in calls] == ["allow"] * 5
    assert [stage.says(call, "bypass", deny="Read(src/**)") for call in calls] == ["deny"] * 5
    assert stage.says("cat src/a.py docs/a.md", allow="Read(src/**)") == "ask"


@pytest.mark.parametrize(
    "line", ["cat secr*/k", "echo $(cat secrets/k)", "cd secrets && cat k", "cat < secrets/k", "grep -r x secrets"]
)
def test_a_denied_file_is_found_in_a_line(stage, line):
    assert stage.says(line, "bypass", deny="Read(secrets/**)") == "deny"


def test_a_program_that_may_walk_over_a_denied_file_is_asked(stage):
    (stage.project / ".env").unlink()
    lines = ("grep -r x .", "rg x", "find .", "grep -r x src")
    assert [stage.says(line, "bypass", deny="Read(secrets/**)") for line in lines] == ["ask", "ask", "allow", "allow"]


@pytest.mark.parametrize(
    "line",
    ["touch src/n", "echo x > src/n", "sed -i s/a/b/ src/a.py", "tee src/n", "rm -rf src", "mv src docs", "env touch src/n"],
)
def test_edit_is_the_rule_for_every_way_of_changing(stage, line):
    assert stage.says(line, "bypass", deny="Edit(src/**)") == "deny"


def test_a_denied_name_is_denied_at_any_depth_and_below(stage):
    paths = (".env", "sub/.env", ".env.example", "node_modules/x/y")
    answers = [stage.says(stage.read(path), "accept_edits", deny=["Read(.env)", "Read(node_modules)"]) for path in paths]
    assert answers == ["deny", "deny", "allow", "deny"]


# Other tools.


def test_server_rules(stage):
    names = ("mcp__srv__get", "mcp__srv__put", "mcp__srv2__get")
    assert [stage.says(stage.function(name), allow="mcp__srv__*") for name in names] == ["allow", "allow", "ask"]
    assert [stage.says(stage.function(name), allow="mcp__srv__get") for name in names] == ["allow", "ask", "ask"]
    assert stage.row(stage.function("mcp__srv__get"), deny="mcp__srv__*", allow="mcp__srv__get") == ["deny"] * 5


# What an answer may grant.


def rule(text, behavior=PermissionBehavior.ALLOW):
    return PermissionRule.parse(text, behavior)


@pytest.mark.parametrize(
    ("offered", "given", "fits"),
    [
        ("Read(**)", "Read(**)", True),
        ("Read(**)", "Read(src/**)", True),
        ("Read(**)", "Read(/etc/**)", False),
        ("Read(**)", "Read(~/**)", False),
        ("Read(**)", "Read", False),
        ("Read(**)", "Read(src/../../x)", False),
        ("Edit(src/**)", "Edit(src/a.py)", True),
        ("Edit(src/**)", "Write(src/**)", True),
        ("Edit(src/**)", "Edit(srcx/a)", False),
        ("Edit(src/**)", "Bash", False),
        ("Bash(git commit:*)", "Bash(git commit -m x)", True),
        ("Bash(git commit:*)", "Bash(git commit -a:*)", True),
        ("Bash(git commit:*)", "Bash(git:*)", False),
        ("Bash(git commit:*)", "Bash", False),
        ("Bash(make test)", "Bash(make test:*)", False),
        ("mcp__srv__put", "mcp__srv__put", True),
        ("mcp__srv__put", "mcp__srv__*", False),
    ],
)
def test_an_answer_grants_no_more_than_was_offered(offered, given, fits):
    assert covers([rule(offered)], rule(given)) is fits


def test_an_answer_grants_nothing_but_allow_rules():
    assert not covers([rule("Bash(make:*)")], rule("Bash(make:*)", PermissionBehavior.DENY))
    assert not covers([], rule("Bash(make:*)"))
