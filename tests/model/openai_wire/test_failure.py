from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from agentcli.model.openai_wire.failure import of_answer, of_error, told, wait_wanted


def error(message: str, **fields: Any) -> str:
    return json.dumps({"error": {"message": message, **fields}})


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (400, error("temperature is wrong"), "bad_request", False),
        (400, error("Unsupported parameter: 'stop'", code="unsupported_parameter"), "unsupported", False),
        (400, error("API key not valid. Please pass a valid API key."), "auth", False),
        (400, error("This model's maximum context length is 10 tokens"), "context_length", False),
        (400, error("flagged", code="content_filter"), "content_filter", False),
        (401, error("Incorrect API key provided"), "auth", False),
        (402, error("Insufficient Balance"), "quota", False),
        (403, error("not your model"), "permission", False),
        (404, error("no such model"), "not_found", False),
        (404, error("No endpoints found that support tool use."), "unsupported", False),
        (405, "", "not_found", False),
        (408, "", "timeout", True),
        (409, error("locked"), "bad_request", True),
        (413, "<html>too large</html>", "context_length", False),
        (422, error("extra field"), "bad_request", False),
        (429, error("slow down"), "rate_limit", True),
        (429, error("You exceeded your current quota, please check your plan and billing details"), "quota", False),
        (429, error("Quota exceeded for requests per minute, retry in 20s"), "rate_limit", True),
        (500, error("oops"), "server", True),
        (407, "", "connection", False),
        (501, error("streaming is not implemented"), "unsupported", False),
        (501, "", "server", False),
        (502, "<html>bad gateway</html>", "server", True),
        (529, error("overloaded"), "server", True),
    ],
)
def test_an_answer_is_classified_by_status_code_and_words(status: int, body: str, kind: str, retryable: bool):
    failed = of_answer(status, body, {})
    assert (failed.kind, failed.retryable, failed.status) == (kind, retryable, status)
    assert f"(HTTP {status})." in failed.message and "<html>" not in failed.message


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ({"message": "x", "type": "authentication_error"}, "auth"),
        ({"message": "x", "code": "rate_limit_exceeded"}, "rate_limit"),
        ({"message": "You have run out of quota", "code": "insufficient_quota"}, "quota"),
        ({"message": "x", "type": "overloaded_error"}, "server"),
        ({"message": "x", "code": 400}, "bad_request"),
        ({"message": "x", "status_code": "503"}, "server"),
        ({"message": "x", "type": "invalid_request_error"}, "bad_request"),
        ({"message": "prompt is too long"}, "context_length"),
        ("broken", "server"),
        ({}, "server"),
        ([{"error": {"message": "x", "code": 404}}], "not_found"),
    ],
)
def test_an_error_inside_an_answer_is_classified(said: Any, kind: str):
    assert of_error(said).kind == kind


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"error": {"message": "two\n lines"}}, "two lines"),
        ({"detail": "Invalid"}, "Invalid"),
        ({"detail": [{"msg": "x"}]}, '[{"msg": "x"}]'),
        ({"error": "plain"}, "plain"),
        ({"error": {"message": "Provider returned error", "metadata": {"raw": "busy"}}}, "Provider returned error busy"),
        ("key is my-own-key, sk-abcdefghijkl and Bearer abc.def-ghi", "key is ***, sk-*** and Bearer ***"),
        ("x" * 600, "x" * 500 + " ..."),
    ],
)
def test_the_provider_is_quoted_in_one_short_line_without_the_key(said: Any, text: str):
    assert told(said, "my-own-key") == text


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "900"}, 900.0),
        ({"retry-after": "9000000"}, 86_400.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": format_datetime(datetime.now(UTC) + timedelta(days=2))}, 86_400.0),
    ],
)
def test_retry_after_is_read_in_every_form_and_capped(headers: dict[str, str], seconds: float | None):
    assert wait_wanted(headers) == seconds
