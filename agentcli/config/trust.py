"""What a repository brings of its own to steer us, and whether the user trusts this very content."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from agentcli.errors import ConfigError
from agentcli.ledger.block import now

FILES = (".agentcli/config.toml",)
"""What is looked for, relative to the root."""
MOST = 256 * 1024
FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@dataclass(slots=True, frozen=True)
class Brought:
    """The files of a repository that would steer us, as they were read: what is trusted is these bytes and no others."""

    root: str
    files: tuple[tuple[str, bytes], ...]
    """Path relative to the root -> content; none is empty."""

    @property
    def digest(self) -> str:
        """Of all paths and contents."""
        parts = (part for path, data in self.files for part in (path.encode(), data))
        return hashlib.sha256(b"".join(b"%d:%s" % (len(part), part) for part in parts)).hexdigest()

    @property
    def names(self) -> str:
        """The paths, for a sentence."""
        return ", ".join(path for path, _ in self.files)


def brought(root: str) -> Brought | None:
    """What a repository brings; None where that is nothing. ConfigError for what cannot be a file of settings."""
    files = [(path, data) for path in FILES if (data := _read(root, path))]
    return Brought(root, tuple(files)) if files else None


def _read(root: str, path: str) -> bytes:
    try:
        folder = os.path.realpath(os.path.join(root, os.path.dirname(path)))
        if os.path.commonpath((folder, root)) != root:
            raise ConfigError(f"{path} of this repository leads out of it, and is not used")
        handle = os.open(os.path.join(folder, os.path.basename(path)), FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return b""
    except OSError as error:
        raise ConfigError(f"{path} of this repository is not used: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ConfigError(f"{path} of this repository is no plain file, and is not used")
        with open(handle, "rb", closefd=False) as file:
            data = file.read(MOST + 1)
    finally:
        os.close(handle)
    if len(data) > MOST:
        raise ConfigError(f"{path} of this repository is larger than {MOST // 1024} KiB, and is not used")
    return data


class TrustFile:
    """`<config dir>/trust.json`: root of a repository -> digest of what it brought -> what the user said to that."""

    def __init__(self, config_dir: Path) -> None:
        self.file = config_dir / "trust.json"

    def said(self, found: Brought) -> bool | None:
        """What the user said to this very content; None: nothing yet."""
        answer = self._all().get(found.root, {}).get(found.digest)
        trusted = cast("dict[str, Any]", answer).get("trusted") if isinstance(answer, dict) else None
        return trusted if isinstance(trusted, bool) else None

    def say(self, found: Brought, trusted: bool) -> None:
        """Keep an answer; an earlier one to other content of the same repository is forgotten with it."""
        kept = self._all()
        kept[found.root] = {found.digest: {"trusted": trusted, "files": found.names, "at": now()}}
        self._write(kept)

    def forget(self, root: str) -> bool:
        """Forget what was said for a repository; False where that was nothing."""
        kept = self._all()
        if kept.pop(root, None) is None:
            return False
        self._write(kept)
        return True

    def _all(self) -> dict[str, dict[str, Any]]:
        try:
            found: object = json.loads(self.file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise ConfigError(f"{self.file}: {error}") from error
        known = cast("dict[str, Any]", found) if isinstance(found, dict) else {}
        return {root: answers for root, answers in known.items() if isinstance(answers, dict)}

    def _write(self, kept: dict[str, dict[str, Any]]) -> None:
        try:
            self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with _temporary(self.file) as (handle, name):
                with os.fdopen(handle, "w", encoding="ascii") as out:
                    json.dump(kept, out, indent=1)
                    out.flush()
                    os.fsync(out.fileno())
                os.replace(name, self.file)
        except OSError as error:
            raise ConfigError(f"{self.file}: {error.strerror}") from error


@contextlib.contextmanager
def _temporary(file: Path) -> Generator[tuple[int, str]]:
    handle, name = tempfile.mkstemp(prefix=".trust-", dir=file.parent)  # 0600 by itself
    try:
        yield handle, name
    except OSError:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
