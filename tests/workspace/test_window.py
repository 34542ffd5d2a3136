import codecs

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
    assert window(str(tmp_path / "a.txt"), 1, 1) == Window(digest=digest(data), image="image/png", data=data, size=len(data))


def test_a_pipe_is_refused_at_once():
    with pytest.raises(ToolError, match="device"):
        window("/dev/zero", 1, 1)


@pytest.mark.parametrize("length", [0, 1, 80, LINE_CHARS - 1, LINE_CHARS * 3])
def test_a_window_fits_whole_into_a_result(tmp_path, length):
    path = tmp_path / "f"
    path.write_text(("x" * length + "\n") * 100_000 if length < 100 else ("x" * length + "\n") * 100)
    seen = window(str(path), 1, 100_000)
    assert len("\n".join(seen.lines)) < 99_000 and seen.more
