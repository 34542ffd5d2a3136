"""What works on this machine, and what to do about the rest, as plain data. Asks the configured endpoint, and loopback."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass

from agentcli import paths
from agentcli.config.endpoint import resolve_model
from agentcli.config.load import load_settings
from agentcli.errors import AgentcliError
from agentcli.runtime.local import servers_here
from agentcli.runtime.models import model_rows
from agentcli.runtime.probe import ask, certificates_in, proxies_in
from agentcli.session.store import SessionStore
from agentcli.view.summary import plural


@dataclass(slots=True, frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    ok: bool
    detail: str
    hint: str = ""
    """What to do about it."""


def checks() -> Iterator[Check]:
    """All checks, each looked at when it is asked for."""
    yield Check("python", sys.version_info >= (3, 11), platform.python_version())
    yield _terminal()
    yield _settings()
    yield _model()
    yield from _endpoint()
    yield _local()
    yield from _connection()
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
    if fault:
        return Check("model", False, fault)
    hint = "set OPENAI_API_KEY and OPENAI_MODEL, or see `agentcli models`"
    return Check("model", False, "none is configured; chat starts on the demo", hint)


def _endpoint() -> Iterator[Check]:
    """The endpoint of the current model, where there is one; its key is got for this."""
    try:
        spec = resolve_model(load_settings(None), None, None, os.environ)
    except AgentcliError as error:
        yield Check("endpoint", False, str(error))
        return
    if spec is None or spec.name == "demo" or spec.name.startswith("script:"):
        return
    answer = ask(spec)
    yield Check("endpoint", answer.ok, answer.detail, answer.hint)


def _local() -> Check:
    try:
        servers = servers_here(load_settings(None))
    except AgentcliError as error:
        return Check("local servers", False, str(error))
    found = [f"{server.place.title} ({server.fault or plural(len(server.models), 'model')})" for server in servers]
    return Check("local servers", True, ", ".join(found) or "none on the usual ports, and none is needed")


def _connection() -> Iterator[Check]:
    """Proxy and certificates, where the environment says anything of them."""
    if proxies := proxies_in(os.environ):
        yield Check("proxy", True, ", ".join(f"{name}={value}" for name, value in proxies.items()))
    read, fault = certificates_in(os.environ)
    if read or fault:
        words = ", ".join(f"{name}={value}" for name, value in read.items()) or "those of the system"
        yield Check("certificates", not fault, words, fault)


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
