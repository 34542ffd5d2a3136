"""The one error tree.

AgentcliError
├── UsageError            a flag, id or value is wrong; exit code 2
│   └── ConfigError       a settings file or variable is wrong
├── ModelError            the provider failed; carries a classified kind
├── ToolError             a tool cannot do what was asked; its text goes to the model
├── SessionError          a saved session cannot be used
│   ├── SessionHeld       another process writes it
│   └── LogError          the disk refused a record; the reply stops before the next side effect
└── RefusedInput          an input changes nothing (also a ValueError)
    ├── StaleAnswer       the answer is not for what waits now
    ├── NothingWaiting    nothing waits for this answer
    └── StillWaiting      something waits; a new message has to wait as well
"""

from __future__ import annotations


class AgentcliError(Exception):
    """What the program can say in one sentence instead of a traceback."""


class UsageError(AgentcliError):
    """A flag, id or value that cannot be used."""


class ConfigError(UsageError):
    """A setting that cannot be used; names its place."""


class ModelError(AgentcliError):
    """The model did not answer.

    Args:
        kind: one of the kinds of `ErrorInfo` (`ledger/event.py`).
        retryable: the same request may work later.
        status: the HTTP status, where there was one.
        retry_after: seconds that the provider asked to wait; 0 means at once.
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        retryable: bool = False,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind, self.message, self.retryable, self.status, self.retry_after = kind, message, retryable, status, retry_after


class ToolError(AgentcliError):
    """A tool cannot do what was asked; the text is the result that the model reads."""


class SessionError(AgentcliError):
    """A saved session that cannot be used."""


class SessionHeld(SessionError):
    """Another process writes this session."""

    def __init__(self, session_id: str, holder: str) -> None:
        super().__init__(f"session {session_id} is held by {holder}")
        self.session_id, self.holder = session_id, holder


class LogError(SessionError):
    """A record could not be made durable; what was in memory stays."""


class RefusedInput(AgentcliError, ValueError):
    """An input that was refused before the first event; nothing has changed."""


class StaleAnswer(RefusedInput):
    """The answer is for another reply or call, or grants what was not offered."""


class NothingWaiting(RefusedInput):
    """Nothing waits for this answer, or there is nothing to continue."""


class StillWaiting(RefusedInput):
    """Calls wait for an answer; they have to be answered or interrupted first."""
