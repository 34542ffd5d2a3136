"""Back to before an earlier message: it is picked, the transcript is built anew, and it stands in the prompt."""

from __future__ import annotations

from typing import Protocol

from agentcli.errors import AgentcliError
from agentcli.frontend.tui.choosing import MESSAGES, message_entry
from agentcli.frontend.tui.desk import Desk
from agentcli.frontend.tui.screens.pick import PickScreen
from agentcli.runtime.command import Rewind
from agentcli.view.summary import utc_now


class Rebuilt(Desk, Protocol):
    """A chat whose transcript can be built anew."""

    def hold(self) -> None:
        """From now on what is sent waits."""
        ...

    def release(self) -> None:
        """What was sent meanwhile is sent now."""
        ...

    async def build_anew(self) -> None:
        """Show what stands now, and nothing else."""
        ...


async def rewind(chat: Rebuilt) -> None:
    """Let the user pick a message, and go back to before it."""
    now, earlier = utc_now(), chat.conversation.earlier()
    if not earlier:
        chat.say("There is no earlier message to go back to.")
        return
    entries = [message_entry(one.msg_id, one.text, one.at, now) for one in earlier]
    picked = await chat.pick(PickScreen(MESSAGES, chat.wardrobe.ink, entries))
    if picked is None:
        return
    chat.hold()
    try:
        said = await chat.conversation.do(Rewind(picked.key))
    except AgentcliError as error:
        chat.bridge.feed.notice(str(error))
    else:
        await chat.build_anew()
        chat.bridge.feed.notice(said)
        if chat.prompt.take().strip():
            chat.bridge.feed.notice("What stood in the prompt is in its history: up brings it back.")
        chat.prompt.put(next(one.text for one in earlier if one.msg_id == picked.key))
    chat.release()
