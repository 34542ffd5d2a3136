"""What a user message or a result can hold on either wire: texts and images; all other data is named. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from agentcli.ledger.block import Base64Source, DataBlock, TextBlock, ToolResultBlock, URLSource

Wire = dict[str, Any]
NO_RESULT = "never started"


@dataclass(slots=True, frozen=True)
class Part:
    """A text, or an image by its address."""

    text: str = ""
    image: str = ""


def parts_of(blocks: Iterable[Any]) -> list[Part]:
    """Blocks as parts of a message; empty texts, and blocks of no wire, are left out."""
    return [part for block in blocks for part in _part(block)]


def result_of(result: ToolResultBlock | None) -> tuple[str, list[Part]]:
    """The text of a result, with a placeholder for each image, and the images: they follow in a message of their own."""
    if result is None:
        return NO_RESULT, []
    if isinstance(result.output, str):
        return result.output, []
    parts = parts_of(result.output)
    images = [part for part in parts if part.image]
    texts = ["[image: see the next user message]" if part.image else part.text for part in parts]
    return ("\n" if images else "").join(texts), images


def images_after(results: Iterable[tuple[str, list[Part]]], wire: Callable[[Part], Wire]) -> list[Wire]:
    """The images of several results as the content of one message; each is introduced by what it comes from."""
    content: list[Wire] = []
    for source, images in results:
        if images:
            content += [wire(Part(f"From the result of {source}:")), *map(wire, images)]
    return content


def not_sent_back(block: DataBlock) -> str:
    """What stands for data that the model itself made."""
    return f"[{_name_of(block)}, made by the model, is not sent back]"


def _part(block: Any) -> list[Part]:
    match block:
        case TextBlock():
            return [Part(block.text)] if block.text else []
        case DataBlock(source=Base64Source() as source) if source.media_type.startswith("image/"):
            return [Part(image=f"data:{source.media_type};base64,{source.data}")]
        case DataBlock(source=URLSource() as source) if source.media_type.startswith("image/") and _is_web(source):
            return [Part(image=str(source.url))]
        case DataBlock():
            return [Part(f"[{_name_of(block)} is not sent: this model takes text and images]")]
        case _:
            return []


def _is_web(source: URLSource) -> bool:
    return source.url.scheme in ("http", "https", "data")


def _name_of(block: DataBlock) -> str:
    return f"{block.name} ({block.source.media_type})" if block.name else f"data of type {block.source.media_type}"
