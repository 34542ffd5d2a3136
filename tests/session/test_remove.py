from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentcli.errors import SessionError
from agentcli.ledger.message import UserMsg
from agentcli.session.store import SessionStore
from tests.fakes.disk import Died, FakeDisk
from tests.session.story import HEADER, ID, log_path, write_story

OTHER = f"{ID[:-1]}6"


async def test_all_that_bears_its_name_goes_and_nothing_else(tmp_path: Path):
    await write_story(tmp_path)
    store = SessionStore(tmp_path)
    store.create(OTHER, HEADER).close()
    log = log_path(tmp_path)
    log.with_suffix(".torn").write_bytes(b"half")
    blobs = sorted(path.name for path in log.with_suffix(".blobs").iterdir())
    assert blobs
    assert store.remove(ID) == [f"{ID}.jsonl", f"{ID}.blobs", f"{ID}.torn"]
    assert [path.name for path in store.folder.iterdir()] == [f"{OTHER}.jsonl"]
    with pytest.raises(SessionError, match="there is no session"):
        store.remove(ID)


async def test_a_held_session_stays_and_its_holder_is_named(tmp_path: Path):
    store = SessionStore(tmp_path)
    log = store.create(ID, HEADER)
    code = (
        "import sys; from pathlib import Path; from agentcli.session.store import SessionStore\n"
        f"SessionStore(Path(sys.argv[1])).remove({ID!r})"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert f"SessionHeld: session {ID} is held by process {os.getpid()}" in done.stderr
    await log.said(UserMsg(content="still here"))
    log.close()
    assert [msg.get_text_content() for msg in store.read(ID).messages] == ["still here"]


async def test_a_log_that_is_no_session_can_be_removed(tmp_path: Path):
    await write_story(tmp_path)
    log_path(tmp_path).write_bytes(b'{"seq":1')
    store = SessionStore(tmp_path)
    store.remove(ID)
    assert list(store.folder.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="links")
async def test_a_link_is_removed_and_what_it_leads_to_stays(tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    store = SessionStore(tmp_path)
    store.create(ID, HEADER).close()
    (store.folder / f"{ID}.blobs").symlink_to(outside)
    store.remove(ID)
    assert (outside / "kept").exists()
    assert list(store.folder.iterdir()) == []


async def test_what_a_crash_leaves_of_a_removal_can_be_removed_again(tmp_path: Path):
    for at in range(1, 40):
        data = tmp_path / str(at)
        await write_story(data)
        disk = FakeDisk(at=at, how="die")
        try:
            SessionStore(data, disk).remove(ID)
        except Died:
            store = SessionStore(data)
            if store.ids():
                store.remove(ID)
            assert [path.suffix for path in store.folder.iterdir()] in ([], [".held"])
        else:
            return
    raise AssertionError("the disk never got to its last call")


async def test_a_refusing_disk_is_one_sentence(tmp_path: Path):
    await write_story(tmp_path)
    with pytest.raises(SessionError, match="could not be removed whole: No space left on device"):
        SessionStore(tmp_path, FakeDisk(at=1, only="unlink")).remove(ID)
    assert SessionStore(tmp_path).ids() == [ID]


async def test_a_session_that_was_removed_meanwhile_is_not_written(tmp_path: Path):
    class FakeSlowDisk(FakeDisk):
        def open(self, path: Path, flags: int) -> int:
            fd = super().open(path, flags)
            if path.suffix == ".jsonl":
                path.unlink()
            return fd

    await write_story(tmp_path)
    with pytest.raises(SessionError, match="it was removed just now"):
        SessionStore(tmp_path, FakeSlowDisk()).open(ID)
