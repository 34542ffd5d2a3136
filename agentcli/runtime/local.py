"""Model servers on this machine: who answers on the usual ports. Speaks to loopback only, and only when it is asked to.

No library for HTTP: nothing of the environment (a proxy, a redirect) can lead a question elsewhere.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlsplit

from agentcli.config.presets import PRESETS
from agentcli.config.settings import Settings
from agentcli.model.address import base_address, on_loopback

PATIENCE = 1.0
"""Seconds for one server: to answer at all, and to list what it has."""
MOST_BYTES = 2_000_000
MOST_MODELS = 500
SIZES = (
    "loaded_context_length",
    "max_model_len",
    "context_length",
    "context_window",
    "max_context_length",
    "context_size",
    "n_ctx",
)
"""Where servers say how large a context is; what is loaded now comes first."""


@dataclass(slots=True, frozen=True)
class Place:
    """Where a server may be."""

    provider: str
    """What stands before the slash of its models' names."""
    title: str
    base_url: str


@dataclass(slots=True, frozen=True)
class Listed:
    """A model that an endpoint lists."""

    name: str
    context_size: int | None = None


@dataclass(slots=True, frozen=True)
class Server:
    """A server that answered, and what it has."""

    place: Place
    models: tuple[Listed, ...]
    fault: str | None = None
    """Why its models are not known: it wants a key, or is no model server."""


def usual_places(settings: Settings) -> list[Place]:
    """The configured servers of this machine, then those of the presets; each port once."""
    places = [
        Place(name, name, base_address(provider.base_url)[0])
        for name, provider in settings.providers.items()
        if provider.base_url and on_loopback(base_address(provider.base_url)[0])
    ]
    places += [Place(name, preset.title, preset.base_url) for name, preset in PRESETS.items() if preset.local]
    return list({urlsplit(place.base_url).port: place for place in reversed(places)}.values())[::-1]


async def find_servers(places: Iterable[Place]) -> AsyncGenerator[Server]:
    """The servers that answer, as they do; all are asked at once."""
    tasks = [asyncio.create_task(_ask(place)) for place in places]
    try:
        for task in asyncio.as_completed(tasks):
            if server := await task:
                yield server
    finally:
        for task in tasks:
            task.cancel()


def servers_here(settings: Settings) -> list[Server]:
    """All servers that answer, in the order of their places. For a thread of its own, or a command."""

    async def found() -> list[Server]:
        return [server async for server in find_servers(places)]

    places = usual_places(settings)
    return sorted(asyncio.run(found()), key=lambda server: places.index(server.place))


async def _ask(place: Place) -> Server | None:
    try:
        async with asyncio.timeout(PATIENCE):
            status, body = await _get(f"{place.base_url}/models")
    except (OSError, ValueError, EOFError, asyncio.LimitOverrunError):  # nobody there, too slow, or no HTTP
        return None
    if status in (401, 403):
        return Server(place, (), "it wants a key: give it a table in config.toml, with api_key_env")
    models = models_in(body) if status == 200 else None
    return None if models is None else Server(place, tuple(models))


async def _get(address: str) -> tuple[int, bytes]:
    """Status and body; HTTP/1.0, so that the body is what comes until the end."""
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or 80
    if parts.scheme != "http" or not on_loopback(address):
        raise ValueError(f"not here: {address}")
    reader, writer = await asyncio.open_connection("127.0.0.1" if host == "localhost" else host, port)
    try:
        writer.write(f"GET {parts.path} HTTP/1.0\r\nHost: {host}:{port}\r\nAccept: application/json\r\n\r\n".encode("ascii"))
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        body = bytearray()
        wanted = _length(head)
        while len(body) < min(wanted, MOST_BYTES) and (chunk := await reader.read(65_536)):
            body += chunk
        chunked = "\ntransfer-encoding: chunked" in head.lower()
        return int(head.split()[1]), _unchunked(bytes(body)) if chunked else bytes(body)
    except IndexError as error:
        raise ValueError("no status") from error
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def _unchunked(body: bytes) -> bytes:
    """The body of a server that sends chunks to whoever cannot read them, too."""
    whole, rest = bytearray(), body
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        length = int(size.split(b";")[0], 16)
        if length <= 0:
            break
        whole += rest[:length]
        rest = rest[length + 2 :]
    return bytes(whole)


def _length(head: str) -> int:
    """What the server says of the length; it may keep the connection open, whatever was asked."""
    for line in head.split("\r\n")[1:]:
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-length" and value.strip().isdecimal():
            return int(value)
    return MOST_BYTES


def models_in(body: bytes) -> list[Listed] | None:
    """The models of a list as OpenAI made the form popular; None where it is none."""
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):
        return None
    rows = cast("Mapping[str, Any]", given).get("data") if isinstance(given, dict) else given
    if not isinstance(rows, list):
        return None
    found = [listed for row in cast("list[Any]", rows)[:MOST_MODELS] if (listed := _listed(row))]
    return found if found or not rows else None


def _listed(row: Any) -> Listed | None:
    if not isinstance(row, dict):
        return None
    fields = cast("Mapping[str, Any]", row)
    name = fields.get("id")
    if not isinstance(name, str) or not name:
        return None
    meta = fields.get("meta")
    return Listed(name, _size(fields) or (_size(cast("Mapping[str, Any]", meta)) if isinstance(meta, dict) else None))


def _size(fields: Mapping[str, Any]) -> int | None:
    sizes = (fields.get(key) for key in SIZES)
    return next((size for size in sizes if isinstance(size, int) and not isinstance(size, bool) and size >= 1_000), None)
