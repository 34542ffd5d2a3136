"""What a model is told of the built-in tools: the Markdown beside each, and their schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def description(name: str) -> str:
    """The text of a tool's `.md` file."""
    return Path(__file__).with_name(f"{name}.md").read_text(encoding="utf-8").strip()


def arguments(required: list[str], **properties: Any) -> dict[str, Any]:
    """The schema of an object with these properties and no others."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def text(about: str = "") -> dict[str, Any]:
    """The schema of a string."""
    return {"type": "string", **({"description": about} if about else {})}
