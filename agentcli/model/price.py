"""What tokens cost: by the prices of the configuration, else by those of a package that comes with the program.

Nothing is asked of any network; the package is loaded at the first need, which takes a fifth of a second.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from urllib.parse import urlsplit

from agentcli.errors import UsageError
from agentcli.ledger.message import Usage
from agentcli.model.spec import ModelSpec

OPENAI = "https://api.openai.com/v1"
MILLION = 1_000_000


def cost_of(spec: ModelSpec, usage: Usage) -> float | None:
    """US dollars for these tokens, as the provider lists them; None where no price is known."""
    if (spec.price_input, spec.price_output) != (None, None):
        return _own(spec, usage)
    address = _address(spec)
    return _listed(spec.wire_name, address, usage) if address else None


def _own(spec: ModelSpec, usage: Usage) -> float | None:
    """By the prices of the configuration; None where tokens were taken whose price it does not say."""
    cached = min(usage.cached_tokens, usage.input_tokens)
    of_cached = spec.price_input if spec.price_cached is None else spec.price_cached
    parts = ((spec.price_input, usage.input_tokens - cached), (of_cached, cached), (spec.price_output, usage.output_tokens))
    known = [price * tokens for price, tokens in parts if price is not None]
    missing = any(tokens for price, tokens in parts if price is None)
    return None if missing else sum(known) / MILLION


def has_price(spec: ModelSpec) -> bool:
    """Whether the price of a model is known."""
    return cost_of(spec, Usage(input_tokens=1, output_tokens=1)) is not None


def prices_of(spec: ModelSpec) -> Callable[[str, Usage], float | None]:
    """The cost of tokens by the name of the model that took them: the chosen one, or one that went on in its place."""
    known: dict[str, ModelSpec] = {spec.name: spec}

    def price(name: str, usage: Usage) -> float | None:
        if name not in known:
            known.update({other.name: other for other in _others(spec)})
        return cost_of(known[name], usage) if name in known else None

    return price


def _others(spec: ModelSpec) -> Iterator[ModelSpec]:
    for find in spec.fallback:
        with suppress(UsageError):  # one that cannot be used has not answered
            yield find()


def _address(spec: ModelSpec) -> str:
    """Where the model is asked; empty for one of this machine or its network, which nobody lists."""
    if spec.name == "demo" or spec.name.startswith("script:"):
        return ""
    address = spec.base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return ""
    return address if "." in host and not host.replace(".", "").isdigit() else ""


def _listed(model: str, address: str, usage: Usage) -> float | None:
    from genai_prices import Usage as Tokens
    from genai_prices import calc_price

    # More cached than read is a provider's error, and no reason to know no price.
    tokens = Tokens(
        input_tokens=usage.input_tokens,
        cache_read_tokens=min(usage.cached_tokens, usage.input_tokens),
        output_tokens=usage.output_tokens,
    )
    try:
        return float(calc_price(tokens, model, provider_api_url=address).total_price)
    except (LookupError, ValueError):
        return None
