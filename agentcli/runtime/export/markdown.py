"""A session as Markdown. What is not the model's own Markdown stands in fences and quotes that it cannot leave."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

from agentcli.runtime.export.document import Argument, Aside, Attachment, Document, Part, Step, Thought, Turn, Words

NAMES = {"user": "User", "assistant": "Agent", "system": "System"}
FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
CODE = re.compile(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)")
RAW = re.compile(r"<(?=[A-Za-z/!?])|!(?=\[)|&(?=[#A-Za-z])")
AS_TEXT = {"<": "&lt;", "!": "\\!", "&": "&amp;"}
MARKER = re.compile(r"^(\d*)([-+=.)])")
PUNCTUATION = re.compile(r"([\\`*_{}\[\]<>#|~!&])")


def markdown(document: Document) -> Iterator[str]:
    """The file, in pieces."""
    yield f"# {_inline(document.title)}\n\n"
    for label, value in document.facts:
        yield f"- {label}: {_code(value)}\n"
    for sentence in document.lost:
        yield f"\n> **Lost:** {_inline(sentence)}\n"
    for turn in document.turns:
        yield from _turn(turn)


def _turn(turn: Turn) -> Iterator[str]:
    yield f"\n## {NAMES.get(turn.role, turn.role)} · {turn.at}\n"
    for part in turn.parts:
        yield f"\n{_part(part, turn.role)}\n"
    if turn.end:
        yield f"\n*{_inline(turn.end)}*\n"


def _part(part: Part, role: str) -> str:
    match part:
        case Words(text):
            return tame(text) if role == "assistant" else quote(text)
        case Thought(text):
            return _folded("Thinking", quote(text))
        case Aside(text):
            return "*said meanwhile:*\n\n" + quote(text)
        case Attachment(label):
            return f"[{_inline(label)}]"
        case Step():
            return _step(part)


def _step(step: Step) -> str:
    inner = [_argument(argument) for argument in step.arguments]
    if step.diff:
        inner.append(_fenced(step.diff, "diff"))
    if step.output:
        inner.append("Result:\n\n" + _fenced(step.output))
    inner += [f"[{_inline(one.label)}]" for one in step.attachments]
    return _folded(f"{step.tool} {step.target} ({step.outcome})", "\n\n".join(inner))


def _argument(argument: Argument) -> str:
    if "\n" in argument.value or len(argument.value) > 80:
        return f"{_code(argument.name)}:\n\n{_fenced(argument.value)}"
    return f"{_code(argument.name)}: {_code(argument.value)}"


def _folded(title: str, inner: str) -> str:
    # A blank line ends a block of HTML, so what stands inside is Markdown again.
    return f"<details><summary>{html.escape(title)}</summary>\n\n{inner}\n\n</details>"


def quote(text: str) -> str:
    """A text as it is, in a quote whose lines cannot be anything but text."""
    return "\n".join(f"> {_quoted(line)}  " if line.strip() else ">" for line in text.split("\n"))


def _quoted(line: str) -> str:
    text = line.lstrip(" ")
    indent = "&nbsp;" * (len(line) - len(text))  # blanks at the beginning would be dropped, or make code of it
    return indent + MARKER.sub(r"\1\\\2", _inline(text))


def tame(text: str) -> str:
    """Markdown of the model without raw HTML and without pictures, and with its last fence closed."""
    lines: list[str] = []
    fence = ""
    for line in text.split("\n"):
        match = FENCE.fullmatch(line)
        if fence:
            closes = match is not None and match[1].startswith(fence) and not match[2].strip()
            fence = "" if closes else fence
            lines.append(line)
        elif match is not None and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
            lines.append(line)
        else:
            lines.append(_tamed(line))
    return "\n".join([*lines, fence] if fence else lines)


def _tamed(line: str) -> str:
    pieces: list[str] = []
    at = 0
    for code in CODE.finditer(line):
        pieces += [_raw_as_text(line[at : code.start()]), code[0]]
        at = code.end()
    return "".join([*pieces, _raw_as_text(line[at:])])


def _raw_as_text(text: str) -> str:
    return RAW.sub(lambda match: AS_TEXT[match[0]], text)


def _inline(text: str) -> str:
    """A text in which no sign means anything."""
    return PUNCTUATION.sub(r"\\\1", text)


def _code(text: str) -> str:
    """One line as code, whatever backticks are in it."""
    if not text:
        return "(empty)"
    ticks = "`" * (_longest(text) + 1)
    room = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{room}{text}{room}{ticks}"


def _fenced(text: str, kind: str = "") -> str:
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{kind}\n{text.removesuffix(chr(10))}\n{fence}"


def _longest(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
