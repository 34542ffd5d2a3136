"""The application of a node, with a type: Textual leaves its result type open."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.dom import DOMNode


def app_of(node: DOMNode) -> App[Any]:
    """The running application."""
    return node.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
