"""Takes what looks like a secret out of the text that tools bring, before it is saved, shown or sent.

Known are the forms of well-known keys, the values of this process's own secret variables, and what stands in `.env` files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from agentcli.workspace.whole import Spool, Stored

MASKED = "[masked]"
HELD = 4_096
"""So much of a word without an end is waited for."""
KEPT_BACK = 512
LEAST = 8
"""A shorter value of a variable is no secret that could be told from other words."""
DOTENV_BYTES = 65_536
SECRET_NAME = re.compile(
    r"KEY|TOKEN|SECRET|PASSW|PASSPHRASE|CREDENTIAL|PRIVATE|COOKIE|SESSION_ID|AUTH(?!OR)|DSN|WEBHOOK|CONN(?:ECTION)?_STR",
    re.IGNORECASE,
)
"""A variable of such a name holds a secret."""
ORDINARY = re.compile(
    r"true|false|none|null|yes|no|on|off|[\d.,:]+|localhost(?::\d+)?|development|production|staging|changeme|/[\w./-]*",
    re.IGNORECASE,
)
"""Values that say nothing, or stand in too many other places."""

FORMS: Mapping[str, str] = {
    "model provider": r"sk-(?:proj-|svcacct-|ant-(?:api|admin)\d\d-|or-v1-)?[A-Za-z0-9_-]{20,}",
    "other model providers": r"(?:gsk_|xai-)[A-Za-z0-9]{40,}",
    "github": r"gh[pousr]_[A-Za-z0-9]{36,}|github_pat_[A-Za-z0-9_]{22,}",
    "gitlab": r"glpat-[A-Za-z0-9_-]{20,}",
    "slack": r"xox[abeprs]-[A-Za-z0-9-]{10,}",
    "aws": r"(?:AKIA|ASIA)[0-9A-Z]{16}(?![0-9A-Z])",
    "google": r"AIza[0-9A-Za-z_-]{35}",
    "stripe": r"[rs]k_(?:live|test)_[0-9A-Za-z]{16,}",
    "registries": r"npm_[A-Za-z0-9]{36}|pypi-[A-Za-z0-9_-]{50,}|hf_[A-Za-z0-9]{30,}",
    "sendgrid": r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "jwt": r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "address": r"(?<=://)[^\s/:@]{1,200}:[^\s/:@]{1,200}(?=@)",
}
"""Whose key -> its form; none holds a blank."""
FORM = re.compile("|".join(rf"(?<![A-Za-z0-9_]){form}" if name != "address" else form for name, form in FORMS.items()))
BEGIN = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")
END = re.compile(r"-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----")
SETTING = re.compile(
    r"^(?P<before>[ \t]*(?:\d+[\t:→-][ \t]*)?(?:export[ \t]+)?[A-Za-z_][\w.]*[ \t]*[=:][ \t]*)(?P<value>\S.*?)(?P<after>\s*)$",
    re.MULTILINE,
)
"""A line of a `.env` file, as it stands there or behind the number of its line."""
TAIL = re.compile(r"(?:-{1,5}[A-Z ]*-{0,5}|\S*)\Z")


class Mask:
    """Masks one text that comes in pieces; what may still become a secret is held back until it is known.

    Args:
        values: secrets by their very text.
        settings: the text is that of a `.env` file: whatever is set there is masked.
    """

    def __init__(self, values: Iterable[str] = (), *, settings: bool = False) -> None:
        known = sorted({value for value in values if value}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, known))) if known else None
        self._settings = settings
        self._held = ""
        self._in_key = False
        self.count = 0
        """How many were masked so far."""

    def feed(self, text: str, final: bool = False) -> str:
        """The text so far that can be told; all that is left with `final`."""
        text = self._held + text
        self._held = "" if final else self._tail(text)
        return self._masked(text[: len(text) - len(self._held)])

    def _tail(self, text: str) -> str:
        """The part at the end of a text that may go on."""
        if self._settings:
            return text[text.rfind("\n") + 1 :]
        found = TAIL.search(text, max(0, len(text) - HELD))
        word = found[0] if found else ""
        return word[-KEPT_BACK:] if len(word) >= HELD else word

    def _masked(self, text: str) -> str:
        text = "".join(self._without_keys(text))
        text = FORM.sub(self._form, text)
        if self._settings:
            text = SETTING.sub(self._setting, text)
        return self._known.sub(self._one, text) if self._known is not None else text

    def _without_keys(self, text: str) -> Iterator[str]:
        at = 0
        while at < len(text):
            edge = (END if self._in_key else BEGIN).search(text, at)
            if not self._in_key:
                yield text[at : edge.start() if edge else len(text)]
            if edge is None:
                return
            at, self._in_key = edge.end(), not self._in_key
            if self._in_key:
                self.count += 1
                yield MASKED

    def _form(self, found: re.Match[str]) -> str:
        # `sk-xxxxxxxx` and the like stand in every manual
        return self._one(found) if len(set(found[0][4:])) > 5 else found[0]

    def _setting(self, found: re.Match[str]) -> str:
        self.count += found["value"] != MASKED
        return f"{found['before']}{MASKED}{found['after']}"

    def _one(self, found: re.Match[str]) -> str:
        self.count += 1
        return MASKED


class MaskedSpool:
    """A spool that is written without secrets. Fits `whole.Spool`."""

    def __init__(self, spool: Spool, mask: Mask) -> None:
        self._spool, self._mask = spool, mask

    def write(self, text: str) -> None:
        """Add to it."""
        self._spool.write(self._mask.feed(text))

    def finish(self) -> Stored:
        """Make it durable."""
        self._spool.write(self._mask.feed("", final=True))
        return self._spool.finish()

    def drop(self) -> None:
        """Let go of it."""
        self._spool.drop()


def secret_values(env: Mapping[str, str]) -> set[str]:
    """The values of variables that hold a secret by their name."""
    return {value for name, value in env.items() if SECRET_NAME.search(name) and _telling(value)}


def is_dotenv(path: str) -> bool:
    """Whether a file holds settings that are nobody's business; an example of one does not."""
    name = os.path.basename(path)
    return (name == ".env" or name.startswith(".env.")) and not name.endswith((".example", ".sample", ".template", ".dist"))


def dotenv_values(path: str | Path) -> set[str]:
    """What is set in a `.env` file; nothing where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(DOTENV_BYTES)
    except OSError:
        return set()
    values = (found["value"].strip("'\"") for found in SETTING.finditer(text))
    return {value for value in values if _telling(value)}


def _telling(value: str) -> bool:
    return len(value) >= LEAST and not value.isspace() and ORDINARY.fullmatch(value) is None
