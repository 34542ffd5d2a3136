"""Replaces several texts in one file that was read: all of them or none."""

from __future__ import annotations

from agentcli.errors import ToolError
from agentcli.permission.subject import Way
from agentcli.tool.base import Arguments
from agentcli.tool.builtin.change import ChangeTool
from agentcli.tool.builtin.words import arguments as schema
from agentcli.tool.builtin.words import description, text
from agentcli.workspace.files import Kept
from agentcli.workspace.text import replace_text, writing_of

ONE = schema(["old_string", "new_string"], old_string=text(), new_string=text(), replace_all={"type": "boolean"})


class MultiEdit(ChangeTool):
    """Changes of one file that belong together, shown and made as one."""

    name = "MultiEdit"
    description = description("multi_edit")
    parameters = schema(["file_path", "edits"], file_path=text(), edits={"type": "array", "minItems": 1, "items": ONE})
    way = Way.EDIT

    def content(self, arguments: Arguments, before: Kept | None, path: str) -> bytes:
        if before is None:
            raise ToolError(f"{path} does not exist; make it with Write")
        data, writing = before.data, writing_of(before.data)
        edits = arguments["edits"]
        for number, edit in enumerate(edits, 1):
            try:
                data = replace_text(data, edit["old_string"], edit["new_string"], bool(edit.get("replace_all")), writing)
            except ToolError as fault:
                after = " as the edits before it leave the file" if number > 1 else ""
                raise ToolError(f"edit {number} of {len(edits)}{after}: {fault}. None of them was made") from fault
        return data
