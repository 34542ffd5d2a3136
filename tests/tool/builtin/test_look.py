import base64
import os

import pytest

from agentcli.errors import ToolError
from agentcli.ledger.block import Base64Source, DataBlock
from agentcli.tool.builtin import glob
from agentcli.workspace import pdf
from agentcli.workspace.files import digest
from tests.fakes.hands import FakeHands
from tests.fakes.paper import paper


@pytest.fixture
def hands(tmp_path):
    (tmp_path / ".git").mkdir()
    return FakeHands(tmp_path)


async def test_read_numbers_lines_and_remembers(hands, tmp_path):
    (tmp_path / "a").write_text("one\ntwo\nthree\n")
    done = await hands("Read", file_path="a", offset=2, limit=1)
    assert done.text == "     2\ttwo\n(lines 2 to 2 of 3; go on with offset 3)"
    assert done.metadata == {"summary": "1 line", "seen": {str(tmp_path / "a"): digest(b"one\ntwo\nthree\n")}}


async def test_read_says_what_there_is_instead(hands, tmp_path):
    (tmp_path / "config.toml").write_text("x\n")
    (tmp_path / "empty").write_text("")
    (tmp_path / "bin").write_bytes(b"\0\1")
    wanted = {
        "config.toml": "(there is no line 9: the file has 1 line)",
        "empty": "(the file is empty)",
        "bin": "(a binary file of 2 bytes; it is not shown)",
    }
    assert {name: (await hands("Read", file_path=name, offset=9)).text for name in wanted} == wanted
    for name, words in (("config.tml", "there is config.toml"), (".", "Glob"), ("nothing-like-it", "does not exist")):
        with pytest.raises(ToolError, match=words):
            await hands("Read", file_path=name)


async def test_read_gives_an_image_as_data(hands, tmp_path):
    data = b"GIF89a" + b"\0" * 9
    (tmp_path / "x.gif").write_bytes(data)
    block = (await hands("Read", file_path="x.gif")).chunks[0].content[0]
    source = Base64Source(data=base64.b64encode(data).decode(), media_type="image/gif")
    assert block == DataBlock(id=block.id, source=source, name="x.gif")


@pytest.mark.skipif(not pdf.can_read(), reason="pypdf is not installed")
async def test_read_gives_a_pdf_as_data_and_its_text_where_a_line_is_asked_for(hands, tmp_path):
    data = paper("Hello there", "second")
    (tmp_path / "x.pdf").write_bytes(data)
    done = await hands("Read", file_path="x.pdf")
    block = done.chunks[0].content[0]
    source = Base64Source(data=base64.b64encode(data).decode(), media_type="application/pdf")
    assert block == DataBlock(id=block.id, source=source, name="x.pdf")
    assert done.text == "(If you cannot see the PDF, read it with offset 1: that gives its text.)"
    done = await hands("Read", file_path="x.pdf", offset=2, limit=1)
    assert done.text == "     2\tHello there\n(the text of a PDF)\n(lines 2 to 2 of 4; go on with offset 3)"
    assert done.metadata == {"summary": "1 line", "seen": {str(tmp_path / "x.pdf"): digest(data)}}
    (tmp_path / "scan.pdf").write_bytes(paper(""))
    with pytest.raises(ToolError, match="no text"):
        await hands("Read", file_path="scan.pdf", offset=1)


async def test_read_says_what_a_binary_file_is_and_in_which_encoding_a_text_is(hands, tmp_path):
    (tmp_path / "z").write_bytes(b"\x1f\x8b\x08\0")
    assert (await hands("Read", file_path="z")).text == "(a binary file (gzip) of 4 bytes; it is not shown)"
    (tmp_path / "l").write_bytes("# élève été où çà\n".encode("latin-1"))
    assert (await hands("Read", file_path="l")).text == "     1\t# élève été où çà\n(written in latin-1, and kept so)"


async def test_glob_lists_the_newest_first(hands, tmp_path):
    for age, name in enumerate(("b.py", "a.py", "sub/c.py", "d.txt")):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
        os.utime(path, (1_000_000 - age, 1_000_000 - age))
    assert (await hands("Glob", pattern="**/*.py")).text.split("\n")[:3] == ["b.py", "a.py", "sub/c.py"]
    assert set((await hands("Glob", pattern="*")).text.split("\n")[:4]) == {"a.py", "b.py", "d.txt", "sub/"}
    assert (await hands("Glob", pattern="*.py", path="sub")).text == "sub/c.py"
    assert (await hands("Glob", pattern="*.rs")).text == "(nothing matches)"


async def test_glob_is_bounded_and_says_so(hands, tmp_path):
    for number in range(glob.MOST_PATHS + 5):
        (tmp_path / f"{number}.txt").write_text("")
    lines = (await hands("Glob", pattern="*.txt")).text.split("\n")
    assert (len(lines), lines[-1]) == (glob.MOST_PATHS + 1, "(5 more, older ones left out; they are not kept)")


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "a/../../*", "~/*"])
async def test_a_pattern_stays_below_its_folder(hands, pattern):
    with pytest.raises(ToolError, match="below the folder"):
        await hands("Glob", pattern=pattern)


async def test_denied_and_protected_places_are_left_out_and_said(hands, tmp_path):
    for name in (".env", "secret/key.txt", "open.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("needle\n")
    assert (await hands("Grep", pattern="needle", path=".")).text.split("\n")[-1] == "(1 left out: protected or denied)"
    hands.context.look = lambda path: "secret" not in path and not path.endswith(".env")
    assert (await hands("Grep", pattern="needle")).text == "open.txt:1:needle\n(2 left out: protected or denied)"
    assert (await hands("Glob", pattern="**/*.txt")).text == "open.txt\n(2 left out: protected or denied)"


async def test_grep_shows_lines_or_files(hands, tmp_path):
    (tmp_path / "a.py").write_text("x = 1\ny = 2\nx = 3\n")
    done = await hands("Grep", pattern="^x", context=1)
    assert (done.text, done.metadata) == ("a.py:1:x = 1\na.py-2-y = 2\na.py:3:x = 3", {"summary": "2 matches"})
    assert (await hands("Grep", pattern="^X", ignore_case=True, files_only=True)).text == "a.py"
    assert (await hands("Grep", pattern="^z")).text == "(no match)"
    with pytest.raises(ToolError, match=r"regular expression|regex"):
        await hands("Grep", pattern="(")


async def test_grep_is_bounded_and_says_so(hands, tmp_path):
    (tmp_path / "a").write_text("x\n" * 2_000)
    assert (await hands("Grep", pattern="x")).text.split("\n")[-1].startswith("(only the first 250 lines")


def test_previews_of_looks_name_the_resolved_place(hands, tmp_path):
    (tmp_path / "a").write_text("x")
    (tmp_path / "link").symlink_to("a")
    first = hands.preview("Read", file_path="link")
    assert (first.kind, first.target) == ("text", str(tmp_path / "a"))
    (tmp_path / "link").unlink()
    assert hands.preview("Read", file_path="link").digest != first.digest


async def test_names_that_are_no_text_are_shown_and_never_kept(hands, tmp_path):
    odd = os.fsencode(tmp_path) + b"/odd\xff.txt"
    with open(odd, "w") as file:
        file.write("needle\n")
    (tmp_path / "link").symlink_to(os.fsdecode(odd))
    assert (await hands("Glob", pattern="odd*")).text == "odd\ufffd.txt"
    assert (await hands("Grep", pattern="needle")).text == "odd\ufffd.txt:1:needle"
    with pytest.raises(ToolError, match="not UTF-8"):
        await hands("Read", file_path="link")


async def test_a_protected_file_that_was_named_is_searched(hands, tmp_path):
    (tmp_path / ".env").write_text("needle\n")
    assert (await hands("Grep", pattern="needle", path=".env")).text == ".env:1:needle"
