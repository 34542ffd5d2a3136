"""Replaces text in a file that was read; all other bytes stay."""

from __future__ import annotations

from agentcli.errors import ToolError
from agentcli.permission.subject import Way
from agentcli.tool.base import Arguments
from agentcli.tool.builtin.change import ChangeTool
from agentcli.tool.builtin.words import arguments as schema
from agentcli.tool.builtin.words import description, text
from agentcli.workspace.files import Kept
from agentcli.workspace.text import replace_text


class Edit(ChangeTool):
    """One text of a file, or all its occurrences."""

    name = "Edit"
    description = description("edit")
    parameters = schema(
        ["file_path", "old_string", "new_string"],
        file_path=text(),
        old_string=text(),
        new_string=text(),
        replace_all={"type": "boolean"},
    )
    way = Way.EDIT

    def content(self, arguments: Arguments, before: Kept | None, path: str) -> bytes:
        if before is None:
            raise ToolError(f"{path} does not exist; make it with Write")
        return replace_text(before.data, arguments["old_string"], arguments["new_string"], bool(arguments.get("replace_all")))
