"""The text of a PDF, by a program of its own: a hostile file can then be ended, and takes no more memory than it is given."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from pathlib import Path

from agentcli.errors import ToolError

SECONDS = 30
PROGRAM = Path(__file__).with_name("pdf_reader.py")
MISSING = "its text needs the library pypdf, which is not installed (agentcli[pdf])"


def can_read() -> bool:
    """Whether the library is there."""
    return importlib.util.find_spec("pypdf") is not None


async def text_of(data: bytes) -> str:
    """All pages, each under a line with its number. ToolError where there is no text to be had."""
    if not can_read():
        raise ToolError(MISSING)
    pipe = asyncio.subprocess.PIPE
    words = [sys.executable, "-I", str(PROGRAM)]
    process = await asyncio.create_subprocess_exec(*words, stdin=pipe, stdout=pipe, stderr=pipe, env={})
    try:
        said, faults = await asyncio.wait_for(process.communicate(data), SECONDS)
    except TimeoutError as fault:
        raise ToolError(f"the text of the PDF was not found within {SECONDS} s") from fault
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()  # to wait alone would hang on what nobody has read
    if process.returncode:
        why = faults.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        raise ToolError(f"the text of the PDF cannot be read: {why or 'the reader was ended'}")
    return said.decode("utf-8", "replace")
