import subprocess
import sys

import pytest

from agentcli.errors import UsageError
from agentcli.ledger.message import Usage
from agentcli.model.price import cost_of, has_price, prices_of
from agentcli.model.spec import ModelSpec

TOKENS = Usage(input_tokens=1_000_000, output_tokens=100_000, cached_tokens=500_000, reasoning_tokens=50_000)


@pytest.fixture(autouse=True)
def no_endpoint(monkeypatch):
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def test_a_price_of_the_configuration_wins():
    spec = ModelSpec(name="gpt-5", price_input=2.0, price_output=10.0)
    assert cost_of(spec, TOKENS) == 3.0


def test_half_a_price_of_the_configuration_is_none():
    assert cost_of(ModelSpec(name="own", base_url="http://localhost:1/v1", price_input=2.0), TOKENS) is None


def test_half_a_price_is_enough_for_tokens_of_that_half():
    spec = ModelSpec(name="own", base_url="http://localhost:1/v1", price_input=2.0)
    assert cost_of(spec, Usage(input_tokens=500_000)) == 1.0


def test_cached_input_may_have_a_price_of_its_own():
    assert cost_of(ModelSpec(name="own", price_input=2.0, price_output=10.0, price_cached=0.2), TOKENS) == 2.1


def test_a_listed_model_costs_what_its_provider_lists_and_cached_tokens_less():
    spec = ModelSpec(name="gpt-5")
    whole = cost_of(spec, TOKENS.model_copy(update={"cached_tokens": 0}))
    cached = cost_of(spec, TOKENS)
    assert cached is not None
    assert whole is not None
    assert 0 < cached < whole


def test_the_price_is_that_of_the_endpoint_that_is_asked():
    here = ModelSpec(name="work/best", model="llama-3.3-70b-versatile", base_url="https://api.groq.com/openai/v1")
    assert has_price(here)
    assert not has_price(ModelSpec(name="gpt-5", base_url="https://gateway.example.com/v1"))


@pytest.mark.parametrize(
    "spec",
    [
        ModelSpec(name="demo"),
        ModelSpec(name="script:gpt-5.json"),
        ModelSpec(name="gpt-5", base_url="http://127.0.0.1:11434/v1"),
        ModelSpec(name="gpt-5", base_url="http://localhost:1234/v1"),
        ModelSpec(name="gpt-5", base_url="http://[::1]:1234/v1"),
        ModelSpec(name="gpt-5", base_url="http://[broken"),
        ModelSpec(name="gpt-of-nobody"),
    ],
)
def test_where_nobody_lists_a_price_there_is_none(spec):
    assert cost_of(spec, TOKENS) is None


def test_more_cached_than_read_is_no_error():
    assert has_price(ModelSpec(name="gpt-5"))
    assert cost_of(ModelSpec(name="gpt-5"), Usage(input_tokens=1, cached_tokens=5)) is not None


def test_each_model_of_a_row_has_its_own_price():
    def gone():
        raise UsageError("no key")

    other = ModelSpec(name="other", price_input=1.0, price_output=1.0)
    price = prices_of(ModelSpec(name="first", price_input=2.0, price_output=2.0, fallback=(gone, lambda: other)))
    million = Usage(input_tokens=1_000_000)
    assert [price(name, million) for name in ("first", "other", "stranger")] == [2.0, 1.0, None]


def test_the_list_of_prices_is_loaded_at_the_first_need_only():
    code = "import sys, agentcli.runtime.assemble; print('genai_prices' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
