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
    answers.allow(always=True)
    (given,) = answers.verdict.results
    assert [(rule.text, rule.source) for rule in given.rules] == [("Read(**)", "everywhere")]
    assert (given.confirmed, given.digest) == (True, "d" * 64)


def test_once_gives_no_rule():
    answers = Answers([asked("Read", rules=["Read(**)"])])
    answers.allow()
    assert answers.verdict.results[0].rules is None


def test_answers_go_from_call_to_call_and_keep_the_order():
    answers = Answers([asked("Read", "a"), asked("Bash", "b"), asked("Edit", "c")])
    answers.move(1)
    answers.deny("too far")
    assert answers.at == 2
    answers.allow()
    assert (answers.at, answers.done) == (0, False)
    answers.allow()
    assert [(r.tool_call.id, r.confirmed, r.reason) for r in answers.verdict.results] == [
        ("a", True, None),
        ("b", False, "too far"),
        ("c", True, None),
    ]


def test_edited_arguments_come_without_the_digest_of_the_old_ones():
    answers = Answers([asked("Bash")])
    answers.allow_edited('{"command": "ls"}')
    (given,) = answers.verdict.results
    assert (given.tool_call.input, given.digest) == ('{"command": "ls"}', None)
