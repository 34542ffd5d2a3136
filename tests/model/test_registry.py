from __future__ import annotations

import subprocess
import sys
from typing import Literal

import pytest

from agentcli.model.registry import ModelSpec, make_model


def test_a_spec_makes_a_model_with_its_name_and_stamp():
    spec = ModelSpec(name="local/qwen", base_url="http://127.0.0.1:1/v1/", api_key="k", model="qwen", context_size=4096)
    card = make_model(spec).card
    assert (card.name, card.context_size, card.provider) == ("local/qwen", 4096, "http://127.0.0.1:1/v1|qwen")


@pytest.mark.parametrize(("api", "cls"), [("chat", "OpenAIChatModel"), ("responses", "OpenAIResponseModel")])
def test_each_api_has_its_model(api: Literal["chat", "responses"], cls: str):
    model = make_model(ModelSpec(name="gpt-5", api=api, base_url="http://127.0.0.1:1/v1"))
    assert (type(model).__name__, model.card.provider) == (cls, "http://127.0.0.1:1/v1|gpt-5")


def test_a_key_is_in_no_printed_spec():
    assert "sekrit" not in repr(ModelSpec(name="x", api_key="sekrit", headers={"x": "sekrit"}))


def test_making_a_model_loads_no_sdk():
    code = (
        "import sys; from agentcli.model.registry import *; make_model(ModelSpec('x', base_url='http://h/v1')); "
        "make_model(ModelSpec('x', api='responses', base_url='http://h/v1')); make_model(ModelSpec('demo')); "
        "sys.exit(' '.join({'openai', 'httpx2'} & set(sys.modules)) or 0)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr == ""
