"""Random talks with rewinds in them: what is loaded is what was in memory, and the next request is valid."""

import asyncio
import tempfile
from contextlib import aclosing
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from agentcli.agent.context import model_request
from agentcli.ledger.message import UserMsg
from agentcli.ledger.state import AgentState
from agentcli.model.scripted import read_turns
from agentcli.runtime.inbox import _asked
from agentcli.session.index import row_of
from tests.fakes.agent import answer, call
from tests.fakes.world import World, check_message, check_request

NOT_KEPT = {"permission_context", "token_ratio", "cur_iter", "past_calls"}
USAGE = {"usage": {"input_tokens": 7, "output_tokens": 3}}
WORDS = {"text": "a long story " * 200}
TURNS = {
    "words": [[WORDS, USAGE]],
    "a look": [[call("c1", "Look", value="a"), USAGE], [WORDS, USAGE]],
    "a question": [[WORDS, call("c1", "Act", value="a"), call("c2", "Put", value="b"), USAGE], [WORDS, USAGE]],
}

steps = st.one_of(
    st.tuples(st.just("say"), st.sampled_from(sorted(TURNS))),
    st.tuples(st.just("answer"), st.booleans()),
    st.tuples(st.just("rewind"), st.floats(0, 1)),
    st.tuples(st.just("leave off"), st.integers(1, 12)),
    st.tuples(st.just("compress"), st.none()),
    st.tuples(st.just("reload"), st.booleans()),
)


class Talk:
    """One session in a world, and what the user would do to it."""

    def __init__(self, folder):
        self.world = World(folder)
        self.world.boot()

    @property
    def state(self) -> AgentState:
        return self.world.agent.state

    async def do(self, what, how):
        agent = self.world.agent
        match what:
            case "say" | "leave off" if not agent.waiting:
                self.feed(*TURNS[how if what == "say" else "a question"])
                await self.hear(UserMsg(content="words"), how if what == "leave off" else 0)
            case "answer" if agent.waiting:
                self.feed([WORDS, USAGE])
                self.world.yes.update({one.id: one.input for one in agent.waiting if how})
                await self.hear(answer(await self.hear(None), yes=how))
            case "rewind":
                await self.rewind(how)
            case "compress" if not agent.waiting:
                self.feed([{"text": "<summary>in short</summary>"}, USAGE])
                await agent.window.compress()
            case "reload":
                await self.reload(how)
            case _:
                return
        self.world.turns.clear()
        self.check()

    def feed(self, *turns):
        self.world.turns.extend(read_turns(list(turns), "fed"))

    async def hear(self, inputs, most=0):
        heard = []
        async with aclosing(self.world.agent.reply_stream(inputs)) as events:
            async for event in events:
                heard.append(event)
                if len(heard) == most:
                    break
        return heard

    async def rewind(self, share):
        said = [msg.id for msg in self.state.context if msg.role == "user"]
        if not said:
            return
        msg_id = said[round(share * (len(said) - 1))]
        before, spent = [msg.id for msg in self.state.context], self.spent()
        await self.world.agent.rewind(msg_id)
        assert [msg.id for msg in self.state.context] == before[: before.index(msg_id)]
        assert self.spent() == spent
        assert not self.world.agent.waiting and not self.world.agent.unfinished
        await self.reload(True)
        assert row_of(self.world.log_path).waiting == 0

    async def reload(self, proper):
        """Another process; a reply that was broken off may have had more in memory than on disk."""
        before, exact = self.image(), not self.world.agent.unfinished
        if proper:
            await self.world.leave()
        else:
            self.world.die(power=False)
        loaded = self.world.boot()
        if exact and loaded is not None:
            assert self.image() == before
        await self.world.agent.recover(from_log=True, records=loaded.records if loaded else ())
        for one in self.world.agent.waiting:
            assert loaded is not None and _asked(loaded, one.id)

    def image(self):
        return {**self.state.model_dump(exclude=NOT_KEPT), "past_calls": sorted(self.state.past_calls)}

    def spent(self):
        usages = [msg.usage for msg in self.state.context if msg.usage]
        return sum(one.input_tokens for one in [self.state.apart, *usages])

    def check(self):
        for msg in self.state.context:
            if not msg.open_calls():
                check_message(msg)
        assert not {one.id for msg in self.state.context for one in msg.calls} & set(self.state.past_calls)
        if not self.world.agent.waiting and not self.world.agent.unfinished and self.state.context:
            check_request(model_request(self.world.agent._work))
        assert self.world.faults == []


@settings(max_examples=40, deadline=None)
@given(st.lists(steps, min_size=3, max_size=14))
def test_what_is_loaded_after_any_talk_with_rewinds_is_what_was_in_memory(talk):
    with tempfile.TemporaryDirectory() as folder:

        async def play():
            one = Talk(Path(folder))
            for what, how in talk:
                await one.do(what, how)
            await one.reload(True)
            await one.world.leave()

        asyncio.run(play())
