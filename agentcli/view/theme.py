"""Theme files as data: TOML in, checked colours out. Knows no toolkit.

A theme that cannot be used never stops a start: what is wrong comes back as warnings.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

HEX = re.compile(r"#[0-9a-fA-F]{6}\Z")
COLORS = (
    "primary",
    "secondary",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
    "boost",
    "success",
    "warning",
    "error",
)
AGENT = ("user", "assistant", "thinking", "tool", "allow", "ask", "deny", "explore", "diff-add", "diff-remove", "diff-hunk")
FALL_BACK = {  # a role that a theme leaves out takes this colour
    "user": "primary", "assistant": "foreground", "thinking": "secondary", "tool": "secondary", "allow": "success",
    "ask": "warning", "deny": "error", "explore": "accent",
    "diff-add": "success", "diff-remove": "error", "diff-hunk": "secondary",
}  # fmt: skip
TABLES: dict[str, tuple[str, ...]] = {
    "theme": ("label", "dark", "author", "license", "ansi", "extends"),
    "colors": COLORS,
    "palette": (),
    "agent": AGENT,
    "variables": (),
}
DARK = "agentcli-dark"
LIGHT = "agentcli-light"


@dataclass(slots=True, frozen=True)
class ThemeData:
    """A theme whose names and references are resolved; every colour is `#rrggbb`."""

    name: str
    label: str
    dark: bool
    colors: Mapping[str, str]
    agent: Mapping[str, str]
    variables: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(slots=True)
class Themes:
    """The themes that were found, by name; of two of one name the later folder wins."""

    found: dict[str, ThemeData] = field(default_factory=dict[str, ThemeData])
    warnings: list[str] = field(default_factory=list[str])

    def choose(self, name: str | None) -> ThemeData:
        """The theme of this name; the dark one, with a warning, where there is none."""
        if name and name not in self.found:
            near = difflib.get_close_matches(name, self.found, 1, 0.4)
            self.warnings.append(f"There is no theme {name}" + (f"; did you mean {near[0]}?" if near else "."))
        return self.found.get(name or DARK) or self.found.get(DARK) or PLAIN


def load_themes(folders: Iterable[Path]) -> Themes:
    """Every `*.toml` in these folders; missing folders are no fault."""
    themes = Themes()
    raw: dict[str, dict[str, Any]] = {}
    for path in (path for folder in folders for path in sorted(folder.glob("*.toml"))):
        try:
            raw[path.stem] = tomllib.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as exc:
            themes.warnings.append(f"{path}: {exc}")
    for name in raw:
        themes.found[name] = _resolve(name, raw, themes.warnings)
    return themes


def _resolve(name: str, raw: dict[str, dict[str, Any]], warnings: list[str]) -> ThemeData:
    _check_names(name, raw[name], warnings)
    tables = _extended(name, raw)
    head = tables["theme"]
    dark = head.get("dark") is not False
    colors = _colors(name, tables, dark, warnings)
    agent = {role: colors[FALL_BACK[role]] for role in AGENT}
    for role, value in tables["agent"].items():
        colour = _colour(value, tables["palette"], {**colors, **agent})
        if role in AGENT and colour is None:
            warnings.append(f"{name}: agent.{role} = {value!r} is no colour")
        elif role in AGENT and colour is not None:
            agent[role] = colour
    variables = {key: _colour(value, tables["palette"], colors) or str(value) for key, value in tables["variables"].items()}
    return ThemeData(name, str(head.get("label") or name), dark, colors, agent, variables)


def _colors(name: str, tables: dict[str, dict[str, Any]], dark: bool, warnings: list[str]) -> dict[str, str]:
    colors = dict(PLAIN.colors if dark else PLAIN_LIGHT)
    for key, value in tables["colors"].items():
        colour = _colour(value, tables["palette"], colors)
        if colour is None:
            warnings.append(f"{name}: colors.{key} = {value!r} is no colour")
        elif key in COLORS:
            colors[key] = colour
    return colors


def _colour(value: Any, palette: Mapping[str, Any], known: Mapping[str, str]) -> str | None:
    """A colour by `#rrggbb`, by a name of the palette, or by `$name` of a colour."""
    text = str(value)
    text = known.get(text[1:], text) if text.startswith("$") else str(palette.get(text, text))
    return text.lower() if HEX.match(text) else None


def _extended(name: str, raw: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The tables of a theme laid over those it extends; a circle ends where it closes."""
    chain: list[str] = []
    at: Any = name
    while isinstance(at, str) and at in raw and at not in chain:
        chain.append(at)
        at = _table(raw[at], "theme").get("extends")
    merged: dict[str, dict[str, Any]] = {table: {} for table in TABLES}
    for step in reversed(chain):
        for table in TABLES:
            merged[table].update(_table(raw[step], table))
    return merged


def _table(theme: dict[str, Any], name: str) -> dict[str, Any]:
    found = theme.get(name)
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _check_names(name: str, theme: dict[str, Any], warnings: list[str]) -> None:
    for table, value in theme.items():
        known = TABLES.get(table)
        if known is None or not isinstance(value, dict):
            warnings.append(f"{name}: unknown table [{table}]")
            continue
        for key in _table(theme, table):
            if known and key not in known:
                near = difflib.get_close_matches(key, known, 1)
                warnings.append(f"{name}: unknown key {table}.{key}" + (f"; did you mean {near[0]}?" if near else ""))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, 1 to 21 (WCAG 2)."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


_DARK_COLORS = {
    "primary": "#7aa2f7", "secondary": "#9aa5ce", "accent": "#7dcfff", "foreground": "#d5d9e6", "background": "#14161c",
    "surface": "#1a1d25", "panel": "#232733", "boost": "#2a2f3d", "success": "#8ccf7e", "warning": "#e5c07b", "error": "#f2858c",
}  # fmt: skip
PLAIN_LIGHT = {
    "primary": "#2a5bc0", "secondary": "#565e74", "accent": "#00657f", "foreground": "#23262e", "background": "#fbfaf7",
    "surface": "#f3f1ec", "panel": "#e8e5de", "boost": "#dedad1", "success": "#2f6b1f", "warning": "#7d5200", "error": "#a8262f",
}  # fmt: skip
PLAIN = ThemeData(DARK, "Dark", True, _DARK_COLORS, {role: _DARK_COLORS[FALL_BACK[role]] for role in AGENT})
"""What is used where no theme file can be read."""
