"""The place of a conversation, from what the flags say."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agentcli import paths
from agentcli.errors import UsageError
from agentcli.session.store import SessionStore
from agentcli.workspace.root import Place


def folder(text: str) -> str:
    """A folder of a flag, resolved."""
    path = Path(text).expanduser()
    if not path.is_dir():
        raise UsageError(f"{text}: there is no such folder")
    return os.path.realpath(path)


def find_place(cwd: str, add_dirs: Sequence[str], session_id: str = "") -> Place:
    """The working folder, its root, and the added folders; of a session also where its long outputs lie."""
    own = [str(paths.config_dir()), str(paths.data_dir())]
    place = Place.find(folder(cwd), [folder(added) for added in add_dirs], own)
    outputs = SessionStore(Path(os.path.realpath(paths.data_dir()))).outputs(session_id) if session_id else ""
    return replace(place, kept=outputs)
