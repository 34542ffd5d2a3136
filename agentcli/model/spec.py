"""What is said about a model before it is made: its name, endpoint and key. Knows no provider."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(slots=True, frozen=True)
class ModelSpec:
    """A model as settings, flags and environment name it."""

    name: str
    """As shown and kept: "gpt-5", "local/qwen", "demo", "script:FILE"."""
    api: Literal["chat", "responses"] = "chat"
    base_url: str | None = None
    """None: OPENAI_BASE_URL, else OpenAI's own address."""
    api_key: str | None = field(default=None, repr=False)
    """None: OPENAI_API_KEY where `base_url` is None too; a key of the environment goes to no other address."""
    model: str = ""
    """As sent; empty means `name`."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    context_size: int | None = None

    @property
    def wire_name(self) -> str:
        """The name that the provider is sent."""
        return self.model or self.name
