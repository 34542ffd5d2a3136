"""No key counts before a question was painted for a while and typing has paused; a burst of keys never answers."""

from __future__ import annotations

PAUSE = 0.35
HOLD = 0.06


class Guard:
    """Times only; who asks brings the clock."""

    def __init__(self) -> None:
        self._since: float | None = None

    def painted(self, now: float) -> None:
        """The question was painted; the pause begins, or begins anew."""
        self._since = now

    def lets(self, pressed: float) -> bool:
        """Whether a key pressed then counts; an early one begins the pause anew."""
        if self._since is not None and pressed - self._since >= PAUSE:
            return True
        if self._since is not None:
            self._since = pressed
        return False

    def disturbed(self, now: float) -> None:
        """A burst or a paste came: the pause begins anew."""
        self._since = now
