import pytest

from agentcli.ledger.rule import PermissionBehavior, PermissionMode, PermissionRule
from agentcli.permission.decision import PermissionDecision
from agentcli.permission.engine import PermissionEngine
from agentcli.permission.subject import Kind, Subject
from tests.permission.stage import MODES

LOOK = ["ask", "allow", "allow", "allow", "deny"]
LOOK_OUTSIDE = ["ask", "ask", "ask", "allow", "deny"]
LOOK_PROTECTED = ["ask", "ask", "ask", "ask", "deny"]
CHANGE = ["ask", "allow", "deny", "allow", "deny"]
GUARDED = ["ask", "ask", "deny", "ask", "deny"]
OTHER = ["ask", "ask", "deny", "allow", "deny"]
ALWAYS = ["allow"] * 5
NEVER = ["deny"] * 5


@pytest.mark.parametrize(
    ("tool", "path", "row"),
    [
        ("read", "src/a.py", LOOK),
        ("grep", "src", LOOK),
        ("grep", ".", LOOK),
        ("read", "../outside/a.txt", LOOK_OUTSIDE),
        ("grep", "..", LOOK_OUTSIDE),
        ("read", "src/out/a.txt", LOOK_OUTSIDE),
        ("read", ".git/config", LOOK_PROTECTED),
        ("read", ".env", LOOK_PROTECTED),
        ("read", "~/.ssh/id_rsa", LOOK_PROTECTED),
        ("write", "src/a.py", CHANGE),
        ("write", "new/deep/n.py", CHANGE),
        ("edit", "src/a.py", CHANGE),
        ("write", "../outside/n.py", GUARDED),
        ("edit", "src/out/a.txt", GUARDED),
        ("write", ".git/config", GUARDED),
        ("write", ".agentcli/config.toml", GUARDED),
        ("write", "~/settings/config.toml", GUARDED),
        ("write", "AGENTS.md", GUARDED),
        ("write", "a\0b", NEVER),
        ("read", "", NEVER),
    ],
)
def test_the_table_for_files(stage, tool, path, row):
    assert stage.row(getattr(stage, tool)(path)) == row


@pytest.mark.parametrize(
    ("command", "row"),
    [
        ("pwd", ALWAYS),
        ("pwd && echo hello | wc -l", ALWAYS),
        ("cat src/a.py | grep x", LOOK),
        ("ls", LOOK),
        ("grep -r x src", LOOK),
        ("cat ../outside/a.txt src/a.py", LOOK_OUTSIDE),
        ("cat src/out/*", LOOK_OUTSIDE),
        ("cat .git/config", LOOK_PROTECTED),
        ("grep -r x .", LOOK_PROTECTED),
        ("mkdir d", CHANGE),
        ("touch src/n.py", CHANGE),
        ("cp src/a.py src/b.py", CHANGE),
        ("mv src/a.py src/b.py", CHANGE),
        ("mkdir ../d", GUARDED),
        ("cp src/a.py src/out", GUARDED),
        ("echo x > ../f", GUARDED),
        ("touch .git/hooks/pre-commit", GUARDED),
        ("echo x > .git/hooks/pre-commit", GUARDED),
        ("echo x > f", OTHER),
        ("npm test", OTHER),
        ("pwd; npm test", OTHER),
        ("git status", OTHER),
        ("rm -rf build", OTHER),
        ("for f in a; do echo $f; done", OTHER),
        ("make 'x", OTHER),
        ("rm -rf /", GUARDED),
        ("rm -rf .", GUARDED),
        ("rm -rf *", GUARDED),
        ("rm -rf ..", GUARDED),
        ("rm -rf ~", GUARDED),
        ('rm -rf "$HOME"', GUARDED),
        ("rm -rf .git", GUARDED),
        ("cd src && rm -rf .", GUARDED),
        ("sudo rm -rf /", GUARDED),
        ("bash -c 'rm -rf ~'", GUARDED),
        ("find . -delete", GUARDED),
        ("echo $(cat .git/config)", GUARDED),
    ],
)
def test_the_table_for_shell_lines(stage, command, row):
    assert stage.row(command) == row


def test_the_table_for_other_tools(stage):
    assert stage.row(stage.function("tell", read_only=True)) == LOOK
    assert stage.row(stage.function("mcp__srv__put")) == OTHER
    assert stage.row(stage.free()) == ALWAYS


def test_a_call_that_can_never_run_is_denied_with_its_fault(stage):
    decision = stage.decide(Subject(tool="Write", kind=Kind.FILE, fault="the path is empty"), "bypass")
    assert decision == PermissionDecision(
        behavior=PermissionBehavior.DENY, reason="the path is empty", mode=PermissionMode.BYPASS
    )


# Law 7.


@pytest.mark.parametrize(
    "rules", [{"allow": ["Bash", "Write", "Edit", "mcp__srv__*", "tell"]}, {"ask": ["Bash", "Write", "Edit", "mcp__srv__*"]}]
)
def test_law_7_explore_changes_nothing_whatever_the_rules(stage, rules):
    calls = [stage.write("src/a.py"), stage.edit("src/a.py"), stage.function("mcp__srv__put"), stage.function("tell")]
    lines = [stage.shell(line) for line in ("make", "echo x > f", "touch f", "git status", "ls; rm x", "curl x", "(")]
    assert [stage.says(call, "explore", **rules) for call in [*calls, *lines]] == ["deny"] * 11


def test_explore_says_that_it_is_read_only(stage):
    assert "explore is read-only" in stage.decide("make", "explore").reason


def test_explore_stands_below_deny_rules(stage):
    assert stage.says(stage.read("secrets/k"), "explore", deny="Read(secrets/**)") == "deny"


def test_explore_does_not_walk_over_what_is_denied(stage):
    assert stage.says("grep -r x src", "explore", deny="Read(src/x/**)") == "deny"
    assert stage.says("grep -r x docs", "explore", deny="Read(src/x/**)") == "allow"


# Law 6: the same call is decided anew under the rules and the mode of now.


def test_a_rule_added_later_decides_the_same_call(stage):
    engine = PermissionEngine(stage.context())
    call = stage.shell("make")
    before = engine.decide(call).behavior
    engine.add_rule(PermissionRule.parse("Bash(make:*)", PermissionBehavior.DENY))
    assert (before, engine.decide(call).behavior) == (PermissionBehavior.ASK, PermissionBehavior.DENY)


def test_edited_arguments_meet_the_deny_rules(stage):
    engine = PermissionEngine(stage.context(allow="Bash(make:*)", deny="Bash(curl:*)"))
    assert [engine.decide(stage.shell(line)).behavior.value for line in ("make", "make; curl x")] == ["allow", "deny"]


def test_the_mode_of_now_decides(stage):
    context = stage.context()
    engine = PermissionEngine(context)
    context.mode = PermissionMode.EXPLORE
    assert engine.decide(stage.write("src/a.py")).behavior is PermissionBehavior.DENY


def test_a_decision_changes_nothing(stage):
    context = stage.context(allow="Read(**)")
    before = context.model_dump()
    for mode in MODES:
        PermissionEngine(context).decide(stage.write("src/a.py"), mode)
    assert context.model_dump() == before


# Order.


def test_deny_beats_allow_and_ask_beats_allow(stage):
    rules = {"allow": "Bash(git:*)", "ask": "Bash(git pull:*)", "deny": "Bash(git push:*)"}
    lines = ("git push", "git pull", "git add . && git push", "git add . && git pull", "git add .")
    assert [stage.says(line, **rules) for line in lines] == ["deny", "ask", "deny", "ask", "allow"]


def test_an_ask_rule_asks_in_every_mode_that_can(stage):
    assert stage.row("make x", ask="Bash(make:*)") == ["ask", "ask", "deny", "ask", "deny"]


@pytest.mark.parametrize(
    "path", [".git/config", "src/../.git/hooks/pre-commit", ".GIT/config", ".agentcli/config.toml", "~/.bashrc"]
)
def test_no_allow_rule_covers_a_protected_place(stage, path):
    decision = stage.decide(stage.write(path), "accept_edits", allow=["Write", "Edit", "Edit(**)", "Edit(.git/**)", "Edit(~/**)"])
    assert (decision.behavior.value, decision.protected, decision.suggested_rules) == ("ask", True, [])


def test_the_deciding_rule_is_named(stage):
    decision = stage.decide("make x", allow="Bash(make:*)")
    assert decision == PermissionDecision(
        behavior=PermissionBehavior.ALLOW,
        reason="the rule Bash(make:*) allows it",
        rule=PermissionRule.parse("Bash(make:*)", PermissionBehavior.ALLOW),
        mode=PermissionMode.DEFAULT,
    )
