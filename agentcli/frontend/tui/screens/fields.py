"""Fields to write in: a line, a reason, arguments to be edited. What is pasted into them shows all of itself."""

from __future__ import annotations

import json
from contextlib import suppress

from textual import events
from textual.widgets import Input, TextArea

from agentcli.frontend.tui.widgets.ordered import run_key
from agentcli.view.clean import clean, spelled


class Line(Input):
    """One line."""

    async def _on_key(self, event: events.Key) -> None:
        if not self._passed_on(event, events.Key(event.key, event.character)):
            await run_key(self, event)

    def _on_paste(self, event: events.Paste) -> None:
        if self._passed_on(event, events.Paste(event.text)):
            return
        event.prevent_default()
        event.stop()
        self.insert_text_at_cursor(clean(event.text.strip("\r\n"), newlines=False, exact=True))

    def _passed_on(self, event: events.Event, again: events.Event) -> bool:
        """What came right behind a key that moved on is for the line that has the focus by now: it may be a secret."""
        now = self.screen.focused
        if now is self or not isinstance(now, Line):
            return False
        event.prevent_default()
        event.stop()
        now.post_message(again)
        return True


class Reason(Line):
    """Why a call is denied."""


class Arguments(TextArea):
    """The arguments of a call, to be edited."""

    async def _on_key(self, event: events.Key) -> None:
        await run_key(self, event)

    async def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self._replace_via_keyboard(spelled(event.text.replace("\r\n", "\n").replace("\r", "\n")), *self.selection)


def pretty(text: str) -> str:
    """The arguments, to be edited: what cannot be seen is spelled as JSON spells it, so that it keeps its value."""
    with suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    return spelled(text)
