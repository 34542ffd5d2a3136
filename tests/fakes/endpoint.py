"""A provider on loopback: answers each request with the next bytes of its list, and remembers what it was sent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import Any


def sse(*payloads: Any, end: str = "\n\n") -> bytes:
    lines = (payload if isinstance(payload, str) else json.dumps(payload) for payload in payloads)
    return "".join(f"data: {line}{end}" for line in lines).encode()


def said(content: Any = None, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    fields = delta if content is None else {"content": content, **delta}
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


class FakeEndpoint:
    """One answer a request: a status with a head and a body; `cut` closes the connection before the body has ended."""

    def __init__(self, answers: Sequence[tuple[int, dict[str, str], Iterable[bytes]]], cut: bool = False) -> None:
        self.requests: list[dict[str, Any]] = []
        self.heads: list[str] = []
        self.connections = 0
        self.closed = asyncio.Event()
        self.url = ""
        self._answers, self._cut = list(answers), cut
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> FakeEndpoint:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._server.close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=0.2)  # a client that was closed: its connection ends by itself
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.closed.set()
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        length = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length"))
        self.requests.append(json.loads(await reader.readexactly(length)))
        status, headers, body = self._answers.pop(0)
        fields = {"content-type": "text/event-stream", "transfer-encoding": "chunked", **headers}
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
        writer.write("\r\n".join(lines).encode())
        for chunk in body:
            if not chunk:  # an empty chunk stands for silence
                await reader.read()
                self.closed.set()
                return False
            writer.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
            await writer.drain()
        if self._cut:
            return False
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True
