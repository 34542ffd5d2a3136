"""Markdown to rows. Every link shows its address, raw HTML is text, nothing is left out unseen.

markdown-it is loaded with the first text that is shown.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from agentcli.frontend.tui.transcript.highlight import highlighted
from agentcli.frontend.tui.transcript.ink import Ink, Row, indented, plain_rows, row_width, wrap
from agentcli.view.clean import clean

NESTING = 40
DEEPEST = 8  # levels of lists and quotes that still move to the right


def markdown_rows(source: str, ink: Ink, width: int) -> list[Row]:
    """The rows of a piece of Markdown, without gutter."""
    from markdown_it.tree import SyntaxTreeNode

    tokens = _parser().parse(clean(source))
    if max((token.level for token in tokens), default=0) >= NESTING - 1:  # the parser leaves out what lies deeper
        return plain_rows(clean(source), ink.base, max(4, width))
    root = SyntaxTreeNode(tokens)
    return _Page(ink).blocks(root.children, max(4, width))


@lru_cache(1)
def _parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False, "maxNesting": NESTING}).enable(["table", "strikethrough"])


class _Page:
    """One rendering; its methods are named after the nodes of the tree."""

    def __init__(self, ink: Ink) -> None:
        self.ink, self.depth = ink, 0

    def blocks(self, nodes: Any, width: int, tight: bool = False) -> list[Row]:
        rows: list[Row] = []
        for node in nodes:
            if rows and not tight:
                rows.append([])
            rows += self.block(node, width)
        return rows

    def block(self, node: Any, width: int) -> list[Row]:
        match node.type:
            case "heading":
                return wrap(self.inline(node.children, self.ink.heading), width)
            case "fence" | "code_block":
                language = clean(node.info.split()[0], newlines=False) if node.type == "fence" and node.info.strip() else ""
                return self.code(clean(node.content).rstrip("\n"), language, width)
            case "bullet_list" | "ordered_list":
                return self.items(node, width)
            case "blockquote":
                self.depth += 1
                rows = self.blocks(node.children, max(4, width - 2))
                self.depth -= 1
                return indented(rows, Segment("▏ ", self.ink.muted))
            case "hr":
                return [[Segment("─" * min(width, 40), self.ink.muted)]]
            case "table":
                return self.table(node, width)
            case _ if node.children:
                return wrap(self.inline(node.children, self.ink.base), width)
            case _:
                return plain_rows(clean(node.content), self.ink.base, width)

    def code(self, code: str, language: str, width: int) -> list[Row]:
        ground = self.ink.sheet
        rows = wrap(highlighted(code, language, self.ink), width - 2)
        return [
            list(Segment.apply_style([Segment(" "), *row, Segment(" " * max(0, width - 1 - row_width(row)))], ground))
            for row in rows
        ]

    def items(self, node: Any, width: int) -> list[Row]:
        self.depth += 1
        number = int(node.attrs.get("start", 1)) if node.type == "ordered_list" else None
        last = (number or 0) + len(node.children) - 1
        rows: list[Row] = []
        tight = all(part.hidden for item in node.children for part in item.children if part.type == "paragraph")
        for item in node.children:
            mark = "• " if number is None else f"{number}. ".rjust(len(str(last)) + 2)
            rows += [[]] if rows and not tight else []
            inner = self.blocks(item.children, max(4, width - len(mark)), tight) or [[]]
            rows += indented(inner, " " * len(mark), Segment(mark, self.ink.muted)) if self.depth <= DEEPEST else inner
            number = None if number is None else number + 1
        self.depth -= 1
        return rows

    def table(self, node: Any, width: int) -> list[Row]:
        head = [
            self.inline(cell.children, self.ink.bold)
            for part in node.children[:1]
            for row in part.children
            for cell in row.children
        ]
        body = [
            [self.inline(cell.children, self.ink.base) for cell in row.children]
            for part in node.children[1:]
            for row in part.children
        ]
        columns = len(head)
        natural = [max([1, *(cell_len(line[at].plain) for line in [head, *body] if at < len(line))]) for at in range(columns)]
        widths = _fitted(natural, width - 2 * (columns - 1))
        rows = self.line_of(head, widths)
        rows.append([Segment("─" * min(width, sum(widths) + 2 * (columns - 1)), self.ink.muted)])
        for line in body:
            rows += self.line_of(line, widths)
        return rows

    def line_of(self, cells: list[Text], widths: list[int]) -> list[Row]:
        columns = [wrap(cell, size) for cell, size in zip(cells, widths, strict=False)]
        rows: list[Row] = []
        for at in range(max((len(column) for column in columns), default=0)):
            row: Row = []
            for column, size in zip(columns, widths, strict=False):
                part = column[at] if at < len(column) else []
                row += [*part, Segment(" " * (size - row_width(part) + 2))]
            rows.append(row)
        return rows

    # -- inside a line -------------------------------------------------------------------------

    def inline(self, nodes: Any, style: Style) -> Text:
        text = Text(style=self.ink.base)
        for node in nodes:
            self.run(node, style, text)
        return text

    def run(self, node: Any, style: Style, text: Text) -> None:
        match node.type:
            case "inline":
                self.runs(node, style, text)
            case "text":
                text.append(clean(node.content), style)
            case "code_inline":
                text.append(clean(node.content, newlines=False), style + self.ink.code)
            case "softbreak" | "hardbreak":
                text.append("\n")
            case "strong":
                self.runs(node, style + Style(bold=True), text)
            case "em":
                self.runs(node, style + Style(italic=True), text)
            case "s":
                self.runs(node, style + Style(strike=True), text)
            case "link":
                self.link(node, style, text)
            case "image":
                text.append("image: ", self.ink.muted)
                self.link(node, style, text)
            case _:
                text.append(clean(node.content), style)

    def runs(self, node: Any, style: Style, text: Text) -> None:
        for child in node.children:
            self.run(child, style, text)

    def link(self, node: Any, style: Style, text: Text) -> None:
        """Words and address; they may differ, so both are shown."""
        start = len(text.plain)
        self.runs(node, style, text)
        address = clean(str(node.attrs.get("href") or node.attrs.get("src") or ""), newlines=False, exact=True)
        words = text.plain[start:]
        if words.strip() == address:
            text.stylize(self.ink.link, start)
            return
        text.append(" (" if words else "(", self.ink.muted)
        text.append(address, self.ink.link)
        text.append(")", self.ink.muted)


def _fitted(natural: list[int], room: int) -> list[int]:
    """Column widths that fit: the widest give way first, none below six cells."""
    widths = list(natural)
    while sum(widths) > room and max(widths, default=0) > 6:
        widest = widths.index(max(widths))
        widths[widest] -= max(1, min(widths[widest] - 6, (sum(widths) - room) // 2))
    return widths
