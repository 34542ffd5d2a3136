import os

import pytest

from agentcli.errors import SessionError, UsageError
from agentcli.ledger.message import UserMsg
from agentcli.runtime import catalogue
from agentcli.runtime.catalogue import NO_LOG, NO_SESSION, Choice, Health
from tests.fakes.agent import call

OVER = [{"text": "over"}]


async def test_a_sound_session_has_lost_nothing(home):
    session, _ = await home.play(OVER)
    assert list(catalogue.verify_sessions(None)) == list(catalogue.verify_sessions(session[:9])) == [Health(session, [])]
    assert Health(session, []).to_json() == {"id": session, "ok": True, "lost": []}


async def test_verifying_tells_what_is_lost_and_repairs_nothing(home):
    sound, _ = await home.play(OVER)
    torn, _ = await home.play(OVER)
    home.log(torn).write_bytes(home.log(torn).read_bytes()[:-9])
    home.log("a" * 16).write_bytes(b'{"seq":1')
    before = home.bytes()
    found = {health.id: health for health in catalogue.verify_sessions(None)}
    assert [found[sound].lost, len(found[torn].lost), found[torn].to_json()["ok"]] == [[], 1, False]
    assert "cut inside the first line" in (found["a" * 16].fault or "")
    with pytest.raises(SessionError, match="cut inside the first line"):
        list(catalogue.verify_sessions("aaaa"))
    assert home.bytes() == before


async def test_what_is_hidden_is_named(home):
    session, _ = await home.play(OVER)
    home.log("a" * 16).write_bytes(b"")
    home.log("b" * 16).mkdir()
    (home.store.folder / "README").write_text("no log")
    rows = catalogue.session_rows()
    assert [row.id for row in rows] == [session]
    assert catalogue.hidden_sessions(rows) == [f"{'a' * 16}.jsonl", f"{'b' * 16}.jsonl"]


async def test_an_excerpt_is_one_clean_line_around_the_words(home):
    await home.play([{"text": "x" * 100 + "\n\x1b[2Jthe Needle\u202e\there " + "y" * 200}], OVER, say="no")
    hits = list(catalogue.search_sessions("  needle "))
    assert [hit.excerpt for hit in hits] == ["…" + "x" * 31 + " the Needle<U+202E> here " + "y" * 113 + "…"]
    assert list(hits[0].to_json()) == ["id", "title", "cwd", "message_id", "role", "at", "block", "excerpt"]


async def test_the_calls_of_a_session_are_searched(home):
    session, _ = await home.play([call("c1", "Bash", command='echo "Grüße"')])
    assert [(hit.row.id, hit.found.block) for hit in catalogue.search_sessions('"grüße')] == [(session, "tool_call")]


@pytest.mark.parametrize("text", ["", " \n"])
def test_nothing_is_no_search(home, text):
    with pytest.raises(UsageError, match="nothing to search for"):
        list(catalogue.search_sessions(text))


@pytest.mark.parametrize("prefix", ["", "*", "../../etc/passwd", "zzz"])
async def test_hostile_and_unknown_ids_find_nothing(home, prefix):
    await home.play(OVER)
    with pytest.raises(UsageError):
        catalogue.session_story(prefix)


async def test_a_removed_session_is_gone(home):
    session, _ = await home.play(OVER)
    assert catalogue.remove_session(session) == [f"{session}.jsonl"]
    assert catalogue.session_rows() == []
    assert list(catalogue.verify_sessions(None)) == []


async def test_what_can_be_gone_on_with_names_the_folder_and_what_is_no_session(home, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    here, _ = await home.play(OVER, say="the first")
    there, _ = await home.play([call("c1", "Bash", command="touch x")], say="the second", cwd=str(elsewhere))
    elsewhere.rmdir()
    home.log("a" * 16).write_bytes(b"")
    home.log("b" * 16).mkdir()
    found = {choice.id: choice for step in catalogue.session_choices(None) for choice in step}
    rows = {row.id: row for row in catalogue.session_rows()}
    assert found == {
        there: Choice(there, "the second", str(elsewhere), rows[there].updated_at, 2, waiting=1, gone=True),
        here: Choice(here, "the first", str(home.project), rows[here].updated_at, 2, here=True),
        "a" * 16: Choice("a" * 16, fault=NO_SESSION),
        f"{'b' * 16}.jsonl": Choice(f"{'b' * 16}.jsonl", fault=NO_LOG),
    }
    with pytest.raises(UsageError, match="there is no such folder"):
        catalogue.session_choices(str(elsewhere))


async def test_a_session_that_somebody_writes_says_who(home):
    conversation = await home.open(OVER)
    _ = [event async for event in conversation.stream(UserMsg(content="go"))]
    held = [choice.held_by for step in catalogue.session_choices(None) for choice in step]
    await conversation.close()
    after = [choice.held_by for step in catalogue.session_choices(None) for choice in step]
    assert (held, after) == ([str(os.getpid())], [None])
