import pytest

from agentcli.frontend.tui.screens.form import Form
from agentcli.frontend.tui.screens.pick import PickScreen
from agentcli.runtime.models import preset_rows
from agentcli.runtime.probe import Answer
from tests.fakes.models import HERE, FakeModels, row
from tests.fakes.screen_conversation import FakeConversation
from tests.frontend.tui.looks import chat, until, write

SIZES = [(theme, size) for size in [(80, 24), (80, 12)] for theme in ("agentcli-dark", "agentcli-light")]
DEMO = {"demo": True, "model": "demo", "session_id": ""}
MODELS = FakeModels(
    row("gpt-5.1", api="responses", endpoint="https://api.openai.com/v1", current=True, context_size=400_000),
    row("work/[/b] \x1b[2J large", endpoint="https://gate.work.test/v1"),
    row("work/small", endpoint="https://gate.work.test/v1", fault="providers.work: the variable WORK_KEY is not set"),
    row("demo", endpoint="here"),
    found=[
        row("ollama/qwen3:4b", endpoint=HERE, context_size=40_960),
        row("vllm/NAME", endpoint="http://127.0.0.1:8000/v1", provider="vllm", any_model=True),
    ],
)


@pytest.fixture
def keys(monkeypatch):
    """One well-known endpoint has its key."""
    for preset in preset_rows():
        monkeypatch.delenv(preset.variable, raising=False)
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.setenv("DEEPSEEK_API_KEY", "k")


def commanded(command, *keys, shows=PickScreen):
    async def run(pilot):
        await pilot.pause(0.2)
        await write(pilot, command)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, PickScreen))
        await pilot.pause(0.1)
        await pilot.press(*keys)
        await until(pilot, lambda: isinstance(pilot.app.screen, shows))
        await pilot.pause(0.1)

    return run


def models(*found):
    return FakeModels(found=found, presets=preset_rows())


@pytest.mark.parametrize(("theme", "size"), SIZES)
def test_the_models_look_as_they_did(snap_compare, keys, theme, size):
    assert snap_compare(
        chat(FakeConversation(), theme, models=MODELS), run_before=commanded("/model", "down"), terminal_size=size
    )


@pytest.mark.parametrize(("theme", "size"), SIZES)
def test_what_can_be_connected_looks_as_it_did(snap_compare, keys, theme, size):
    app = chat(FakeConversation(**DEMO), theme, models=models())
    assert snap_compare(app, run_before=commanded("/connect"), terminal_size=size)


@pytest.mark.parametrize(("theme", "size"), SIZES)
def test_the_form_for_a_key_looks_as_it_did(snap_compare, keys, theme, size):
    app = chat(FakeConversation(**DEMO), theme, models=models())
    run = commanded("/connect", *"openai", "enter", *"secret", shows=Form)
    assert snap_compare(app, run_before=run, terminal_size=size)


def test_the_form_for_an_address_with_a_fault(snap_compare, keys):
    conversation = FakeConversation(**DEMO)
    conversation.refuses = ["'x y' is no address; one looks like https://host/v1"]
    run = commanded("/connect", *"another", "enter", *"xy", "tab", "tab", "m", "enter", shows=Form)
    assert snap_compare(chat(conversation, models=models()), run_before=run, terminal_size=(80, 24))


def test_an_endpoint_that_gave_no_list(snap_compare, keys):
    conversation = FakeConversation(**DEMO)
    conversation.lists = [Answer(False, "api.deepseek.com: The provider did not accept the key. (401)", "the key comes from X")]
    run = commanded("/connect", *"deepseek", "enter")
    assert snap_compare(chat(conversation, models=models()), run_before=run, terminal_size=(80, 24))


def test_the_modes_in_a_narrow_window(snap_compare):
    run = commanded("/mode", "down")
    assert snap_compare(chat(FakeConversation()), run_before=run, terminal_size=(40, 20))
