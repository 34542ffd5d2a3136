import json

import pytest

from agentcli.ledger.rule import PermissionBehavior, PermissionContext, PermissionMode, PermissionRule
from agentcli.permission.rules import unknown_tools
from agentcli.runtime.rules import list_rules
from agentcli.runtime.rules import test_lines as answers_to
from agentcli.session.uses import RuleUses
from agentcli.tool.builtin import builtin_tools


def answers(stage, lines, mode=PermissionMode.DEFAULT, **rules):
    context = stage.context(**rules)
    return list(answers_to(lines, stage.place, context, mode, builtin_tools()))


def line(tool, mode=None, **arguments):
    return json.dumps({"tool": tool, "input": arguments} | ({"mode": mode} if mode else {}))


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "{",
        "[]",
        "7",
        '"Bash"',
        "{}",
        '{"tool": "Bash"}',
        '{"tool": 1, "input": {}}',
        '{"tool": "Bash", "input": "ls"}',
        '{"tool": "Bash", "input": {"command": 1}}',
        '{"tool": "Bash", "input": {}}',
        '{"tool": "Read", "input": {}}',
        '{"tool": "Frobnicate", "input": {}}',
        '{"tool": "Bash", "input": {"command": "pwd"}, "mode": "yolo"}',
        '{"tool": "Bash", "input": {"command": "pwd"}, "mode": []}',
        "[" * 100_000,
    ],
)
def test_a_malformed_line_is_denied_with_its_fault(stage, raw):
    (answer,) = answers(stage, [raw], PermissionMode.BYPASS)
    assert (answer["behavior"], bool(answer["reason"]), answer["protected"]) == ("deny", True, False)


def test_an_answer_names_what_decided(stage):
    assert answers(stage, [line("Bash", command="make x")], allow="Bash(make:*)") == [
        {
            "behavior": "allow",
            "reason": "the rule Bash(make:*) allows it",
            "rule": "Bash(make:*)",
            "mode": "default",
            "protected": False,
        }
    ]


def test_answers_come_in_order_each_in_its_mode(stage):
    lines = [
        line("Bash", command="make"),
        line("Bash", "bypass", command="make"),
        line("Write", file_path=".git/config", content="x"),
    ]
    found = [
        (answer["behavior"], answer["mode"], answer["protected"]) for answer in answers(stage, lines, PermissionMode.EXPLORE)
    ]
    assert found == [("deny", "explore", False), ("allow", "bypass", False), ("deny", "explore", True)]


def test_every_built_in_name_is_known(stage):
    lines = [
        line("Read", file_path="src/a.py"),
        line("Glob", pattern="*"),
        line("Grep", pattern="x"),
        line("Tasks", tasks=[{"title": "one", "state": "pending"}]),
        line("Skill", name="x"),
        line("Agent", template="x", prompt="y"),
        line("mcp__never__seen", q="x"),
    ]
    assert [answer["behavior"] for answer in answers(stage, lines)] == ["ask", "ask", "ask", "allow", "allow", "ask", "ask"]


def test_rules_are_listed_with_their_source(stage, tmp_path):
    uses = RuleUses(tmp_path)
    uses.note("deny", "Read(.env)", {"at": "now", "tool": "Read"})
    assert list_rules(stage.context(allow="Bash(make:*)", deny="Read(.env)"), uses) == [
        {"rule": "Bash(make:*)", "behavior": "allow", "source": "user", "last": None},
        {"rule": "Read(.env)", "behavior": "deny", "source": "user", "last": {"at": "now", "tool": "Read"}},
    ]
    assert list_rules(PermissionContext(), uses) == []


def test_a_rule_for_a_tool_that_nobody_has_is_told_with_the_nearest_name():
    deny = [
        PermissionRule.parse(text, PermissionBehavior.DENY)
        for text in ("Bsh(curl:*)", "bash", "mcp__srv", "mcp__srv__*", "Read(x)", "Zzz")
    ]
    assert unknown_tools(deny, ["Bash", "Grep"]) == [
        "the deny rule Bsh(curl:*) does nothing: there is no tool Bsh; did you mean Bash?",
        "the deny rule bash does nothing: there is no tool bash; did you mean Bash?",
        "the deny rule mcp__srv does nothing: there is no tool mcp__srv; did you mean mcp__srv__*?",
        "the deny rule Zzz does nothing: there is no tool Zzz; tools are Bash, Edit, Grep, Read, Write",
    ]
