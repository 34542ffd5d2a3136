"""What a request costs in tokens, roughly: cheap enough for every model call. Knows no provider's tokenizer."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agentcli.ledger.block import (
    Base64Source,
    ContentBlock,
    DataBlock,
    HintBlock,
    TextBlock,
    ToolCallBlock,
    ToolResultBlock,
)
from agentcli.ledger.message import Msg
from agentcli.model.base import ToolSchema

CHARACTERS = 3.5
"""ASCII characters of a token."""
OF_IMAGE, OF_MESSAGE, OF_CALL = 1500.0, 4.0, 8.0
OF_SOUND, OF_FILE = 0.00025, 0.02
"""Tokens of a character of base64."""
LEAST_RATIO, MOST_RATIO = 0.5, 2.5
"""A provider that reports less or more than this is not believed."""


@dataclass(slots=True, frozen=True)
class Sizes:
    """The estimated tokens of a request, by what they are for."""

    system: float = 0
    tools: float = 0
    summary: float = 0
    user: float = 0
    assistant: float = 0
    results: float = 0

    @property
    def total(self) -> float:
        """All of them."""
        return self.fixed + self.summary + self.user + self.assistant + self.results

    @property
    def fixed(self) -> float:
        """What no compression makes smaller."""
        return self.system + self.tools

    def times(self, ratio: float) -> Sizes:
        """The same, corrected."""
        parts = (self.system, self.tools, self.summary, self.user, self.assistant, self.results)
        return Sizes(*(part * ratio for part in parts))


def tokens_of(text: str) -> float:
    """The tokens of a text: 3.5 ASCII characters one, a CJK character one, others between."""
    if text.isascii():
        return len(text) / CHARACTERS
    # UTF-8 tells the scripts apart at the speed of C: two more bytes for a CJK character, one for a Greek or Cyrillic one.
    wide = (len(text.encode("utf-8", "surrogatepass")) - len(text)) / 2
    return max(0.0, len(text) - wide) / CHARACTERS + wide


def tokens_of_block(block: ContentBlock | str) -> float:
    """The tokens of one block; thinking and what is sent to nobody cost nothing."""
    match block:
        case str():
            return tokens_of(block)
        case TextBlock():
            return tokens_of(block.text)
        case ToolCallBlock():
            return tokens_of(block.name) + tokens_of(block.input) + OF_CALL
        case ToolResultBlock():
            return _tokens_of_all(block.output) + OF_MESSAGE
        case HintBlock():
            return _tokens_of_all(block.hint) + OF_MESSAGE
        case DataBlock():
            return _tokens_of_data(block)
        case _:
            return 0.0


def _tokens_of_data(block: DataBlock) -> float:
    """The tokens of data: of a document and a sound by its size, of all else as an image."""
    if not isinstance(block.source, Base64Source):
        return OF_IMAGE
    kind, size = block.source.media_type, len(block.source.data)
    return size * OF_SOUND if kind.startswith("audio/") else size * OF_FILE if kind == "application/pdf" else OF_IMAGE


def _tokens_of_all(blocks: str | Iterable[Any]) -> float:
    return tokens_of(blocks) if isinstance(blocks, str) else sum(tokens_of_block(block) for block in blocks)


def tokens_of_msg(msg: Msg) -> float:
    """The tokens of a message."""
    return OF_MESSAGE + sum(tokens_of_block(block) for block in msg.content)


def measure(system: str, tools: Iterable[ToolSchema], summary: Msg | None, messages: Iterable[Msg]) -> Sizes:
    """The sizes of a request that is made of these."""
    user = assistant = results = 0.0
    for msg in messages:
        if msg.role != "assistant":
            user += tokens_of_msg(msg)
            continue
        assistant += OF_MESSAGE
        for block in msg.content:
            match block:
                case ToolResultBlock():
                    results += tokens_of_block(block)
                case HintBlock():
                    user += tokens_of_block(block)
                case _:
                    assistant += tokens_of_block(block)
    offered = sum(tokens_of(tool.name + tool.description + json.dumps(dict(tool.parameters))) + OF_CALL for tool in tools)
    return Sizes(tokens_of(system), offered, tokens_of_msg(summary) if summary else 0.0, user, assistant, results)


def ratio_of(reported: int, estimated: float) -> float | None:
    """By how much the estimate was wrong; None where nothing was reported."""
    if reported <= 0 or estimated <= 0:
        return None
    return min(MOST_RATIO, max(LEAST_RATIO, reported / estimated))
