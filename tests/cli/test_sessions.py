import json
import os

import pytest

from agentcli.cli.main import main
from agentcli.ledger.block import ToolCallBlock
from agentcli.ledger.message import Msg, UserMsg
from agentcli.session.store import SessionStore

ID = "a" * 16
OTHER = "b" * 16


@pytest.fixture
async def saved(place):
    """One session that was asked for a look, with a title that bites."""
    store = SessionStore(place / "data")
    log = store.create(ID, {"cwd": str(place), "mode": "default", "model": "m"})
    await log.said(UserMsg(content="look at the Größe\x1b[2J"))
    call = ToolCallBlock(id="c1", name="Bash", input='{"command": "ls"}', state="asking")
    await log.kept(Msg(name="agent", role="assistant", content=[call]))
    log.close()
    return store


def log_of(store, session=ID):
    return store.folder / f"{session}.jsonl"


def said(capsys):
    found = capsys.readouterr()
    return found.out, found.err


def rows(text):
    return [json.loads(line) for line in text.splitlines()]


def test_search_tells_where_the_words_stand(saved, capsys):
    assert main(["sessions", "search", "größe"]) == 0
    out, err = said(capsys)
    assert [line.split()[0] for line in out.splitlines()] == [ID, "user"]
    assert ("Größe" in out, "\x1b" in out, err) == (True, False, "")


def test_search_as_json(saved, capsys):
    assert main(["sessions", "search", "größe", "--json"]) == 0
    row = rows(said(capsys)[0])[0]
    assert (row["id"], row["role"], row["block"], row["excerpt"]) == (ID, "user", "text", "look at the Größe")


def test_a_search_without_a_hit_says_so_beside_stdout(saved, capsys):
    assert main(["sessions", "search", "nowhere"]) == 0
    assert main(["sessions", "search", "nowhere", "--json"]) == 0
    out, err = said(capsys)
    assert (out, err) == ("", "agentcli: no session holds 'nowhere'\n" * 2)


async def test_many_hits_of_one_session_are_shortened_for_a_reader_only(saved, capsys):
    log, _ = saved.open(ID)
    for number in range(9):
        await log.said(UserMsg(content=f"needle {number}"))
    log.close()
    assert main(["sessions", "search", "needle"]) == 0
    assert said(capsys)[0].count("needle") == 5
    assert main(["sessions", "search", "needle", "--json"]) == 0
    assert said(capsys)[0].count("needle") == 9


def test_export_writes_markdown_to_stdout(saved, capsysbinary):
    assert main(["sessions", "export", "aaa"]) == 0
    out = capsysbinary.readouterr().out.decode()
    assert out.startswith("# look at the Größe")
    assert "Bash ls (waits for an answer)" in out


@pytest.mark.parametrize(
    ("words", "name", "start"),
    [
        ([], "x.md", "# "),
        ([], "x.HTML", "<!DOCTYPE html>"),
        (["--format", "html"], "x", "<!DOCTYPE html>"),
        (["--format", "md"], "x.html", "# "),
    ],
)
def test_export_to_a_file_takes_the_form_from_the_flag_or_the_name(saved, place, capsys, words, name, start):
    file = place / name
    assert main(["sessions", "export", ID, *words, "--output", str(file)]) == 0
    assert file.read_text(encoding="utf-8").startswith(start)
    assert said(capsys) == ("", "")


def test_an_export_that_cannot_be_written_is_one_line(saved, place, capsys):
    assert main(["sessions", "export", ID, "--output", str(place / "no" / "x.md")]) == 2
    assert said(capsys)[1].count("\n") == 1


def test_fork_prints_the_new_id(saved, capsys):
    assert main(["sessions", "fork", "aaa"]) == 0
    new = said(capsys)[0].strip()
    assert main(["sessions", "fork", "aaa", "--json"]) == 0
    other = rows(said(capsys)[0])[0]
    assert other["parent"] == ID
    assert set(saved.ids()) == {ID, new, other["id"]}


def test_verify_says_ok_and_what_is_lost(saved, capsys):
    assert main(["sessions", "verify"]) == 0
    assert said(capsys) == (f"{ID}  ok\n", "")
    raw = log_of(saved).read_bytes()
    log_of(saved, OTHER).write_bytes(raw.replace(ID.encode(), OTHER.encode())[:-9])
    assert main(["sessions", "verify", "--json"]) == 1
    found = {row["id"]: row for row in rows(said(capsys)[0])}
    assert found[ID] == {"id": ID, "ok": True, "lost": []}
    assert (found[OTHER]["ok"], len(found[OTHER]["lost"])) == (False, 1)
    assert main(["sessions", "verify", "bbb"]) == 1
    assert said(capsys)[0].startswith(f"{OTHER}  1 lost:\n   the end of the session log is lost")
    assert main(["sessions", "verify", "aaa"]) == 0


def test_a_log_cut_inside_its_first_line_is_one_line_on_stderr(saved, capsys):
    log_of(saved, OTHER).write_bytes(b'{"seq":1')
    assert main(["sessions", "verify", "--json"]) == 1
    out, err = said(capsys)
    assert ([row["id"] for row in rows(out)], err.count("\n"), OTHER in err) == ([ID], 1, True)
    assert main(["sessions", "verify", OTHER]) == 2
    assert said(capsys)[0] == ""


def test_list_says_what_it_hides(saved, capsys):
    log_of(saved, OTHER).write_bytes(b"junk")
    (saved.folder / "link.jsonl").symlink_to("nowhere")
    assert main(["sessions", "list", "--json"]) == 0
    out, err = said(capsys)
    assert [row["id"] for row in rows(out)] == [ID]
    assert ("2 files" in err, f"{OTHER}.jsonl" in err, err.count("\n")) == (True, True, 1)


def test_rm_needs_a_terminal_or_yes(saved, capsys):
    assert main(["sessions", "rm", "aaa"]) == 2
    assert "--yes" in said(capsys)[1]
    assert main(["sessions", "rm", "aaa", "--yes"]) == 0
    assert said(capsys) == ("", f"agentcli: removed: {ID}.jsonl\n")
    assert saved.ids() == []


def test_rm_refuses_what_is_held_and_names_the_holder(saved, capsys):
    log, _ = saved.open(ID)
    assert main(["sessions", "rm", "aaa", "--yes"]) == 2
    assert f"process {os.getpid()}" in said(capsys)[1]
    log.close()
    assert saved.ids() == [ID]


def test_a_title_is_given_without_a_model(saved, capsys):
    assert main(["sessions", "title", "aaa", "The \x1b[2J shop"]) == 0
    out, err = said(capsys)
    assert (out, err.startswith(f"agentcli: {ID}: The "), "\x1b" in err) == ("", True, False)
    assert saved.rows()[0].title == "The [2J shop"


def test_a_title_of_a_held_session_is_refused_and_names_the_holder(saved, capsys):
    log, _ = saved.open(ID)
    assert main(["sessions", "title", ID, "The shop"]) == 2
    assert f"process {os.getpid()}" in said(capsys)[1]
    log.close()
    assert saved.rows()[0].title.startswith("look at")


def test_an_empty_title_is_refused(saved, capsys):
    assert main(["sessions", "title", ID, " "]) == 2
    assert said(capsys) == ("", "agentcli: a title cannot be empty\n")


@pytest.mark.parametrize("action", ["show", "export", "fork", "title", "verify", "rm"])
@pytest.mark.parametrize("prefix", ["zzz", "", "../x"])
def test_an_unknown_id_is_one_line_and_exit_code_2(saved, capsys, action, prefix):
    assert main(["sessions", action, prefix, *{"rm": ["--yes"], "title": ["new"]}.get(action, [])]) == 2
    out, err = said(capsys)
    assert (out, err.count("\n")) == ("", 1)


def test_a_prefix_of_two_names_both(saved, capsys):
    saved.create(f"{'a' * 15}b", {}).close()
    assert main(["sessions", "export", "aaa"]) == 2
    assert ID in (err := said(capsys)[1]) and f"{'a' * 15}b" in err
