"""What the header says of the folder: its name and its branch, read from `.git/HEAD`. git is never run."""

from __future__ import annotations

from pathlib import Path

HEAD = "ref: refs/heads/"


def folder_name(path: str) -> str:
    """The last part of a path."""
    return Path(path).name or path


def branch_of(root: str) -> str:
    """The branch, the beginning of a commit, or nothing."""
    git = Path(root, ".git")
    try:
        if git.is_file():  # a worktree names its own folder
            named = git.read_text("utf-8", "replace").partition("gitdir:")[2].strip()
            git = Path(root, named)
        head = (git / "HEAD").read_text("utf-8", "replace").strip()
    except OSError:
        return ""
    return head.removeprefix(HEAD) if head.startswith(HEAD) else head[:8]
