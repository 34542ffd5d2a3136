"""The first frame, painted by hand before anything large is imported, and the way back to the terminal as it was.

Must not import anything beyond the standard library's small modules.
"""

from __future__ import annotations

import os
import signal
import sys
import termios
from contextlib import suppress
from types import FrameType

RESTORE = (
    "\x1b[?2026l\x1b[?2004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?1004l\x1b[?2048l"
    "\x1b[<u\x1b[0m\x1b[?7h\x1b[?1049l\x1b[?25h"
)
PLAIN_RESTORE = "\x1b[0m\x1b[?1049l\x1b[?25h"


class Left(SystemExit):
    """A signal ended the program before the screen stood."""


class Terminal:
    """The terminal while the screen has it; `restore` may be called again and again."""

    def __init__(self) -> None:
        self._fd = sys.stdin.fileno()
        self._cooked = termios.tcgetattr(self._fd)
        self._taken = False
        self._full = False

    def take(self) -> None:
        """Alternate screen, keys unechoed, the first frame: one write. What is typed waits in the terminal."""
        self._taken = True
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _leave)
        raw = termios.tcgetattr(self._fd)
        raw[0] &= ~(termios.ICRNL | termios.INLCR | termios.IGNCR | termios.IXON | termios.IXOFF)
        raw[3] &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
        raw[6][termios.VMIN], raw[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self._fd, termios.TCSANOW, raw)
        _write(first_frame())

    def hand_over(self) -> None:
        """Textual draws from here on, and sets modes of its own."""
        self._full = True

    def restore(self) -> None:
        """Everything as a shell wants it."""
        if not self._taken:
            return
        self._taken = False
        with suppress(termios.error):  # a terminal that hung up
            termios.tcsetattr(self._fd, termios.TCSANOW, self._cooked)
        _write(RESTORE if self._full else PLAIN_RESTORE)


def first_frame() -> str:
    """The bare screen: folder, prompt mark, and that it loads."""
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except OSError:
        columns, rows = 80, 24
    folder = "".join(letter if letter.isprintable() else "?" for letter in os.path.basename(os.getcwd()))[: max(0, columns - 2)]
    line = f"\x1b[{rows - 2};1H\x1b[2m{'─' * columns}\x1b[0m" if rows > 3 else ""
    return f"\x1b[?1049h\x1b[?25l\x1b[2J\x1b[H \x1b[1m{folder}\x1b[0m{line}\x1b[{max(1, rows - 1)};1H› "


def _write(text: str) -> None:
    data = text.encode("utf-8", "replace")
    try:
        while data:
            data = data[os.write(sys.stdout.fileno(), data) :]
    except OSError:  # a terminal that hung up
        return


def _leave(number: int, frame: FrameType | None) -> None:
    raise Left(128 + number)
