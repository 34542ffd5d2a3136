import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from agentcli.workspace.environment import RUN_MARK
from tests.fakes.agent import call, until


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="finds processes in /proc")
async def test_what_still_runs_of_a_killed_session_is_a_notice_of_the_next_resume(home):
    script = home.script([call("c1", "Bash", command="touch made.txt; sleep 60")])
    words = ["run", "go", "--mode", "bypass", "--model", script]
    agent = subprocess.Popen([sys.executable, "-m", "agentcli", *words], start_new_session=True)
    folder = home.store.folder
    try:
        await until(lambda: any(b'"type":"process"' in path.read_bytes() for path in folder.glob("*.jsonl")))
        log = next(folder.glob("*.jsonl"))
        records = [json.loads(line) for line in log.read_bytes().splitlines()]
        mark = next(record["mark"] for record in records if record["type"] == "process")
        environment = {"PATH": os.environ["PATH"], RUN_MARK: mark}
        escaped = subprocess.Popen([shutil.which("sleep"), "61"], env=environment)
    finally:
        os.kill(agent.pid, signal.SIGKILL)
        agent.wait()
    session = next(folder.glob("*.jsonl")).stem
    try:
        conversation = await home.open([{"text": "over"}], resume=session)
        named = f"process {escaped.pid} ({shutil.which('sleep')} 61)"
        unknown, left = conversation.status.notices
        assert "effects unknown" in unknown
        assert left == f"A command of this session still runs, and nobody reads it: {named}."
        await conversation.close()
    finally:
        escaped.kill()
        escaped.wait()
    again = await home.open([{"text": "over"}], resume=session)
    assert again.status.notices == ()
    await again.close()
