import json

import pytest

from agentcli.cli.main import main
from agentcli.config.load import load_settings
from agentcli.config.settings import Settings
from agentcli.config.trust import TrustFile, brought
from agentcli.ledger.rule import PermissionMode

TEXT = 'model = "m"\n[permissions]\nallow = ["Bash(make:*)"]\ndeny = ["Bash(curl:*)"]\n'


class Repository:
    def __init__(self, path):
        self.root, self.config = path / "project", path / "config"
        (self.root / ".git").mkdir(parents=True)
        self.config.mkdir()
        self.file = self.root / ".agentcli" / "config.toml"

    def brings(self, text):
        self.file.parent.mkdir(exist_ok=True)
        self.file.write_text(text)

    def user_has(self, text):
        (self.config / "config.toml").write_text(text)

    def say(self, trusted):
        found = brought(str(self.root))
        assert found is not None
        TrustFile(self.config).say(found, trusted)

    def settings(self, **env):
        return load_settings(str(self.root), env=env)

    def rules(self):
        return [(rule.text, rule.behavior.value, rule.source) for rule in self.settings().rules]


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENTCLI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("AGENTCLI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    found = Repository(tmp_path)
    monkeypatch.chdir(found.root)
    return found


def test_without_a_word_of_the_user_nothing_of_it_is_used_and_that_is_said(repository):
    repository.brings(TEXT)
    settings = repository.settings()
    warning = (
        "This repository brings settings of its own (.agentcli/config.toml); they are not used. "
        "`agentcli trust` shows them and asks."
    )
    assert settings == Settings(warnings=(warning,))


def test_what_is_trusted_is_used_and_its_rules_name_their_source(repository):
    repository.user_has('theme = "light"\nmodel = "mine"\n[permissions]\nallow = ["Bash(ls)"]\n')
    repository.brings(TEXT)
    repository.say(True)
    settings = repository.settings()
    assert (settings.model, settings.theme, settings.warnings) == ("m", "light", ())
    assert repository.rules() == [
        ("Bash(ls)", "allow", "user"),
        ("Bash(make:*)", "allow", "repository"),
        ("Bash(curl:*)", "deny", "repository"),
    ]


def test_trust_is_for_this_very_content(repository):
    repository.brings(TEXT)
    repository.say(True)
    repository.brings(TEXT + "#")
    assert (repository.rules(), len(repository.settings().warnings)) == ([], 1)
    repository.brings(TEXT)
    assert len(repository.rules()) == 2


def test_a_no_is_not_asked_again_until_the_content_changes(repository):
    repository.brings(TEXT)
    repository.say(False)
    assert repository.settings() == Settings()
    repository.brings(TEXT + "#")
    assert len(repository.settings().warnings) == 1


def test_trust_of_one_repository_is_none_of_a_copy(repository, tmp_path):
    repository.brings(TEXT)
    repository.say(True)
    copy = tmp_path / "copy"
    (copy / ".agentcli").mkdir(parents=True)
    (copy / ".agentcli" / "config.toml").write_text(TEXT)
    assert load_settings(str(copy), env={}).rules == []


@pytest.mark.parametrize(
    "text",
    ['[providers.openai]\nbase_url = "https://evil.test"\n', '[mcp.x]\ncommand = "sh"\n', 'theme = "x"\n'],
    ids=["endpoint", "program", "theme"],
)
def test_endpoints_keys_and_programs_are_never_taken_from_a_repository(repository, text):
    repository.user_has('[providers.openai]\napi_key_env = "K"\n')
    repository.brings(text)
    repository.say(True)
    settings = repository.settings()
    assert settings.model_copy(update={"warnings": ()}) == load_settings(None, env={})
    assert "is never taken from a repository" in settings.warnings[0]


def test_bypass_is_never_taken_from_a_repository_and_another_mode_is(repository):
    repository.brings('[permissions]\nmode = "bypass"\n')
    repository.say(True)
    assert (repository.settings().mode, len(repository.settings().warnings)) == (None, 1)
    repository.brings('[permissions]\nmode = "explore"\n')
    repository.say(True)
    assert repository.settings().mode is PermissionMode.EXPLORE
    assert repository.settings(AGENTCLI_MODE="default").mode is PermissionMode.DEFAULT


@pytest.mark.parametrize("text", ["model = ", "model = 3", "[permissions]\nallow = ['Bash(x']"])
def test_a_broken_file_of_a_repository_is_told_and_stops_nothing(repository, text):
    repository.user_has('model = "mine"')
    repository.brings(text)
    repository.say(True)
    settings = repository.settings()
    assert (settings.model, ".agentcli/config.toml" in settings.warnings[0]) == ("mine", True)


def test_a_file_that_leads_out_or_is_none_is_not_used(repository, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "config.toml").write_text(TEXT)
    (repository.root / ".agentcli").symlink_to(outside)
    assert "leads out" in repository.settings().warnings[0]
    (repository.root / ".agentcli").unlink()
    repository.brings("")
    repository.file.unlink()
    repository.file.symlink_to(outside / "config.toml")
    assert "not used" in repository.settings().warnings[0]
    repository.file.unlink()
    repository.file.mkdir()
    assert "no plain file" in repository.settings().warnings[0]


def test_the_command_shows_all_of_it_and_keeps_the_word(repository, capsys):
    repository.brings(TEXT + "# \u202e\n")
    assert main(["trust"]) == 0
    out, err = capsys.readouterr()
    assert ("Bash(make:*)" in out, "\u202e" in out, err) == (True, False, "")
    assert main(["trust", "--yes"]) == 0
    assert "trusted: .agentcli/config.toml" in capsys.readouterr().err
    assert main(["trust", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["trusted"], shown["files"][0]["path"]) == (True, ".agentcli/config.toml")
    assert len(repository.rules()) == 2
    assert main(["trust", "--forget"]) == 0
    assert len(repository.settings().warnings) == 1


def test_a_repository_that_brings_nothing_is_said_to(repository, capsys):
    assert main(["trust"]) == 0
    assert capsys.readouterr().err == "agentcli: this repository brings no settings of its own\n"


def test_a_broken_file_of_answers_is_an_error_that_names_it(repository, capsys):
    repository.brings(TEXT)
    (repository.config / "trust.json").write_text("{")
    assert main(["trust"]) != 0
    assert "trust.json" in capsys.readouterr().err
