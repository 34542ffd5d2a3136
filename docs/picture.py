"""Makes `docs/screen.svg`: the real program, on a repository of its own and a script instead of a model.

.venv/bin/python docs/picture.py
"""

import asyncio
import json
import os
import shutil
import subprocess
from pathlib import Path

CONFIG = 'title = "shop"\n\n[database]\naddress = "db.internal:5432"\npool = 8\n'
CODE = 'import os\n\n\ndef address() -> str:\n    return os.environ["DB"]\n'
NEW = "import config\n\n\ndef address() -> str:\n    return config.database.address\n"
TURNS = [
    [
        {"thinking": "The address stands in the settings. I read them before I touch the code."},
        {"text": "I look at the settings and at the code that uses them."},
        {"tool_call": {"id": "c1", "name": "Read", "input": {"file_path": "config.toml"}}},
        {"tool_call": {"id": "c2", "name": "Read", "input": {"file_path": "src/app.py"}}},
    ],
    [
        {"text": "The database address is `db.internal:5432`. The code takes it from the environment; I change that."},
        {"tool_call": {"id": "c3", "name": "Edit", "input": {"file_path": "src/app.py", "old_string": CODE, "new_string": NEW}}},
    ],
]


def repository(folder: Path) -> Path:
    """A small repository, and a configuration that allows reads in it."""
    project = folder / "shop"
    (project / "src").mkdir(parents=True)
    (project / "config.toml").write_text(CONFIG)
    (project / "src/app.py").write_text(CODE)
    subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True)
    (folder / "config").mkdir()
    (folder / "config/config.toml").write_text('[permissions]\nallow = ["Read(**)"]\n')
    (folder / "script.json").write_text(json.dumps({"turns": TURNS}))
    os.environ.update(AGENTCLI_DATA_DIR=str(folder / "data"), AGENTCLI_CONFIG_DIR=str(folder / "config"))
    return project


async def picture(folder: Path) -> str:
    """The screen at the question, as SVG."""
    from agentcli.frontend.tui.chat_app import ChatApp
    from agentcli.frontend.tui.screens.confirm import Confirm
    from agentcli.frontend.tui.themes import Wardrobe
    from agentcli.paths import themes_dirs
    from agentcli.runtime.assemble import Options, open_conversation
    from agentcli.view.theme import load_themes

    project = repository(folder)
    conversation = await open_conversation(Options(cwd=str(project), model=f"script:{folder / 'script.json'}"))
    app = ChatApp(
        conversation,
        Wardrobe(load_themes(reversed(themes_dirs())), None),
        "Use the database address of config.toml in src/app.py",
    )
    async with app.run_test(size=(100, 34)) as pilot:
        for _ in range(200):
            await pilot.pause(0.05)
            if isinstance(app.screen, Confirm):
                break
        await pilot.pause(0.5)
        svg = app.export_screenshot(title="agentcli chat")
    await conversation.close()
    return svg


def main() -> None:
    folder = Path("/tmp/demo")  # it stands in the picture
    shutil.rmtree(folder, ignore_errors=True)
    try:
        svg = asyncio.run(picture(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    Path(__file__).with_name("screen.svg").write_text(svg)


if __name__ == "__main__":
    main()
