"""Every key of the screen, in tables; those of the chat have an id by which they can be bound anew."""

from __future__ import annotations

from textual.binding import Binding

CHAT_KEYS = [
    Binding("enter", "screen.send", "send", id="chat.send"),
    Binding("tab,alt+enter", "screen.queue", "queue", id="chat.queue"),
    Binding("ctrl+j,shift+enter", "screen.newline", "newline", id="chat.newline"),
    Binding("escape", "screen.interrupt", "stop", id="chat.interrupt"),
    Binding("shift+tab", "screen.cycle_mode", "mode", id="chat.mode"),
    Binding("ctrl+o", "screen.details", "details", id="chat.details"),
    Binding("ctrl+c,super+c", "screen.ladder", "copy, stop, clear, leave", id="chat.ladder"),
    Binding("ctrl+d", "screen.leave_if_empty", "leave", id="chat.leave"),
    Binding("ctrl+q", "screen.leave", "leave", id="chat.quit"),
    Binding("ctrl+end", "screen.end", "end", id="chat.end"),
]

CONFIRM_KEYS = {
    "y": "allow",
    "a": "always",
    "s": "scope",
    "n": "deny",
    "escape": "back",
    "enter": "give",
    "tab": "reason",
    "shift+tab": "accept_edits",
    "e": "edit",
    "f": "full",
}
"""Keys that answer, or lead to an answer: none counts before the guard lets it."""

CONFIRM_MOVES = {
    "up": "up",
    "down": "down",
    "left": "previous",
    "right": "next",
    "pageup": "page_up",
    "pagedown": "page_down",
    "home": "top",
    "end": "bottom",
}
"""Keys that only look."""

PICK_KEYS = {
    "enter": "take",
    "escape": "leave",
    "tab": "hidden",
    "backspace": "rub",
    "ctrl+h": "rub",
    "ctrl+w": "word",
    "ctrl+u": "clear",
    "up": "up",
    "down": "down",
    "pageup": "page_up",
    "pagedown": "page_down",
    "home": "top",
    "end": "bottom",
}
"""Keys of a list to pick from; letters filter it."""

HELP = (
    "enter sends (while a reply runs: is told to it) · tab queues · ctrl+j newline · esc stops the reply",
    "esc esc on an idle prompt goes back to an earlier message",
    "shift+tab mode · ctrl+o opens thinking, calls and results · pageup, pagedown, end scroll",
    "ctrl+c copies, stops, clears, leaves · ctrl+d on an empty prompt leaves",
)
