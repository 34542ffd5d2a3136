"""One tool after another in a folder, with the memory that an agent would keep between them."""

from dataclasses import dataclass, field

from agentcli.ledger.block import ToolResultState
from agentcli.ledger.state import ToolMemory
from agentcli.tool.base import ToolContext
from agentcli.tool.builtin import builtin_tools
from agentcli.tool.schema import validate
from agentcli.tool.toolkit import Toolkit
from agentcli.workspace.root import Place


@dataclass
class Done:
    """What came of a call."""

    text: str = ""
    state: ToolResultState = ToolResultState.SUCCESS
    metadata: dict = field(default_factory=dict)
    chunks: list = field(default_factory=list)


class FakeHands:
    """Calls tools as the agent does: validated, checked, run, remembered."""

    def __init__(self, folder):
        self.kit = Toolkit(builtin_tools())
        self.notes = []
        self.context = ToolContext(Place.find(str(folder)), ToolMemory(), call_id="c1", note=self.note)

    async def note(self, kind, body):
        self.notes.append((kind, body))

    def tool(self, name, arguments):
        tool = self.kit.get(name)
        validate(arguments, tool.parameters)
        tool.check(arguments, self.context)
        return tool

    def preview(self, name, **arguments):
        return self.tool(name, arguments).preview(arguments, self.context)

    def start_record(self, name, **arguments):
        return self.tool(name, arguments).start_record(arguments, self.context)

    def stream(self, name, **arguments):
        return self.tool(name, arguments).run(arguments, self.context)

    async def __call__(self, name, **arguments):
        done = Done()
        async for chunk in self.stream(name, **arguments):
            done.chunks.append(chunk)
            done.text += "".join(block.text for block in chunk.content if block.type == "text")
            done.metadata |= chunk.metadata
            done.state = chunk.state if chunk.is_last else done.state
        self.context.memory.read_files.update(done.metadata.get("seen", {}))
        return done
