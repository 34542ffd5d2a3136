"""One-line titles of calls and results, figures and error sentences: how to say it, without any toolkit.

What is returned is cleaned and is one line; it may be longer than a row.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any, cast

from agentcli.ledger.block import ToolResultState
from agentcli.ledger.event import ErrorInfo
from agentcli.view.clean import clean

UNKNOWN = re.compile(r"effects?\s+(?:are\s+)?unknown", re.IGNORECASE)
PATH_KEYS = ("file_path", "path", "notebook_path")
FIRST_STRING = re.compile(r'"(?:file_path|path|command|pattern|name)"\s*:\s*"((?:[^"\\]|\\.)*)')
LONGEST = 300


def call_arguments(text: str) -> dict[str, Any]:
    """The arguments of a call where its text is a JSON object, else nothing."""
    try:
        found: Any = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def call_target(name: str, text: str, root: str = "") -> str:
    """What a call is about: its file, command or pattern; raw arguments where they are not known."""
    arguments = call_arguments(text)
    if not arguments:
        return _line(_unfinished(text))
    match name:
        case "Bash" if isinstance(arguments.get("command"), str):
            return _line(arguments["command"])
        case "Glob" | "Grep" if isinstance(arguments.get("pattern"), str):
            where = arguments.get("path")
            return _line(arguments["pattern"] + (f"  in {short_path(where, root)}" if isinstance(where, str) and where else ""))
        case "Git" if isinstance(arguments.get("command"), str):
            return _line(_git(arguments, root))
        case "Tasks" if isinstance(arguments.get("tasks"), list):
            return _tasks(arguments["tasks"])
        case "MultiEdit" if isinstance(arguments.get("edits"), list):
            return _line(f"{_path(arguments, root)}  {plural(len(arguments['edits']), 'edit')}")
        case _:
            return _line(_path(arguments, root) or _pairs(arguments))


def _git(arguments: dict[str, Any], root: str) -> str:
    """As it would be typed."""
    paths = arguments.get("paths")
    words = [arguments["command"], "--staged" if arguments.get("staged") is True else "", arguments.get("revision")]
    words += (
        [short_path(path, root) for path in cast("list[Any]", paths) if isinstance(path, str)] if isinstance(paths, list) else []
    )
    return " ".join(word for word in words if isinstance(word, str) and word)


def _path(arguments: dict[str, Any], root: str) -> str:
    found = next((arguments[key] for key in PATH_KEYS if isinstance(arguments.get(key), str)), "")
    return short_path(found, root)


def short_path(path: str, root: str) -> str:
    """A path below the root without the root."""
    return path[len(root) + 1 :] if root and path.startswith(root.rstrip("/") + "/") else path


def _pairs(arguments: dict[str, Any]) -> str:
    return "  ".join(f"{key}={json.dumps(value, ensure_ascii=False)}" for key, value in arguments.items())


def _tasks(tasks: list[Any]) -> str:
    states = [cast("dict[str, Any]", task).get("state") for task in tasks if isinstance(task, dict)]
    return f"{states.count('done')} of {len(tasks)} done"


def _unfinished(text: str) -> str:
    """The telling string of arguments that still come, or the text as it is."""
    match = FIRST_STRING.search(text[:LONGEST])
    if match is None:
        return "" if text.lstrip().startswith("{") and len(text) < 40 else text
    return match[1].replace('\\"', '"').replace("\\n", "\n")


def _line(text: str) -> str:
    return clean(text[:LONGEST] + ("…" if len(text) > LONGEST else ""), newlines=False, exact=True)


def effects_unknown(state: ToolResultState, text: str) -> bool:
    """Whether a result says that nobody knows what the call has done."""
    return state in (ToolResultState.INTERRUPTED, ToolResultState.ERROR) and UNKNOWN.search(text[:2000]) is not None


def result_summary(state: ToolResultState, text: str, metadata: dict[str, Any]) -> str:
    """A few words for the right column."""
    if effects_unknown(state, text):
        return "effects unknown"
    if state is ToolResultState.DENIED:
        return "denied"
    said = metadata.get("summary")
    if isinstance(said, str) and said:
        return clean(said, newlines=False, exact=True)
    if state is ToolResultState.INTERRUPTED:
        return "interrupted"
    if state is ToolResultState.ERROR:
        return "failed"
    lines = text.count("\n") + (1 if text and not text.endswith("\n") else 0)
    return plural(lines, "line") if lines > 1 else ""


def plural(count: int, noun: str) -> str:
    """`1 line`, `12 lines`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def seconds_between(start: str | None, end: str | None) -> float | None:
    """Seconds between two ISO times; None where one is missing or broken."""
    try:
        return (datetime.fromisoformat(end or "") - datetime.fromisoformat(start or "")).total_seconds()
    except (ValueError, TypeError):
        return None


def utc_now() -> str:
    """Now, as the log writes it."""
    return datetime.now(UTC).isoformat()


def age(at: str, now: str) -> str:
    """How long ago, in one unit: `now`, `5 min`, `3 h`, `2 days`; the day itself from four weeks on, nothing if unknown."""
    seconds = seconds_between(at, now)
    if seconds is None:
        return ""
    if seconds < 60:
        return "now"
    if seconds < 3600:
        return f"{seconds // 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds // 3600:.0f} h"
    return f"{seconds // 86400:.0f} days" if seconds < 28 * 86400 else at[:10]


def ago(at: str, now: str) -> str:
    """The same as the end of a sentence: `just now`, `5 min ago`, `on 2026-01-01`."""
    past = age(at, now)
    if past in ("", "now"):
        return "just now"
    return f"on {past}" if past == at[:10] else f"{past} ago"


def spell_time(seconds: float | None) -> str:
    """`3 ms`, `1.4 s`, `2 s`, `14 s`, `2 min 5 s`."""
    if seconds is None or seconds < 0:
        return ""
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60} s"


def spell_tokens(tokens: int) -> str:
    """`950`, `12.3k`, `1.2M`."""
    if tokens < 1000:
        return str(tokens)
    if tokens < 100_000:
        return f"{tokens / 1000:.1f}k"
    return f"{tokens / 1000:.0f}k" if tokens < 1_000_000 else f"{tokens / 1_000_000:.1f}M"


def spell_cost(dollars: float) -> str:
    """`$0.0031`, `$0.12`, `$1,204.50`: two digits that say something."""
    return f"${dollars:,.2f}" if dollars >= 0.1 else f"${dollars:.2g}"


ERRORS: dict[str, tuple[str, str]] = {
    "auth": ("The provider did not accept the key.", "Check OPENAI_API_KEY, or the key of this provider in config.toml."),
    "permission": ("This key may not use the model.", "Choose another model with /model, or another key."),
    "not_found": (
        "The provider does not know this model or address.",
        "Check --model and OPENAI_BASE_URL; `agentcli models` lists what can be used.",
    ),
    "bad_request": ("The provider refused the request.", "Its words below say what it did not like; the conversation is kept."),
    "rate_limit": ("The provider is asked too often.", "Wait a little, then send again."),
    "quota": ("The account has no credit left.", "Add credit at the provider, or choose another model with /model."),
    "context_length": (
        "The conversation is longer than the model can take.",
        "/compact summarises its older part; else start a new session, or choose a model with a larger context.",
    ),
    "content_filter": ("The provider withheld the answer.", "Say it in other words; what came so far is kept."),
    "unsupported": ("The provider cannot do what was asked of it.", "Choose another model with /model, or --api."),
    "connection": ("The provider cannot be reached.", "Check the network and OPENAI_BASE_URL, then send again."),
    "timeout": ("The provider did not answer in time.", "Send again; what came so far is kept."),
    "cut_stream": ("The connection broke in the middle of the answer.", "Send a message to go on; what came so far is kept."),
    "malformed_stream": ("The provider sent an answer that cannot be read.", "Send again, or choose another model with /model."),
    "server": ("The provider has a fault of its own.", "Send again in a while."),
    "internal": ("agentcli could not go on.", "Its words below say why. Send again; if it comes again, please report it."),
}


UNSAVED = re.compile(r"could not be saved|takes no more records|could not be kept|cannot be (?:saved|written)")
"""How the session log says that it refuses records."""


def error_sentences(error: ErrorInfo) -> tuple[str, str]:
    """What happened, and what to do; the words of whoever failed are `error.message`."""
    if error.kind == "internal" and UNSAVED.search(error.message):
        return (
            "The conversation cannot be saved, so the reply was stopped.",
            "Free space on the disk, or do what the words below say, then send again. "
            "What was not saved is kept in memory only, until you leave.",
        )
    what, remedy = ERRORS.get(error.kind, ERRORS["internal"])
    return (f"{what} ({error.status})" if error.status else what), remedy
