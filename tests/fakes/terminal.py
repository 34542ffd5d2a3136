"""A person at a terminal: waits for words on the screen, then types."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time


class FakeTerminal:
    """Runs `agentcli` with these words on a terminal of its own."""

    def __init__(self, *words: str) -> None:
        self.fd, other = pty.openpty()
        command = [sys.executable, "-m", "agentcli", *words]
        self.process = subprocess.Popen(command, stdin=other, stdout=other, stderr=other, start_new_session=True)
        os.close(other)
        self.shown = ""
        self._rest = ""

    def wait(self, words: str, seconds: float = 30.0) -> None:
        """Until these words are shown, behind what was waited for before."""
        seen, end = self._rest, time.monotonic() + seconds
        while words not in seen:
            assert time.monotonic() < end, f"{words!r} is not in {seen!r}"
            piece = self._read()
            assert piece is not None, f"{words!r} is not in {seen!r}, and the program has ended"
            seen += piece
        self._rest = seen.partition(words)[2]

    def type(self, text: str) -> None:
        os.write(self.fd, text.encode())

    def end(self) -> int:
        """Read until the end; the exit code."""
        while self._read() is not None:
            continue
        os.close(self.fd)
        return self.process.wait(30)

    def _read(self) -> str | None:
        if not select.select([self.fd], [], [], 0.2)[0]:
            return "" if self.process.poll() is None else None
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # how Linux tells that nobody has the other end any more
            return None
        text = data.decode("utf-8", "replace").replace("\r\n", "\n")
        self.shown += text
        return text if data else None
