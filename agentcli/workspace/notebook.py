"""A Jupyter notebook as text: its cells in order with what they have put out. Bounded, and pure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, cast

OUTPUT_CHARS = 4_000
"""Of one output."""
Json = dict[str, Any]


def cells_of(text: bytes) -> str | None:
    """The cells of a notebook; None for what is none."""
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    cells: Any = cast("Json", found).get("cells") if isinstance(found, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cast("list[Any]", cells)):
        return None
    return "\n".join(line for number, cell in enumerate(cast("list[Json]", cells), 1) for line in _cell(number, cell))


def _cell(number: int, cell: Json) -> Iterator[str]:
    yield f"--- cell {number}: {cell.get('cell_type', 'unknown')} ---"
    yield _joined(cell.get("source")).rstrip("\n")
    outputs = cell.get("outputs")
    for output in cast("list[Any]", outputs) if isinstance(outputs, list) else []:
        if isinstance(output, dict) and (said := _output(cast("Json", output))):
            yield "--- output ---"
            yield said if len(said) <= OUTPUT_CHARS else f"{said[:OUTPUT_CHARS]} [{len(said) - OUTPUT_CHARS} more characters]"


def _output(output: Json) -> str:
    if output.get("output_type") == "stream":
        return _joined(output.get("text")).rstrip("\n")
    if output.get("output_type") == "error":
        return f"{output.get('ename', 'error')}: {output.get('evalue', '')}"
    data = output.get("data")
    if not isinstance(data, dict):
        return ""
    shown = cast("Json", data)
    if "text/plain" in shown:
        others = [kind for kind in shown if kind.startswith("image/")]
        return "\n".join([_joined(shown["text/plain"]).rstrip("\n"), *(f"[{kind}]" for kind in others)])
    return "\n".join(f"[{kind}]" for kind in shown)


def _joined(lines: Any) -> str:
    """Text is kept as one string or as a list of lines."""
    return "".join(str(line) for line in cast("list[Any]", lines)) if isinstance(lines, list) else str(lines or "")
