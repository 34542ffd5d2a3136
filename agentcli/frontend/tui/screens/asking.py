"""The confirmation over the chat: at most one is open, and it stays until nothing waits."""

from __future__ import annotations

from textual.screen import Screen

from agentcli.frontend.tui.bridge import Question, Verdict
from agentcli.frontend.tui.screens.confirm import Behind, Confirm
from agentcli.frontend.tui.transcript.ink import Ink
from agentcli.frontend.tui.typed import app_of


class Asking:
    """Opens the confirmation, and gives what is answered."""

    def __init__(self, chat: Screen[None], behind: Behind) -> None:
        self._chat, self._behind = chat, behind
        self._confirm: Confirm | None = None

    async def ask(self, questions: list[Question], ink: Ink, root: str) -> Verdict:
        """Show what waits in the open confirmation, or open one; the next answer."""
        if self._confirm is None:
            self._confirm = Confirm(questions, ink, root, self._behind)
            await app_of(self._chat).push_screen(self._confirm)
        else:
            self._confirm.renew(questions)
        verdict = await self._confirm.answered()
        if not self._confirm.answers.open:  # the answer was to the last one: what it causes is seen in the transcript
            await self.close()
        return verdict

    async def close(self) -> None:
        """Nothing waits any more."""
        confirm, self._confirm = self._confirm, None
        if confirm is not None:
            await confirm.dismiss()

    def marks_changed(self) -> None:
        """A call in it runs, or has its result."""
        if self._confirm is not None:
            self._confirm.marks_changed()
