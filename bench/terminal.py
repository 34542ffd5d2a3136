"""The program in a real terminal of 120 x 40: what it writes is kept with its time, what it asks is answered at once.

The screen is rebuilt (pyte) only when a phase asks for its text, so that no emulator competes with the program.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pyte
from world import World

COLUMNS, ROWS = 120, 40
PROBES = "þæøßđħłŋŧµ§¶¿¡«»¢£¥®±ÐÞÆØĐĦŁŊŦ"
"""Glyphs that stand nowhere else: the first sight of one is its echo."""
ESCAPE = re.compile(rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-~]")
QUESTIONS = re.compile(rb"\x1b\[(?P<device>[>=]?0?c)|\x1b\[(?P<place>6n)|\x1b\[\?(?P<mode>\d+)\$p|\x1b\[(?P<keys>\?u)")
FOR_PYTE = re.compile(rb"\x1b\[[<>=?][0-9;:]*[umqpc]|\x1b\[\??\d*\$p|\x1b[P_^][^\x1b]*\x1b\\")
"""Sequences that pyte would print."""


class Terminal:
    def __init__(self, command: Sequence[str], world: World) -> None:
        self.chunks: list[tuple[float, bytes]] = []
        self.written = 0
        self.dead = False
        self._rest = b""
        self.began = time.monotonic()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            try:
                os.chdir(world.project)
                os.execvpe(command[0], list(command), world.env)
            finally:
                os._exit(127)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, COLUMNS * 9, ROWS * 18))
        os.set_blocking(self.fd, False)

    # -- output and input --------------------------------------------------------------------------

    def pump(self, seconds: float) -> bool:
        """Read what is there, waiting no longer than this for the first of it."""
        if self.dead:
            raise RuntimeError(f"the program has ended; its last words: {self.text()[-600:]}")
        ready, _, _ = select.select([self.fd], [], [], max(0.0, seconds))
        if not ready:
            return False
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            data = b""
        if not data:
            self.dead = True
            return False
        self.chunks.append((time.monotonic(), data))
        self.written += len(data)
        self._answer(data)
        return True

    def send(self, keys: str) -> None:
        data = keys.encode()
        while data:
            try:
                data = data[os.write(self.fd, data) :]
            except BlockingIOError:
                self.pump(0.01)

    def _answer(self, data: bytes) -> None:
        text, end = self._rest + data, 0
        for found in QUESTIONS.finditer(text):
            end = found.end()
            match found.lastgroup:
                case "device":
                    self.send("\x1b[?62;22c")
                case "place":
                    self.send("\x1b[1;1R")
                case "keys":
                    self.send("\x1b[?0u")
                case _:
                    self.send(f"\x1b[?{found['mode'].decode()};2$y")
        at = text.rfind(b"\x1b", end)
        self._rest = text[at:] if at >= 0 and len(text) - at < 32 else b""

    # -- waiting -----------------------------------------------------------------------------------

    def run(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.pump(min(0.05, left))

    def quiet(self, gap: float = 0.4, limit: float = 15) -> None:
        """Wait until nothing was written for `gap` seconds."""
        end = time.monotonic() + limit
        while self.pump(gap) and time.monotonic() < end:
            pass

    def seen(self, word: str, limit: float, since: int) -> float | None:
        """When this word stood in the output of the chunks from `since` on."""
        wanted, carry, end = word.encode(), b"", time.monotonic() + limit
        while True:
            while since < len(self.chunks):
                at, data = self.chunks[since]
                since += 1
                text = carry + data
                if wanted in text or (len(word) > 1 and wanted in ESCAPE.sub(b"", text)):
                    return at
                carry = text[-256:]
            if time.monotonic() > end:
                return None
            self.pump(min(0.05, end - time.monotonic()))

    def echo(self, glyph: str, limit: float = 3.0) -> float | None:
        """Seconds from a key to its glyph."""
        since, began = len(self.chunks), time.monotonic()
        self.send(glyph)
        at = self.seen(glyph, limit, since)
        return None if at is None else at - began

    def echoes(self, glyphs: str, gap: float) -> list[float | None]:
        """The echo of each of these keys, one every `gap` seconds; what was typed is erased again."""
        found: list[float | None] = []
        for glyph in glyphs:
            end = time.monotonic() + gap
            found.append(self.echo(glyph))
            self.run(end - time.monotonic())
        self.send("\x7f" * len(glyphs))
        self.quiet()
        return found

    # -- figures -----------------------------------------------------------------------------------

    def first_glyph(self) -> float | None:
        """Seconds from exec to the first thing that a user can see."""
        text = b""
        for at, data in self.chunks:
            text += data
            if re.search(rb"[!-~\x80-\xff]", ESCAPE.sub(b"", text)):
                return at - self.began
        return None

    def unechoed(self) -> bool:
        """Whether keys go to the program and not to the terminal's own echo."""
        return not termios.tcgetattr(self.fd)[3] & termios.ECHO

    def cpu(self) -> float:
        """Processor seconds of all threads so far: the kernel's clock of a process, which is finer than /proc's."""
        return time.clock_gettime((~self.pid << 3) | 2)

    def memory(self) -> float:
        """Megabytes that are this process's own, shared pages in parts (PSS)."""
        found = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{self.pid}/smaps_rollup").read_text(), re.MULTILINE)
        return int(found[1]) / 1024 if found else 0.0

    def peak(self) -> float:
        """Megabytes at the highest (RSS)."""
        found = re.search(r"^VmHWM:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text(), re.MULTILINE)
        return int(found[1]) / 1024 if found else 0.0

    def text(self) -> str:
        """The screen as it stands."""
        screen = pyte.Screen(COLUMNS, ROWS)
        stream = pyte.ByteStream(screen)
        for _, data in self.chunks[-400:]:
            stream.feed(FOR_PYTE.sub(b"", data))
        lines = ["".join(screen.buffer[y][x].data for x in range(COLUMNS)).rstrip() for y in range(ROWS)]
        return "\n".join(lines)

    def close(self) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)
            end = time.monotonic() + 2
            while time.monotonic() < end:
                with suppress(OSError):
                    os.read(self.fd, 1 << 16)
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    os.close(self.fd)
                    return
                time.sleep(0.01)
        os.close(self.fd)
