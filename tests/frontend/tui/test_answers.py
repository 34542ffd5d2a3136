from agentcli.frontend.tui.bridge import Question
from agentcli.frontend.tui.screens.answers import Answers
from tests.fakes.screen_conversation import question


def asked(name, call_id="c1", rules=()):
    return Question(*question(name, "{}", {"kind": "text", "target": "t", "body": "b"}, call_id, rules))


def test_the_project_is_preset_for_looking_and_the_session_for_all_else():
    assert Answers([asked("Read", rules=["Read(**)"])]).scope == "project"
    assert Answers([asked("Bash", rules=["Bash(ls:*)"])]).scope == "session"
    assert Answers([asked("Bash")]).scope == "session"


def test_always_gives_the_rule_that_was_shown_in_the_scope_that_was_shown():
    answers = Answers([asked("Read", rules=["Read(**)"])])
    answers.next_scope()
    given = answers.allow(always=True).result
    assert [(rule.text, rule.source) for rule in given.rules] == [("Read(**)", "everywhere")]
    assert (given.confirmed, given.digest) == (True, "d" * 64)


def test_once_gives_no_rule():
    assert Answers([asked("Read", rules=["Read(**)"])]).allow().result.rules is None


def test_each_answer_leaves_at_once_and_the_next_call_that_waits_is_looked_at():
    answers = Answers([asked("Read", "a"), asked("Bash", "b"), asked("Edit", "c")])
    answers.move(1)
    denied = answers.deny("too far").result
    assert (denied.tool_call.id, denied.confirmed, denied.reason) == ("b", False, "too far")
    assert answers.question.call.id == "c"
    assert answers.allow().result.tool_call.id == "c"
    assert (answers.question.call.id, [question.call.id for question in answers.open]) == ("a", ["a"])
    assert answers.allow().result.tool_call.id == "a"
    assert answers.open == []


def test_moving_skips_what_was_answered():
    answers = Answers([asked("Read", "a"), asked("Bash", "b"), asked("Edit", "c")])
    answers.move(1)
    answers.allow()
    assert (answers.move(-1), answers.question.call.id) == (True, "a")
    assert (answers.move(-1), answers.question.call.id) == (False, "a")
    assert (answers.move(1), answers.question.call.id) == (True, "c")


def test_what_waits_anew_is_asked_with_the_preview_of_now():
    first, second, third = asked("Read", "a"), asked("Bash", "b"), asked("Edit", "c")
    answers = Answers([first, second])
    answers.allow()
    changed = Question(*question("Read", "{}", {"kind": "text", "target": "t", "body": "new"}, "a"))
    answers.renew([changed, third])
    assert answers.questions == [changed, second, third]
    assert answers.open == [changed, third]
    assert answers.question == third


def test_edited_arguments_come_without_the_digest_of_the_old_ones():
    given = Answers([asked("Bash")]).allow_edited('{"command": "ls"}').result
    assert (given.tool_call.input, given.digest) == ('{"command": "ls"}', None)
