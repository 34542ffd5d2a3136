import pytest

from agentcli.ledger.block import ToolResultState
from agentcli.ledger.event import ErrorInfo, ErrorKind
from agentcli.view.summary import (
    ERRORS,
    age,
    ago,
    call_target,
    error_sentences,
    result_summary,
    seconds_between,
    spell_time,
    spell_tokens,
)

ROOT = "/home/me/shop"


@pytest.mark.parametrize(
    ("name", "arguments", "target"),
    [
        ("Read", '{"file_path": "/home/me/shop/src/a.py"}', "src/a.py"),
        ("Read", '{"file_path": "/etc/hosts"}', "/etc/hosts"),
        ("Bash", '{"command": "pytest -q\\nrm x"}', "pytest -q␊rm x"),
        ("Grep", '{"pattern": "pool", "path": "src"}', "pool  in src"),
        ("Tasks", '{"tasks": [{"title": "a", "state": "done"}, {"title": "b", "state": "pending"}]}', "1 of 2 done"),
        ("mcp__a__b", '{"x": 1, "y": "z"}', 'x=1  y="z"'),
        ("Read", '{"file_path": "half', "half"),
        ("MultiEdit", '{"file_path": "/home/me/shop/a.py", "edits": [{}, {}]}', "a.py  2 edits"),
        ("MultiEdit", '{"file_path": "a.py", "edits": 1}', "a.py"),
        ("Read", '{"file', ""),
        ("Read", "not json", "not json"),
        ("Read", "", ""),
        ("Bash", '{"command": "ls \\u001b[2J"}', "ls ␛[2J"),
    ],
)
def test_a_call_is_about_its_target(name, arguments, target):
    assert call_target(name, arguments, ROOT) == target


@pytest.mark.parametrize(
    ("state", "text", "metadata", "words"),
    [
        ("success", "a\nb\n", {}, "2 lines"),
        ("success", "a", {"summary": "12 lines"}, "12 lines"),
        ("denied", "The user denied it.", {}, "denied"),
        ("error", "boom", {"summary": "exit 3"}, "exit 3"),
        ("interrupted", "Interrupted; its effects are unknown.", {}, "effects unknown"),
        ("interrupted", "stopped", {}, "interrupted"),
    ],
)
def test_a_result_in_a_few_words(state, text, metadata, words):
    assert result_summary(ToolResultState(state), text, metadata) == words


@pytest.mark.parametrize(
    ("seconds", "words"), [(None, ""), (0.003, "3 ms"), (1.44, "1.4 s"), (14.2, "14 s"), (125, "2 min 5 s"), (9.96, "10 s")]
)
def test_times(seconds, words):
    assert spell_time(seconds) == words


def test_tokens():
    assert [spell_tokens(n) for n in (950, 12_345, 400_000, 1_200_000)] == ["950", "12.3k", "400k", "1.2M"]


def test_broken_times_are_no_times():
    assert seconds_between("2026-01-01T00:00:00+00:00", "2026-01-01T00:00:02+00:00") == 2
    assert seconds_between(None, "x") is None


def test_a_log_that_refuses_records_promises_nothing():
    full = "the session could not be saved to /d/sessions/x.jsonl: No space left on device; make room on that disk"
    what, remedy = error_sentences(ErrorInfo(kind="internal", message=full))
    assert what == "The conversation cannot be saved, so the reply was stopped."
    assert "Free space" in remedy
    assert "in memory only, until you leave" in remedy
    other = error_sentences(ErrorInfo(kind="internal", message="KeyError: 'x'"))
    assert not any(word in " ".join(other) for word in ("kept", "saved"))


def test_the_words_of_a_summary_hide_nothing():
    assert result_summary(ToolResultState("success"), "x", {"summary": "1\x1b[2J\u202e"}) == "1␛[2J<U+202E>"


def test_every_kind_of_error_has_its_two_sentences():
    assert set(ERRORS) == set(ErrorKind.__args__)
    assert error_sentences(ErrorInfo(kind="auth", message="no", status=401))[0] == "The provider did not accept the key. (401)"


NOW = "2026-01-01T10:05:00+00:00"


@pytest.mark.parametrize(
    ("at", "short", "sentence"),
    [
        ("2026-01-01T10:04:30+00:00", "now", "just now"),
        ("2026-01-01T10:00:00+00:00", "5 min", "5 min ago"),
        ("2026-01-01T07:00:00+00:00", "3 h", "3 h ago"),
        ("2025-12-30T10:00:00+00:00", "2 days", "2 days ago"),
        ("2025-11-01T10:00:00+00:00", "2025-11-01", "on 2025-11-01"),
        ("2026-01-03T10:00:00+00:00", "now", "just now"),
        ("nonsense", "", "just now"),
    ],
)
def test_an_age_has_one_unit(at, short, sentence):
    assert (age(at, NOW), ago(at, NOW)) == (short, sentence)
