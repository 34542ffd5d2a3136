import asyncio
import time

import pytest

from agentcli.errors import ToolError
from agentcli.workspace import pdf
from tests.fakes.paper import paper

needs_pypdf = pytest.mark.skipif(not pdf.can_read(), reason="pypdf is not installed")


@needs_pypdf
async def test_the_text_of_each_page_is_read():
    assert await pdf.text_of(paper("Hello there", "second")) == "--- page 1 ---\nHello there\n--- page 2 ---\nsecond\n"


@needs_pypdf
async def test_what_is_no_pdf_is_one_sentence():
    with pytest.raises(ToolError, match=r"cannot be read: \w+") as told:
        await pdf.text_of(b"%PDF-1.7\nnothing")
    assert "\n" not in str(told.value)


async def test_a_reader_that_does_not_end_is_ended(tmp_path, monkeypatch):
    program = tmp_path / "slow.py"
    program.write_text("import sys, time; sys.stdout.write('x' * 1_000_000); sys.stdout.flush(); time.sleep(60)")
    monkeypatch.setattr(pdf, "PROGRAM", program)
    monkeypatch.setattr(pdf, "SECONDS", 0.2)
    monkeypatch.setattr(pdf, "can_read", lambda: True)
    start = time.monotonic()
    with pytest.raises(ToolError, match="within"):
        await pdf.text_of(b"")
    monkeypatch.setattr(pdf, "SECONDS", 60)
    reading = asyncio.ensure_future(pdf.text_of(b""))
    await asyncio.sleep(0.3)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert time.monotonic() - start < 5


async def test_without_the_library_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setattr(pdf, "can_read", lambda: False)
    with pytest.raises(ToolError, match=r"pypdf.*agentcli\[pdf\]"):
        await pdf.text_of(paper("x"))
