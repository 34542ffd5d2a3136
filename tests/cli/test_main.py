import pytest

from agentcli.cli import main as module
from agentcli.cli.main import main
from agentcli.errors import ConfigError, LogError, ModelError, SessionError, SessionHeld, StaleAnswer, ToolError, UsageError
from agentcli.version import __version__


def test_version_is_one_line(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"agentcli {__version__}\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("no"), 2),
        (ConfigError("no"), 2),
        (SessionError("no"), 2),
        (SessionHeld("id", "process 3"), 2),
        (StaleAnswer("no"), 2),
        (ModelError("auth", "no"), 3),
        (LogError("no"), 1),
        (ToolError("no"), 1),
        (RuntimeError("no\x1b[2J\nmore"), 1),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(monkeypatch, capsys, error, code):
    def fail(chosen):
        raise error

    monkeypatch.setattr(module, "_call", fail)
    monkeypatch.delenv("AGENTCLI_DEBUG", raising=False)
    assert main(["themes"]) == code
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n"), "\x1b" in said.err) == ("", 1, False)


def test_ctrl_c_is_130(monkeypatch):
    def fail(chosen):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_call", fail)
    assert main(["themes"]) == 130
