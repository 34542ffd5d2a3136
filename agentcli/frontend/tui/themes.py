"""Theme files as Textual themes, and which one is worn."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.theme import Theme

from agentcli.frontend.tui.transcript.ink import Ink, ink_of
from agentcli.view.theme import ThemeData, Themes


class Wardrobe:
    """The themes that were found, and the one that is worn."""

    def __init__(self, themes: Themes, name: str | None = None) -> None:
        self.themes = themes
        self.worn: ThemeData = themes.choose(name)
        self.ink: Ink = ink_of(self.worn)

    @property
    def names(self) -> list[str]:
        """What can be worn."""
        return sorted(self.themes.found)

    def dress(self, app: App[Any]) -> None:
        """Give the app the worn theme."""
        app.register_theme(textual_theme(self.worn))
        app.theme = self.worn.name

    def change(self, app: App[Any], name: str) -> bool:
        """Wear another theme; False where there is none of this name."""
        found = self.themes.found.get(name)
        if found is None:
            return False
        self.worn, self.ink = found, ink_of(found)
        self.dress(app)
        return True


def textual_theme(theme: ThemeData) -> Theme:
    """The Textual theme of a theme file; every role of `[agent]` becomes a variable `agent-ROLE`."""
    colors = theme.colors
    return Theme(
        name=theme.name,
        primary=colors["primary"],
        secondary=colors["secondary"],
        accent=colors["accent"],
        foreground=colors["foreground"],
        background=colors["background"],
        surface=colors["surface"],
        panel=colors["panel"],
        boost=colors["boost"],
        success=colors["success"],
        warning=colors["warning"],
        error=colors["error"],
        dark=theme.dark,
        variables={**role_variables(theme), **theme.variables},
    )


def role_variables(theme: ThemeData) -> dict[str, str]:
    """The CSS variables that the style sheets rely on."""
    colors = theme.colors
    return {
        **{f"agent-{role}": colour for role, colour in theme.agent.items()},
        "muted": colors["secondary"],
        "line": colors["boost"],
        "input-cursor-background": colors["foreground"],
        "input-cursor-foreground": colors["background"],
        "scrollbar": colors["boost"],
        "scrollbar-hover": colors["secondary"],
        "scrollbar-active": colors["primary"],
        "scrollbar-background": colors["background"],
        "scrollbar-background-hover": colors["background"],
        "scrollbar-background-active": colors["background"],
        "scrollbar-corner-color": colors["background"],
    }
