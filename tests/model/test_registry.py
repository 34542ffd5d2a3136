from __future__ import annotations

import subprocess
import sys

import pytest

from agentcli.errors import UsageError
from agentcli.model.registry import ModelSpec, make_model


def test_a_spec_makes_a_model_with_its_name_and_stamp():
    spec = ModelSpec(name="local/qwen", base_url="http://127.0.0.1:1/v1/", api_key="k", model="qwen", context_size=4096)
    card = make_model(spec).card
    assert (card.name, card.context_size, card.provider) == ("local/qwen", 4096, "http://127.0.0.1:1/v1|qwen")


def test_the_responses_api_is_refused_in_a_clear_sentence():
    with pytest.raises(UsageError, match="'responses' is not built in yet; use --api chat"):
        make_model(ModelSpec(name="gpt-5", api="responses"))


def test_a_key_is_in_no_printed_spec():
    assert "sekrit" not in repr(ModelSpec(name="x", api_key="sekrit", headers={"x": "sekrit"}))


def test_making_a_model_loads_no_sdk():
    code = (
        "import sys; from agentcli.model.registry import *; make_model(ModelSpec('x', base_url='http://h/v1')); "
        "make_model(ModelSpec('demo')); sys.exit(' '.join({'openai', 'httpx2'} & set(sys.modules)) or 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr == ""
