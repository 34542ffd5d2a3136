"""What would be sent, byte for byte: the adapter and the SDK build the request, and nothing leaves the process."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agentcli.errors import AgentcliError, ModelError, UsageError
from agentcli.model.base import ModelRequest
from agentcli.model.openai_chat.client import OpenAIChatModel
from agentcli.model.openai_responses.client import OpenAIResponseModel
from agentcli.model.spec import ModelSpec
from agentcli.runtime.assemble import open_conversation
from agentcli.runtime.conversation import Conversation
from agentcli.runtime.options import Options

WIRES = {"chat": OpenAIChatModel, "responses": OpenAIResponseModel}
NO_KEY = "dry-run"
"""Stands where a key would; it is in no body."""


@dataclass(slots=True, frozen=True)
class DryRun:
    """A request that was not sent."""

    body: str
    notices: tuple[str, ...]
    """Sentences for the user, as at the start of any conversation."""


async def dry_run(options: Options, prompt: str | None) -> DryRun:
    """What a prompt would send as the first request; nothing is sent, locked or written, and no session is made."""
    conversation = await open_conversation(replace(options, dry=True))
    try:
        status = conversation.status
        if status.waiting:
            raise UsageError("nothing would be sent: the session waits for an answer first")
        here = (
            ()
            if speaks(conversation.spec)
            else (f"{status.model} sends nothing; a model of an endpoint would be asked like this.",)
        )
        return DryRun(await request_text(conversation, prompt), (*status.notices, *here))
    finally:
        await conversation.close()


def speaks(spec: ModelSpec) -> bool:
    """Whether a model is behind an endpoint, and not played here."""
    return spec.name != "demo" and not spec.name.startswith("script:")


async def request_text(conversation: Conversation, prompt: str | None = None) -> str:
    """The JSON body of the next request of a conversation, after this prompt; nothing is sent or changed."""
    return await wire_body(conversation.spec, conversation.next_request(prompt))


async def wire_body(spec: ModelSpec, request: ModelRequest) -> str:
    """The JSON body of a request on the wire of this model; of one that speaks to no endpoint, on the wire that is chosen."""
    from httpx2 import MockTransport, Request, Response

    taken: list[bytes] = []

    def take(sent: Request) -> Response:
        taken.append(sent.content)
        return Response(418)

    model = WIRES[spec.api](replace(spec, api_key=NO_KEY, fallback=()), transport=MockTransport(take))
    try:
        async for _ in model.stream(request):
            pass
    except ModelError as error:
        # There is no answer, and so an error; it only counts where not even a request came of it.
        if not taken:
            raise AgentcliError(f"No request could be made: {error.message}") from error
    finally:
        await model.close()
    return taken[0].decode()
