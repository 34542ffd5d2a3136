"""What is said about a model before it is made: its name, endpoint and key. Knows no provider."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    max_output: int | None = None
    """Tokens that an answer may take; None leaves it to the provider."""
    reasoning_effort: str | None = None
    """As the provider calls it; None leaves it to the provider."""
    replay_reasoning: bool | None = None
    """Whether the endpoint wants the reasoning of earlier calls back; None: the wire decides."""
    price_input: float | None = None
    """US dollars for a million tokens."""
    price_output: float | None = None
    price_cached: float | None = None
    """Of input that the provider had cached; None: as any input."""
    key_from: str = field(default="", compare=False)
    """Where the key was looked for, in words: a variable, a command, the keyring. Never the key."""
    fallback: Sequence[Callable[[], ModelSpec]] = field(default=(), compare=False, repr=False)
    """The models to go on with where this one does not answer, in order; each is looked up at the first need of it."""

    @property
    def wire_name(self) -> str:
        """The name that the provider is sent."""
        return self.model or self.name
