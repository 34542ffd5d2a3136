"""Rules given by keypress: for a project or everywhere, kept in the user's configuration and never in a repository."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import tomllib
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentcli.errors import ConfigError
from agentcli.ledger.rule import PermissionBehavior, PermissionRule


class Kept(BaseModel):
    """The file: texts of allow rules."""

    model_config = ConfigDict(extra="forbid")

    everywhere: list[str] = Field(default_factory=list[str])
    projects: dict[str, list[str]] = Field(default_factory=dict[str, list[str]])
    """Resolved root of a project -> its rules."""

    def of(self, root: str | None) -> list[str]:
        """The list of a project, or of everywhere."""
        return self.everywhere if root is None else self.projects.setdefault(root, [])


@dataclass(slots=True, frozen=True)
class RulesFile:
    """`<config dir>/rules.toml`; written whole, under a lock, so that two sessions lose nothing of each other."""

    config_dir: Path
    file: Path = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "file", self.config_dir / "rules.toml")

    def load(self, root: str) -> list[PermissionRule]:
        """The rules that hold in a project: its own, then those of everywhere."""
        kept = self._read()
        lists = (("project", kept.projects.get(root, [])), ("everywhere", kept.everywhere))
        return [PermissionRule.parse(text, PermissionBehavior.ALLOW, source) for source, texts in lists for text in texts]

    def add(self, rules: Sequence[PermissionRule], root: str | None) -> None:
        """Keep allow rules for a project, or (None) everywhere; durable when this returns."""
        wrong = [rule.text for rule in rules if rule.behavior is not PermissionBehavior.ALLOW]
        if wrong:
            raise ConfigError(f"{wrong[0]}: only allow rules are given by keypress")
        with self._locked():
            kept = self._read()
            texts = kept.of(root)
            texts += [text for text in dict.fromkeys(rule.text for rule in rules) if text not in texts]
            self._write(kept)

    def remove(self, text: str, root: str | None) -> bool:
        """Forget a rule; False where there was none."""
        with self._locked():
            kept = self._read()
            texts = kept.of(root)
            if text not in texts:
                return False
            texts.remove(text)
            self._write(kept)
        return True

    def _read(self) -> Kept:
        try:
            kept = Kept(**tomllib.loads(self.file.read_bytes().decode()))
            for text in [*kept.everywhere, *(text for texts in kept.projects.values() for text in texts)]:
                PermissionRule.parse(text, PermissionBehavior.ALLOW)
        except FileNotFoundError:
            return Kept()
        except ValidationError as error:
            key = ".".join(str(part) for part in error.errors()[0]["loc"])
            raise ConfigError(f"{self.file}: {key}: {error.errors()[0]['msg']}") from error
        except ValueError as error:  # no TOML, no UTF-8, or no rule
            raise ConfigError(f"{self.file}: {error}") from error
        except OSError as error:
            raise ConfigError(f"{self.file}: {error.strerror}") from error
        return kept

    def _write(self, kept: Kept) -> None:
        try:
            data = _toml(kept).encode()
            handle, name = tempfile.mkstemp(prefix=".rules-", dir=self.config_dir)  # 0600 by itself
            try:
                with os.fdopen(handle, "wb") as out:
                    out.write(data)
                    out.flush()
                    os.fsync(out.fileno())
                os.replace(name, self.file)
            except OSError:
                os.unlink(name)
                raise
            _sync_folder(self.config_dir)
        except UnicodeEncodeError as error:
            raise ConfigError(f"{self.file}: a folder whose name is no text cannot have rules of its own") from error
        except OSError as error:
            raise ConfigError(f"{self.file}: {error.strerror}") from error

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        try:
            self.config_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(self.config_dir / "rules.lock", os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError as error:
            raise ConfigError(f"{self.config_dir}: {error.strerror}") from error
        try:
            if sys.platform != "win32":
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def _toml(kept: Kept) -> str:
    lines = ["# Rules that were given by a keypress. `agentcli rules list` shows them, `agentcli rules rm` takes one away.", ""]
    lines += [f"everywhere = {_texts(kept.everywhere)}", "", "[projects]"]
    lines += [f"{_text(root)} = {_texts(texts)}" for root, texts in kept.projects.items() if texts]
    return "\n".join(lines) + "\n"


def _texts(texts: Sequence[str]) -> str:
    return f"[{', '.join(map(_text, texts))}]"


def _text(text: str) -> str:
    # A TOML string is a JSON string, but for DEL, and for surrogate pairs, which ensure_ascii would make.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
