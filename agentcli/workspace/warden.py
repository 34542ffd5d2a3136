"""The parent of one command, in a process of its own: it alone knows, and ends, all that the command started.

Run as a script by the bare interpreter (nothing of ours is imported). Standard input is a socket to the agent: it
brings the command and then the word to begin, takes what is reported, and its end means that the command has to end,
the agent's death included.
On Linux this process is the subreaper of its descendants, so none can leave its tree by a double fork.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

GRACE_SECONDS = 0.8
KILL_SECONDS = 0.8
PR_SET_CHILD_SUBREAPER = 36
DEAD = {"Z", "X", "x"}
HELD = ["/bin/sh", "-c", 'read -r go && exec "$@" </dev/null', "sh"]
"""The command before it begins: already to be seen by its words, waiting for one line, gone if that never comes."""


def adopt_orphans() -> bool:
    """Become the subreaper; whether the system has that. Elsewhere an orphan is found by its process group only."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes

    return ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


def parents() -> dict[int, int]:
    """Every living process -> its parent."""
    return proc_parents() if os.path.isdir("/proc/self") else ps_parents()


def proc_parents() -> dict[int, int]:
    found: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        with contextlib.suppress(OSError), open(f"/proc/{entry}/stat", "rb") as file:
            state, parent = file.read().rpartition(b")")[2].split()[:2]
            if state.decode() not in DEAD:
                found[int(entry)] = int(parent)
    return found


def ps_parents() -> dict[int, int]:
    import subprocess

    listing = subprocess.run(["/bin/ps", "-axo", "pid=,ppid=,state="], capture_output=True, text=True, check=False).stdout
    rows = [line.split() for line in listing.splitlines()]
    return {int(row[0]): int(row[1]) for row in rows if len(row) == 3 and row[2][0] not in DEAD}


def descendants(root: int) -> list[int]:
    """The living descendants of a process, parents before children."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found = list(children.get(root, ()))
    for pid in found:
        found.extend(children.get(pid, ()))
    return found


def carriers(setting: bytes) -> list[int]:
    """Processes that were started with this setting in their environment; for what no tree holds any more."""
    found: list[int] = []
    for pid in parents():
        with contextlib.suppress(OSError), open(f"/proc/{pid}/environ", "rb") as file:
            if setting in file.read().split(b"\0"):
                found.append(pid)
    return found


def start_time(pid: int) -> int:
    """When a process began, in the kernel's ticks; with its id it names the process for ever. 0 where it is not known."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[19])
    except OSError:
        return 0


def send_signal(pids: list[int], number: int) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def woken(number: int, frame: object) -> None:
    """A signal that only has to interrupt a wait."""


class Warden:
    """Starts the command, waits for it, ends its tree when told to."""

    def __init__(self, control: int) -> None:
        self.control = control
        self.child = 0
        self.gate = -1
        self.status: int | None = None
        self.adopts = False
        self.wake, wake_end = os.pipe()
        for end in (self.wake, wake_end):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, woken)

    def main(self) -> None:
        argv = self.request()
        if argv is None:
            return
        self.adopts = adopt_orphans()
        self.hold(argv)
        # the pipe has to end when the command's own processes let go of it
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        # `pkill python` in the command is not meant for its warden
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            signal.signal(number, signal.SIG_IGN)
        self.tell(f"started {self.child} {start_time(self.child)}")
        stopped = not self.wait()
        left = self.end_tree() if stopped else self.reap() and descendants(os.getpid())
        self.tell(f"ended {self.status if self.status is not None else -9} {' '.join(map(str, left or ()))}")

    def request(self) -> list[str] | None:
        """The command's words, as sent; None if the agent went away."""
        length = self.receive(8)
        body = self.receive(int(length, 16)) if length else None
        return None if body is None else [os.fsdecode(word) for word in body.split(b"\0")]

    def hold(self, argv: list[str]) -> None:
        """Make the command's process, up to the point where it waits for the word to begin."""
        gate, self.gate = os.pipe()
        held, holding = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            become([*HELD, *argv], gate)
        os.close(gate)
        os.close(holding)
        os.read(held, 1)  # ends when the child has become the other program: its copy closes there
        os.close(held)

    def begin(self) -> bool:
        """Let the command begin, if that is what was said; whoever is gone, or gave it up, says nothing."""
        if self.gate < 0 or not os.read(self.control, 1):
            return False
        with contextlib.suppress(BrokenPipeError):  # killed before it began: its end is told as any other
            os.write(self.gate, b"\n")
        os.close(self.gate)
        self.gate = -1
        return True

    def receive(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            more = os.read(self.control, size - len(data))
            if not more:
                return None
            data += more
        return data

    def tell(self, line: str) -> None:
        with contextlib.suppress(OSError):
            os.write(self.control, line.encode() + b"\n")

    def wait(self) -> bool:
        """True when the command itself has ended, False when it has to be ended."""
        while True:
            self.reap()
            if self.status is not None:
                return True
            ready, _, _ = select.select([self.control, self.wake], [], [])
            self.drain_wake()
            if self.control in ready and not self.begin():
                return False

    def drain_wake(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self.wake, 512):
                pass

    def reap(self) -> bool:
        """Take what has died; whether a child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.child:
                self.status = os.waitstatus_to_exitcode(status)

    def end_tree(self) -> list[int]:
        """Ask all descendants to end, then make them; what could not be ended."""
        # each is told once: a second signal would end what a trap has begun to clean up with
        targets = descendants(os.getpid()) if self.adopts else [-self.child]
        send_signal(targets, signal.SIGTERM)
        send_signal(targets, signal.SIGCONT)
        left = self.gone(GRACE_SECONDS, None)
        return self.gone(KILL_SECONDS, signal.SIGKILL) if left else []

    def gone(self, seconds: float, number: int | None) -> list[int]:
        end = time.monotonic() + seconds
        while True:
            if not self.reap() and not self.group_lives():
                return []
            left = descendants(os.getpid())
            if number is not None:
                send_signal([*left, -self.child], number)
            if time.monotonic() > end:
                return left
            time.sleep(0.01)

    def group_lives(self) -> bool:
        """Whether an orphan is left in the command's group; where we are the subreaper it would be our child."""
        if self.adopts:
            return False
        try:
            os.killpg(self.child, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True


def become(argv: list[str], stdin: int) -> None:
    """In the child: a session of its own, every signal as usual; then the command."""
    try:
        os.setsid()
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with contextlib.suppress(OSError, ValueError):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.dup2(stdin, 0)
        os.execv(argv[0], argv)
    except OSError as fault:
        os.write(2, f"{argv[0]}: {fault.strerror}\n".encode())
    finally:
        os._exit(127)


if __name__ == "__main__":
    Warden(0).main()
