"""A model server on the loopback that speaks Chat Completions, and notes when it was asked and when it had answered.

`python server.py LOG FILE` prints its port. A user message with `BENCH:size=100000,rate=5000,loop=20,end=7:` steers the
answer: bytes of markdown, tokens a second (0: at once), rounds of `Read FILE` before it, number of the end mark. LOG gets
one JSON line an event with CLOCK_MONOTONIC times, which the driver's own clock shares.
"""

import asyncio
import json
import re
import socket
import sys
import time
from typing import Any, TextIO

from answer import pieces

TICK = 0.004
"""Seconds between two writes of a stream that has a rate."""


def end_mark(number: int) -> str:
    """What the answer with this number ends with."""
    return f"ZQX{number}END"


class Server:
    def __init__(self, log: TextIO, file: str) -> None:
        self.log, self.file, self.asked = log, file, 0

    def note(self, event: str, **more: Any) -> None:
        self.log.write(json.dumps({"event": event, "t": time.monotonic(), **more}) + "\n")
        self.log.flush()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin1").lower()
                length = re.search(r"content-length: *(\d+)", head)
                body = await reader.readexactly(int(length[1])) if length else b""
                if "/chat/completions" in head.split("\r\n")[0]:
                    await self.answer(body, time.monotonic(), writer)
                else:
                    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def answer(self, body: bytes, came: float, writer: asyncio.StreamWriter) -> None:
        messages = json.loads(body)["messages"]
        asked, results = last_user(messages)
        found = re.findall(r"BENCH:([a-z0-9=,]+):", asked)
        wanted = {key: int(value) for key, value in (pair.split("=") for pair in found[-1].split(","))} if found else {}
        self.asked += 1
        self.note("request", came=came, results=results, bytes=len(body), number=self.asked)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        if results < wanted.get("loop", 0):
            call = {"name": "Read", "arguments": json.dumps({"file_path": self.file, "limit": 1000 + results})}
            delta = {"tool_calls": [{"index": 0, "id": f"call_{self.asked}", "type": "function", "function": call}]}
            reason = "tool_calls"
            send(writer, frame(delta))
        else:
            reason = "stop"
            await self.text(wanted, writer)
        send(writer, frame({}, reason) + b"data: [DONE]\n\n")
        writer.write(b"0\r\n\r\n")
        self.note("done", number=self.asked)
        await writer.drain()

    async def text(self, wanted: dict[str, int], writer: asyncio.StreamWriter) -> None:
        words = pieces(wanted["size"], end_mark(wanted.get("end", 0))) if "size" in wanted else ("OK",)
        frames = [frame({"content": word}) for word in words]
        rate, sent, began = wanted.get("rate", 0), 0, time.monotonic()
        self.note("first", tokens=len(frames))
        while sent < len(frames):
            due = min(len(frames), int((time.monotonic() - began) * rate) + 1) if rate else len(frames)
            if due > sent:
                send(writer, b"".join(frames[sent:due]))
                await writer.drain()
                sent = due
            if sent < len(frames):
                await asyncio.sleep(max(TICK, sent / rate - (time.monotonic() - began)))
        late = time.monotonic() - began - (len(frames) / rate if rate else 0)
        self.note("last", bytes=sum(len(word.encode()) for word in words), seconds=time.monotonic() - began, late=late)


def last_user(messages: list[dict[str, Any]]) -> tuple[str, int]:
    """The last text of a user, and how many tool results stand after it."""
    results = 0
    for message in reversed(messages):
        if message["role"] == "user":
            return json.dumps(message["content"]), results
        results += message["role"] == "tool"
    return "", results


def frame(delta: dict[str, Any], reason: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    body = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "bench", "choices": [choice]}
    return b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n"


def send(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(b"%x\r\n%b\r\n" % (len(data), data))


async def main(log: str, file: str) -> None:
    with open(log, "a", encoding="utf-8") as notes:
        server = await asyncio.start_server(Server(notes, file).serve, "127.0.0.1", 0, limit=1 << 26)
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
