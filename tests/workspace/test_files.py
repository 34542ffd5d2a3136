import os
import stat
from pathlib import Path

import pytest

from agentcli.errors import ToolError
from agentcli.workspace import files
from agentcli.workspace.files import Kept, read_kept, replace_file


def kept(path: Path) -> Kept:
    found = read_kept(str(path))
    assert found is not None
    return found


def test_a_new_file_is_made_with_its_folders(tmp_path):
    target = tmp_path / "a" / "b" / "new.txt"
    old = os.umask(0o027)
    try:
        replace_file(str(target), b"x", None)
    finally:
        os.umask(old)
    assert (target.read_bytes(), stat.S_IMODE(target.stat().st_mode), os.listdir(target.parent)) == (b"x", 0o640, ["new.txt"])


def test_mode_stays_and_no_temporary_is_left(tmp_path):
    target = tmp_path / "run.sh"
    target.write_bytes(b"old")
    target.chmod(0o751)
    replace_file(str(target), b"new", kept(target))
    assert (target.read_bytes(), stat.S_IMODE(target.stat().st_mode), os.listdir(tmp_path)) == (b"new", 0o751, ["run.sh"])


def test_law_11_a_file_changed_since_is_refused(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    before = kept(target)
    target.write_bytes(b"theirs")
    with pytest.raises(ToolError, match="changed"):
        replace_file(str(target), b"ours", before)
    assert (target.read_bytes(), os.listdir(tmp_path)) == (b"theirs", ["a"])


def test_a_file_made_since_is_refused(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"theirs")
    with pytest.raises(ToolError, match="exists by now"):
        replace_file(str(target), b"ours", None)
    assert (target.read_bytes(), os.listdir(tmp_path)) == (b"theirs", ["a"])


def test_a_folder_turned_into_a_link_is_not_followed(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "sub").symlink_to(outside)
    with pytest.raises(ToolError):
        replace_file(str(tmp_path / "sub" / "x"), b"x", None)
    assert os.listdir(outside) == []


def test_a_file_turned_into_a_link_is_not_followed(tmp_path):
    target, other = tmp_path / "a", tmp_path / "other"
    target.write_bytes(b"same")
    before = kept(target)
    other.write_bytes(b"same")
    target.unlink()
    target.symlink_to(other)
    with pytest.raises(ToolError, match="link"):
        replace_file(str(target), b"ours", before)
    assert other.read_bytes() == b"same"


def test_hard_links_are_refused(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"x")
    os.link(target, tmp_path / "b")
    with pytest.raises(ToolError, match="2 names"):
        replace_file(str(target), b"y", kept(target))


def test_a_folder_a_pipe_and_a_device_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, word in ((tmp_path, "folder"), (tmp_path / "pipe", "pipe"), (Path("/dev/null"), "device")):
        with pytest.raises(ToolError, match=word):
            read_kept(str(path))


def test_no_file_is_none(tmp_path):
    assert read_kept(str(tmp_path / "x")) is None


def test_a_large_file_is_not_held(tmp_path):
    with (tmp_path / "big").open("wb") as file:
        file.truncate(files.WHOLE_BYTES + 1)
    with pytest.raises(ToolError, match="larger than 16 MiB"):
        read_kept(str(tmp_path / "big"))


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_a_read_only_file_is_refused(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"x")
    target.chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        replace_file(str(target), b"y", kept(target))


def test_law_11_a_failed_write_changes_nothing(tmp_path, monkeypatch):
    target = tmp_path / "a"
    target.write_bytes(b"old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(ToolError, match="No space left"):
        replace_file(str(target), b"new", kept(target))
    assert (target.read_bytes(), os.listdir(tmp_path)) == (b"old", ["a"])
