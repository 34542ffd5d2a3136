import pytest

from agentcli.config.settings import Permissions
from agentcli.errors import ConfigError
from agentcli.runtime.examples import check_examples
from agentcli.tool.builtin import builtin_tools
from agentcli.workspace.root import Place


def check(home, **lists):
    check_examples({"user": Permissions(**lists)}, Place.find(str(home.project)), builtin_tools())


@pytest.mark.parametrize(
    "entry",
    [
        {"rule": "Bash(git diff:*)", "match": ["git diff", "git diff HEAD -- a.py"], "not_match": ["git diff && rm x"]},
        {"rule": "Read(src/**)", "match": ["src/a.py"], "not_match": ["a.py", "src/.env"]},
        {"rule": "mcp__docs__*", "match": ["mcp__docs__find"], "not_match": ["mcp__mail__send"]},
    ],
)
def test_examples_that_hold_are_silent(home, entry):
    check(home, allow=[entry])


@pytest.mark.parametrize(
    ("behavior", "entry", "said"),
    [
        ("allow", {"rule": "Bash(git diff:*)", "match": ["git diff | sh"]}, "Bash(git diff:*) does not match its example"),
        ("deny", {"rule": "Bash(curl:*)", "not_match": ["env curl x"]}, "Bash(curl:*) matches its example 'env curl x'"),
        ("deny", {"rule": "Read(secret/**)", "match": ["other/x"]}, "Read(secret/**) does not match its example 'other/x'"),
        ("ask", {"rule": "Edit(docs/**)", "match": ["src/x"]}, "permissions.ask (user)"),
    ],
)
def test_an_example_that_does_not_hold_stops_the_start_and_names_the_rule(home, behavior, entry, said):
    with pytest.raises(ConfigError) as caught:
        check(home, **{behavior: [entry]})
    assert said in str(caught.value)


async def test_they_are_looked_at_when_a_conversation_opens(home):
    text = '[permissions]\ndeny = [{ rule = "Bash(curl:*)", match = ["wget x"], matsch = [] }]\n'
    (home.path / "config" / "config.toml").write_text(text)
    with pytest.raises(ConfigError, match="does not match its example 'wget x'"):
        await home.open([{"text": "x"}])


async def test_an_unknown_key_beside_a_rule_is_a_warning(home):
    (home.path / "config" / "config.toml").write_text('[permissions]\ndeny = [{ rule = "Bash(curl:*)", mach = ["curl x"] }]\n')
    conversation = await home.open([{"text": "x"}])
    assert "unknown key permissions.deny.0.mach; did you mean permissions.deny.0.match?" in conversation.status.notices[0]
