from __future__ import annotations

import time

import pytest

from agentcli.model.openai_wire.sse import EventSplitter


def split(*chunks: bytes) -> list[bytes]:
    splitter = EventSplitter()
    return [payload for chunk in chunks for payload in splitter.feed(chunk)] + splitter.end()


@pytest.mark.parametrize(
    ("stream", "payloads"),
    [
        (b"data: a\n\ndata: b\n\n", [b"a", b"b"]),
        (b"data:a\r\n\r\ndata:  b\r\n\r\n", [b"a", b" b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
        (b"\xef\xbb\xbf\n\ndata: a\n\n", [b"a"]),
        (b": keep-alive\n\nevent: x\nid: 1\nretry: 2\ndata: a\n\n: bye\n\n", [b"a"]),
        (b'data: {"a":\ndata: 1}\n\n', [b'{"a":\n1}']),
        (b'data: {"a":1}\ndata: {"b":1}\ndata: [DONE]\n\n', [b'{"a":1}', b'{"b":1}', b"[DONE]"]),
        (b"data: a\n\ndata: cut", [b"a", b"cut"]),
        (b"data\ndatax: a\n\n", []),
        (b"", []),
        ("data: é\u2028\u0085€\n\n".encode(), ["é\u2028\u0085€".encode()]),
    ],
)
def test_payloads_come_out_whole_however_the_stream_is_cut(stream: bytes, payloads: list[bytes]):
    assert split(stream) == payloads
    assert split(*(stream[at : at + 1] for at in range(len(stream)))) == payloads


@pytest.mark.parametrize("body", [b'{"a":\n1}', b"<html>\n\n</html>", b'  [{"error": 1}]'])
def test_a_body_that_is_no_event_stream_is_given_whole_at_the_end(body: bytes):
    splitter = EventSplitter()
    assert [splitter.feed(body[at : at + 1]) for at in range(len(body))] == [[]] * len(body)
    assert splitter.end() == [body.lstrip()] and splitter.plain


def test_a_long_line_in_small_pieces_costs_linear_time():
    splitter = EventSplitter()
    start = time.process_time()
    splitter.feed(b"data: ")
    for _ in range(300_000):
        splitter.feed(b"xxxxxxxx")
    assert len(splitter.feed(b"\n\n")[0]) == 2_400_000
    assert time.process_time() - start < 2
