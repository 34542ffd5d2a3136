"""A session as one HTML file: no script, nothing fetched from anywhere, every foreign text escaped."""

from __future__ import annotations

import html
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Any

from agentcli.runtime.export.document import Argument, Aside, Attachment, Document, Part, Step, Thought, Turn, Words

NAMES = {"user": "User", "assistant": "Agent", "system": "System"}
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
NESTING = 40
FOLLOWED = ["image", "link", "autolink", "entity", "reference"]
"""Rules of Markdown that would fetch, hide an address, or bring in a character that was cleaned away."""
DIFF = {"+": "add", "-": "del", "@": "hunk"}


def page(document: Document) -> Iterator[str]:
    """The file, in pieces."""
    css = files("agentcli.runtime.export").joinpath("page.css").read_text(encoding="utf-8")
    title = html.escape(document.title)
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{title}</title>\n<style>\n{css}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n<dl>\n"
    for label, value in document.facts:
        yield f"<dt>{html.escape(label)}</dt><dd>{html.escape(value)}</dd>\n"
    yield "</dl>\n</header>\n"
    for sentence in document.lost:
        yield f'<p class="lost">Lost: {html.escape(sentence)}</p>\n'
    for turn in document.turns:
        yield from _turn(turn)
    yield "</body>\n</html>\n"


def _turn(turn: Turn) -> Iterator[str]:
    role = turn.role if turn.role in NAMES else "system"
    yield f'<section class="{role}">\n<h2>{NAMES[role]} <time>{html.escape(turn.at)}</time></h2>\n'
    for part in turn.parts:
        yield _part(part, turn.role) + "\n"
    if turn.end:
        yield f'<p class="end">{html.escape(turn.end)}</p>\n'
    yield "</section>\n"


def _part(part: Part, role: str) -> str:
    match part:
        case Words(text):
            return f'<div class="words">{_rendered(text)}</div>' if role == "assistant" else _as_it_is(text)
        case Thought(text):
            return _folded("thought", "Thinking", _as_it_is(text))
        case Aside(text):
            return f'<div class="aside">said meanwhile: {_as_it_is(text)}</div>'
        case Attachment():
            return _attachment(part)
        case Step():
            return _step(part)


def _step(step: Step) -> str:
    inner = [_argument(argument) for argument in step.arguments]
    if step.output:
        inner.append(f"<h3>Result</h3>{_as_it_is(step.output)}")
    inner += [_attachment(one) for one in step.attachments]
    title = f"<b>{html.escape(step.tool)}</b> <code>{html.escape(step.target)}</code> <i>{html.escape(step.outcome)}</i>"
    shown = f"\n{_diff(step.diff)}" if step.diff else ""
    return f'<details class="step"><summary>{title}</summary>{"".join(inner)}</details>{shown}'


def _argument(argument: Argument) -> str:
    return f"<h3>{html.escape(argument.name)}</h3>{_as_it_is(argument.value)}"


def _diff(text: str) -> str:
    # Every line is a block of its own: line ends between them would be shown as empty rows.
    lines = (f'<span class="{_kind(line)}">{html.escape(line) or " "}</span>' for line in text.removesuffix("\n").split("\n"))
    return f'<pre class="diff">{"".join(lines)}</pre>'


def _kind(line: str) -> str:
    return "file" if line.startswith(("--- ", "+++ ")) else DIFF.get(line[:1], "same")


def _attachment(one: Attachment) -> str:
    label = html.escape(one.label)
    if not one.data:
        return f'<p class="attachment">{label}</p>'
    source = html.escape(f"data:{one.media_type};base64,{one.data}")
    return f'<figure><img alt="{label}" src="{source}"><figcaption>{label}</figcaption></figure>'


def _folded(kind: str, title: str, inner: str) -> str:
    return f'<details class="{kind}"><summary>{html.escape(title)}</summary>{inner}</details>'


def _as_it_is(text: str) -> str:
    return f"<pre>{html.escape(text)}</pre>"


def _rendered(text: str) -> str:
    """The model's Markdown; as it is where it is nested more deeply than the parser follows."""
    parser = _parser()
    tokens = parser.parse(text)
    if max((token.level for token in tokens), default=0) >= NESTING - 1:
        return _as_it_is(text)
    for token in tokens:
        token.info = ""  # the word behind a fence may hold entities, and nothing here is coloured by language
    return str(parser.renderer.render(tokens, parser.options, {}))


@lru_cache(1)
def _parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING}).enable(["table", "strikethrough"]).disable(FOLLOWED)
