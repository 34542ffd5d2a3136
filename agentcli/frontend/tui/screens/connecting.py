"""Which model answers: the list of models, and the page from which an endpoint is connected. Asks nobody before it is told to."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from agentcli.errors import AgentcliError
from agentcli.frontend.tui.desk import Desk
from agentcli.frontend.tui.models import (
    DEMO,
    LOCAL,
    MODELS,
    OWN,
    SERVERS,
    Models,
    endpoint_entries,
    listed_entries,
    model_entry,
    provider_entry,
)
from agentcli.frontend.tui.screens.form import Field, Form
from agentcli.frontend.tui.screens.pick import Picked, PickScreen, Wording
from agentcli.runtime.command import Connect

if TYPE_CHECKING:
    from agentcli.runtime.models import PresetRow

ENDPOINTS = Wording(
    title="Connect a model",
    takes="chooses it",
    leaves="changes nothing",
    lead="Nothing is sent anywhere before you choose.",
)
ANY_MODEL_NAME = "NAME"
"""What stands in the place of a model's name where a row means all of a provider."""
IN_MEMORY = "The key is kept in memory until you leave; it is written to no file."
ASKED = "empty: the endpoint is asked what it has"


class Connecting:
    """Lets the user choose a model, or an endpoint and then a model."""

    def __init__(self, desk: Desk, models: Models) -> None:
        self._desk, self._models = desk, models

    # -- a model that can be named ------------------------------------------------------------

    async def pick_model(self) -> None:
        """All models that can be used now; those of the servers of this machine come as these answer."""
        screen = PickScreen(MODELS, self._desk.wardrobe.ink, complete=False)
        picked = await self._picked(screen, everything=True)
        if picked is None:
            return
        wanted = _named(picked.key)
        if wanted.model:
            self._desk.say(await self._desk.bridge.set_model(picked.key))
        else:
            self._desk.say(await self._connect(wanted) or "")

    async def _picked(self, screen: PickScreen, *, everything: bool) -> Picked | None:
        reading = self._desk.start(self._fill(screen, everything=everything))
        try:
            return await self._desk.pick(screen)
        finally:
            reading.cancel()

    async def _fill(self, screen: PickScreen, *, everything: bool) -> None:
        present, told = self._desk.conversation.status.model, set[str]()
        try:
            if everything:
                rows = await self._models.known()
                told = {row.name for row in rows}
                screen.add(model_entry(row, present) for row in rows)
                screen.add(provider_entry(row) for row in self._models.presets())
            async with aclosing(self._models.found()) as found:
                async for row in found:
                    if row.name not in told:
                        screen.add([model_entry(row, present)])
        except AgentcliError as error:
            screen.say(str(error))
        screen.add((), complete=True)

    # -- an endpoint ---------------------------------------------------------------------------

    async def offer(self) -> None:
        """The page of what can be connected, until something is, or the user leaves it."""
        status, presets = self._desk.conversation.status, {row.name: row for row in self._models.presets()}
        entries = endpoint_entries(presets.values(), status.model, demo=status.demo)
        done = False
        while not done:
            picked = await self._desk.pick(PickScreen(ENDPOINTS, self._desk.wardrobe.ink, entries))
            if picked is None or picked.key == DEMO:
                return
            if picked.key == LOCAL:
                done = await self._local()
            elif picked.key == OWN:
                done = await self._own()
            else:
                done = await self._preset(presets[picked.key])

    async def _local(self) -> bool:
        picked = await self._picked(PickScreen(SERVERS, self._desk.wardrobe.ink, complete=False), everything=False)
        return picked is not None and await self._connect(_named(picked.key)) is None

    async def _preset(self, row: PresetRow) -> bool:
        fault = ""
        if row.has_key:
            fault = await self._connect(Connect(provider=row.name))
            if not fault:
                return fault is None
        fields = [Field("key", "Key", needed=True, secret=True), Field("model", "Model", ASKED)]
        sentences = [f"The key goes to {row.base_url} and nowhere else.", IN_MEMORY]

        def wanted(given: dict[str, str]) -> Connect:
            return Connect(given["model"], row.name, api_key=given["key"])

        return await self._fill_in(row.title, sentences, fields, wanted, fault)

    async def _own(self) -> bool:
        fields = [
            Field("address", "Address", "https://host/v1", needed=True),
            Field("key", "Key", "empty: the server wants none", secret=True),
            Field("model", "Model", ASKED),
        ]

        def wanted(given: dict[str, str]) -> Connect:
            return Connect(given["model"], base_url=given["address"], api_key=given["key"])

        return await self._fill_in("Another address", ["Only this address is asked.", IN_MEMORY], fields, wanted)

    async def _fill_in(
        self, title: str, sentences: list[str], fields: list[Field], wanted: Callable[[dict[str, str]], Connect], fault: str = ""
    ) -> bool:
        """A form, until what it says is connected, or the user goes back."""
        said: str | None = fault
        begin = 0
        while said is not None:
            given = await self._desk.fill_in(Form(title, sentences, fields, self._desk.wardrobe.ink, said, begin))
            if given is None:
                return False
            fields = [replace(field, value=given[field.name]) for field in fields]
            said = await self._connect(wanted(given))
            begin = 0 if given["model"] else len(fields) - 1  # an endpoint that gave no list wants a name
        return True

    async def _connect(self, wanted: Connect) -> str | None:
        """Connect; where no model is named, the user picks one of those that the endpoint lists.

        None where it is connected, else why not (nothing where the user went back).
        """
        if not wanted.model:
            listing = Listed(self._desk, wanted)
            name = await listing.picked()
            if name is None:
                return listing.fault
            wanted = replace(wanted, model=name)
        try:
            said = await self._desk.conversation.do(wanted)
        except AgentcliError as error:
            return str(error)
        self._desk.bridge.feed.notice(said)
        self._desk.say("")
        return None


class Listed:
    """The models that an endpoint lists, to pick one; `fault` says why there are none."""

    def __init__(self, desk: Desk, wanted: Connect) -> None:
        self._desk, self._wanted = desk, wanted
        self.fault = ""

    async def picked(self) -> str | None:
        """Ask the endpoint, and let the user pick; None where he goes back."""
        wording = Wording(
            f"Models of {self._where}", "takes it", "goes back", nothing="No list came; esc goes back to name a model."
        )
        screen = PickScreen(wording, self._desk.wardrobe.ink, complete=False)
        asking = self._desk.start(self._ask(screen))
        try:
            picked = await self._desk.pick(screen)
        finally:
            asking.cancel()
        return picked.key if picked is not None else None

    @property
    def _where(self) -> str:
        return self._wanted.provider or self._wanted.base_url

    async def _ask(self, screen: PickScreen) -> None:
        try:
            answer = await self._desk.conversation.offered(self._wanted)
        except AgentcliError as error:
            self.fault = str(error)
        else:
            screen.add(listed_entries(answer))
            if not answer.models:
                self.fault = ": ".join(filter(None, [answer.detail, answer.hint]))
        screen.add((), complete=True)
        if self.fault:
            screen.say(self.fault)


def _named(name: str) -> Connect:
    """The name of a row as what is wanted; one that stands for all models of its provider names none."""
    provider, _, model = name.partition("/")
    return Connect("" if model == ANY_MODEL_NAME else model, provider)
