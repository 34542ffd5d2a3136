"""Foreign JSON, read without trust: whatever a provider sends, these give a value of the wanted kind."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

DEEPEST = 64
"""Levels of an object that is kept for its provider; the libraries that write it give up at a few hundred."""


def fields_of(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def inside(fields: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object inside an object; empty where there is none."""
    return fields_of(fields.get(name))


def rows_of(value: Any) -> list[dict[str, Any]]:
    """The objects of a list; empty where it is no list."""
    return (
        [cast(dict[str, Any], row) for row in cast(list[Any], value) if isinstance(row, dict)] if isinstance(value, list) else []
    )


def number(value: Any) -> int:
    """A count; 0 where it is none."""
    return max(0, int(value)) if isinstance(value, int | float) and -1 < value < 1e15 else 0


def word(value: Any) -> str:
    """An id or a name, in text that can be stored."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def storable(value: dict[str, Any]) -> dict[str, Any]:
    """An object as it can be stored and sent: no half of a character in it. Empty where it is no honest JSON, or far too deep."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, RecursionError):
        return {}
    if _is_deep(value, DEEPEST):
        return {}
    return fields_of(json.loads(text.encode("utf-8", "replace")))


def _is_deep(value: Any, left: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = cast(dict[str, Any], value).values() if isinstance(value, dict) else cast(list[Any], value)
    return left == 0 or any(_is_deep(one, left - 1) for one in inner)


def is_json(data: bytes) -> bool:
    """The bytes are one whole JSON text."""
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True


def is_object(text: str) -> bool:
    """The text is one whole JSON object, as strictly as the providers read it."""
    try:
        return isinstance(json.loads(text, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
