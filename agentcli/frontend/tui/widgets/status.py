"""The header and the status line: what they say, as rows. EXPLORE tints the whole line and nothing else does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.segment import Segment
from rich.style import Style

from agentcli.frontend.tui.folder import folder_name
from agentcli.frontend.tui.transcript.ink import Ink, Row, clipped, row_width, spread
from agentcli.ledger.rule import PermissionMode
from agentcli.runtime.conversation import ContextReport, Status
from agentcli.view.clean import clean
from agentcli.view.summary import spell_cost, spell_tokens

MODES = {
    PermissionMode.DEFAULT: "default",
    PermissionMode.ACCEPT_EDITS: "accept edits",
    PermissionMode.EXPLORE: "EXPLORE: no shell",
    PermissionMode.BYPASS: "BYPASS",
    PermissionMode.DONT_ASK: "don't ask",
}

QUEUE_ROWS = 4
LEAST_TITLE = 12
"""Cells below which a title says too little."""


@dataclass(slots=True, frozen=True)
class Figures:
    """What header and status line show."""

    folder: str
    branch: str
    session: str
    mode: PermissionMode
    model: str
    demo: bool
    title: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """US dollars so far, where a price is known."""
    context_tokens: int = 0
    context_size: int | None = None
    running: bool = False
    said: str = ""
    """A sentence that takes the place of the hints until the next key."""


def figures_of(status: Status, branch: str, *, running: bool, said: str) -> Figures:
    """What is shown of a conversation."""
    return Figures(
        folder=folder_name(status.root),
        branch=branch,
        session=status.session_id,
        mode=status.mode,
        model=status.model,
        demo=status.demo,
        title=status.title,
        input_tokens=status.input_tokens,
        output_tokens=status.output_tokens,
        cost=status.cost,
        context_tokens=status.context_tokens,
        context_size=status.context_size,
        running=running,
        said=said,
    )


def header_row(figures: Figures, ink: Ink, width: int) -> Row:
    """Folder, branch and title, and the session at the right; the title goes first where there is no room."""
    folder = clean(figures.folder, newlines=False, exact=True)
    left: Row = [Segment(" "), Segment(clipped(folder, max(4, width // 2)), ink.bold)]
    if figures.branch:
        branch = clean(figures.branch, newlines=False, exact=True)
        left.append(Segment("  " + clipped(branch, max(4, width // 3)), ink.muted))
    right: Row = [Segment(figures.session[:8], ink.muted), Segment(" ")] if figures.session else []
    room = width - row_width(left) - row_width(right) - 6
    if figures.title and room >= LEAST_TITLE:
        left.append(Segment("  " + clipped(clean(figures.title, newlines=False, exact=True), room), ink.base))
    return spread(left, right, width)


def queue_rows(steered: Sequence[str], queued: Sequence[str], ink: Ink, width: int) -> list[Row]:
    """What was said while a reply runs and was not taken in yet."""
    texts = [("steers", text) for text in steered] + [("queued", text) for text in queued]
    rows: list[Row] = []
    for how, text in texts[:QUEUE_ROWS]:
        line = clipped(clean(text, newlines=False, exact=True), max(4, width - 12))
        rows.append([Segment(f"  {how}  ", ink.muted), Segment(line, ink.base)])
    if len(texts) > QUEUE_ROWS:
        rows.append([Segment(f"  … {len(texts) - QUEUE_ROWS} more", ink.muted)])
    return rows


def status_row(figures: Figures, ink: Ink, width: int) -> Row:
    """Mode, model, tokens; hints, or what was just said, at the right. Figures go first where it is narrow."""
    mode = MODES[figures.mode]
    parts: Row = [Segment(f" {mode} ", _mode_style(figures.mode, ink))]
    model = clean(figures.model, newlines=False, exact=True)
    parts += [Segment("▏ ", ink.muted), Segment(clipped(model, 28), ink.base), Segment(" ")]
    hint = _hint(figures, ink)
    for figure in _tokens(figures):
        piece = [Segment("▏ ", ink.muted), Segment(figure + " ", ink.muted)]
        if row_width(parts) + row_width(piece) + row_width(hint) + 2 <= width:
            parts += piece
    if figures.said and row_width(parts) + row_width(hint) + 2 > width:
        parts = parts[:1]
        hint = [Segment(clipped(figures.said, max(0, width - row_width(parts) - 3)), ink.ask), Segment(" ")]
    row = spread(parts, hint, width)
    if figures.mode is PermissionMode.EXPLORE:
        ground = Style(bgcolor=ink.explore.color, color=ink.paper.bgcolor)
        row = [*row, Segment(" " * max(0, width - row_width(row)))]
        return [Segment(segment.text, ground + Style(bold=at == 0)) for at, segment in enumerate(row)]
    return row


def _mode_style(mode: PermissionMode, ink: Ink) -> Style:
    match mode:
        case PermissionMode.BYPASS:
            return ink.deny + Style(bold=True)
        case PermissionMode.ACCEPT_EDITS | PermissionMode.DONT_ASK:
            return ink.ask
        case _:
            return ink.base


def _tokens(figures: Figures) -> list[str]:
    found: list[str] = []
    if figures.context_size and figures.context_tokens:
        share = 100 * figures.context_tokens / figures.context_size
        found.append(f"{share:.0f} % of {spell_tokens(figures.context_size)}")
    if figures.input_tokens or figures.output_tokens:
        found.append(f"{spell_tokens(figures.input_tokens)} in  {spell_tokens(figures.output_tokens)} out")
    if figures.cost:
        found.append(spell_cost(figures.cost))
    return found


def context_lines(report: ContextReport) -> list[str]:
    """What the next request holds, a line each; the figures are estimates."""
    of = f" of {report.size:,} ({100 * report.total / report.size:.0f} %)" if report.size else ""
    lines = [f"Context: about {report.total:,} tokens{of}"]
    lines += [f"  {name:<17}{tokens:>9,}" for name, tokens in report.rows if tokens]
    if report.covered:
        lines.append(f"The summary stands for the first {report.covered} of {report.messages} messages; the session keeps them.")
    if report.trigger:
        lines.append(f"At {report.trigger:,} tokens the older part is summarised by itself; /compact does it now.")
    return lines


def _hint(figures: Figures, ink: Ink) -> Row:
    if figures.said:
        return [Segment(clean(figures.said, newlines=False, exact=True), ink.ask), Segment(" ")]
    words = "enter steers · tab queues · esc stops" if figures.running else "shift+tab mode · /help"
    return [Segment(words, ink.muted), Segment(" ")]
