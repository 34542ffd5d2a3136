import pytest

from agentcli.config.settings import Provider, Settings
from agentcli.runtime import models
from agentcli.runtime.local import Listed, Place, Server
from agentcli.runtime.models import ModelRow, PresetRow, all_model_rows, found_model_rows, local_rows, model_rows, preset_rows
from tests.fakes.model_server import FakeModelServer


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTCLI_CONFIG_DIR", str(tmp_path))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "AGENTCLI_MODEL", "AGENTCLI_API", "GROQ_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def by_name(rows):
    return {row.name: row for row in rows}


def test_what_is_configured_is_listed_without_asking_anybody(place, monkeypatch):
    with FakeModelServer("other") as fake:
        (place / "config.toml").write_text(
            f"""
            model = "p/a"
            fallback = ["q/b"]
            [providers.q]
            base_url = "http://q/v1"
            api_key_env = "Q_KEY"
            [providers.p]
            base_url = "{fake.url}/"
            models = [{{ name = "a", context_size = 8000 }}, "c"]
            """
        )
        rows = by_name(model_rows())
    assert fake.lines == []
    assert rows == {
        "p/a": ModelRow("p/a", "chat", fake.url, True, None, 8_000, "p"),
        "p/c": ModelRow("p/c", "chat", fake.url, False, None, None, "p"),
        "q/b": ModelRow("q/b", "", "", False, "providers.q.api_key_env: the variable Q_KEY is not set"),
        "demo": ModelRow("demo", "chat", "here", False),
    }


def test_servers_of_this_machine_and_presets_follow(place, monkeypatch):
    monkeypatch.setenv("GROQ_API_KEY", "sekrit")
    monkeypatch.setattr("agentcli.runtime.local.PRESETS", {})
    with FakeModelServer("new\x1b[2J", {"id": "big", "max_model_len": 32_768}) as fake:
        (place / "config.toml").write_text(f'[providers.here]\nbase_url = "{fake.url}"\n')
        rows = all_model_rows()
    assert by_name(rows)["here/big"] == ModelRow("here/big", "chat", fake.url, False, None, 32_768, "here")
    keyed = [row for row in rows if row.any_model]
    assert (keyed[0].name, keyed[0].fault) == ("groq/NAME", None)
    assert by_name(rows)["xai/NAME"].fault == "xai: the variable XAI_API_KEY is not set"
    assert "sekrit" not in repr(rows)


def test_a_local_model_whose_name_would_go_to_the_gateway_says_so(monkeypatch):
    server = Server(Place("ollama", "Ollama", "http://127.0.0.1:11434/v1"), (Listed("qwen3"),))
    assert [row.fault for row in local_rows(Settings(), server)] == [None]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway/v1")
    (row,) = local_rows(Settings(), server)
    assert (row.name, "[providers.ollama]" in row.fault) == ("ollama/qwen3", True)


def test_a_local_server_that_wants_a_key_is_usable_with_one():
    server = Server(Place("here", "here", "http://localhost:1/v1"), (), "it wants a key")
    bare = Settings(providers={"here": Provider(base_url="http://localhost:1/v1")})
    keyed = Settings(providers={"here": Provider(base_url="http://localhost:1/v1", api_key_env="KEY")})
    assert [row.fault for row in (*local_rows(bare, server), *local_rows(keyed, server))] == ["it wants a key", None]


def test_the_keys_and_passwords_of_an_address_are_not_listed(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:sekrit@gateway/v1")
    monkeypatch.setenv("OPENAI_MODEL", "m")
    assert models.model_rows()[0] == ModelRow("m", "chat", "http://gateway/v1", True)


async def test_a_screen_is_given_the_models_of_local_servers_as_they_answer(place, monkeypatch):
    monkeypatch.setattr("agentcli.runtime.local.PRESETS", {})
    with FakeModelServer("a", "b") as fake:
        (place / "config.toml").write_text(f'[providers.here]\nbase_url = "{fake.url}"\n')
        assert [row.name async for row in found_model_rows()] == ["here/a", "here/b"]


def test_the_presets_for_a_key_are_told_as_data(monkeypatch):
    monkeypatch.setenv("GROQ_API_KEY", "sekrit")
    rows = {row.name: row for row in preset_rows()}
    groq = PresetRow("groq", "Groq", "https://api.groq.com/openai/v1", "chat", "GROQ_API_KEY", True)
    assert (rows["groq"], rows["openai"].api, "ollama" in rows) == (groq, "responses", False)
