"""Makes a file, or replaces all of one that was read."""

from __future__ import annotations

from agentcli.permission.subject import Way
from agentcli.tool.base import Arguments
from agentcli.tool.builtin.change import ChangeTool
from agentcli.tool.builtin.words import arguments as schema
from agentcli.tool.builtin.words import description, text
from agentcli.workspace.files import Kept
from agentcli.workspace.text import Writing, is_binary, writing_of


class Write(ChangeTool):
    """The whole content of a file."""

    name = "Write"
    description = description("write")
    parameters = schema(["file_path", "content"], file_path=text(), content=text())
    way = Way.WRITE

    def content(self, arguments: Arguments, before: Kept | None, path: str) -> bytes:
        writing = Writing() if before is None or is_binary(before.data) else writing_of(before.data)
        return writing.whole(arguments["content"])
