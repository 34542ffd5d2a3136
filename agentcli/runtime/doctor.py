"""What works on this machine, as plain data."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from agentcli import paths
from agentcli.config.load import load_settings
from agentcli.errors import AgentcliError
from agentcli.runtime.models import model_rows
from agentcli.session.store import SessionStore


@dataclass(slots=True, frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str


def checks() -> Iterator[Check]:
    """All checks, each looked at when it is asked for."""
    yield Check("python", sys.version_info >= (3, 11), platform.python_version())
    yield _terminal()
    yield _settings()
    yield _model()
    yield _data()
    yield _sessions()
    bash = shutil.which("bash")
    yield Check("shell", bash is not None, bash or "no bash is found; commands run in sh")
    grep = shutil.which("rg")
    yield Check("ripgrep", True, grep or "not found, and not needed: the search of our own is slower")
    yield Check("sandbox", False, "none yet: EXPLORE: no shell")


def _terminal() -> Check:
    kind = os.environ.get("TERM", "")
    good = kind not in ("", "dumb")
    return Check(
        "terminal", good, kind + (f", {os.environ['COLORTERM']}" if os.environ.get("COLORTERM") else "") if good else "dumb"
    )


def _settings() -> Check:
    file = paths.config_dir() / "config.toml"
    try:
        warnings = load_settings(None).warnings
    except AgentcliError as error:
        return Check("settings", False, str(error))
    return Check("settings", not warnings, "; ".join(warnings) or (str(file) if file.exists() else f"{file} (none yet)"))


def _model() -> Check:
    try:
        rows = model_rows()
    except AgentcliError as error:
        return Check("model", False, str(error))
    current = next((row for row in rows if row.current), None)
    if current is not None:
        return Check("model", True, f"{current.name} at {current.endpoint}, {current.api}")
    fault = next((row.fault for row in rows if row.name == "(none)" and row.fault), None)
    return Check("model", False, fault or "none is configured: set OPENAI_API_KEY and OPENAI_MODEL; chat starts on the demo")


def _data() -> Check:
    folder = paths.data_dir()
    near = folder
    while not near.exists():
        near = near.parent
    return Check("data folder", os.access(near, os.W_OK), str(folder))


def _sessions() -> Check:
    store = SessionStore(paths.data_dir())
    hurt: list[str] = []
    rows = store.rows()
    for row in rows:
        try:
            if store.read(row.id).lost:
                hurt.append(row.id)
        except AgentcliError:
            hurt.append(row.id)
    words = f"{len(rows)} saved" + (f", damaged: {', '.join(hurt)}" if hurt else "")
    return Check("sessions", not hurt, words)
