"""The tools that every session starts with."""

from __future__ import annotations

from collections.abc import Collection

from agentcli.tool.base import ToolBase
from agentcli.tool.builtin.bash import Bash
from agentcli.tool.builtin.edit import Edit
from agentcli.tool.builtin.glob import Glob
from agentcli.tool.builtin.grep import Grep
from agentcli.tool.builtin.multi_edit import MultiEdit
from agentcli.tool.builtin.read import Read
from agentcli.tool.builtin.tasks import Tasks
from agentcli.tool.builtin.write import Write
from agentcli.workspace.shell import can_run


def builtin_tools(bash: bool = True, hidden: Collection[str] = (), passed: Collection[str] = ()) -> list[ToolBase]:
    """The built-in tools, in the order in which a model is told of them.

    Args:
        bash: offer `Bash`, where this system can run commands.
        hidden: names of environment variables that no command may see, beside those of known providers.
        passed: names of environment variables that commands may see beside the usual ones.
    """
    tools: list[ToolBase] = [Read(), Write(), Edit(), MultiEdit(), Glob(), Grep()]
    return [*tools, *([Bash(hidden, passed)] if bash and can_run() else []), Tasks()]
