import contextlib
import ctypes
import os
import threading
import time

import pytest

from agentcli.errors import ToolError
from agentcli.workspace.files import read_kept, replace_file
from agentcli.workspace.reach import names_in, opened
from agentcli.workspace.window import window

AT_FDCWD, EXCHANGE = -100, 2


@pytest.fixture
def swapped(tmp_path):
    """A folder that is a link to the outside for half of the time, and never missing."""
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "renameat2"):
        pytest.skip("two names cannot be exchanged here")
    for folder in ("inside", "outside"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file").write_text(f"{folder}\n")
    (tmp_path / "link").symlink_to(tmp_path / "outside")
    names = [os.fsencode(tmp_path / name) for name in ("inside", "link")]
    stop, turns = threading.Event(), [0]

    def swap():
        while not stop.is_set():
            turns[0] += libc.renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], EXCHANGE) == 0
            if turns[0] % 50 == 0:
                time.sleep(0.0001)

    thread = threading.Thread(target=swap)
    thread.start()
    yield tmp_path, turns
    stop.set()
    thread.join()


def test_never_a_byte_outside_while_a_folder_is_swapped(swapped):
    folder, turns = swapped
    target, made = str(folder / "inside" / "file"), str(folder / "inside" / "new" / "deep")
    seen, done = set(), 0
    until = time.monotonic() + 2
    while time.monotonic() < until:
        with contextlib.suppress(ToolError):
            seen |= set(window(target, 1, 9).lines)
        with contextlib.suppress(ToolError):
            before = read_kept(target)
            if before is not None:
                seen.add(before.data)
                replace_file(target, b"inside\n", before)
        with contextlib.suppress(ToolError):
            replace_file(made, b"inside\n", None)
        seen |= set(names_in(str(folder / "inside"))) - {"file", "new"}
        done += 1
    assert (seen, turns[0] > 100, done > 100) == ({"     1\tinside", b"inside\n"}, True, True)
    assert (os.listdir(folder / "outside"), (folder / "outside" / "file").read_text()) == (["file"], "outside\n")


def test_what_a_process_sees_of_itself_can_be_opened():
    if not os.path.exists("/proc/self/status"):
        pytest.skip("no /proc")
    with opened("/proc/self/status") as (descriptor, _, _):
        assert f"Pid:\t{os.getpid()}\n".encode() in os.read(descriptor, 4_000)


def test_a_folder_that_cannot_be_listed_has_no_names(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    assert [names_in(str(tmp_path / name)) for name in ("x", "gone", "link", "link/x")] == [[], [], [], []]
    assert sorted(names_in(str(tmp_path))) == ["link", "x"]
