"""The model's task list: kept in the session, shown on the screen."""

from __future__ import annotations

from collections.abc import AsyncIterator

from agentcli.ledger.block import TextBlock
from agentcli.permission.subject import Subject
from agentcli.tool.base import Arguments, ToolBase, ToolChunk, ToolContext
from agentcli.tool.builtin.words import arguments as schema
from agentcli.tool.builtin.words import description, text
from agentcli.tool.subject import free_subject
from agentcli.workspace.root import Place

STATES = ["pending", "in_progress", "done"]


class Tasks(ToolBase):
    """Replaces the whole list."""

    name = "Tasks"
    description = description("tasks")
    parameters = schema(
        ["tasks"],
        tasks={
            "type": "array",
            "maxItems": 100,
            "items": schema(["title", "state"], title=text(), state={"type": "string", "enum": STATES}),
        },
    )
    read_only = True

    def subject(self, arguments: Arguments, place: Place) -> Subject:
        return free_subject(self.name)

    async def run(self, arguments: Arguments, context: ToolContext) -> AsyncIterator[ToolChunk]:
        tasks = [{"title": task["title"], "state": task["state"]} for task in arguments["tasks"]]
        summary = f"{sum(task['state'] == 'done' for task in tasks)} of {len(tasks)} done"
        yield ToolChunk(content=[TextBlock(text=f"the list is kept: {summary}")], metadata={"tasks": tasks, "summary": summary})
