import errno
import os
import socket
import stat
from pathlib import Path

import pytest

from agentcli.errors import ToolError
from agentcli.workspace import files
from agentcli.workspace.files import Kept, read_kept, replace_file
from tests.fakes.disk import Died
from tests.fakes.system import FakeSystem


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


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def calls_of(tmp_path: Path, before: bytes | None) -> list[str]:
    system = FakeSystem()
    change(tmp_path / "dry", before, system)
    return system.calls


def change(folder: Path, before: bytes | None, system: FakeSystem) -> None:
    folder.mkdir()
    target = folder / "a" if before is not None else folder / "sub" / "deep" / "a"
    if before is not None:
        target.write_bytes(before)
        target.chmod(0o751)
    replace_file(str(target), NEW, None if before is None else kept(target), system)


OLD, NEW = b"old\n" * 3_000, b"new\n" * 5_000


@pytest.mark.parametrize("before", [OLD, None], ids=["replaced", "made"])
def test_law_11_no_failing_call_leaves_a_torn_file(tmp_path, before):
    for at, name in enumerate(calls_of(tmp_path, before), 1):
        folder = tmp_path / str(at)
        system = FakeSystem(at)
        done = [*system.calls]
        try:
            change(folder, before, system)
            done = [NEW]
        except ToolError:
            done = [before]
        found = files_of(folder)
        if name == "unlink":  # the change stands, and it is said what lies beside it
            assert set(found.values()) == {NEW}
        else:
            assert (name, list(found.values())) == (name, [one for one in done if one is not None])
        assert before is not None or found or os.listdir(folder) == []


@pytest.mark.parametrize("how", ["die", "late"])
@pytest.mark.parametrize("before", [OLD, None], ids=["replaced", "made"])
def test_law_11_no_kill_leaves_a_torn_file(tmp_path, before, how):
    for at, _ in enumerate(calls_of(tmp_path, before), 1):
        folder = tmp_path / f"{how}{at}"
        with pytest.raises(Died):
            change(folder, before, FakeSystem(at, how))
        assert files_of(folder).get("a", before) in (before, NEW)


def test_a_write_that_takes_little_at_a_time_goes_on(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    replace_file(str(target), b"newer", kept(target), FakeSystem(how="short"))
    assert target.read_bytes() == b"newer"


def test_a_full_disk_is_said(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    with pytest.raises(ToolError, match="No space left"):
        replace_file(str(target), b"new", kept(target), FakeSystem(1, code=errno.ENOSPC, only="write"))
    assert (target.read_bytes(), os.listdir(tmp_path)) == (b"old", ["a"])


def test_the_right_to_run_as_the_owner_is_not_inherited(tmp_path):
    target = tmp_path / "run"
    target.write_bytes(b"old")
    target.chmod(0o6755)
    assert kept(target).privileged
    replace_file(str(target), b"new", kept(target))
    assert stat.S_IMODE(target.stat().st_mode) == 0o755


def test_attributes_stay(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    try:
        os.setxattr(target, "user.note", b"kept")
    except (OSError, AttributeError):
        pytest.skip("no attributes on this file system")
    replace_file(str(target), b"new", kept(target))
    assert os.getxattr(target, "user.note") == b"kept"
    with pytest.raises(ToolError, match=r"user\.note that could not be kept"):
        replace_file(str(target), b"newer", kept(target), FakeSystem(1, only="setxattr", code=errno.ENOSPC))
    assert target.read_bytes() == b"new"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_the_owner_stays_or_the_change_is_refused(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    os.chown(target, 1234, 2345)
    replace_file(str(target), b"new", kept(target))
    assert (target.stat().st_uid, target.stat().st_gid) == (1234, 2345)
    with pytest.raises(ToolError, match="belongs to another user"):
        replace_file(str(target), b"newer", kept(target), FakeSystem(1, code=errno.EPERM, only="fchown"))
    assert (target.read_bytes(), os.listdir(tmp_path)) == (b"new", ["a"])


def test_a_folder_that_takes_nothing_new_is_named(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    with pytest.raises(ToolError, match=f"{tmp_path} takes no new file"):
        replace_file(str(target), b"new", kept(target), FakeSystem(1, code=errno.EACCES, only="open"))


def test_a_socket_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # the path of a socket has to be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s")
        with pytest.raises(ToolError, match="a socket"):
            read_kept(str(tmp_path / "s"))


def test_a_file_that_has_gone_is_not_made_again(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    before = kept(target)
    target.unlink()
    with pytest.raises(ToolError, match="gone"):
        replace_file(str(target), b"new", before)
    assert os.listdir(tmp_path) == []


def test_a_path_with_a_link_on_the_way_is_not_read(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_bytes(b"secret")
    (tmp_path / "sub").symlink_to(outside)
    with pytest.raises(ToolError, match="link"):
        read_kept(str(tmp_path / "sub" / "x"))
