import json

import pytest

from agentcli.model.base import ToolSchema
from agentcli.tool.builtin import builtin_tools
from agentcli.tool.function import ExternalTool
from agentcli.tool.toolkit import Toolkit


def tool(name):
    return ExternalTool(name, f"does {name}", {"type": "object"})


def test_tools_are_offered_in_order_and_found_by_exact_name():
    read, write = tool("Read"), tool("Write")
    kit = Toolkit([read, write])
    assert (kit.get("Read"), kit.get("read")) == (read, None)
    assert kit.schemas() == [ToolSchema(name, f"does {name}", {"type": "object"}) for name in ("Read", "Write")]


def test_a_name_is_given_once():
    with pytest.raises(ValueError, match="Read already"):
        Toolkit([tool("Read"), tool("Read")])


def test_near_names_are_said():
    kit = Toolkit([tool("Read"), tool("Write"), tool("mcp__a__list_files")])
    wanted = {"read": ["Read"], "Reed": ["Read"], "list_files": ["mcp__a__list_files"], "zzz": [], "": []}
    assert {name: kit.near(name) for name in wanted} == wanted


def test_the_builtin_tools_are_small_enough_for_the_first_request():
    kit = Toolkit(builtin_tools())
    told = [{"name": one.name, "description": one.description, "parameters": one.parameters} for one in kit.schemas()]
    assert [one["name"] for one in told] == ["Read", "Write", "Edit", "MultiEdit", "Glob", "Grep", "Bash", "Tasks"]
    assert len(json.dumps(told)) < 4_500
    assert "Bash" not in [one.name for one in builtin_tools(bash=False)]
