import pytest

from agentcli.workspace.environment import quiet_environment

USUAL = {"HOME": "/h", "LANG": "C.UTF-8", "LC_TIME": "C", "VIRTUAL_ENV": "/v", "CARGO_HOME": "/c", "https_proxy": "http://p:1"}


def environment(*passed, hidden=(), **base):
    found = quiet_environment({"PATH": "/bin", **base}, "c1", hidden, (), passed)
    return {name: value for name, value in found.items() if name in base}


def test_what_builds_and_languages_need_is_passed():
    assert environment(**USUAL) == USUAL


@pytest.mark.parametrize(
    "name",
    ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DATABASE_URL", "MY_SETTING", "SSH_AUTH_SOCK", "NPM_TOKEN", "CARGO_REGISTRY_TOKEN",
     "OPENAI_API_KEY", "OPENAI_BASE_URL", "AGENTCLI_DATA_DIR", "LD_PRELOAD", "BASH_ENV", "BASH_FUNC_ls%%", "GIT_DIR"],
)  # fmt: skip
def test_secrets_and_what_nobody_has_named_are_not(name):
    assert environment(**{name: "x"}) == {}


def test_names_of_the_settings_are_passed_too_and_may_be_secret():
    found = environment("MY_*", "GITHUB_TOKEN", MY_SETTING="1", GITHUB_TOKEN="2", OTHER="3")
    assert found == {"MY_SETTING": "1", "GITHUB_TOKEN": "2"}


@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "AGENTCLI_X", "LD_PRELOAD", "BASH_FUNC_ls%%", "HIDDEN"])
def test_some_are_never_passed(name):
    assert environment("*", name, hidden={"HIDDEN"}, **{name: "x"}) == {}


def test_the_folders_of_a_distrusted_place_are_not_searched_for_programs():
    assert quiet_environment({"PATH": "/w/bin:/bin"}, "c", (), ("/w",))["PATH"] == "/bin"
