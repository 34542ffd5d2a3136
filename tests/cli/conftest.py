import pytest


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A project of its own, with no settings and no sessions."""
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AGENTCLI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENTCLI_DATA_DIR", str(tmp_path / "data"))
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "AGENTCLI_MODEL", "AGENTCLI_API", "AGENTCLI_MODE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path
