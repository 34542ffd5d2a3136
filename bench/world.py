"""A home, a project and a model server that exist for one run, and what a figure is."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

HERE = Path(__file__).resolve().parent


@dataclass(slots=True, frozen=True)
class Figure:
    """One number. `target` is what is wanted of it, in the same unit; none means it is given for comparison only."""

    phase: str
    name: str
    value: float | None
    unit: str
    target: float | None = None
    noisy: bool = False
    """Wall time that a neighbour on the machine can double."""


class World:
    """Everything the program sees, thrown away at the end."""

    def __init__(self, agentcli: str) -> None:
        self.agentcli = agentcli
        self.root = Path(tempfile.mkdtemp(prefix="agentcli-bench-"))
        self.project, self.data, self.notes = self.root / "project", self.root / "data", self.root / "server.jsonl"
        self.project.mkdir()
        (self.project / "README.md").write_text("# River\n\n" + "A line to read.\n" * 40, encoding="utf-8")
        self.notes.touch()
        command = [sys.executable, str(HERE / "server.py"), str(self.notes), str(self.project / "README.md")]
        self._server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._server.stdout is not None
        self.port = int(self._server.stdout.readline())

    def __enter__(self) -> "World":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.terminate()
        self._server.wait()
        shutil.rmtree(self.root, ignore_errors=True)

    @property
    def env(self) -> dict[str, str]:
        """The environment of the program: nothing of the user's but PATH."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.root),
            "TERM": "xterm-256color",
            "COLORTERM": "truecolor",
            "LC_ALL": "C.UTF-8",
            "AGENTCLI_DATA_DIR": str(self.data),
            "AGENTCLI_CONFIG_DIR": str(self.root / "config"),
            "OPENAI_API_KEY": "x",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{self.port}/v1",
            "OPENAI_MODEL": "bench",
        }

    def events(self, since: int = 0) -> list[dict[str, Any]]:
        """What the server noted, from the `since`-th event on."""
        lines = self.notes.read_text(encoding="utf-8").splitlines(keepends=True)
        return [json.loads(line) for line in lines[since:] if line.endswith("\n")]


@dataclass(slots=True, frozen=True)
class Ran:
    """What a command took."""

    wall: float
    cpu: float
    peak: float
    """Megabytes."""
    code: int
    said: str


def timed(command: Sequence[str], world: World) -> Ran:
    """Run a command to its end."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(
            command, env=world.env, cwd=world.project, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT
        )
        _, status, used = os.wait4(child.pid, 0)
        wall = time.monotonic() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        said = out.read().decode(errors="replace")
    return Ran(wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, child.returncode, said)


def sound(ran: Ran) -> Ran:
    """A command that went well; anything else is an error of the bench."""
    if ran.code != 0:
        raise RuntimeError(f"exit code {ran.code}: {ran.said[-600:]}")
    return ran


def quantile(values: Sequence[float | None], share: float) -> float | None:
    """The value below which this share lies; none where something was never seen."""
    if not values or None in values:
        return None
    ranked = sorted(value for value in values if value is not None)
    return ranked[min(len(ranked) - 1, int(share * len(ranked)))]


def ratio(value: float | None, to: float | None) -> float | None:
    return None if value is None or not to else value / to


def times(value: float | None, factor: float) -> float | None:
    return None if value is None else value * factor
