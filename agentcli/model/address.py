"""Base addresses as people write them: with slashes at the end, with the name of an API behind them, without a scheme."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from agentcli.errors import ConfigError

Api: TypeAlias = Literal["chat", "responses"]

ENDS: tuple[tuple[str, Api | None], ...] = (
    ("/chat/completions", "chat"),
    ("/responses", "responses"),
    ("/completions", None),
    ("/models", None),
)
"""What a full endpoint has behind its base address, and the API that this names."""
LOOPBACK = re.compile(r"(localhost|127(\.\d+){3}|\[?::1\]?|.*\.localhost)", re.IGNORECASE)


def base_address(given: str) -> tuple[str, Api | None]:
    """The address that requests are built on, and the API that a full endpoint named.

    Raises `ConfigError` where it can be no address.
    """
    text = given.strip()
    if ("://" not in text and any(sign in text for sign in ".:/")) or text == "localhost":
        text = f"{'http' if on_loopback(f'//{text}') else 'https'}://{text}"
    try:
        parts = urlsplit(text)
        fault = not parts.hostname or parts.scheme not in ("http", "https") or (parts.port == 0)
    except ValueError:  # a port or an IPv6 address that is none
        fault = True
        parts = urlsplit("")
    if fault or any(not sign.isprintable() or sign.isspace() for sign in text):
        raise ConfigError(f"{shown_address(given)!r} is no address; one looks like https://host/v1")
    if parts.query or parts.fragment:
        raise ConfigError(f"{shown_address(given)!r}: an address ends before `?` and `#`")
    return _cut(text)


def _cut(text: str) -> tuple[str, Api | None]:
    base = text.rstrip("/")
    for end, api in ENDS:
        if base.lower().endswith(end):
            return base[: -len(end)].rstrip("/"), api
    return base, None


def on_loopback(address: str) -> bool:
    """Whether an address is of this machine."""
    try:
        host = urlsplit(address).hostname
    except ValueError:
        return False
    return bool(host and LOOPBACK.fullmatch(host))


def shown_address(address: str) -> str:
    """An address without the name, password and query that may stand in it."""
    return re.sub(r"(//|^)[^/@]*@", r"\1", address).partition("?")[0]
