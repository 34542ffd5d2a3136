import json

import pytest

from agentcli.ledger.message import UserMsg
from agentcli.runtime.assemble import Options, open_conversation
from agentcli.session.store import SessionStore


class Home:
    """A project and folders of its own, in which sessions can be made."""

    def __init__(self, path):
        self.path, self.project, self.data = path, path / "project", path / "data"
        self.store = SessionStore(self.data)

    def script(self, *turns):
        file = self.path / f"script-{len(list(self.path.glob('script-*')))}.json"
        file.write_text(json.dumps({"turns": turns}))
        return f"script:{file}"

    async def open(self, *turns, **options):
        return await open_conversation(Options(model=self.script(*turns), headless=True, **options))

    async def play(self, *turns, say="go", **options):
        """Play a reply to its end or to its first question; the session's id and the events."""
        conversation = await self.open(*turns, **options)
        events = [event async for event in conversation.stream(UserMsg(content=say))]
        session = conversation.status.session_id
        await conversation.close()
        return session, events

    def log(self, session):
        return self.store.folder / f"{session}.jsonl"

    def bytes(self):
        """Every file of the data folder, as it is."""
        return {str(path.relative_to(self.data)): path.read_bytes() for path in self.data.rglob("*") if path.is_file()}


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("data", "config", "project/.git"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL", "AGENTCLI_MODEL", "AGENTCLI_MODE", "AGENTCLI_API"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AGENTCLI_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("AGENTCLI_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path / "project")
    return Home(tmp_path)
