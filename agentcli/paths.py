"""Where our own files lie: data, configuration, cache, themes. Knows no file by name but the folders."""

from __future__ import annotations

import os
from pathlib import Path


def data_dir() -> Path:
    """Sessions and what belongs to them."""
    import platformdirs

    return _chosen("AGENTCLI_DATA_DIR") or Path(platformdirs.user_data_dir("agentcli", appauthor=False))


def config_dir() -> Path:
    """What the user has written, and the rules given by keypress."""
    import platformdirs

    return _chosen("AGENTCLI_CONFIG_DIR") or Path(platformdirs.user_config_dir("agentcli", appauthor=False))


def cache_dir() -> Path:
    """What may be deleted at any time."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("agentcli", appauthor=False))


def themes_dirs() -> list[Path]:
    """The folders with theme files that exist, the user's own first."""
    package = Path(__file__).resolve().parent
    shipped = package / "themes"  # in the wheel; in a checkout the folder lies beside the package
    folders = [config_dir() / "themes", shipped if shipped.is_dir() else package.parent / "themes"]
    return [folder for folder in folders if folder.is_dir()]


def _chosen(variable: str) -> Path | None:
    text = os.environ.get(variable)
    return Path(text).expanduser().absolute() if text else None
