"""The place of a conversation, from what the flags say."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from agentcli import paths
from agentcli.errors import UsageError
from agentcli.workspace.root import Place


def folder(text: str) -> str:
    """A folder of a flag, resolved."""
    path = Path(text).expanduser()
    if not path.is_dir():
        raise UsageError(f"{text}: there is no such folder")
    return os.path.realpath(path)


def find_place(cwd: str, add_dirs: Sequence[str]) -> Place:
    """The working folder, its root, and the added folders."""
    own = [str(paths.config_dir()), str(paths.data_dir())]
    return Place.find(folder(cwd), [folder(added) for added in add_dirs], own)
