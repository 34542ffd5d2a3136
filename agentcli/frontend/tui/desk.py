"""What the commands need of the chat on which they are given."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol

from textual.worker import Worker

from agentcli.frontend.tui.bridge import Bridge
from agentcli.frontend.tui.screens.form import Form
from agentcli.frontend.tui.screens.paper import Paper
from agentcli.frontend.tui.screens.pick import Picked, PickScreen
from agentcli.frontend.tui.themes import Wardrobe
from agentcli.frontend.tui.widgets.prompt import Prompt
from agentcli.runtime.conversation import Conversation


class Desk(Protocol):
    """The chat, as far as commands may see it."""

    conversation: Conversation
    wardrobe: Wardrobe
    prompt: Prompt
    bridge: Bridge

    def say(self, sentence: str) -> None:
        """Show a sentence in the status line until the next key."""
        ...

    def reply(self, stream: Coroutine[Any, Any, None]) -> None:
        """Begin what counts as a reply: Esc stops it, and what is sent meanwhile waits for its end."""
        ...

    def start(self, work: Coroutine[Any, Any, None]) -> Worker[None]:
        """Do something beside what the keys do."""
        ...

    async def pick(self, screen: PickScreen) -> Picked | None:
        """Let the user pick; only for what was started."""
        ...

    async def fill_in(self, form: Form) -> dict[str, str] | None:
        """Let the user fill in a form; only for what was started."""
        ...

    async def read(self, paper: Paper) -> str:
        """Let the user read; only for what was started."""
        ...

    def wear(self, theme: str) -> bool:
        """Other colours; False where there is no such theme."""
        ...

    def action_leave(self) -> None:
        """Leave."""
        ...

    def action_rewind(self) -> None:
        """Go back to an earlier message."""
        ...
