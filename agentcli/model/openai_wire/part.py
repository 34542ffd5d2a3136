"""What a user message or a result can hold on either wire: texts, images, sounds, files; all other data is named. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from agentcli.ledger.block import Base64Source, DataBlock, TextBlock, ToolResultBlock, URLSource
from agentcli.model.openai_wire.lesson import AUDIO, FILE, IMAGE

Wire = dict[str, Any]
NO_RESULT = "never started"
SOUNDS = {
    "audio/wav": "wav",
    "audio/x-wav": "wav",
    "audio/wave": "wav",
    "audio/vnd.wave": "wav",
    "audio/mpeg": "mp3",
    "audio/mp3": "mp3",
}
"""Media types of sounds -> as the wire calls them."""
PDF = "application/pdf"


@dataclass(slots=True, frozen=True)
class Part:
    """A text, or data of one kind."""

    text: str = ""
    image: str = ""
    """Its address."""
    audio: str = ""
    """Base64."""
    form: str = ""
    """Of the sound: `wav`, `mp3`."""
    file: str = ""
    """A data URL."""
    name: str = ""

    @property
    def kind(self) -> str:
        """What kind of data it is; empty for a text."""
        return IMAGE if self.image else AUDIO if self.audio else FILE if self.file else ""


def parts_of(blocks: Iterable[Any], without: Collection[str] = ()) -> list[Part]:
    """Blocks as parts of a message; empty texts, and blocks of no wire, are left out.

    Args:
        without: kinds of data that the model does not take; they are named instead.
    """
    return [part for block in blocks for part in _part(block, without)]


def result_of(result: ToolResultBlock | None, without: Collection[str] = ()) -> tuple[str, list[Part]]:
    """The text of a result, with a placeholder for each piece of data, and the data: it follows in a message of its own."""
    if result is None:
        return NO_RESULT, []
    if isinstance(result.output, str):
        return result.output, []
    parts = parts_of(result.output, without)
    data = [part for part in parts if part.kind]
    texts = [f"[{part.kind}: see the next user message]" if part.kind else part.text for part in parts]
    return ("\n" if data else "").join(texts), data


def data_after(results: Iterable[tuple[str, list[Part]]]) -> list[Part]:
    """The data of several results for one message; each is introduced by what it comes from."""
    return [part for source, data in results if data for part in (Part(f"From the result of {source}:"), *data)]


def not_sent_back(block: DataBlock) -> str:
    """What stands for data that the model itself made."""
    return f"[{_name_of(block)}, made by the model, is not sent back]"


def _part(block: Any, without: Collection[str]) -> list[Part]:
    match block:
        case TextBlock():
            return [Part(block.text)] if block.text else []
        case DataBlock():
            part = _data(block)
            known = part is not None and part.kind not in without
            return [part if part is not None and known else Part(f"[{_name_of(block)} is not sent: this model does not take it]")]
        case _:
            return []


def _data(block: DataBlock) -> Part | None:
    source = block.source
    kind = source.media_type.partition(";")[0].strip().lower()
    if isinstance(source, URLSource):
        return Part(image=str(source.url)) if kind.startswith("image/") and _is_web(source) else None
    if kind.startswith("image/"):
        return Part(image=_inlined(source))
    if kind in SOUNDS:
        return Part(audio=source.data, form=SOUNDS[kind])
    return Part(file=_inlined(source), name=block.name or "file.pdf") if kind == PDF else None


def _inlined(source: Base64Source) -> str:
    return f"data:{source.media_type};base64,{source.data}"


def _is_web(source: URLSource) -> bool:
    return source.url.scheme in ("http", "https", "data")


def _name_of(block: DataBlock) -> str:
    return f"{block.name} ({block.source.media_type})" if block.name else f"data of type {block.source.media_type}"
