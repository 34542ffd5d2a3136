"""What the environment says of proxies and certificates holds for model calls, as for all that speaks through the SDK."""

import shutil
import subprocess

import pytest

from agentcli.errors import ModelError
from agentcli.ledger.message import UserMsg
from agentcli.model.base import ModelRequest
from agentcli.model.registry import make_model
from agentcli.model.spec import ModelSpec
from tests.fakes.model_server import FakeModelServer

REQUEST = ModelRequest("system", [UserMsg(content="hi")])


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def certificate(tmp_path):
    """One that nobody trusts, with its key in the same file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    file = tmp_path / "server.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=here -addext subjectAltName=IP:127.0.0.1"
    subprocess.run([openssl, *words.split(), "-keyout", file, "-out", tmp_path / "ca.pem"], check=True, capture_output=True)
    file.write_bytes(file.read_bytes() + (tmp_path / "ca.pem").read_bytes())
    return file, tmp_path / "ca.pem"


async def asked(url):
    """Ask a server that refuses; where the request went is what counts."""
    model = make_model(ModelSpec(name="m", base_url=url, api_key="k"))
    try:
        with pytest.raises(ModelError) as caught:
            async for _ in model.stream(REQUEST):
                pass
    finally:
        await model.close()
    return caught.value.status or (caught.value.kind, caught.value.retryable)


async def test_a_model_call_goes_through_the_proxy_and_no_proxy_is_heeded(monkeypatch):
    with FakeModelServer(status=402, body=b"{}") as proxy, FakeModelServer(status=403, body=b"{}") as fake:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.host}")
        assert await asked("http://far.example/v1") == 402
        assert proxy.lines == ["POST http://far.example/v1/chat/completions HTTP/1.1"]
        assert await asked(fake.url) == 402
        monkeypatch.setenv("NO_PROXY", "127.0.0.1,.example")
        assert await asked(fake.url) == 403
        assert (len(proxy.lines), fake.lines) == (2, ["POST /v1/chat/completions HTTP/1.1"])


async def test_the_password_of_a_proxy_is_sent_to_it_alone(monkeypatch):
    with FakeModelServer(status=402, body=b"{}") as proxy:
        monkeypatch.setenv("ALL_PROXY", f"http://me:word@{proxy.host}")
        assert await asked("http://far.example/v1") == 402
    assert proxy.heads[0]["Proxy-Authorization"] == "Basic bWU6d29yZA=="


async def test_a_certificate_of_the_company_is_trusted_where_it_is_named(certificate, monkeypatch):
    server, authority = certificate
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    with FakeModelServer(status=403, body=b"{}", certificate=server) as fake:
        assert await asked(fake.url) == ("connection", False)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        assert await asked(fake.url) == 403
