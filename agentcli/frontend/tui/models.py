"""Models, endpoints, modes and themes as entries of a list to pick from, and where the screen asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

from agentcli.frontend.tui.screens.listing import Entry
from agentcli.frontend.tui.screens.pick import Wording
from agentcli.frontend.tui.widgets.status import MODES
from agentcli.ledger.rule import PermissionMode
from agentcli.view.summary import spell_tokens

if TYPE_CHECKING:
    from agentcli.runtime.models import ModelRow, PresetRow
    from agentcli.runtime.probe import Answer

MODELS = Wording(title="Answer with another model", takes="takes it", leaves="stays", nothing="No model is known.")
SERVERS = Wording(
    title="Models on this machine",
    takes="takes it",
    leaves="goes back",
    nothing="No model server answers on the usual ports of this machine.",
)
MODE = Wording(title="Another mode", takes="takes it", leaves="stays")
THEME = Wording(title="Other colours", takes="takes them", leaves="stays")

DEMO, LOCAL, OWN = "(demo)", "(local)", "(own)"
"""Keys of what is offered beside the well-known endpoints; none of those has a bracket in its name."""
PRESENT, USABLE, ANY_MODEL, NO_KEY, FAULTY = range(5)
MODE_WORDS = {
    PermissionMode.DEFAULT: "asks before it reads, changes or runs something",
    PermissionMode.ACCEPT_EDITS: "changes files in the repository without asking; asks before it runs something",
    PermissionMode.EXPLORE: "reads in the repository and changes nothing; no shell but for looking",
    PermissionMode.BYPASS: "asks before what is protected or outside, and runs all else",
    PermissionMode.DONT_ASK: "denies what it would have to ask for",
}


class Models(Protocol):
    """What the screen needs to know of models."""

    async def known(self) -> list[ModelRow]:
        """Those that can be named; nobody is asked."""
        ...

    def found(self) -> AsyncGenerator[ModelRow]:
        """Those of the servers of this machine, which are asked."""
        ...

    def presets(self) -> list[PresetRow]:
        """The well-known endpoints."""
        ...


class ModelsHere:
    """The models of this machine's settings, environment and servers; what knows them is loaded when it is asked."""

    async def known(self) -> list[ModelRow]:
        """Those that can be named; nobody is asked."""
        from agentcli.runtime.models import model_rows

        return await asyncio.to_thread(model_rows)

    def found(self) -> AsyncGenerator[ModelRow]:
        """Those of the servers of this machine, which are asked."""
        from agentcli.runtime.models import found_model_rows

        return found_model_rows()

    def presets(self) -> list[PresetRow]:
        """The well-known endpoints."""
        from agentcli.runtime.models import preset_rows

        return preset_rows()


def model_entry(row: ModelRow, present: str) -> Entry:
    """A model; `present` is the one that answers now."""
    size = f"{spell_tokens(row.context_size)} tokens" if row.context_size else ""
    place = "a scripted guide" if row.name == "demo" else " · ".join(filter(None, [row.endpoint, row.api, size]))
    under = f"cannot be used: {row.fault}" if row.fault else place
    here = row.name == present
    rank = PRESENT if here else FAULTY if row.fault else ANY_MODEL if row.any_model else USABLE
    return Entry(
        key=row.name,
        title=f"{row.provider}/…" if row.any_model else row.name,
        right="present" if here else "",
        under=under,
        mark="*" if here else "",
        rank=rank,
        dim=row.fault is not None,
        refused=row.fault or "",
    )


def provider_entry(row: PresetRow) -> Entry:
    """All models of a well-known endpoint, in a list of models."""
    return Entry(
        key=f"{row.name}/NAME",
        title=f"{row.name}/…",
        under=f"{row.title} · {_host(row)} · asked for its models when it is chosen",
        rank=ANY_MODEL if row.has_key else NO_KEY,
        dim=not row.has_key,
        hidden="" if row.has_key else "keyless endpoint",
        refused="" if row.has_key else f"{row.variable} is not set; /connect takes a key.",
    )


def endpoint_entries(presets: Iterable[PresetRow], model: str, *, demo: bool) -> list[Entry]:
    """What can be connected, the way that needs nothing first."""
    stay = "Go on with the demo" if demo else f"Go on with {model}"
    return [
        Entry(DEMO, stay, under="A scripted guide; nothing is sent anywhere." if demo else "Nothing changes."),
        Entry(LOCAL, "Look for models on this machine", under="Asks the usual ports of 127.0.0.1: Ollama, LM Studio, vLLM …"),
        Entry(OWN, "Another address", under="A gateway, a company's proxy, a server of your own"),
        *(_preset_entry(row) for row in presets),
    ]


def _preset_entry(row: PresetRow) -> Entry:
    right = f"{row.variable} is set" if row.has_key else "paste a key"
    return Entry(row.name, row.title, right, _host(row), rank=1 if row.has_key else 2)


def _host(row: PresetRow) -> str:
    """Where it is; the filter would find a word such as `openai` in the paths of many addresses."""
    return urlsplit(row.base_url).hostname or row.base_url


def listed_entries(answer: Answer) -> list[Entry]:
    """The models that an endpoint lists."""
    sizes = {model.name: f"{spell_tokens(model.context_size)} tokens" if model.context_size else "" for model in answer.models}
    return [Entry(name, name, size) for name, size in sizes.items()]


def mode_entries(present: PermissionMode) -> list[Entry]:
    """The modes, the present one first chosen."""
    return [
        Entry(mode.value, MODES[mode], "present" if mode is present else "", MODE_WORDS[mode], "*" if mode is present else "")
        for mode in sorted(PermissionMode, key=lambda mode: mode is not present)
    ]


def theme_entries(names: Iterable[str], present: str) -> list[Entry]:
    """The themes, the present one first."""
    return [
        Entry(name, name, "present" if name == present else "", mark="*" if name == present else "")
        for name in sorted(names, key=lambda name: name != present)
    ]
