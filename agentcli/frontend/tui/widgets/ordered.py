"""Keys of a text field in the order in which they were pressed.

Textual inserts letters in the field's own task and runs bindings in the application's: a letter typed right
behind a backspace, or an Enter right behind a letter, would change places.
"""

from __future__ import annotations

from textual import events
from textual.widget import Widget

from agentcli.frontend.tui.typed import app_of


async def run_key(field: Widget, event: events.Key) -> None:
    """Run the bindings of a key where the letters are inserted; to be called first by the field's `_on_key`."""
    if event.is_printable:
        return
    active = field.screen.active_bindings.get(event.key)
    if active is None or not active.enabled:
        return
    event.stop()
    event.prevent_default()
    await app_of(field).run_action(active.binding.action, active.node)
