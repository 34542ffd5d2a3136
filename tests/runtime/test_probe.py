import pytest

from agentcli.model.spec import ModelSpec
from agentcli.runtime.local import Listed
from agentcli.runtime.probe import Answer, ask, certificates_in, proxies_in
from tests.fakes.model_server import FakeModelServer

VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def spec(url, model="m", key="sekrit"):
    return ModelSpec(name=f"p/{model}", model=model, base_url=url, api_key=key, headers={"X-Team": "a"}, key_from="P_KEY")


def test_an_endpoint_that_lists_the_model_is_fine():
    with FakeModelServer("m", "n") as fake:
        assert ask(spec(fake.url)) == Answer(True, f"{fake.url} answers and lists 2 models", models=(Listed("m"), Listed("n")))
    assert (fake.heads[0]["Authorization"], fake.heads[0]["X-Team"]) == ("Bearer sekrit", "a")


def test_a_model_that_is_not_listed_is_said():
    with FakeModelServer("n") as fake:
        answer = ask(spec(fake.url))
    assert (answer.ok, answer.hint) == (False, "m is not among them; the name has to be as the endpoint knows it")


def test_a_refused_key_names_where_it_came_from_and_is_not_shown():
    with FakeModelServer(status=401, body=b'{"error": {"message": "Incorrect API key provided: sekrit"}}') as fake:
        answer = ask(spec(fake.url))
    assert (answer.ok, answer.hint, "Incorrect API key" in answer.detail) == (False, "the key comes from P_KEY", True)
    assert "sekrit" not in repr(answer)


@pytest.mark.parametrize(
    ("status", "body", "ok", "hint"),
    [(404, b"{}", True, "/v1"), (200, b"<html>", False, "/v1"), (500, b"", False, ""), (302, b"", False, "")],
)
def test_what_else_may_come_is_told_apart(status, body, ok, hint):
    with FakeModelServer(status=status, body=body) as fake:
        answer = ask(spec(fake.url))
    assert (answer.ok, hint in answer.hint) == (ok, True)


def test_nobody_there_is_a_sentence_without_the_password():
    with FakeModelServer() as fake:
        pass
    answer = ask(spec(f"http://me:sekrit@{fake.host}/v1"))
    assert (answer.ok, answer.hint) == (False, "is the server started?")
    assert answer.detail.startswith(f"{fake.url} cannot be reached")
    assert "sekrit" not in repr(answer)


def test_the_proxy_of_the_environment_is_used_and_no_proxy_is_heeded(monkeypatch):
    with FakeModelServer("m") as proxy, FakeModelServer("m") as fake:
        monkeypatch.setenv("HTTP_PROXY", f"http://{proxy.host}")
        assert ask(spec("http://far.example/v1")).ok
        assert proxy.lines == ["GET http://far.example/v1/models HTTP/1.1"]
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert ask(spec(fake.url)).ok
    assert (len(proxy.lines), fake.lines) == (1, ["GET /v1/models HTTP/1.1"])


def test_a_local_server_behind_a_proxy_is_hinted_at(monkeypatch):
    with FakeModelServer() as gone:
        pass
    monkeypatch.setenv("HTTP_PROXY", f"http://{gone.host}")
    assert "NO_PROXY=localhost" in ask(spec("http://127.0.0.1:9/v1")).hint


def test_proxies_are_told_without_passwords():
    env = {"https_proxy": "http://me:sekrit@proxy:1", "HTTPS_PROXY": "http://other", "NO_PROXY": "a,b"}
    assert proxies_in(env) == {"HTTPS_PROXY": "http://proxy:1", "NO_PROXY": "a,b"}


def test_certificates_that_are_missing_or_named_for_other_programs_are_said(tmp_path):
    file = tmp_path / "ca.pem"
    assert certificates_in({"SSL_CERT_FILE": str(file)}) == ({"SSL_CERT_FILE": str(file)}, f"SSL_CERT_FILE: there is no {file}")
    file.write_text("")
    assert certificates_in({"SSL_CERT_FILE": str(file)}) == ({"SSL_CERT_FILE": str(file)}, "")
    assert certificates_in({"REQUESTS_CA_BUNDLE": "/x"}) == ({}, "REQUESTS_CA_BUNDLE is not read here: set SSL_CERT_FILE=/x")
