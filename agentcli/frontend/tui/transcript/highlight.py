"""Highlighted code, by the roles of the theme. pygments is loaded with the first code that is shown."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rich.style import Style
from rich.text import Text

from agentcli.frontend.tui.transcript.ink import Ink

LONGEST_LINE = 2000  # a lexer may be slow on minified files
LARGEST = 40_000


def highlighted(code: str, language: str, ink: Ink) -> Text:
    """The code with its words coloured; plain where the language is not known."""
    lexer = _lexer(language.lower()) if language else None
    text = Text(style=ink.base)
    if lexer is None or len(code) > LARGEST or max(map(len, code.split("\n"))) > LONGEST_LINE:
        return text.append(code, ink.base)
    for kind, part in lexer.get_tokens(code):
        text.append(part, _style(kind, ink))
    text.rstrip()
    return text


@lru_cache(64)
def _lexer(language: str) -> Any:
    from pygments.lexers import get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
    from pygments.util import ClassNotFound

    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None


@lru_cache(512)
def _style(kind: Any, ink: Ink) -> Style:
    from pygments.token import Token

    table: tuple[tuple[Any, Style], ...] = (
        (Token.Comment, ink.muted),
        (Token.Literal.String, ink.string),
        (Token.Literal.Number, ink.number),
        (Token.Keyword.Constant, ink.number),
        (Token.Keyword, ink.keyword),
        (Token.Operator.Word, ink.keyword),
        (Token.Name.Function, ink.user),
        (Token.Name.Class, ink.user),
        (Token.Name.Decorator, ink.tool),
        (Token.Name.Builtin, ink.tool),
        (Token.Name.Tag, ink.keyword),
        (Token.Name.Attribute, ink.user),
        (Token.Generic.Inserted, ink.add),
        (Token.Generic.Deleted, ink.remove),
        (Token.Generic.Heading, ink.heading),
    )
    return next((style for token, style in table if kind in token), ink.base)
