"""A model that answers with recorded bytes: the real format and fold of a wire, and no connection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from agentcli.errors import ModelError
from agentcli.model.base import ModelCard, ModelRequest, Piece
from agentcli.model.openai_chat.format import Manner
from agentcli.model.openai_chat.format import wire_request as chat_request
from agentcli.model.openai_chat.stream import ChatFold
from agentcli.model.openai_responses.format import wire_request as response_request
from agentcli.model.openai_responses.stream import ResponseFold
from tests.fakes.wire import chat_faults, response_faults

HERE = "here|m"


class FakeRecordedModel:
    """Plays one body a call, then the last for ever; a failure is final, so that nothing is waited for.

    Every request is put on both wires and looked at as the strictest endpoint does.
    """

    def __init__(self, api: str, bodies: Iterable[bytes]) -> None:
        self.card = ModelCard(name="m", provider=HERE)
        self.requests: list[ModelRequest] = []
        self.faults: list[str] = []
        self.ended: list[bool] = []
        """Of each answer: it came to its proper end."""
        self._api, self._bodies = api, list(bodies)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        self.requests.append(request)
        self.faults += chat_faults(chat_request(request, Manner(HERE, reasoning=True)).messages)
        self.faults += response_faults(response_request(request, HERE).items)
        body = self._bodies[min(len(self.requests), len(self._bodies)) - 1]
        self.ended.append(False)
        try:
            for piece in self._pieces(body, {}):
                yield piece
        except ModelError as error:
            raise ModelError(error.kind, error.message) from error
        self.ended[-1] = True

    def _pieces(self, body: bytes, names: Mapping[str, str]) -> Iterable[Piece]:
        fold: Any = (ChatFold if self._api == "chat" else ResponseFold)(names, HERE)
        yield from fold.feed(body)
        yield from fold.end()

    async def warm(self) -> None:
        pass

    async def close(self) -> None:
        pass
