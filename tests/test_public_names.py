import ast
from importlib import import_module
from pathlib import Path
from typing import get_args

import pytest

import agentcli
from agentcli.ledger import block, event

NAMES = {
    "Agent", "AgentState", "Toolkit", "FunctionTool", "ToolBase", "ToolChunk",
    "Msg", "UserMsg", "AssistantMsg", "SystemMsg", "Usage",
    "AgentEvent", "ConfirmResult", "Preview", "ErrorInfo", "ReplyEndReason", "ToolCallState", "ToolResultState", "PermissionMode",
    "PermissionBehavior", "PermissionRule", "PermissionContext", "PermissionDecision", "PermissionEngine", "ScriptedModel",
    "OpenAIChatModel", "OpenAIResponseModel", "SessionStore", "Conversation", "StaleAnswer", "NothingWaiting", "StillWaiting",
}  # fmt: skip
BLOCKS = {*(cls.__name__ for cls in get_args(get_args(block.KnownBlock)[0])), "Base64Source", "URLSource", "UnknownBlock"}
EVENTS = {*(cls.__name__ for cls in get_args(get_args(event.KnownEvent)[0])), "UnknownEvent"}


def test_the_public_names_are_these():
    assert set(agentcli.__all__) == NAMES | BLOCKS | EVENTS | {"__version__"}


@pytest.mark.parametrize("name", sorted(NAMES | BLOCKS | EVENTS))
def test_a_public_name_is_what_its_module_defines(name):
    assert getattr(agentcli, name) is getattr(import_module(agentcli.HOMES[name]), name)


def test_the_types_name_the_same_homes():
    tree = ast.parse(Path(agentcli.__file__).with_suffix(".pyi").read_text())
    typed = {alias.asname: node.module for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert typed == agentcli.HOMES


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'nothing'"):
        agentcli.nothing  # noqa: B018
