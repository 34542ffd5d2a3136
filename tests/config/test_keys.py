import os
import sys
import time

import pytest

from agentcli.config.endpoint import resolve_model
from agentcli.config.keys import KeySource
from agentcli.config.load import load_settings
from agentcli.config.settings import Provider, Settings
from agentcli.errors import ConfigError

ENV = dict(os.environ)


def printing(code):
    return KeySource("providers.p.api_key_command", "p", command=(sys.executable, "-c", code))


def test_a_command_prints_the_key():
    assert printing("import os; print(' ' + os.environ['WORD'] + ' ')").get({**ENV, "WORD": "sekrit"}) == "sekrit"


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        ("import sys; print('sekrit'); sys.exit(3)", "ended with code 3"),
        ("import sys; sys.stderr.write('sekrit'); sys.exit(1)", "ended with code 1"),
        ("", "printed no key"),
        ("print('sekrit'); print('more')", "printed no key"),
        ("print('sekrit' * 9000)", "printed no key"),
        ("print(input())", "ended with code 1"),
    ],
)
def test_a_command_that_prints_no_key_is_named_and_nothing_that_it_says_is_told(code, fault):
    with pytest.raises(ConfigError, match=fault) as caught:
        printing(code).get(ENV)
    assert str(caught.value).startswith(f"providers.p.api_key_command: {sys.executable}")
    assert "sekrit" not in str(caught.value)


def test_a_command_that_hangs_is_stopped_with_its_children():
    began = time.monotonic()
    source = KeySource("p", "p", command=("sh", "-c", "sleep 30 & sleep 30"))
    with pytest.raises(ConfigError, match="gave no key within"):
        source.get(ENV, patience=0.2)
    assert time.monotonic() - began < 5


def test_without_getting_the_key_a_fault_is_seen():
    assert KeySource("p", "p", variables=("A", "B")).fault({"B": "x"}) is None
    assert KeySource("p", "p", variables=("A", "B")).fault({"A": ""}) == "p: the variable A or B is not set"
    assert KeySource("p", "p", command=("no-such-program",)).fault(ENV) == "p: there is no program no-such-program"


FAKE_KEYRING = """
def get_password(service, user):
    return {("work", "p"): "first", ("work", "me"): "second"}.get((service, user))
"""
FAKE_ERRORS = "class KeyringError(Exception): pass"


@pytest.fixture
def keyring(tmp_path, monkeypatch):
    """A package of that name, as somebody may have installed it."""
    (tmp_path / "keyring").mkdir()
    (tmp_path / "keyring" / "__init__.py").write_text(FAKE_KEYRING)
    (tmp_path / "keyring" / "errors.py").write_text(FAKE_ERRORS)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    for name in ("keyring", "keyring.errors"):
        sys.modules.pop(name, None)


def test_the_keyring_is_asked_for_the_provider_or_the_named_user(keyring):
    assert KeySource("place", "p", keyring="work").get({}) == "first"
    assert KeySource("place", "p", keyring="work/me").get({}) == "second"
    with pytest.raises(ConfigError, match="place: the keyring has no entry work for other"):
        KeySource("place", "other", keyring="work").get({})


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ('api_key_env = "sk-sekrit"', "no name of a variable"),
        ('api_key_env = "A"\napi_key_command = "b"', "one of api_key_env, api_key_command"),
        ("api_key_command = []", "api_key_command"),
        ('base_url = "ftp://me:sekrit@host"', "providers.p.base_url: 'ftp://host' is no address"),
    ],
)
def test_what_is_wrong_about_a_key_is_said_without_it(tmp_path, monkeypatch, lines, fault):
    monkeypatch.setenv("AGENTCLI_CONFIG_DIR", str(tmp_path))
    (tmp_path / "config.toml").write_text(f"[providers.p]\n{lines}\n")
    with pytest.raises(ConfigError, match=fault) as caught:
        load_settings(env={})
    assert "sekrit" not in str(caught.value)


def test_a_command_line_is_split_as_a_shell_would_and_run_by_none(tmp_path):
    assert Provider(api_key_command="pass show 'my key' ; ls").api_key_command == ("pass", "show", "my key", ";", "ls")


def test_looking_at_a_model_runs_no_command(tmp_path):
    ran = tmp_path / "ran"
    command = ("sh", "-c", f"touch {ran}; echo k")
    settings = Settings(providers={"p": Provider(base_url="http://h/v1", api_key_command=command)})
    assert resolve_model(settings, "p/m", None, ENV, keys=False).api_key is None
    assert not ran.exists()
    assert resolve_model(settings, "p/m", None, ENV).api_key == "k"
    assert ran.exists()
