"""Models that a test has made up; who asks the servers of this machine is counted."""

import asyncio

from agentcli.runtime.models import ModelRow, PresetRow

PRESETS = [
    PresetRow("openai", "OpenAI", "https://api.openai.com/v1", "responses", "OPENAI_API_KEY", has_key=False),
    PresetRow("groq", "Groq", "https://api.groq.com/openai/v1", "chat", "GROQ_API_KEY", has_key=True),
]
HERE = "http://127.0.0.1:11434/v1"


def row(name, **more):
    values = dict(api="chat", endpoint="api.test", current=False)
    return ModelRow(name, **{**values, **more})


class FakeModels:
    """Gives what it was given; an asyncio.Event among the found ones is waited for."""

    def __init__(self, *known, found=(), presets=PRESETS):
        self._known, self._found, self._presets = list(known), found, presets
        self.asked = 0

    async def known(self):
        return self._known

    async def found(self):
        self.asked += 1
        for item in self._found:
            if isinstance(item, asyncio.Event):
                await item.wait()
            elif isinstance(item, Exception):
                raise item
            else:
                yield item

    def presets(self):
        return self._presets
