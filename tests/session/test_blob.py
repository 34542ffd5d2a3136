from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from agentcli.errors import LogError, SessionError
from agentcli.ledger.block import TextBlock, ToolCallBlock, ToolResultBlock
from agentcli.ledger.message import AssistantMsg, UserMsg
from agentcli.session.disk import DiskIO
from agentcli.session.store import SessionStore
from tests.fakes.disk import Died, FakeDisk
from tests.session.story import HEADER, ID, log_path

OTHER = f"{ID[:-1]}6"


async def with_output(store, text="a long output\n"):
    """A session with one result, the whole of which lies in a blob."""
    log = store.create(ID, HEADER)
    await log.said(UserMsg(content="go"))
    spool = log.blobs.spool()
    spool.write(text)
    stored = spool.finish()
    msg = AssistantMsg(content=[ToolCallBlock(id="c1", name="Bash", input="{}"), result_naming(stored)])
    await log.kept(msg)
    log.close()
    return stored


def result_naming(stored, as_text=False):
    words = f"head\n[left out; the whole is in {stored.path}]\ntail"
    kept = {"kept": {"blob": stored.digest, "bytes": stored.size}}
    output = words if as_text else [TextBlock(id="t1", text=words)]
    return ToolResultBlock(id="c1", name="Bash", output=output, state="success", metadata=kept)


async def test_opening_keeps_what_a_result_names_and_removes_what_was_half_written(tmp_path: Path):
    store = SessionStore(tmp_path)
    stored = await with_output(store)
    half = Path(stored.path).with_name("half.tmp")
    half.write_text("half")
    log, loaded = store.open(ID)
    log.close()
    assert (Path(stored.path).read_text(), half.exists(), loaded.lost) == ("a long output\n", False, [])


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_text("cut"), lambda path: (path.unlink(), path.mkdir())])
async def test_an_output_that_is_not_as_it_was_is_told(tmp_path: Path, harm):
    store = SessionStore(tmp_path)
    stored = await with_output(store)
    harm(Path(stored.path))
    wanted = [f"the whole output of call c1 (Bash) is missing: blob {stored.digest}"]
    assert store.read(ID).lost == wanted
    log, loaded = store.open(ID)
    log.close()
    assert loaded.lost == wanted


@pytest.mark.parametrize("kept", [None, "x", {}, {"blob": "../../../etc/passwd", "bytes": 1}, {"blob": "a" * 64}, {"blob": 3}])
async def test_metadata_that_names_no_blob_is_nobodys_loss(tmp_path: Path, kept):
    store = SessionStore(tmp_path)
    log = store.create(ID, HEADER)
    result = ToolResultBlock(id="c1", name="Bash", output="x", state="success", metadata={"kept": kept})
    await log.kept(AssistantMsg(content=[ToolCallBlock(id="c1", name="Bash", input="{}"), result]))
    log.close()
    assert store.read(ID).lost == []


async def test_removing_the_session_removes_its_outputs(tmp_path: Path):
    store = SessionStore(tmp_path)
    await with_output(store)
    store.remove(ID)
    assert list(store.folder.iterdir()) == []


class NoLinks(DiskIO):
    def link(self, old, new):
        raise PermissionError


@pytest.mark.parametrize("io", [DiskIO(), NoLinks()])
@pytest.mark.parametrize("as_text", [False, True])
async def test_another_session_can_take_an_output_over(tmp_path: Path, io, as_text):
    store = SessionStore(tmp_path, io)
    stored = await with_output(store)
    log = store.create(OTHER, HEADER)
    msg = AssistantMsg(content=[result_naming(stored, as_text)])
    log.blobs.carry(msg, ID)
    log.blobs.carry(AssistantMsg(content=[result_naming(stored)]), ID)
    log.close()
    store.remove(ID)
    mine = store.folder / f"{OTHER}.blobs" / stored.digest
    assert (mine.read_text(), msg.content[0].text) == ("a long output\n", f"head\n[left out; the whole is in {mine}]\ntail")


async def test_what_the_parent_has_lost_is_not_taken_over(tmp_path: Path):
    store = SessionStore(tmp_path)
    stored = await with_output(store)
    Path(stored.path).unlink()
    log = store.create(OTHER, HEADER)
    msg = AssistantMsg(content=[result_naming(stored)])
    log.blobs.carry(msg, ID)
    log.close()
    assert (msg.content[0].text, (store.folder / f"{OTHER}.blobs").exists()) == (result_naming(stored).text, False)


@pytest.mark.skipif(os.name == "nt", reason="links")
async def test_a_link_among_the_outputs_is_not_taken_over(tmp_path: Path):
    store = SessionStore(tmp_path)
    stored = await with_output(store)
    secret = tmp_path / "secret"
    secret.write_text("x" * stored.size)
    Path(stored.path).unlink()
    Path(stored.path).symlink_to(secret)
    log = store.create(OTHER, HEADER)
    log.blobs.carry(AssistantMsg(content=[result_naming(stored)]), ID)
    log.close()
    assert not (store.folder / f"{OTHER}.blobs").exists()


async def test_the_log_itself_stays_small(tmp_path: Path):
    await with_output(SessionStore(tmp_path), "x" * 1_000_000)
    assert len(log_path(tmp_path).read_bytes()) < 3_000
    assert [json.loads(line)["type"] for line in log_path(tmp_path).read_bytes().splitlines()] == ["session", "msg", "msg"]


@pytest.mark.parametrize("power", [False, True])
async def test_law_8_whenever_the_process_dies_a_result_on_disk_has_the_whole_that_it_names(tmp_path: Path, power):
    at, done = 0, False
    while not done:
        at += 1
        data = tmp_path / str(at)
        disk = FakeDisk(at, "die")
        try:
            await with_output(SessionStore(data, disk), "x" * 200_000)
            done = True
        except (Died, LogError, OSError):
            (disk.lose_power if power else disk.kill)()
        try:
            log, loaded = SessionStore(data).open(ID)
        except SessionError:
            continue  # it died before there was a session
        log.close()
        assert not any("missing" in sentence for sentence in loaded.lost)
        named = [
            block.metadata["kept"]["blob"] for msg in loaded.messages for block in msg.content if block.type == "tool_result"
        ]
        there = {path.name for path in (data / "sessions" / f"{ID}.blobs").glob("*")}
        assert set(named) <= there and not any(name.endswith(".tmp") for name in there)
    assert at > 15 and named
