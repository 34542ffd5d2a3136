import pytest

from agentcli.frontend.tui.screens.confirm import Confirm
from agentcli.ledger import event as ev
from agentcli.ledger.rule import PermissionMode
from tests.fakes.screen_conversation import (
    REPLY,
    FakeConversation,
    asks,
    call,
    end,
    question,
    result,
    start,
    text,
    thinking,
    user,
)
from tests.frontend.tui.looks import chat, until, until_shown

DIFF = """--- a/src/app.py
+++ b/src/app.py
@@ -9,6 +9,6 @@
 import os

 def address() -> str:
-    return os.environ["DB"]
+    return config.database.address

 # the end
"""
MARKDOWN = """# What I found

The address is `db.internal:5432`, **not** the one in [the docs](https://docs.test/db).

- one item
- another
  - below it

```python
def address() -> str:
    # from the settings
    return f"{host}:{5432}"
```

| name | value |
|---|---|
| pool | 8 |

> Said by the README.
"""
WORK = [
    start(),
    *thinking("The address must stand in the settings, so I read them first."),
    *call("Read", '{"file_path": "config.toml"}'),
    *result("Read", "[database]\npool = 8\n", summary="12 lines"),
    *call("Grep", '{"pattern": "environ", "path": "src"}', "c2"),
    *result("Grep", "src/app.py:12\n", "c2", summary="1 hit"),
    *text("The address is read in `src/app.py`.\n"),
    *call("Edit", '{"file_path": "src/app.py"}', "c3"),
    *result("Edit", "done", "c3", summary="+1 -1", diff=DIFF),
    *call("Bash", '{"command": "pytest -q"}', "c4"),
    *result("Bash", "E   assert 1 == 2\n1 failed\n", "c4", state="error", summary="exit 1"),
    *call("Bash", '{"command": "make deploy"}', "c5"),
    *result("Bash", "Interrupted; its effects are unknown.", "c5", state="interrupted"),
]
READ = question(
    "Read",
    '{"file_path": "config.toml"}',
    {"kind": "text", "target": "/home/me/shop/config.toml", "body": "all lines"},
    rules=["Read(**)"],
)
EDIT = question(
    "Edit",
    '{"file_path": "src/app.py"}',
    {"kind": "diff", "target": "/home/me/shop/src/app.py", "body": DIFF, "risks": ["The file has uncommitted changes of yours."]},
    "c2",
    ["Edit(src/**)"],
)
BASH = question(
    "Bash",
    '{"command": "pytest -q && git push"}',
    {
        "kind": "command",
        "target": "pytest",
        "body": "pytest -q && git push origin main",
        "risks": ["It sends commits to a server."],
        "notes": ["Allowed before the restart, not started."],
    },
    "c3",
    ["Bash(pytest:*)"],
)
SEVERAL = [start(), *asks(READ, EDIT, BASH)]
MANY = [
    question("Bash", f'{{"command": "echo {n}"}}', {"kind": "command", "target": "echo", "body": f"echo {n}"}, f"m{n}")
    for n in range(30)
]
LINES = "\n".join(f"echo step-{n}" for n in range(40))
HIDDEN = question(
    "Bash", "{}", {"kind": "command", "target": "echo", "body": "echo ok" + "\n" * 300 + LINES + "\ntouch hidden_tail"}
)
FAILING = question(
    "Edit",
    '{"file_path": "src/app.py", "old_string": "pool = 8", "new_string": "pool = 21"}',
    {
        "kind": "text",
        "target": "Edit",
        "body": "{}",
        "notes": ["It can no longer work: src/app.py does not exist.", "Allowed before the restart, not started."],
    },
)
GREP = question(
    "Grep",
    '{"pattern": "environ", "path": "src"}',
    {"kind": "text", "target": "/home/me/shop/src", "body": "pattern: environ\npath: src"},
    rules=["Read(**)"],
)


async def sent(pilot, shown):
    await pilot.press("g", "o", "enter")
    await until_shown(pilot, shown)
    await pilot.pause()


def after(shown, *keys):
    """Send a message, wait for a text, press further keys."""

    async def run(pilot):
        await sent(pilot, shown)
        await pilot.press(*keys)
        await pilot.pause(0.1)

    return run


def asked(*keys):
    """Wait for the confirmation and its pause, then press keys."""

    async def run(pilot):
        await pilot.press("g", "o", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))
        for key in keys:
            await pilot.pause(0.5)
            await pilot.press(key)
        await pilot.pause(0.2)

    return run


async def at_rest(pilot):
    await pilot.pause(0.2)


OVER = [*text("Over.", "t9"), end()]
FAILED = end(ev.ReplyEndReason.ERROR, error=ev.ErrorInfo(kind="auth", message="Incorrect API key provided: sk-12", status=401))
NO_ROOM = "the session could not be saved to /data/x.jsonl: No space left on device; make room on that disk"
UNSAVED = end(ev.ReplyEndReason.ERROR, error=ev.ErrorInfo(kind="internal", message=NO_ROOM))
CUT = {
    "unfinished": True,
    "history": [user("Tell me the address"), *WORK],
    "notices": ("The last line of the log was torn; it is left out.",),
}
BUSY = ev.ErrorInfo(kind="rate_limit", message="Rate limit reached for requests", status=429)


def retry(attempt, delay_s, name="gpt-5.1"):
    return ev.ModelCallRetryEvent(reply_id=REPLY, attempt=attempt, delay_s=delay_s, error=BUSY, model_name=name)


WAITS = [start(), ev.ModelCallStartEvent(reply_id=REPLY, model_name="gpt-5.1"), retry(2, 0.4)]
SPENT = {"input_tokens": 21_300, "output_tokens": 900, "context_tokens": 12_000, "cost": 0.1234}
DARK, LIGHT = "agentcli-dark", "agentcli-light"
TYPICAL = (80, 24)

# name, theme, size, what the conversation plays, how it stands, what is done
STATES = [
    ("empty", DARK, TYPICAL, [], {"session_id": ""}, at_rest),
    ("empty-demo", DARK, TYPICAL, [], {"session_id": "", "model": "demo", "demo": True}, at_rest),
    ("streaming", DARK, (80, 30), [start(), *text(MARKDOWN, open_=True), 60], {}, after("Said by")),
    ("streaming", LIGHT, (80, 30), [start(), *text(MARKDOWN, open_=True), 60], {}, after("Said by")),
    ("thinking", DARK, TYPICAL, [start(), *thinking("hm", open_=True), 60], {}, after("Thinking")),
    ("tool-rows", DARK, (90, 30), [*WORK, *OVER], SPENT, after("Over.")),
    ("tool-rows", LIGHT, (90, 30), [*WORK, *OVER], SPENT, after("Over.")),
    ("details", DARK, (90, 46), [*WORK, *OVER], {}, after("Over.", "ctrl+o")),
    ("narrow", DARK, (40, 24), [*WORK, *OVER], SPENT, after("Over.")),
    ("explore", DARK, (90, 24), [*WORK, *OVER], {"mode": PermissionMode.EXPLORE}, after("Over.")),
    ("explore", LIGHT, (90, 24), [*WORK, *OVER], {"mode": PermissionMode.EXPLORE}, after("Over.")),
    ("error", DARK, TYPICAL, [start(), *text("Partial."), FAILED], {}, after("sk-12")),
    ("queued", DARK, TYPICAL, [start(), *text("Working on it."), 60], {}, after("Working", "s", "enter", "q", "tab")),
    ("resumed", DARK, (90, 30), [], CUT, at_rest),
    ("confirm-read", DARK, TYPICAL, [start(), *asks(READ)], {}, asked()),
    ("confirm-rule", DARK, TYPICAL, [start(), *asks(READ)], {}, asked("a")),
    ("confirm-reason", DARK, TYPICAL, [start(), *asks(READ)], {}, asked("tab")),
    ("confirm-arguments", DARK, TYPICAL, [start(), *asks(BASH)], {}, asked("e")),
    ("confirm-edit", DARK, TYPICAL, [start(), *asks(EDIT)], {}, asked()),
    ("confirm-edit", LIGHT, TYPICAL, [start(), *asks(EDIT)], {}, asked()),
    ("confirm-bash", DARK, TYPICAL, [start(), *asks(BASH)], {}, asked()),
    ("confirm-several", DARK, TYPICAL, SEVERAL, {}, asked("down", "up")),
    ("confirm-running", DARK, TYPICAL, SEVERAL, {"then": [60]}, asked("y", "down")),
    ("confirm-many", DARK, (80, 12), [start(), *asks(*MANY)], {}, asked(*["down"] * 3)),
    ("confirm-hidden", DARK, TYPICAL, [start(), *asks(HIDDEN)], {}, asked("y")),
    ("confirm-broken", DARK, TYPICAL, [start(), *asks(FAILING)], {}, asked()),
    ("confirm-grep", DARK, TYPICAL, [start(), *asks(GREP)], {}, asked()),
    ("confirm-small", DARK, (20, 6), [start(), *asks(BASH)], {}, asked()),
    ("confirm-too-small", DARK, (20, 3), [start(), *asks(BASH)], {}, asked()),
    ("limit", DARK, TYPICAL, [start(), *text("So far."), end(ev.ReplyEndReason.EXCEED_MAX_ITERS)], {}, after("goes on")),
    ("unsaved", DARK, TYPICAL, [start(), *text("Partial."), UNSAVED], {}, after("make room")),
    ("confirm-80x12", DARK, (80, 12), [start(), *asks(EDIT)], {}, asked()),
    ("fallback", LIGHT, TYPICAL, [*WAITS, retry(3, 0, "glm-4"), *text("Here I am."), *OVER], {}, after("Over.")),
    ("confirm-40", DARK, (40, 20), [start(), *asks(EDIT)], {}, asked()),
]


@pytest.mark.parametrize(
    ("name", "theme", "size", "script", "options", "run"), STATES, ids=[f"{state[0]}-{state[1]}" for state in STATES]
)
def test_the_screen_looks_as_it_did(snap_compare, name, theme, size, script, options, run):
    options = dict(options)
    conversation = FakeConversation(list(script), options.pop("then", []), **options)
    assert snap_compare(chat(conversation, theme), run_before=run, terminal_size=size)
