"""The parts that previews share: the digest, and the plain preview of arguments."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from agentcli.ledger.preview import Preview


def digest_of(name: str, arguments: Mapping[str, Any], target: bytes | None = None) -> str:
    """sha256 over a call's name, its input and the bytes of its target (None: there is no file)."""
    call = json.dumps([name, arguments], sort_keys=True, ensure_ascii=True).encode()
    parts = hashlib.sha256(b"%d:" % len(call) + call)
    parts.update(b"-" if target is None else b"+" + target)
    return parts.hexdigest()


def plain_preview(name: str, arguments: Mapping[str, Any]) -> Preview:
    """All arguments as they are, for tools that know nothing better."""
    body = json.dumps(arguments, indent=2, ensure_ascii=False)
    return Preview(kind="text", target=name, body=body, digest=digest_of(name, arguments))
