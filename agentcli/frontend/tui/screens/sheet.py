"""What a confirmation says, as rows: title, waiting calls, body, warnings, rule, answers. Knows no widget."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from agentcli.frontend.tui.bridge import Question
from agentcli.frontend.tui.screens.answers import SCOPE_WORDS, Answers
from agentcli.frontend.tui.transcript.diff import diff_rows, file_rows
from agentcli.frontend.tui.transcript.highlight import highlighted
from agentcli.frontend.tui.transcript.ink import WIDEST, Ink, Row, clipped, indented, plain_rows, row_width, wrap
from agentcli.ledger.block import ToolResultState
from agentcli.ledger.rule import PermissionRule
from agentcli.view.clean import clean, foreign_letters
from agentcli.view.summary import call_arguments, call_target, plural

MARGIN = "   "
LONGEST_KEY = 60
"""Columns that the words of one key may take."""
STRANGE = re.compile(r"[^\W\d_\x00-\x7f]+")
BLANK_LINES = re.compile(r"(?:^(?:[^\S\n]|\u2800)*\n){3,}(?:(?:[^\S\n]|\u2800)*\Z)?", re.MULTILINE)
BLANKS = re.compile(r"(?:[^\S\n]|\u2800){40,}")
FIELD = re.compile(r"(\w+): ")
LOOKS = ("Read", "Glob", "Grep")
BROKEN = "It can no longer work"
"""How the note begins of a call that would only fail now."""
FAILS = "Allowed, it fails: nothing is changed, and the model reads why."

ResultOf: TypeAlias = Callable[[str], ToolResultState | None]
"""The state of a call's result; None before it has begun."""


@dataclass(slots=True, frozen=True)
class Keys:
    """What the keys can do now."""

    step: str = ""
    full: bool = False
    scrolls: bool = False
    brief: bool = False
    """Few words, because there are few rows."""
    sending: bool = False
    """The last answer still has its effect."""
    counts: bool = True
    """Enough was seen to allow it."""
    unseen: int = 0


def exact(text: str) -> str:
    """Foreign text of which nothing is dropped without a sign."""
    return clean(text, exact=True)


def breaks(question: Question) -> bool:
    """Whether the call would only fail now."""
    preview = question.preview
    return preview is not None and any(note.startswith(BROKEN) for note in preview.notes)


def target_of(question: Question, root: str) -> str:
    """What the call is about; from its arguments, where its preview does not know any more."""
    name, preview = question.call.name, question.preview
    known = preview.target if preview is not None else ""
    if known in ("", name) and (preview is None or breaks(question)):
        return call_target(name, question.call.input, root)
    return "" if known == name else clean(known, newlines=False, exact=True)


def title_rows(question: Question, ink: Ink, width: int, root: str) -> tuple[list[Row], int]:
    """`Allow`, the literal tool name, and the whole target; and how many rows say at least what it is about."""
    target = target_of(question, root)
    head = Text("─ ", ink.ask)
    head.append("Allow " + clean(question.call.name, newlines=False, exact=True), ink.ask + Style(bold=True))
    named = Text(target, ink.bold)
    _mark_foreign(named, 0, ink)
    whole = Text.assemble(head, *([Text(" ─ ", ink.ask), named] if target else []), " ")
    if whole.cell_len < width:
        return [_ruled(wrap(whole, width)[0], ink, width)], 1
    head.append(" ")
    rows = wrap(head, max(4, width - 1))
    rows[-1] = _ruled(rows[-1], ink, width)
    if not target:
        return rows, len(rows)
    return [*rows, *indented(wrap(named, max(4, width - len(MARGIN) - 1)), MARGIN)], len(rows) + 1


def _ruled(row: Row, ink: Ink, width: int) -> Row:
    return [*row, Segment("─" * max(0, width - row_width(row)), ink.ask)]


def call_rows(answers: Answers, result_of: ResultOf, ink: Ink, width: int, root: str, most: int) -> list[Row]:
    """A row for each call around the one that is looked at, where there are several; how many there are beside."""
    count = len(answers.questions)
    if count < 2 or most < 1:
        return []
    shown = count if count <= most else most - 1
    first = min(max(0, answers.at - shown // 2), count - shown)
    rows = [_call_row(answers, at, result_of, ink, width, root) for at in range(first, first + shown)]
    if shown < count:
        words = f"… {count - shown} more · this is {answers.at + 1} of {count}, {len(answers.open)} wait"
        rows.append([Segment(MARGIN), Segment(clipped(words, max(4, width - len(MARGIN))), ink.muted)])
    return rows


def _call_row(answers: Answers, at: int, result_of: ResultOf, ink: Ink, width: int, root: str) -> Row:
    call, here = answers.questions[at].call, at == answers.at
    mark, style = ("?", ink.ask) if call.id not in answers.over else _mark(result_of(call.id), ink)
    name = clean(call.name, newlines=False, exact=True)
    line = clipped(f"{name.ljust(7)} {call_target(call.name, call.input, root)}", max(4, width - 8))
    chosen = Segment(" › " if here else MARGIN, ink.user)
    return [chosen, Segment(mark + " ", style), Segment(line, ink.bold if here else ink.muted)]


def _mark(state: ToolResultState | None, ink: Ink) -> tuple[str, Style]:
    """The mark of a call that was answered: that of one that runs, until it has a result."""
    match state:
        case None | ToolResultState.RUNNING:
            return "◐", ink.tool
        case ToolResultState.SUCCESS:
            return "●", ink.tool
        case ToolResultState.INTERRUPTED:
            return "–", ink.muted
        case _:
            return "✕", ink.deny


def body_rows(question: Question, ink: Ink, width: int) -> list[Row]:
    """All that would happen."""
    preview = question.preview
    room = max(4, min(WIDEST, width - len(MARGIN) - 1))
    if preview is None:
        return indented(wrap(Text(exact(question.call.input), ink.base), room), MARGIN)
    if breaks(question):
        return _broken_rows(question, ink, room)
    match preview.kind:
        case "diff":
            rows = diff_rows(preview.body, ink, room)
        case "new_file":
            rows = file_rows(preview.body, ink, room)
        case "command":
            rows = wrap(command_text(preview.body, ink), room)
        case "text" if question.call.name in LOOKS:
            rows = [row for line in exact(preview.body).split("\n") for row in wrap(_field(line, ink), room)]
        case "text":
            rows = plain_rows(exact(preview.body), ink.base, room)
    return indented(rows, MARGIN)


def command_text(command: str, ink: Ink) -> Text:
    """A command as it is, but for long runs of nothing: they are told, so that they cannot push the rest away."""
    shown = BLANK_LINES.sub(_blank_lines, exact(command))
    shown = BLANKS.sub(lambda match: f" … {len(match[0])} blanks … ", shown)
    text = highlighted(shown, "bash", ink)
    _mark_foreign(text, 0, ink)
    for match in re.finditer(r"… \d[\d,]* blank(?: lines|s) …", text.plain):
        text.stylize(ink.ask, match.start(), match.end())
    return text


def _blank_lines(match: re.Match[str]) -> str:
    ends = match[0].endswith("\n") and match.end() < len(match.string)
    return f"… {match[0].count(chr(10)):,} blank lines …" + ("\n" if ends else "")


def _field(line: str, ink: Ink) -> Text:
    """A line of a look: the name of the argument steps back behind its value."""
    text, named = Text(line, ink.base), FIELD.match(line)
    if named is not None:
        text.stylize(ink.muted, 0, named.end())
    return text


def _broken_rows(question: Question, ink: Ink, room: int) -> list[Row]:
    """Why it fails, before what it would have been."""
    notes = [note for note in question.preview.notes if note.startswith(BROKEN)] if question.preview else []
    rows: list[Row] = []
    for words in [*notes, FAILS]:
        rows += indented(plain_rows(exact(words), ink.ask, max(4, room - 2)), MARGIN + "  ", Segment(MARGIN + "! ", ink.ask))
    arguments = call_arguments(question.call.input)
    lines = [_field(f"{exact(key)}: {exact(_value(value))}", ink) for key, value in arguments.items()]
    said = [row for line in lines for row in wrap(line, room)] or plain_rows(exact(question.call.input), ink.base, room)
    return [*rows, [], *indented(said, MARGIN)]


def _value(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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
        if note.startswith(BROKEN):  # it stands above the body
            continue
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


def answer_rows(answers: Answers, can: Keys, ink: Ink, width: int) -> list[Row]:
    """The keys that answer now."""
    rows: list[Row] = [] if can.brief else [[]]
    at = len(rows)
    if can.sending:
        words = f"◐ {clean(answers.last, newlines=False, exact=True)} runs; the next answer counts when it has ended"
        rows += indented(plain_rows(words, ink.tool, max(4, width - len(MARGIN) - 1)), MARGIN)
        at = len(rows)
    rows.append([Segment(MARGIN)])
    for key, words in _keys(answers, can, width):
        piece: Row = [Segment(key, ink.ask + Style(bold=True)), Segment(f" {words}   ", ink.base)]
        if row_width(rows[-1]) + row_width(piece) - 3 > width and len(rows) > at and len(rows[-1]) > 1:
            rows.append([Segment(MARGIN)])
        rows[-1] = [*rows[-1], *piece]
    return rows


def _keys(answers: Answers, can: Keys, width: int) -> list[tuple[str, str]]:
    several = len(answers.open) > 1
    if can.sending:
        return [("esc", "stops it and all that waits"), *([("↑↓", "look at another call")] if several else [])]
    match can.step:
        case "rule":
            return [("enter", "give it"), ("s", "other scope"), ("esc", "back")]
        case "reason":
            return [("enter", "deny with this reason"), ("esc", "back")]
        case "edit":
            return [("ctrl+s", "allow with these arguments"), ("esc", "back")]
        case _:
            pass
    keys = [("y", _allow_words(answers, can)), ("n", "deny"), ("tab", "reason" if can.brief else "deny with a reason")]
    if answers.rules and can.counts:
        keys.insert(1, ("a", "always …" if can.brief else _always(answers, width - len(MARGIN) - 2)))
    if answers.edits and can.counts:
        keys.append(("shift+tab", "all edits" if can.brief else "accept all edits"))
    if can.counts:
        keys.append(("e", "edit"))
    if (can.scrolls or can.full) and not can.brief:
        keys.append(("f", "smaller" if can.full else "full"))
    if can.scrolls and not can.brief:
        keys.append(("↑↓" if not several else "pgup pgdn", "scroll"))
    if several:
        keys.append(("↑↓", "other call"))
    return keys


def _allow_words(answers: Answers, can: Keys) -> str:
    if not can.counts:
        return "after end" if can.brief else "allow, when you have seen its end"
    if breaks(answers.question):
        return "allow: fails" if can.brief else "allow: it fails"
    return f"allow, {plural(can.unseen, 'line')} unseen" if can.unseen and not can.brief else "allow"


def hint_row(words: str, ink: Ink, width: int) -> Row:
    """A sentence in the place of the first row of the answers."""
    return [Segment(MARGIN), Segment(clipped(words, max(1, width - len(MARGIN))), ink.ask)]


def _always(answers: Answers, room: int) -> str:
    """What `a` leads to; the line that it opens shows the rules in full before they are given."""
    rule = clean(answers.rules[0].text, newlines=False, exact=True)
    words = f"always: {rule} {SCOPE_WORDS[answers.scope]}"
    return words if len(answers.rules) == 1 and len(words) <= min(room, LONGEST_KEY) else "always …"


def _mark_foreign(text: Text, start: int, ink: Ink) -> None:
    """Letters beyond ASCII stand out in what is approved."""
    for match in STRANGE.finditer(text.plain, start):
        text.stylize(ink.ask + Style(underline=True), match.start(), match.end())
