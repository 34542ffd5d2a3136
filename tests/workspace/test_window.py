import codecs
import json

import pytest

from agentcli.errors import ToolError
from agentcli.workspace import files
from agentcli.workspace.files import digest
from agentcli.workspace.window import LINE_CHARS, Window, window


def test_lines_are_numbered_from_the_offset(tmp_path):
    data = b"one\r\ntwo\nthree"
    (tmp_path / "a").write_bytes(data)
    wanted = Window(lines=("     2\ttwo",), more=True, total=3, digest=digest(data), size=len(data))
    assert window(str(tmp_path / "a"), 2, 1) == wanted


def test_utf16_is_text(tmp_path):
    data = codecs.BOM_UTF16_LE + "\u00e9\r\nb".encode("utf-16-le")
    (tmp_path / "a").write_bytes(data)
    assert window(str(tmp_path / "a"), 1, 9).lines == ("     1\t\u00e9", "     2\tb")


def test_long_lines_are_cut_and_said(tmp_path):
    (tmp_path / "a").write_text("x" * 1_000_000 + "\nend\n")
    first, second = window(str(tmp_path / "a"), 1, 9).lines
    assert (len(first) < LINE_CHARS + 100, "about 99800" in first, second) == (True, True, "     2\tend")


def test_a_huge_file_is_read_in_part_only(tmp_path):
    with (tmp_path / "big").open("wb") as file:
        file.write(b"line\n" * 10_000)
        file.seek(files.WHOLE_BYTES * 50)
        file.write(b"\n")
    seen = window(str(tmp_path / "big"), 2, 3)
    assert seen == Window(lines=tuple(f"     {n}\tline" for n in (2, 3, 4)), more=True, size=files.WHOLE_BYTES * 50 + 1)


def test_an_image_is_told_by_its_bytes(tmp_path):
    data = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
    (tmp_path / "a.txt").write_bytes(data)
    assert window(str(tmp_path / "a.txt"), 1, 1) == Window(digest=digest(data), media="image/png", data=data, size=len(data))


def test_a_pipe_is_refused_at_once():
    with pytest.raises(ToolError, match="device"):
        window("/dev/zero", 1, 1)


@pytest.mark.parametrize("length", [0, 1, 80, LINE_CHARS - 1, LINE_CHARS * 3])
def test_a_window_fits_whole_into_a_result(tmp_path, length):
    path = tmp_path / "f"
    path.write_text(("x" * length + "\n") * 100_000 if length < 100 else ("x" * length + "\n") * 100)
    seen = window(str(path), 1, 100_000)
    assert len("\n".join(seen.lines)) < 99_000 and seen.more


def test_a_lone_cr_ends_a_line_where_no_other_end_is(tmp_path):
    (tmp_path / "a").write_bytes(b"one\rtwo\r")
    seen = window(str(tmp_path / "a"), 1, 9)
    assert (seen.lines, seen.total) == (("     1\tone", "     2\ttwo"), 2)


def test_how_a_file_is_written_is_said_where_it_is_not_utf8(tmp_path):
    written = {
        "gbk": "# 读取配置文件，返回一个字典；出错时返回空\n".encode("gbk"),
        "open": "# 你好世界\n".encode("gbk"),
        "broken": ("é" * 40).encode() + b"\xff\n",
        "plain": "é\n".encode(),
    }
    for name, data in written.items():
        (tmp_path / name).write_bytes(data)
    notes = {name: window(str(tmp_path / name), 1, 9).note.partition(",")[0] for name in written}
    assert notes == {
        "gbk": "written in gbk",
        "open": "the encoding of the file is not certain (gbk or another one); Edit changes only ASCII in it",
        "broken": "some bytes are no UTF-8; they are shown as \ufffd",
        "plain": "",
    }
    assert window(str(tmp_path / "gbk"), 1, 9).lines == ("     1\t# 读取配置文件，返回一个字典；出错时返回空",)


def test_a_huge_file_in_another_encoding_is_shown_in_it(tmp_path):
    line = "# 读取配置文件，返回一个字典；出错时返回空\n".encode("gbk")
    (tmp_path / "a").write_bytes(line * (files.WHOLE_BYTES // len(line) + 1))
    assert window(str(tmp_path / "a"), 2, 1).lines == ("     2\t# 读取配置文件，返回一个字典；出错时返回空",)


def test_nuls_that_fill_up_a_text_are_counted(tmp_path):
    (tmp_path / "a").write_bytes(b"one\n" + b"\0" * 20_000)
    assert window(str(tmp_path / "a"), 1, 9).lines == ("     1\tone", "     2\t(20000 NUL bytes)")


KINDS = {
    "gif": (b"GIF89a" + b"\0" * 9, "image/gif"),
    "jpeg": (b"\xff\xd8\xff\xe0" + b"\0" * 9, "image/jpeg"),
    "webp": (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    "pdf": (b"%PDF-1.7\n", "application/pdf"),
    "text": (b"<svg/>\n", None),
}


@pytest.mark.parametrize(("data", "media"), KINDS.values(), ids=KINDS)
def test_what_can_be_seen_is_told_by_its_bytes(tmp_path, data, media):
    (tmp_path / "a").write_bytes(data)
    assert window(str(tmp_path / "a"), 1, 1).media == media


def test_a_binary_file_says_what_it_is(tmp_path):
    for name, data in (("a.txt", b"\x7fELF\2\1\1\0"), ("b", b"SQLite format 3\0"), ("c", b"\1\0")):
        (tmp_path / name).write_bytes(data)
    kinds = [window(str(tmp_path / name), 1, 1).kind for name in ("a.txt", "b", "c")]
    assert kinds == ["a program (ELF)", "an SQLite database", ""]


def test_a_large_image_is_refused(tmp_path):
    with (tmp_path / "a").open("wb") as file:
        file.write(b"GIF89a")
        file.truncate(6 * 1024 * 1024)
    with pytest.raises(ToolError, match=r"image/gif.* larger than 5 MiB"):
        window(str(tmp_path / "a"), 1, 1)


def test_a_notebook_is_shown_as_its_cells(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "source": "1 / 0\nx",
            "outputs": [
                {"output_type": "stream", "text": ["out\n"]},
                {"output_type": "error", "ename": "ZeroDivisionError", "evalue": "division by zero"},
                {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}},
                {"output_type": "stream", "text": "y" * 5_000},
            ],
        },
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    seen = window(str(tmp_path / "a.ipynb"), 1, 99)
    assert [line.partition("\t")[2] for line in seen.lines[:-1]] == [
        "--- cell 1: markdown ---", "# Title", "text", "--- cell 2: code ---", "1 / 0", "x", "--- output ---", "out",
        "--- output ---", "ZeroDivisionError: division by zero", "--- output ---", "<Figure>", "[image/png]", "--- output ---",
    ]  # fmt: skip
    assert "line cut" in seen.lines[-1] and seen.note.startswith("cells of a notebook")


@pytest.mark.parametrize("text", ["{", "[]", '{"cells": 3}', '{"cells": [1]}', "[" * 100_000])
def test_what_is_no_notebook_is_shown_as_it_is(tmp_path, text):
    (tmp_path / "a.ipynb").write_text(text)
    assert window(str(tmp_path / "a.ipynb"), 1, 1).lines[0].startswith(f"     1\t{text[:20]}")
