"""A program on a pseudo-terminal: what it writes, what it is typed, how it leaves."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time

LEFT_ON = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
AFTERWARDS = {b"1049": b"l", b"1000": b"l", b"1003": b"l", b"1006": b"l", b"2004": b"l", b"1004": b"l", b"25": b"h"}


class Terminal:
    def __init__(self, *argv, env, cwd):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.output = b""
        self.process = subprocess.Popen(
            [sys.executable, *argv],
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            cwd=cwd,
            env={**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"},
            start_new_session=True,
        )

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for end in (self.master, self.slave):
            if end >= 0:
                os.close(end)

    def type(self, text):
        os.write(self.master, text.encode())

    def read(self, seconds):
        if self.master >= 0 and select.select([self.master], [], [], seconds)[0]:
            self.output += os.read(self.master, 1 << 16)

    def wait(self, text, seconds=20):
        """Wait until a text was written; the time it took."""
        began = time.monotonic()
        while text.encode() not in self.output:
            assert time.monotonic() - began < seconds, self.output[-2000:]
            assert self.process.poll() is None or select.select([self.master], [], [], 0)[0], self.output[-2000:]
            self.read(0.05)
        return time.monotonic() - began

    def code(self, seconds=10):
        """Wait for the end; the exit code."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.read(0.05)
        self.read(0.05)
        return self.process.poll()

    def hang_up(self):
        """Take the terminal away."""
        os.close(self.slave)
        os.close(self.master)
        self.master = self.slave = -1

    def leftovers(self):
        """What was not put back."""
        state = {}
        for match in LEFT_ON.finditer(self.output):
            for mode in match[1].split(b";"):
                state[mode] = match[2]
        left = [mode for mode, wanted in AFTERWARDS.items() if state.get(mode, wanted) != wanted]
        local = termios.tcgetattr(self.slave)[3]
        return left if local & termios.ECHO and local & termios.ICANON else [*left, b"raw"]
