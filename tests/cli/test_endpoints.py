import json

import pytest

from agentcli.cli.main import main
from tests.fakes.model_server import FakeModelServer


@pytest.fixture(autouse=True)
def bare(place, monkeypatch):
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    (place / "config").mkdir()
    return place


def configured(place, text):
    (place / "config" / "config.toml").write_text(text)


def rows(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def script(place, name, *turns):
    file = place / f"{name}.json"
    file.write_text(json.dumps({"turns": turns}))
    return f"script:{file}"


def test_models_lists_what_a_local_server_has(place, capsys):
    with FakeModelServer({"id": "qwen\x1b[2J", "max_model_len": 32_768}) as fake:
        configured(place, f'[providers.here]\nbase_url = "{fake.url}"\n')
        assert main(["models"]) == 0
        shown = capsys.readouterr().out
        assert main(["models", "--json"]) == 0
    row = next(row for row in rows(capsys) if row["provider"] == "here" and not row["any_model"])
    assert row == {
        "name": "here/qwen\x1b[2J",
        "api": "chat",
        "endpoint": fake.url,
        "current": False,
        "fault": None,
        "context_size": 32_768,
        "provider": "here",
        "any_model": False,
    }
    assert "32,768 tokens" in shown
    assert "\x1b" not in shown


def test_doctor_asks_the_configured_endpoint_with_its_key_and_shows_no_key(place, capsys, monkeypatch):
    with FakeModelServer("m") as fake:
        configured(place, f'model = "p/m"\n[providers.p]\nbase_url = "{fake.url}//"\napi_key_command = "echo sekrit"\n')
        assert main(["doctor", "--json"]) == 0
        said = capsys.readouterr().out
    checks = {row["name"]: row for row in map(json.loads, said.splitlines())}
    assert checks["endpoint"] == {
        "name": "endpoint",
        "ok": True,
        "detail": f"{fake.url} answers and lists 1 model",
        "hint": "",
    }
    assert fake.heads[-1].get("Authorization", fake.heads[0].get("Authorization")) == "Bearer sekrit"
    assert "sekrit" not in said.replace("echo sekrit", "")


def test_doctor_says_what_to_do_about_an_endpoint_that_is_not_there(place, capsys, monkeypatch):
    with FakeModelServer() as gone:
        pass
    monkeypatch.setenv("OPENAI_BASE_URL", gone.url)
    monkeypatch.setenv("OPENAI_MODEL", "m")
    monkeypatch.setenv("HTTPS_PROXY", "http://me:sekrit@proxy.example:3128")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert f"{gone.url} cannot be reached" in said
    assert "HTTPS_PROXY=http://proxy.example:3128, NO_PROXY=127.0.0.1" in said
    assert "sekrit" not in said


def test_run_goes_on_with_the_fallback_and_says_so_on_stderr(place, capfd):
    first, second = script(place, "a", [{"error": "auth"}]), script(place, "b", [{"text": "from the second"}])
    configured(place, f'fallback = ["nowhere/x", "{second}"]\n[providers.nowhere]\napi_key_env = "NOBODY_SET"\n')
    assert main(["run", "--model", first, "go"]) == 0
    said = capfd.readouterr()
    assert said.out == "from the second\n"
    assert said.err.count("\n") == 1
    assert "refused the key" in said.err
