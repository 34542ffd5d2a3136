"""Streams of our own making, for what the recordings do not hold; with each the names of the tools it calls."""

from __future__ import annotations

from typing import Any

from tests.fakes.endpoint import said, sse

RS = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "SECRET"}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed"}


def _call(index: int, arguments: str, **fields: Any) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": fields.pop("name")} if "name" in fields else {})}
    return said(tool_calls=[{"index": index, **fields, "function": function}])


def _item(number: int, arguments: str) -> dict[str, Any]:
    return {"type": "function_call", "id": f"fc_{number}", "call_id": f"r{number}", "name": "Act", "arguments": arguments}


def _done(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response.output_item.done", "item": item}


def _ended(status: str, *output: Any, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.{status}", "response": {"status": status, "output": list(output), **fields}}


CALLS = [_item(1, '{"value": "a"}'), _item(2, '{"value": "é}"}')]
LENGTH = {"incomplete_details": {"reason": "max_output_tokens"}}
STREAMS: dict[str, tuple[str, bytes]] = {
    "chat: thinking, text, two calls": (
        "chat",
        sse(
            said(reasoning_content="hm é"),
            said("I look."),
            _call(0, "", id="k1", name="Act"),
            _call(0, '{"value": '),
            _call(0, '"a"}'),
            _call(1, '{"value": "}"}', id="k2", name="Act"),
            said(finish="tool_calls"),
            {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
            "[DONE]",
        ),
    ),
    "chat: a call cut by length": (
        "chat",
        sse(_call(0, '{"value": "a"}', id="k1", name="Act"), said(finish="length"), "[DONE]"),
    ),
    "chat: a call stopped by a filter": (
        "chat",
        sse(said("I"), _call(0, '{"value": "a"}', id="k1", name="Act"), said(finish="content_filter"), "[DONE]"),
    ),
    "chat: no end but done": ("chat", sse(_call(0, '{"value": "a"}', id="k1", name="Act"), "[DONE]")),
    "chat: details and signed calls": (
        "chat",
        sse(
            said(reasoning="t", reasoning_details=[{"type": "reasoning.text", "text": "t", "signature": "S"}]),
            said(
                tool_calls=[{"id": "", "extra_content": {"g": "S"}, "function": {"name": "Act", "arguments": '{"value": "b"}'}}]
            ),
            said(finish="stop"),
        ),
    ),
    "chat: an error in the middle": ("chat", sse(said("half"), {"error": {"message": "busy", "code": 503}})),
    "responses: reasoning, two calls": (
        "responses",
        sse(
            {"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1"}},
            {"type": "response.reasoning_summary_text.delta", "output_index": 0, "item_id": "rs_1", "delta": "hm"},
            _done(RS),
            {"type": "response.output_item.added", "output_index": 1, "item": {**CALLS[0], "arguments": ""}},
            {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc_1", "delta": '{"value": '},
            {"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "fc_1", "delta": '"a"}'},
            _done(CALLS[0]),
            _done(CALLS[1]),
            _ended("completed", RS, *CALLS, usage={"input_tokens": 3, "output_tokens": 4}),
        ),
    ),
    "responses: a call cut by length": ("responses", sse(_done(CALLS[0]), _ended("incomplete", CALLS[0], **LENGTH))),
    "responses: a search, then text": (
        "responses",
        sse(
            _done(SEARCH),
            {"type": "response.output_text.delta", "output_index": 1, "delta": "found é"},
            _ended("completed", SEARCH, {"type": "message", "content": [{"type": "output_text", "text": "found é"}]}),
        ),
    ),
    "responses: failed after a call": (
        "responses",
        sse(_done(RS), _done(CALLS[0]), _ended("failed", RS, CALLS[0], error={"code": "server_error", "message": "busy"})),
    ),
}
