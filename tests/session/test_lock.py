from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentcli.errors import SessionHeld
from agentcli.session import lock
from agentcli.session.store import SessionStore
from tests.session.story import HEADER, ID, log_path

HOLD = """
import sys, time, pathlib
from agentcli.session.store import SessionStore
log, _ = SessionStore(pathlib.Path(sys.argv[1])).open(sys.argv[2])
print("held", flush=True)
time.sleep(60)
"""


def test_law_8_a_second_process_is_told_who_holds_it_and_a_dead_one_holds_nothing(tmp_path: Path):
    store = SessionStore(tmp_path)
    store.create(ID, HEADER).close()
    other = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path), ID], stdout=subprocess.PIPE)
    assert other.stdout is not None
    with other.stdout:
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(SessionHeld) as held:
            store.open(ID)
        assert (held.value.session_id, held.value.holder) == (ID, f"process {other.pid}")
        assert store.read(ID).lost == []
        assert [row.held_by for row in store.rows()] == [str(other.pid)]
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
    assert log_path(tmp_path).with_suffix(".held").exists()
    assert [row.held_by for row in store.rows()] == [None]
    store.open(ID)[0].close()


def test_two_openers_in_one_process_exclude_each_other(tmp_path: Path):
    store = SessionStore(tmp_path)
    log = store.create(ID, HEADER)
    with pytest.raises(SessionHeld, match=f"process {os.getpid()}"):
        store.open(ID)
    log.close()
    assert not log_path(tmp_path).with_suffix(".held").exists()
    store.open(ID)[0].close()


def test_a_refused_opener_changes_nothing(tmp_path: Path):
    store = SessionStore(tmp_path)
    log = store.create(ID, HEADER)
    with log_path(tmp_path).open("ab") as file:
        file.write(b'{"half')
    before = {path.name: path.read_bytes() for path in store.folder.iterdir()}
    with pytest.raises(SessionHeld):
        store.open(ID)
    assert {path.name: path.read_bytes() for path in store.folder.iterdir()} == before
    assert store.read(ID).lost == []  # its writer lives, and may be in the middle of that record
    log.close()


class FakeFlock:
    """A file system without locks."""

    def __init__(self) -> None:
        self.code = errno.ENOLCK

    def __call__(self, fd: int, how: int) -> None:
        raise OSError(self.code, os.strerror(self.code))


@pytest.mark.skipif(sys.platform == "win32", reason="flock")
def test_without_locks_the_name_tag_is_the_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lock.fcntl, "flock", FakeFlock())
    store = SessionStore(tmp_path)
    log = store.create(ID, HEADER)
    with pytest.raises(SessionHeld, match=f"process {os.getpid()}"):
        store.open(ID)
    assert store.rows()[0].held_by == str(os.getpid())
    log.close()
    tag = {"pid": os.getpid(), "host": lock.socket.gethostname(), "boot": "another boot"}
    log_path(tmp_path).with_suffix(".held").write_text(json.dumps(tag))
    assert store.rows()[0].held_by is None
    store.open(ID)[0].close()
