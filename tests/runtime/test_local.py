import asyncio
import time

import pytest

from agentcli.config.settings import Provider, Settings
from agentcli.runtime import local
from agentcli.runtime.local import Listed, Place, Server, find_servers, models_in, usual_places
from tests.fakes.model_server import FakeModelServer


async def found(*places):
    return [server async for server in find_servers(places)]


async def test_a_server_is_found_with_its_models_and_their_sizes():
    rows = [
        "plain",
        {"id": "vllm", "max_model_len": 32_768},
        {"id": "lm", "max_context_length": 131_072, "loaded_context_length": 8_192},
        {"id": "llama", "meta": {"n_ctx": 4_096, "n_ctx_train": 131_072}},
        {"id": "odd", "max_model_len": "much"},
    ]
    with FakeModelServer(*rows) as fake:
        place = Place("ollama", "Ollama", fake.url)
        listed = (
            Listed("plain"),
            Listed("vllm", 32_768),
            Listed("lm", 8_192),
            Listed("llama", 4_096),
            Listed("odd"),
        )
        assert await found(place) == [Server(place, listed)]
    assert fake.lines == ["GET /v1/models HTTP/1.0"]
    assert fake.heads == [{"Host": fake.host, "Accept": "application/json"}]


async def test_nobody_is_no_server_and_no_error():
    with FakeModelServer() as fake:
        gone = Place("gone", "Gone", fake.url)
    assert await found(gone) == []


@pytest.mark.parametrize(
    "body", [b"<html>hello</html>", b'{"data": 3}', b"{}", b"[" * 100_000, b'{"data": [{"name": "no id"}]}', b"\xff"]
)
async def test_another_kind_of_server_is_left_out(body):
    with FakeModelServer(body=body) as fake:
        assert await found(Place("x", "X", fake.url)) == []


async def test_a_server_that_wants_a_key_says_so():
    with FakeModelServer(status=401) as fake:
        (server,) = await found(Place("x", "X", fake.url))
    assert (server.models, "wants a key" in server.fault) == ((), True)


async def test_slow_servers_are_asked_at_once_and_not_waited_for():
    with FakeModelServer("a", delay=5) as slow, FakeModelServer("b") as fast:
        began = time.monotonic()
        servers = await found(*[Place("slow", "Slow", slow.url)] * 5, Place("fast", "Fast", fast.url))
        assert [server.place.provider for server in servers] == ["fast"]
        assert time.monotonic() - began < 2 * local.PATIENCE


async def test_a_server_that_sends_without_an_end_is_cut_off(monkeypatch):
    monkeypatch.setattr(local, "PATIENCE", 0.3)

    async def serve(reader, writer):
        writer.write(b"HTTP/1.0 200 OK\r\n\r\n")
        try:
            while True:
                writer.write(b" " * 100)
                await writer.drain()
                await asyncio.sleep(0.01)
        except ConnectionError:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    began = time.monotonic()
    assert await found(Place("x", "X", f"http://127.0.0.1:{port}/v1")) == []
    assert time.monotonic() - began < 2
    server.close()
    await asyncio.sleep(0.05)


@pytest.mark.parametrize(
    "answer",
    [
        b'HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n7\r\n{"data"\r\n11;x\r\n: [{"id": "one"}]\r\n1\r\n}\r\n0\r\n\r\n',
        b'HTTP/1.1 200 OK\r\nContent-Length: 25\r\nConnection: keep-alive\r\n\r\n{"data": [{"id": "one"}]}',
        b'HTTP/1.0 200 OK\r\n\r\n{"data": [{"id": "one"}]}',
    ],
)
async def test_a_list_is_read_however_its_end_is_told(answer):
    async def serve(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        await writer.drain()
        if b"keep-alive" in answer:
            await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        place = Place("x", "X", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        assert await found(place) == [Server(place, (Listed("one"),))]
        await asyncio.sleep(0.01)


async def test_no_proxy_of_the_environment_is_told_of_a_local_server(monkeypatch):
    with FakeModelServer("a") as proxy, FakeModelServer("b") as fake:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.host}")
        assert [server.models for server in await found(Place("x", "X", fake.url))] == [(Listed("b"),)]
    assert proxy.lines == []


async def test_only_loopback_is_asked():
    assert await found(Place("far", "Far", "http://192.0.2.1/v1"), Place("tls", "TLS", "https://localhost/v1")) == []


def test_the_configured_server_of_a_port_comes_in_the_place_of_the_usual_one():
    mine = Provider(base_url="http://localhost:11434/v1/")
    places = usual_places(Settings(providers={"mine": mine, "far": Provider(base_url="https://far/v1")}))
    assert places[0] == Place("mine", "mine", "http://localhost:11434/v1")
    assert [place.provider for place in places if "11434" in place.base_url] == ["mine"]
    assert {"lmstudio", "llamacpp", "vllm"} <= {place.provider for place in places}
    assert "far" not in {place.provider for place in places}


def test_a_list_may_be_empty_or_without_a_frame():
    assert models_in(b'{"object": "list", "data": []}') == []
    assert models_in(b'[{"id": "a", "context_length": 4096}]') == [Listed("a", 4_096)]
