from __future__ import annotations

import hashlib
import stat

import pytest

from agentcli.session.disk import DiskIO
from agentcli.session.spool import BlobSpool
from tests.fakes.disk import Died, FakeDisk


def spooled(folder, *texts, io=None, whole=100, ring=40):
    spool = BlobSpool(io or DiskIO(), folder, whole, ring)
    for text in texts:
        spool.write(text)
    return spool


def test_it_lies_under_its_digest_for_its_user_alone(tmp_path):
    stored = spooled(tmp_path / "b", "one\n", "two\n").finish()
    (file,) = (tmp_path / "b").iterdir()
    digest = hashlib.sha256(b"one\ntwo\n").hexdigest()
    assert (str(file), file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (stored.path, b"one\ntwo\n", 0o600)
    assert (file.name, stored.digest, stored.size, stored.missing) == (digest, digest, 8, 0)


@pytest.mark.parametrize("length", [99, 100, 101, 139, 140, 141, 180, 1_000, 1_017])
@pytest.mark.parametrize("piece", [1, 7, 250])
def test_of_too_much_the_beginning_and_the_newest_end_are_kept(tmp_path, length, piece):
    text = "".join(chr(ord("a") + at % 26) for at in range(length))
    stored = spooled(tmp_path, *(text[at : at + piece] for at in range(0, length, piece))).finish()
    missing = max(0, length - 100)
    wanted = f"{text[:60]}\n[{missing:,} bytes are not kept here]\n{text[-40:]}" if missing else text
    assert ((tmp_path / stored.digest).read_text(), stored.missing) == (wanted, missing)


def test_a_character_that_was_cut_in_two_is_no_beginning(tmp_path):
    stored = spooled(tmp_path, "x" * 100 + "é" * 30 + "y").finish()
    assert (tmp_path / stored.digest).read_text().endswith("here]\n" + "é" * 19 + "y")


def test_every_reader_takes_it_for_text(tmp_path):
    stored = spooled(tmp_path, "a\0b\ud800c").finish()
    assert (tmp_path / stored.digest).read_text() == "a\ufffdb?c"


def test_it_is_durable_before_it_has_its_name(tmp_path):
    disk = FakeDisk()
    spooled(tmp_path / "b", "text", io=disk).finish()
    assert disk.calls == ["mkdir", "fsync_folder", "open", "write", "fsync", "close", "rename", "fsync_folder"]


def test_what_is_dropped_leaves_nothing_and_takes_nothing(tmp_path):
    spool = spooled(tmp_path, "text")
    spool.drop()
    spool.write("more")
    spool.drop()
    with pytest.raises(ValueError, match="dropped"):
        spool.finish()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("how", ["error", "short", "torn", "die"])
@pytest.mark.parametrize("at", range(1, 14))
def test_whatever_the_disk_does_a_name_stands_for_its_bytes(tmp_path, how, at):
    disk, spool = FakeDisk(at, how), None
    try:
        spool = BlobSpool(disk, tmp_path, 100, 40)
        for letter in "xy":
            spool.write(letter * 90)
        spool.finish()
    except (OSError, Died):
        if spool is not None and not disk.dead:
            spool.drop()
    for path in tmp_path.iterdir():
        if path.suffix != ".tmp":
            assert hashlib.sha256(path.read_bytes()).hexdigest() == path.name
    if not disk.dead:
        assert disk.open_fds == set()
