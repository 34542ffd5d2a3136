import asyncio

import pytest

from agentcli.errors import ToolError
from agentcli.ledger.preview import Preview
from agentcli.ledger.state import Started
from agentcli.permission.subject import Way
from agentcli.tool.preview import digest_of
from agentcli.workspace.files import digest
from tests.fakes.hands import FakeHands


@pytest.fixture
def hands(tmp_path):
    (tmp_path / ".git").mkdir()
    return FakeHands(tmp_path)


def refused(words):
    return pytest.raises(ToolError, match=words)


async def test_a_new_file_needs_no_read_and_counts_as_read(hands, tmp_path):
    done = await hands("Write", file_path="sub/a.txt", content="one\n")
    target = tmp_path / "sub" / "a.txt"
    assert target.read_text() == "one\n"
    assert done.metadata == {
        "diff": "--- /dev/null\n+++ b/sub/a.txt\n@@ -0,0 +1,1 @@\n+one\n",
        "summary": "+1 -0",
        "seen": {str(target): digest(b"one\n")},
    }
    await hands("Edit", file_path="sub/a.txt", old_string="one", new_string="two")
    await hands("Write", file_path=str(target), content="three\n")
    assert target.read_text() == "three\n"


async def test_an_existing_file_has_to_be_read_first(hands, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    with refused("read it first"):
        hands.preview("Write", file_path="a.txt", content="x")
    with refused("read it first"):
        hands.preview("Edit", file_path="a.txt", old_string="one", new_string="two")
    await hands("Read", file_path="a.txt")
    done = await hands("Edit", file_path="a.txt", old_string="one", new_string="two")
    assert (done.metadata["summary"], (tmp_path / "a.txt").read_text()) == ("+1 -1", "two\n")


async def test_a_file_changed_since_it_was_read_is_not_overwritten(hands, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    await hands("Read", file_path="a.txt")
    (tmp_path / "a.txt").write_text("theirs\n")
    with refused("has changed"):
        await hands("Write", file_path="a.txt", content="ours\n")
    assert (tmp_path / "a.txt").read_text() == "theirs\n"


async def test_a_change_between_check_and_run_is_refused(hands, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    await hands("Read", file_path="a.txt")
    run = hands.stream("Edit", file_path="a.txt", old_string="one", new_string="two")
    (tmp_path / "a.txt").write_text("one, theirs\n")
    with refused("has changed"):
        await anext(run)


async def test_previews_tell_all_of_it(hands, tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    await hands("Read", file_path="a.txt")
    edit = {"file_path": "a.txt", "old_string": "two", "new_string": "three"}
    assert hands.preview("Edit", **edit) == Preview(
        kind="diff",
        target=str(tmp_path / "a.txt"),
        body="--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n",
        digest=digest_of("Edit", edit, b"one\ntwo\n"),
    )
    new = {"file_path": "new.txt", "content": "alpha\nbeta\n"}
    assert hands.preview("Write", **new) == Preview(
        kind="new_file", target=str(tmp_path / "new.txt"), body="alpha\nbeta\n", digest=digest_of("Write", new)
    )


async def test_risks_are_said(hands, tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside") / "run.sh"
    outside.write_text("old\n")
    outside.chmod(0o755)
    (tmp_path / "link").symlink_to(outside)
    await hands("Read", file_path="link")
    risks = " ".join(hands.preview("Write", file_path="link", content="new\n").risks)
    assert all(word in risks for word in ("outside the project", str(outside), "executable"))
    await hands("Write", file_path="link", content="new\n")
    assert ((tmp_path / "link").is_symlink(), outside.read_text(), outside.stat().st_mode & 0o777) == (True, "new\n", 0o755)


async def test_the_start_names_the_file_before_and_after(hands, tmp_path):
    (tmp_path / "a").write_text("one")
    await hands("Read", file_path="a")
    wanted = Started(call_id="c1", files={str(tmp_path / "a"): (digest(b"one"), digest(b"two"))})
    assert hands.start_record("Write", file_path="a", content="two") == wanted
    assert hands.start_record("Write", file_path="b", content="x").files == {str(tmp_path / "b"): (None, digest(b"x"))}


async def test_bytes_of_the_file_stay(hands, tmp_path):
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n\xff")
    await hands("Read", file_path="a")
    await hands("Edit", file_path="a", old_string="one\ntwo", new_string="1\n2")
    assert (tmp_path / "a").read_bytes() == b"\xef\xbb\xbf1\r\n2\r\n\xff"


UNCLEAR = [
    ("Edit", {"file_path": "gone", "old_string": "a", "new_string": "b"}, "does not exist"),
    ("Edit", {"file_path": "a", "old_string": "one", "new_string": "one"}, "the same"),
    ("Write", {"file_path": "a", "content": "one one\n"}, "nothing would change"),
    ("Edit", {"file_path": "a", "old_string": "one", "new_string": "two"}, "2 times"),
    ("Write", {"file_path": ".", "content": "x"}, "folder"),
    ("Write", {"file_path": "a/b", "content": "x"}, "."),
    ("Write", {"file_path": "b\0", "content": "x"}, "."),
]


@pytest.mark.parametrize(("name", "arguments", "words"), UNCLEAR)
async def test_what_cannot_work_is_refused_before_it_is_asked(hands, tmp_path, name, arguments, words):
    (tmp_path / "a").write_text("one one\n")
    await hands("Read", file_path="a")
    with refused(words):
        hands.preview(name, **arguments)


async def test_a_cancelled_change_is_made_whole_or_not_at_all(hands, tmp_path):
    task = asyncio.create_task(hands("Write", file_path="a", content="x" * 100_000))
    await asyncio.sleep(0.001)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    left = [path.stat().st_size for path in tmp_path.iterdir() if path.name != ".git"]
    assert left in ([100_000], [])


def test_subjects_say_what_is_done(hands, tmp_path):
    place = hands.context.place
    subjects = [hands.kit.get(name).subject({"file_path": "x"}, place) for name in ("Read", "Write", "Edit")]
    found = [(subject.targets[0].path, subject.targets[0].way) for subject in subjects]
    assert found == [(str(tmp_path / "x"), way) for way in (Way.LOOK, Way.WRITE, Way.EDIT)]


async def test_a_path_that_names_a_folder_is_refused(hands, tmp_path):
    with refused("names a folder"):
        await hands("Write", file_path="sub/", content="one\n")
    assert not (tmp_path / "sub").exists()


def edit(old, new, **more):
    return {"old_string": old, "new_string": new, **more}


async def test_several_edits_are_made_in_order_and_shown_as_one(hands, tmp_path):
    data = b"\xef\xbb\xbfone\r\ntwo\r\ntwo\r\n"
    (tmp_path / "a").write_bytes(data)
    await hands("Read", file_path="a")
    call = {"file_path": "a", "edits": [edit("one", "two"), edit("two", "2", replace_all=True), edit("2\n2\n2", "2\n3\n4")]}
    body = "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n-one\n-two\n-two\n+2\n+3\n+4\n"
    assert hands.preview("MultiEdit", **call) == Preview(
        kind="diff", target=str(tmp_path / "a"), body=body, digest=digest_of("MultiEdit", call, data)
    )
    after = b"\xef\xbb\xbf2\r\n3\r\n4\r\n"
    assert hands.start_record("MultiEdit", **call).files == {str(tmp_path / "a"): (digest(data), digest(after))}
    done = await hands("MultiEdit", **call)
    assert ((tmp_path / "a").read_bytes(), done.metadata["diff"], done.text) == (after, body, "changed a: +3 -3")


NONE_MADE = [
    (
        [edit("one", "1"), edit("gone", "x")],
        r"edit 2 of 2 as the edits before it leave the file: .*not in the file.*None of them",
    ),
    ([edit("one", "two"), edit("two", "x")], "edit 2 of 2 .*2 times"),
    ([edit("one", "one")], "edit 1 of 1: .*the same"),
    ([edit("one", "1"), edit("1", "one")], "nothing would change"),
    ([], r"edits|non-empty|short"),
]


@pytest.mark.parametrize(("edits", "words"), NONE_MADE)
async def test_of_several_edits_all_are_made_or_none(hands, tmp_path, edits, words):
    (tmp_path / "a").write_text("one\ntwo\n")
    await hands("Read", file_path="a")
    with refused(words):
        await hands("MultiEdit", file_path="a", edits=edits)
    assert (tmp_path / "a").read_text() == "one\ntwo\n"


async def test_several_edits_need_a_read_and_a_file(hands, tmp_path):
    (tmp_path / "a").write_text("one\n")
    for name, words in (("a", "read it first"), ("gone", "does not exist")):
        with refused(words):
            hands.preview("MultiEdit", file_path=name, edits=[edit("one", "1")])


def test_several_edits_are_a_way_of_changing(hands, tmp_path):
    subject = hands.kit.get("MultiEdit").subject({"file_path": "x", "edits": []}, hands.context.place)
    assert [(target.path, target.way) for target in subject.targets] == [(str(tmp_path / "x"), Way.EDIT)]


async def test_what_a_diff_cannot_show_is_said(hands, tmp_path):
    (tmp_path / "suid").write_text("x\n")
    (tmp_path / "suid").chmod(0o4755)
    (tmp_path / "open").write_bytes(b"x = 1\n# " + "你好".encode("gbk"))
    (tmp_path / "bin").write_bytes(b"\x7fELF\0")
    for name in ("suid", "open", "bin"):
        await hands("Read", file_path=name)
    risks = {name: hands.preview("Write", file_path=name, content="y\n").risks for name in ("suid", "open", "bin")}
    assert risks == {
        "suid": ["The file is executable.", "The file runs as its owner or group (setuid, setgid); that is not kept."],
        "open": ["The encoding is a guess: it is shown as gbk, and may be another one."],
        "bin": ["It is a binary file of 5 bytes, and all of it is replaced."],
    }
    await hands("Write", file_path="bin", content="\u20ac\n")
    assert (tmp_path / "bin").read_bytes() == "\u20ac\n".encode()


async def test_a_diff_shows_what_stays_as_unchanged(hands, tmp_path):
    data = b"x = 1\n# " + "你好".encode("gbk") + b"\n"
    (tmp_path / "a").write_bytes(data)
    await hands("Read", file_path="a")
    done = await hands("Edit", file_path="a", old_string="x = 1", new_string="x = 2")
    assert (done.metadata["summary"], (tmp_path / "a").read_bytes()) == ("+1 -1", data.replace(b"1", b"2"))


async def test_a_huge_file_is_read_in_part_and_never_changed(hands, tmp_path):
    with (tmp_path / "big").open("wb") as file:
        file.write(b"one\n" * 10)
        file.truncate(17 * 1024 * 1024)
    assert (await hands("Read", file_path="big", limit=1)).text.startswith("(a binary file")
    with refused("larger than 16 MiB: Read shows parts of it, and only a command"):
        hands.preview("Edit", file_path="big", old_string="one", new_string="two")


async def test_a_link_is_kept_and_its_target_is_what_is_shown(hands, tmp_path):
    (tmp_path / "real").write_text("one\n")
    (tmp_path / "link").symlink_to("real")
    await hands("Read", file_path="link")
    shown = hands.preview("Edit", file_path="link", old_string="one", new_string="two")
    await hands("Edit", file_path="link", old_string="one", new_string="two")
    assert (shown.target, shown.risks) == (str(tmp_path / "real"), [f"The path is a link: it leads to {tmp_path / 'real'}."])
    assert ((tmp_path / "link").is_symlink(), (tmp_path / "real").read_text()) == (True, "two\n")


async def test_a_link_that_was_turned_since_the_verdict_is_not_followed(hands, tmp_path, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    for folder in (tmp_path / "real", outside):
        folder.mkdir(exist_ok=True)
        (folder / "a").write_text("one\n")
    (tmp_path / "link").symlink_to("real")
    await hands("Read", file_path="link/a")
    hands.context.memory.read_files[str(outside / "a")] = digest(b"one\n")
    place = hands.context.place
    calls = {
        "Read": {"file_path": "link/a"},
        "Write": {"file_path": "link/a", "content": "two\n"},
        "Edit": {"file_path": "link/a", "old_string": "one", "new_string": "two"},
        "MultiEdit": {"file_path": "link/a", "edits": [edit("one", "two")]},
        "Glob": {"pattern": "*", "path": "link"},
        "Grep": {"pattern": "one", "path": "link"},
    }
    subjects = {name: hands.kit.get(name).subject(arguments, place) for name, arguments in calls.items()}
    (tmp_path / "link").unlink()
    (tmp_path / "link").symlink_to(outside)
    for name, arguments in calls.items():
        hands.context.judged = frozenset(target.path for target in subjects[name].targets)
        with refused("when it was judged"):
            await hands(name, **arguments)
    assert ((outside / "a").read_text(), (tmp_path / "real" / "a").read_text()) == ("one\n", "one\n")
