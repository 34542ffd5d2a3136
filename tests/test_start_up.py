import subprocess
import sys

import pytest

HEAVY = {"textual", "prompt_toolkit", "openai", "rich"}


def loaded(*words):
    """The top-level names that a fresh interpreter loads."""
    done = subprocess.run([sys.executable, "-X", "importtime", *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-500:]
    return {line.rpartition("|")[2].strip().split(".")[0] for line in done.stderr.splitlines() if line.startswith("import time:")}


def test_law_13_the_runtime_loads_no_screen_and_no_sdk():
    modules = "agentcli.runtime.conversation, agentcli.runtime.assemble, agentcli.runtime.catalogue, agentcli.runtime.command"
    assert loaded("-c", f"import {modules}") & HEAVY == set()


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["run", "--help"], ["chat", "--help"]])
def test_version_and_help_load_argparse_at_most(words):
    assert loaded("-m", "agentcli", *words) & (HEAVY | {"pydantic", "pydantic_core", "asyncio"}) == set()


def test_the_package_itself_loads_nothing():
    bare = loaded("-c", "pass")
    assert loaded("-c", "import agentcli") - bare == {"agentcli"}


def test_run_loads_no_screen():
    assert loaded("-c", "import agentcli.frontend.headless.stream, agentcli.cli.run") & HEAVY == set()
