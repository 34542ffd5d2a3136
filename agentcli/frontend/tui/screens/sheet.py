"""What a confirmation says, as rows: title, waiting calls, body, warnings, rule, answers. Knows no widget."""

from __future__ import annotations

import re

from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from agentcli.frontend.tui.bridge import Question
from agentcli.frontend.tui.screens.answers import SCOPE_WORDS, Answers
from agentcli.frontend.tui.transcript.diff import diff_rows, file_rows
from agentcli.frontend.tui.transcript.highlight import highlighted
from agentcli.frontend.tui.transcript.ink import WIDEST, Ink, Row, clipped, indented, plain_rows, row_width, wrap
from agentcli.ledger.rule import PermissionRule
from agentcli.view.clean import clean, foreign_letters
from agentcli.view.summary import call_target

MARGIN = "   "
LONGEST_KEY = 60
"""Columns that the words of one key may take."""
STRANGE = re.compile(r"[^\W\d_\x00-\x7f]+")


def exact(text: str) -> str:
    """Foreign text of which nothing is dropped without a sign."""
    return clean(text, exact=True)


def title_rows(question: Question, ink: Ink, width: int) -> list[Row]:
    """`Allow`, the literal tool name, and the whole target."""
    name = clean(question.call.name, newlines=False, exact=True)
    target = clean(question.preview.target if question.preview else "", newlines=False, exact=True)
    text = Text("─ ", ink.ask)
    text.append("Allow ", ink.ask + Style(bold=True))
    text.append(name, ink.ask + Style(bold=True))
    if target and target != name:
        text.append(" ─ ", ink.ask)
        start = len(text.plain)
        text.append(target, ink.bold)
        _mark_foreign(text, start, ink)
    text.append(" ")
    rows = wrap(text, max(4, width - 1))
    rows[-1] = [*rows[-1], Segment("─" * max(0, width - row_width(rows[-1])), ink.ask)]
    return rows


def call_rows(answers: Answers, ink: Ink, width: int, root: str) -> list[Row]:
    """A row for each waiting call, where there are several."""
    if len(answers.questions) < 2:
        return []
    rows: list[Row] = []
    for at, question in enumerate(answers.questions):
        given = answers.given.get(question.call.id)
        mark, style = ("?", ink.ask) if given is None else ("●", ink.allow) if given.confirmed else ("✕", ink.deny)
        name = clean(question.call.name, newlines=False, exact=True)
        line = clipped(f"{name.ljust(7)} {call_target(question.call.name, question.call.input, root)}", max(4, width - 8))
        here = at == answers.at
        rows.append(
            [
                Segment(" › " if here else MARGIN, ink.user),
                Segment(mark + " ", style),
                Segment(line, ink.bold if here else ink.muted),
            ]
        )
    return rows


def body_rows(question: Question, ink: Ink, width: int) -> list[Row]:
    """All that would happen."""
    preview = question.preview
    room = min(WIDEST, width - len(MARGIN) - 1)
    if preview is None:
        return indented(wrap(Text(exact(question.call.input), ink.base), room), MARGIN)
    match preview.kind:
        case "diff":
            rows = diff_rows(preview.body, ink, room)
        case "new_file":
            rows = file_rows(preview.body, ink, room)
        case "command":
            text = highlighted(exact(preview.body), "bash", ink)
            _mark_foreign(text, 0, ink)
            rows = wrap(text, room)
        case "text":
            rows = plain_rows(exact(preview.body), ink.base, room)
    return indented(rows, MARGIN)


def warning_rows(question: Question, ink: Ink, width: int) -> list[Row]:
    """Risks and notes, a sentence each."""
    preview = question.preview
    risks = list(preview.risks) if preview else []
    strange = foreign_letters(
        (preview.target + " " + preview.body) if preview and preview.kind == "command" else question.call.input
    )
    if strange:
        named = ", ".join(f"{letter} (U+{ord(letter):04X})" for letter in strange[:5])
        risks.append(f"Letters of another script inside words: {named}. They may pass for Latin ones.")
    rows: list[Row] = []
    for risk in risks:
        rows += indented(plain_rows(exact(risk), ink.ask, width - 6), MARGIN + "  ", Segment(MARGIN + "! ", ink.ask))
    for note in preview.notes if preview else []:
        rows += indented(plain_rows(exact(note), ink.base, width - 6), MARGIN + "  ", Segment(MARGIN + "· ", ink.muted))
    return [[], *rows] if rows else []


def rule_words(rule: PermissionRule) -> str:
    """What a rule covers, beside this call."""
    if rule.tool_name == "Read" and rule.rule_content == "**":
        return "every way of looking inside the root; protected and credential files still ask"
    if rule.tool_name == "Read":
        return "every way of looking there"
    if rule.tool_name == "Edit":
        return "every way of changing files there"
    if rule.rule_content is None:
        return "every call of this tool"
    if rule.rule_content.endswith(":*"):
        return "these words and any further ones behind them"
    return "this and nothing else" if rule.tool_name == "Bash" else ""


def rule_rows(answers: Answers, ink: Ink, width: int) -> list[Row]:
    """The exact rule and its scope: what `a` gives."""
    text = Text("Always allow ", ink.allow)
    for at, rule in enumerate(answers.rules):
        text.append(" and " if at else "", ink.base)
        text.append(clean(rule.text, newlines=False, exact=True), ink.bold)
    text.append(f" {SCOPE_WORDS[answers.scope]}", ink.allow)
    rows = wrap(text, width - 6)
    words = "; ".join(filter(None, (rule_words(rule) for rule in answers.rules)))
    rows += plain_rows(words, ink.muted, width - 6) if words else []
    return [[], *indented(rows, MARGIN)]


def answer_rows(answers: Answers, state: str, ink: Ink, width: int, *, full: bool, scrolls: bool) -> list[Row]:
    """The keys that answer now."""
    match state:
        case "rule":
            keys = [("enter", "give it"), ("s", "other scope"), ("esc", "back")]
        case "reason":
            keys = [("enter", "deny with this reason"), ("esc", "back")]
        case "edit":
            keys = [("ctrl+s", "allow with these arguments"), ("esc", "back")]
        case _:
            keys = [("y", "allow"), ("n", "deny"), ("tab", "deny with a reason")]
            if answers.rules:
                keys.insert(1, ("a", _always(answers, width - len(MARGIN) - 2)))
            if answers.edits:
                keys.append(("shift+tab", "accept all edits"))
            keys.append(("e", "edit"))
            if scrolls or full:
                keys.append(("f", "smaller" if full else "full"))
            if scrolls:
                keys.append(("↑↓" if len(answers.questions) < 2 else "pgup pgdn", "scroll"))
            if len(answers.questions) > 1:
                keys.append(("↑↓", "other call"))
    rows: list[Row] = [[Segment(MARGIN)]]
    for key, words in keys:
        piece: Row = [Segment(key, ink.ask + Style(bold=True)), Segment(f" {words}   ", ink.base)]
        if row_width(rows[-1]) + row_width(piece) - 3 > width and len(rows[-1]) > 1:
            rows.append([Segment(MARGIN)])
        rows[-1] = [*rows[-1], *piece]
    return [[], *rows]


def _always(answers: Answers, room: int) -> str:
    """What `a` leads to; the line that it opens shows the rules in full before they are given."""
    rule = clean(answers.rules[0].text, newlines=False, exact=True)
    words = f"always: {rule} {SCOPE_WORDS[answers.scope]}"
    return words if len(answers.rules) == 1 and len(words) <= min(room, LONGEST_KEY) else "always …"


def _mark_foreign(text: Text, start: int, ink: Ink) -> None:
    """Letters beyond ASCII stand out in what is approved."""
    for match in STRANGE.finditer(text.plain, start):
        text.stylize(ink.ask + Style(underline=True), match.start(), match.end())
