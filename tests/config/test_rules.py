import stat
import threading

import pytest

from agentcli.config.rules import RulesFile
from agentcli.errors import ConfigError
from agentcli.ledger.rule import PermissionBehavior, PermissionRule


def rule(text, source="session"):
    return PermissionRule.parse(text, PermissionBehavior.ALLOW, source)


@pytest.fixture
def rules(tmp_path):
    return RulesFile(tmp_path / "config")


def test_no_file_holds_no_rules(rules):
    assert rules.load("/p") == []


def test_rules_of_a_project_hold_there_and_those_of_everywhere_hold_here_too(rules):
    rules.add([rule("Read(**)")], "/p")
    rules.add([rule("Bash(git status:*)")], None)
    assert rules.load("/p") == [rule("Read(**)", "project"), rule("Bash(git status:*)", "everywhere")]
    assert rules.load("/q") == [rule("Bash(git status:*)", "everywhere")]


def test_a_rule_is_kept_once(rules):
    rules.add([rule("Read(**)"), rule("Read(**)")], "/p")
    rules.add([rule("Read(**)")], "/p")
    assert rules.load("/p") == [rule("Read(**)", "project")]


def test_any_text_survives(rules):
    texts = ["Bash(printf \"%s\\n\" '\u00e9\U0001f600\x7f\t\x01')", "Read(a]b.txt)"]
    root = '/p "q"\n#\U0001f600'
    rules.add([rule(text) for text in texts], root)
    assert [kept.text for kept in rules.load(root)] == texts


def test_a_removed_rule_is_gone(rules):
    rules.add([rule("Read(**)"), rule("Bash(ls)")], "/p")
    assert rules.remove("Read(**)", "/p")
    assert not rules.remove("Read(**)", "/p")
    assert not rules.remove("Bash(ls)", None)
    assert rules.load("/p") == [rule("Bash(ls)", "project")]


def test_only_allow_rules_are_kept(rules):
    with pytest.raises(ConfigError, match="allow"):
        rules.add([PermissionRule.parse("Bash", PermissionBehavior.DENY)], None)


def test_file_and_folder_are_private(rules):
    rules.add([rule("Read(**)")], "/p")
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (rules.file, rules.config_dir)]
    assert modes == [0o600, 0o700]
    assert sorted(path.name for path in rules.config_dir.iterdir()) == ["rules.lock", "rules.toml"]


@pytest.mark.parametrize(
    "text", ["everywhere = [", "everywhere = 3", 'everywhere = ["Bash(x"]', "other = 1", '[projects]\n"/p" = "x"']
)
def test_a_broken_file_is_named_and_not_overwritten(rules, text):
    rules.config_dir.mkdir()
    rules.file.write_text(text)
    for use in (lambda: rules.load("/p"), lambda: rules.add([rule("Read(**)")], None), lambda: rules.remove("Read(**)", None)):
        with pytest.raises(ConfigError, match=r"rules\.toml"):
            use()
    assert rules.file.read_text() == text


def test_two_writers_lose_nothing_of_each_other(rules):
    def add(name):
        for number in range(10):
            rules.add([rule(f"Bash({name}{number})")], None)

    writers = [threading.Thread(target=add, args=(name,)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert len(rules.load("/p")) == 20
