"""A real repository in a folder, and what of it is on disk."""

import hashlib
import os
import subprocess
from pathlib import Path

PLAIN = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ann",
    "GIT_AUTHOR_EMAIL": "ann@x.test",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05+0000",
    "GIT_COMMITTER_NAME": "Ann",
    "GIT_COMMITTER_EMAIL": "ann@x.test",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05+0000",
}


class FakeRepo:
    """A repository that a test makes; commands run plain git in it, with all that it brings."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self("init", "-q", "-b", "main", *words)

    def __call__(self, *words: str, check: bool = True, **more: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.folder, env={**PLAIN, **more}, capture_output=True, text=True, check=False, timeout=60
        )
        assert done.returncode == 0 or not check, done.stderr
        return done.stdout

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def commit(self, subject: str, **files: str) -> str:
        for name, text in files.items():
            self.write(name.replace("__", "/"), text)
        self("add", "-A", "-f")
        self("commit", "-q", "--allow-empty", "-m", subject)
        return self("rev-parse", "HEAD").strip()


def state_of(*folders: Path) -> dict[str, tuple]:
    """Every name below, with its kind, times and bytes; reading it changes none of them."""
    found = {}
    for folder in folders:
        for base, names, files in os.walk(folder):
            for name in (".", *names, *files):
                path = os.path.normpath(os.path.join(base, name))
                info = os.lstat(path)
                data = b""
                if os.path.isfile(path) and not os.path.islink(path):
                    data = Path(path).read_bytes()
                what = os.readlink(path) if os.path.islink(path) else hashlib.sha256(data).hexdigest()
                found[path] = (info.st_mode, info.st_ino, info.st_mtime_ns, info.st_ctime_ns, what)
    return found
