"""What an endpoint refuses by name, learnt from its own words and minded from then on. Knows no SDK and no wire."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from agentcli.errors import ModelError
from agentcli.model.openai_wire.failure import words_in

Words: TypeAlias = Sequence[tuple[str, re.Pattern[str]]]

REFUSING = (400, 404, 415, 422, 501)
STREAM, STREAM_OPTIONS = "stream", "stream_options"
IMAGE, AUDIO, FILE = "image", "audio", "file"
NO_STREAM: Words = (
    (STREAM_OPTIONS, re.compile(r"stream_options|include_usage")),
    (
        STREAM,
        re.compile(r"\bstream(ing)?\b.*(support|allowed|disabled|must be|implemented|available)|(support|verified).*\bstream"),
    ),
)
NO_DATA: Words = (
    (AUDIO, re.compile(r"audio")),
    (IMAGE, re.compile(r"image|vision|multi-?modal")),
    (FILE, re.compile(r"\bfiles?\b|file_data|input_file|\bpdf")),
)
"""Kinds of data that not every model takes; a history may hold them from an earlier one."""


class Lessons:
    """What one endpoint and model have refused so far.

    Args:
        words: what a request can do without (or be given), and the words of an endpoint that says so; the first that fits.
    """

    def __init__(self, words: Words) -> None:
        self.learnt: set[str] = set()
        self._words = words

    def learn(self, error: ModelError, sent: Iterable[str]) -> bool:
        """Whether the refusal names something of a request that is not known yet; then the request is worth another try."""
        name = refused(error, set(sent) - self.learnt, self._words)
        if name is None:
            return False
        self.learnt.add(name)
        return True


def refused(error: ModelError, sent: set[str], words: Words) -> str | None:
    """What of the things sent the endpoint's refusal names; None where the request cannot be helped."""
    said = words_in(error).lower()
    # Some servers of one's own call it a fault of theirs that a model cannot see.
    if error.status not in REFUSING and not (error.status == 500 and "not support" in said):
        return None
    return next((name for name, pattern in words if name in sent and pattern.search(said)), None)
