"""A program: a PDF on stdin, its text on stdout. Loads nothing of ours; its time, memory and output are bounded."""

from __future__ import annotations

import io
import logging
import sys

MEMORY = 1024 * 1024 * 1024
SECONDS = 30
TEXT_CHARS = 4_000_000


def main() -> None:
    """Exit code 1 with a sentence on stderr where there is nothing to be read."""
    limit()
    logging.disable()
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    try:
        write_pages(sys.stdin.buffer.read())
    except MemoryError:
        sys.exit("it needs too much memory")
    except Exception as fault:  # whatever a broken file makes of the library is one sentence for the reader
        sys.exit(f"{type(fault).__name__}: {fault}")


def limit() -> None:
    """No more time and memory than this, and no file at all."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, most in ((resource.RLIMIT_CPU, SECONDS), (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, 0)):
        resource.setrlimit(kind, (most, most))


def write_pages(data: bytes) -> None:
    from pypdf import PdfReader

    reader = PdfReader(io.BytesIO(data))
    if reader.is_encrypted and not reader.decrypt(""):
        sys.exit("it is encrypted")
    room = TEXT_CHARS
    for number, page in enumerate(reader.pages, 1):
        text = f"--- page {number} ---\n{page.extract_text()}\n"
        print(text[:room], end="")
        room -= len(text)
        if room <= 0:
            break


if __name__ == "__main__":
    main()
