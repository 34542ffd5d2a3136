"""Names that are dangerous to change, or even to look at, wherever they lie; a table, with a reason each."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise


@dataclass(slots=True, frozen=True)
class Guard:
    """Why a name is guarded; `looking`: it is not even read without a question."""

    why: str
    looking: bool = False


GIT = Guard("git's own files: settings and hooks name programs that git runs", looking=True)
OURS = Guard("agentcli's own settings", looking=True)
SECRET = Guard("credentials", looking=True)
EDITOR = Guard("editor settings, which can name programs")
START_UP = Guard("read by a shell or program when it starts")
AGENT = Guard("instructions or programs that the next session obeys")
CI = Guard("run by the build service, with its secrets")
RUNS = Guard("runs without being called by name")
PROCESS = Guard("the environment or memory of a process", looking=True)

NAMES: dict[str, Guard] = {
    **dict.fromkeys((".git", "git~1"), GIT),
    **dict.fromkeys((".agentcli",), OURS),
    **dict.fromkeys(
        (".ssh", ".aws", ".gnupg", ".kube", ".azure", ".password-store", ".netrc", "_netrc", ".npmrc", ".pypirc"), SECRET
    ),
    **dict.fromkeys((".git-credentials", ".pgpass", ".my.cnf", ".htpasswd", ".vault-token", "credentials.json"), SECRET),
    **dict.fromkeys(("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk"), SECRET),
    **dict.fromkeys((".vscode", ".idea", ".zed", ".fleet", ".editorconfig-exec", ".exrc", ".vimrc", ".nvimrc"), EDITOR),
    **dict.fromkeys((".envrc", ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile"), START_UP),
    **dict.fromkeys((".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".inputrc", ".xinitrc", ".xprofile"), START_UP),
    **dict.fromkeys((".gitconfig", ".gitmodules", ".tmux.conf", "config.fish", ".lesskey", ".pythonrc", ".rgrc"), START_UP),
    **dict.fromkeys((".mcp.json", "agents.md", "claude.md", "gemini.md", ".claude", ".codex", ".cursor", ".agents"), AGENT),
    **dict.fromkeys((".gitlab-ci.yml", ".travis.yml", "jenkinsfile", ".circleci", "azure-pipelines.yml"), CI),
    **dict.fromkeys(
        (".husky", ".githooks", "conftest.py", "sitecustomize.py", "usercustomize.py", ".pre-commit-config.yaml"), RUNS
    ),
}
"""One component of a path, at any depth, in the form of `plain`."""

PAIRS: dict[tuple[str, str], Guard] = {
    (".github", "workflows"): CI,
    (".github", "actions"): CI,
    (".docker", "config.json"): SECRET,
    (".config", "gcloud"): SECRET,
    (".config", "gh"): SECRET,
    (".config", "git"): START_UP,
    (".config", "fish"): START_UP,
    (".config", "autostart"): START_UP,
    (".cargo", "credentials"): SECRET,
    (".cargo", "credentials.toml"): SECRET,
    (".cargo", "config.toml"): START_UP,
    (".gem", "credentials"): SECRET,
}
"""Two neighbouring components."""

SHOWN_ENVIRONMENTS = ("example", "sample", "template", "dist", "defaults", "schema")
"""`.env.example` and kin hold no secrets by their very name."""


OF_A_PROCESS = r"/proc/(?:self|thread-self|\d+)(?:/task/[^/]+)?"
HELD = re.compile(OF_A_PROCESS + r"/(?:environ|mem)\Z")
BOUND = re.compile(OF_A_PROCESS + r"/(?:(?P<folder>cwd|root)|exe|fd|map_files|ns)\Z|/dev/(?:fd|stdin|stdout|stderr)\Z")


def is_bound(step: str) -> bool:
    """The name means something else for each process that opens it, so no path through it can be judged."""
    return BOUND.match(step) is not None


def bound_folder(step: str) -> str:
    """Which folder of the process a bound name stands for: `cwd` or `root`, or nothing."""
    found = BOUND.match(step)
    return (found["folder"] or "") if found else ""


def guard_of(path: str) -> Guard | None:
    """The guard of a resolved path; one that forbids looking wins."""
    if HELD.match(path):
        return PROCESS
    parts = [plain(part) for part in path.split("/") if part]
    found = [guard for part in parts if (guard := NAMES.get(part) or _environment(part))]
    found += [guard for pair in pairwise(parts) if (guard := PAIRS.get(pair))]
    return max(found, key=lambda guard: guard.looking, default=None)


def plain(name: str) -> str:
    """A name as the most forgiving file system compares it: case, width, hidden characters and a tail of dots do not count."""
    kept = "".join(letter for letter in unicodedata.normalize("NFKC", name) if unicodedata.category(letter) != "Cf")
    return kept.casefold().rstrip(" .") or kept


def _environment(part: str) -> Guard | None:
    if part != ".env" and not part.startswith(".env."):
        return None
    return None if part.rpartition(".")[2] in SHOWN_ENVIRONMENTS else SECRET
