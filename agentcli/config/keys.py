"""Where the key of an endpoint comes from: a variable, a command, or the system's keyring. No key is kept, shown or told."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from agentcli.errors import ConfigError

PATIENCE = 60.0
"""Seconds for a key command; some wait for a finger on a reader."""
LONGEST_KEY = 16_384


@dataclass(slots=True, frozen=True)
class KeySource:
    """A place to get a key from; an empty one is for a server that wants none.

    Args:
        place: the setting that says so, for sentences.
        provider: the name of the endpoint.
    """

    place: str = ""
    provider: str = ""
    variables: tuple[str, ...] = ()
    command: tuple[str, ...] = ()
    keyring: str = ""

    @property
    def words(self) -> str:
        """The place in words, for a sentence about a key that was refused."""
        if self.command:
            return f"the command {self.command[0]}"
        return f"the keyring entry {self.keyring}" if self.keyring else " or ".join(self.variables)

    def fault(self, env: Mapping[str, str]) -> str | None:
        """Why no key can come from here, as far as can be seen without running or asking anything."""
        if self.variables and not _first(self.variables, env):
            return f"{self.place}: the variable {self.words} is not set"
        if self.command and not shutil.which(self.command[0], path=env.get("PATH")):
            return f"{self.place}: there is no program {self.command[0]}"
        if self.keyring and find_spec("keyring") is None:
            return f"{self.place}: the package keyring is not installed; `python -m pip install keyring`"
        return None

    def get(self, env: Mapping[str, str], patience: float = PATIENCE) -> str | None:
        """The key; `ConfigError` where there should be one and is none. May take its time."""
        if fault := self.fault(env):
            raise ConfigError(fault)
        if self.variables:
            return _first(self.variables, env)
        if self.command:
            return _printed(self.place, self.command, env, patience)
        return self._of_keyring() if self.keyring else None

    def _of_keyring(self) -> str:
        service, _, user = self.keyring.partition("/")
        keyring: Any = import_module("keyring")
        errors: Any = import_module("keyring.errors")
        try:
            key = keyring.get_password(service, user or self.provider)
        except errors.KeyringError as error:
            raise ConfigError(f"{self.place}: the keyring cannot be read ({type(error).__name__})") from error
        if not key:
            raise ConfigError(f"{self.place}: the keyring has no entry {service} for {user or self.provider}")
        return str(key).strip()


def _first(variables: tuple[str, ...], env: Mapping[str, str]) -> str | None:
    return next((env[name] for name in variables if env.get(name)), None)


def _printed(place: str, command: tuple[str, ...], env: Mapping[str, str], patience: float) -> str:
    """What a key command prints. Nothing of it gets into a sentence, its complaints included: they may hold the key."""
    program = command[0]
    try:
        # A session of its own: it cannot read the terminal, and all of it can be ended.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            start_new_session=True,
        )
    except OSError as error:
        raise ConfigError(f"{place}: {program} cannot be run: {error.strerror}") from error
    with process:
        try:
            out, _ = process.communicate(timeout=patience)
        except subprocess.TimeoutExpired as error:
            raise ConfigError(f"{place}: {program} gave no key within {patience:.0f} s") from error
        finally:
            _end(process)
    key = out[:LONGEST_KEY].decode("utf-8", "replace").strip()
    if process.returncode != 0:
        raise ConfigError(f"{place}: {program} ended with code {process.returncode}; run it by hand to see why")
    if not key or not key.isprintable() or len(out) > LONGEST_KEY:
        raise ConfigError(f"{place}: {program} printed no key; it has to print one line")
    return key


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    if os.name == "posix":
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
