"""What went wrong at a provider, as an error of one known kind with a sentence for the user. Knows no SDK."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, TypeAlias, cast

from agentcli.errors import ModelError

Secret: TypeAlias = str | tuple[str, ...] | None
"""An API key, or all that has to be kept out of an error's text."""

LONGEST_WAIT = 86_400.0
"""Seconds; more is asked by nobody who means it."""
LONGEST_TEXT = 500
SAID = "It said: "
"""What stands before the provider's own words."""

CONTEXT = (
    "context length",
    "context window",
    "context_length",
    "context size",
    "context_window",
    "exceed_context",
    "maximum context",
    "too_many_prompt_tokens",
    "prompt too long",
    "prompt is too long",
    "input is too long",
    "input too long",
    "messages is too long",
    "maximum number of tokens",
    "reduce the length",
    "request_too_large",
)
QUOTA = ("quota", "billing", "insufficient credits", "insufficient balance", "insufficient_balance", "credit balance")
SOON = ("per minute", "per second", "per day", "retry in", "try again in")
FILTER = ("content_filter", "content filter", "content management policy", "responsibleaipolicyviolation", "content_policy")
UNSUPPORTED = ("not supported", "unsupported", "does not support", "doesn't support", "support tool use", "not implemented")
KEY = ("api key", "api-key", "api_key")
BAD_KEY = ("invalid", "not valid", "incorrect", "missing", "expired", "wrong")
TYPES = {
    "authentication": "auth",
    "invalid_api_key": "auth",
    "unauthorized": "auth",
    "permission": "permission",
    "not_found": "not_found",
    "rate_limit": "rate_limit",
    "too_many_requests": "rate_limit",
    "overloaded": "server",
    "server_error": "server",
    "internal": "server",
    "unavailable": "server",
    "timeout": "timeout",
    "invalid_request": "bad_request",
    "bad_request": "bad_request",
}
"""Part of an error's type or code -> kind, where there is no status."""
STATUS = {
    401: "auth",
    402: "quota",
    407: "connection",
    403: "permission",
    404: "not_found",
    405: "not_found",
    408: "timeout",
    413: "context_length",
    429: "rate_limit",
    501: "server",
}
SENTENCE = {
    "auth": "The provider did not accept the API key; check the key that is set for it.",
    "permission": "The provider does not permit this request with this key; choose another model or key.",
    "not_found": "The provider does not know this model or address; check the model's name and the base URL.",
    "bad_request": "The provider refused the request.",
    "rate_limit": "The provider asks to slow down.",
    "quota": "The account's quota at the provider is used up; add credit there, or choose another model.",
    "context_length": "The conversation is too long for this model; make it shorter, or choose a model with a larger context.",
    "content_filter": "The provider's content filter stopped this answer.",
    "unsupported": "The model or the provider cannot do what was asked for; choose another model.",
    "connection": "The connection to the provider failed.",
    "timeout": "The provider did not answer in time.",
    "cut_stream": "The answer broke off before its end.",
    "malformed_stream": "The provider sent something that is no answer.",
    "server": "The provider has a fault of its own.",
}
NOTHING: Mapping[str, str] = {}
OF_TOOLS = "This model or endpoint takes no tools, and an agent needs them; choose another model."
OF_STREAM = "This endpoint cannot stream its answers; choose another model or address."
OF_LOGIN = "The proxy wants a name and a password; put them into HTTPS_PROXY."
RETRYABLE = {"rate_limit", "connection", "timeout", "cut_stream", "malformed_stream", "server"}


def failure(
    kind: str,
    detail: str = "",
    *,
    status: int | None = None,
    sentence: str = "",
    retryable: bool | None = None,
    retry_after: float | None = None,
) -> ModelError:
    """An error of a kind: its sentence, the status, and what else is known."""
    text = sentence or SENTENCE[kind]
    if status is not None:
        text = f"{text.removesuffix('.')} (HTTP {status})."
    again = kind in RETRYABLE if retryable is None else retryable
    return ModelError(kind, f"{text} {detail}".rstrip(), retryable=again, status=status, retry_after=retry_after)


def of_answer(
    status: int, body: str, headers: Mapping[str, str], key: Secret = None, sentences: Mapping[str, str] = NOTHING
) -> ModelError:
    """The error that an HTTP answer with an error status means.

    Args:
        sentences: kind -> what the caller can say better.
    """
    error = _parsed(body)
    kind = _kind(status, error, body)
    retryable = status in (409, 425) or (kind in RETRYABLE and status not in (407, 501, 505))
    return failure(
        kind,
        _quoted(error, key),
        status=status,
        sentence=OF_LOGIN if status == 407 else sentences.get(kind) or _sentence(kind, error),
        retryable=retryable,
        retry_after=wait_wanted(headers),
    )


def of_error(error: Any, key: Secret = None) -> ModelError:
    """The error that an error object inside an answer means."""
    status = _status_in(error)
    kind = _kind(status, error, json.dumps(error, ensure_ascii=False))
    return failure(kind, _quoted(error, key), status=status, sentence=_sentence(kind, error))


def words_in(error: ModelError) -> str:
    """The provider's own words in an error; empty where it said nothing."""
    return error.message.partition(SAID)[2]


def _sentence(kind: str, error: Any) -> str:
    """The sentence of a kind that says more where the provider's words do."""
    words = _words_of(error).lower()
    if kind == "unsupported" and re.search(r"\btools?\b|function.?call", words):
        return OF_TOOLS
    return OF_STREAM if kind == "unsupported" and "stream" in words else SENTENCE[kind]


def told(error: Any, key: Secret = None) -> str:
    """The provider's own words: one line, short, without the key."""
    text = " ".join(_words_of(error).split())
    for secret in (key,) if isinstance(key, str) else key or ():
        if len(secret) > 3:
            text = text.replace(secret, "***")
    text = re.sub(r"\b(sk-|gsk_|xai-|pplx-|hf_|AIza|Bearer )[\w.*=+/-]{8,}", r"\1***", text)
    text = re.sub(r"(://)[^/\s@]+@", r"\1***@", text)
    return text if len(text) <= LONGEST_TEXT else text[:LONGEST_TEXT].rstrip() + " ..."


def _quoted(error: Any, key: Secret) -> str:
    text = told(error, key)
    return SAID + text if text else ""


def wait_wanted(headers: Mapping[str, str]) -> float | None:
    """Seconds that the provider asks to wait, at most a day; None where it asks for nothing."""
    for name, scale in (("retry-after-ms", 1000), ("retry-after", 1)):
        value = headers.get(name)
        seconds = _seconds(value) if value else None
        if seconds is not None:
            return max(0.0, min(LONGEST_WAIT, seconds / scale))
    return None


def _seconds(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return _seconds_until(value)
    return seconds if math.isfinite(seconds) else None


def _seconds_until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    return (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds()


def _kind(status: int | None, error: Any, body: str) -> str:
    words = body.lower()
    if _has(words, CONTEXT):
        return "context_length"
    if _has(words, FILTER):
        return "content_filter"
    if status in (402, 429) or (status is None and "quota" in words):
        return "quota" if status == 402 or (_has(words, QUOTA) and not _has(words, SOON)) else "rate_limit"
    if status in (400, 422) and _has(words, KEY) and _has(words, BAD_KEY):
        return "auth"
    if (status in (None, 400, 415, 422, 501) or (status == 404 and "tool" in words)) and _has(words, UNSUPPORTED):
        return "unsupported"
    if status is not None:
        return STATUS.get(status) or ("server" if status >= 500 else "bad_request")
    names = _names_of(error)
    return next((kind for part, kind in TYPES.items() if part in names), "server")


def _has(words: str, phrases: tuple[str, ...]) -> bool:
    return any(phrase in words for phrase in phrases)


def _parsed(body: str) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return "" if body.lstrip().startswith("<") else body  # a web page says nothing to a reader


def _fields(error: Any) -> dict[str, Any]:
    """The object that describes the error, wherever the provider put it."""
    if isinstance(error, list) and error:
        return _fields(cast(list[Any], error)[0])
    if not isinstance(error, dict):
        return {}
    fields = cast(dict[str, Any], error)
    inner = fields.get("error")
    return cast(dict[str, Any], inner) if isinstance(inner, dict) else fields


def _words_of(error: Any) -> str:
    if isinstance(error, str):
        return error
    fields = _fields(error)
    for name in ("message", "detail", "msg", "error", "error_description", "code", "type"):
        value = fields.get(name)
        if value:
            said = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            return f"{said} {_upstream(fields)}"
    return json.dumps(error, ensure_ascii=False) if error else ""


def _upstream(fields: dict[str, Any]) -> str:
    """What a gateway passes on of the provider behind it."""
    metadata = fields.get("metadata")
    raw = cast(dict[str, Any], metadata).get("raw") if isinstance(metadata, dict) else None
    return raw if isinstance(raw, str) else ""


def _names_of(error: Any) -> str:
    fields = _fields(error)
    return " ".join(str(fields.get(name) or "") for name in ("type", "code", "status")).lower()


def _status_in(error: Any) -> int | None:
    fields = _fields(error)
    for name in ("status_code", "code", "status", "http_status"):
        value = fields.get(name)
        number = int(value) if isinstance(value, int) or (isinstance(value, str) and value.isdecimal()) else 0
        if 400 <= number < 600:
            return number
    return None
