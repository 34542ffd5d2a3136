"""The result of one call within its bound: head at once, tail at the end, and the whole in a file where it is longer."""

from __future__ import annotations

import logging
import time
from typing import Any

from agentcli.agent.gate import Verdict
from agentcli.agent.masking import masked, told
from agentcli.agent.pump import Ended
from agentcli.agent.work import Work
from agentcli.errors import ToolError
from agentcli.ledger import event as ev
from agentcli.ledger.block import DataBlock, TextBlock, ToolResultBlock, ToolResultState, URLSource
from agentcli.tool.base import ToolChunk
from agentcli.workspace.output import Ends
from agentcli.workspace.whole import Whole

log = logging.getLogger(__name__)

HEAD, TAIL = 70_000, 30_000
"""Characters of a result that are stored and given to the model, whatever the tool says."""
STOPPED = "interrupted by the user before its end; what it had done stays done."
PROGRESS_SECONDS = 0.1
PROGRESS_CHARS = 2_000


class Result:
    """The result of one running call: chunks become events. Whoever makes one has to `close` it."""

    def __init__(self, work: Work, verdict: Verdict) -> None:
        self.work, self.verdict, self.call = work, verdict, verdict.call
        self.metadata: dict[str, Any] = {}
        self.state = ToolResultState.RUNNING
        self.mask = work.masks.of(verdict.subject.targets, work.place.root)
        self.ends = Ends(HEAD, TAIL)
        self.whole = Whole(self.ends.most, work.keep)
        self.live_at = 0.0

    async def take(self, chunk: ToolChunk) -> list[ev.AgentEvent]:
        """The folded events of a chunk."""
        if chunk.state != ToolResultState.RUNNING:
            self.state = chunk.state
        self.metadata.update({key: self._masked(value) for key, value in chunk.metadata.items()})
        events: list[ev.AgentEvent] = []
        if chunk.progress:
            events.append(ev.ToolProgressEvent(**self._ids(), delta=self._masked(chunk.progress)))
        for block in chunk.content:
            events += await self._text(block.text) if isinstance(block, TextBlock) else [self._data(block)]
        return [self.work.fold(event) for event in events]

    async def end(self, ended: Ended) -> list[ev.AgentEvent]:
        """The folded events of the end, whatever it was."""
        last = [self.work.fold(event) for event in await self._text("", final=True)]
        state, words = self._final(ended)
        if self.mask is not None and self.mask.count:
            self.metadata["masked"] = self.mask.count
            words = "\n".join(filter(None, (words, told(self.mask.count))))
        if words and self.ends.last not in ("", "\n"):
            words = "\n" + words
        seen = self.metadata.get("seen")
        if isinstance(seen, dict):
            self.work.state.tool_context.read_files.update(seen)  # pyright: ignore[reportUnknownArgumentType]
        tail = self.ends.tail(await self.whole.end() if self.ends.cut else "")
        return [*last, *self.work.result_events(self.call, state, tail + words, {**self.metadata, **self.whole.metadata})]

    async def close(self) -> None:
        """Give back what it holds."""
        await self.whole.close()

    def _final(self, ended: Ended) -> tuple[ToolResultState, str]:
        if ended.stopped:
            return ToolResultState.INTERRUPTED, STOPPED
        if isinstance(ended.error, ToolError):
            return ToolResultState.ERROR, str(ended.error)
        if ended.error is not None:
            log.error("tool %s failed", self.call.name, exc_info=ended.error)
            return ToolResultState.ERROR, f"The tool failed: {type(ended.error).__name__}: {ended.error}"
        return (ToolResultState.SUCCESS if self.state == ToolResultState.RUNNING else self.state), ""

    def _ids(self) -> dict[str, Any]:
        return {"reply_id": self.work.state.reply_id, "tool_call_id": self.call.id}

    def _masked(self, value: Any) -> Any:
        return masked(value, self.work.masks.plain()) if isinstance(value, str) else value

    async def _text(self, text: str, final: bool = False) -> list[ev.AgentEvent]:
        text = self.mask.feed(text, final) if self.mask is not None else text
        head, rest = self.ends.add(text)
        if self.whole.add(text):
            await self.work.whole(self.whole.write())
        events: list[ev.AgentEvent] = []
        if head:
            events.append(ev.ToolResultTextDeltaEvent(**self._ids(), delta=head))
        if rest and time.monotonic() - self.live_at >= PROGRESS_SECONDS:
            self.live_at = time.monotonic()
            events.append(ev.ToolProgressEvent(**self._ids(), delta=rest[-PROGRESS_CHARS:]))
        return events

    def _data(self, block: DataBlock) -> ev.AgentEvent:
        source = block.source
        where: dict[str, Any] = {"url": str(source.url)} if isinstance(source, URLSource) else {"data": source.data}
        return ev.ToolResultDataDeltaEvent(**self._ids(), block_id=block.id, media_type=source.media_type, **where)


async def bounded(work: Work, event: ev.ExternalExecutionResultEvent) -> ev.ExternalExecutionResultEvent:
    """Results from outside, within the same bound."""
    results = [await _bounded(work, _without_secrets(work, result)) for result in event.execution_results]
    return event.model_copy(update={"execution_results": results})


def _without_secrets(work: Work, result: ToolResultBlock) -> ToolResultBlock:
    mask = work.masks.plain()
    if isinstance(result.output, str):
        output: Any = masked(result.output, mask)
    else:
        output = [
            block.model_copy(update={"text": masked(block.text, work.masks.plain())}) if isinstance(block, TextBlock) else block
            for block in result.output
        ]
    return result.model_copy(update={"output": output})


async def _bounded(work: Work, result: ToolResultBlock) -> ToolResultBlock:
    if len(result.text) <= HEAD + TAIL:
        return result
    ends = Ends(HEAD, TAIL)
    whole = Whole(ends.most, work.keep)
    try:
        head, _ = ends.add(result.text)
        whole.add(result.text)
        text = head + ends.tail(await work.whole(whole.end()))
    finally:
        await work.whole(whole.close())
    data = [] if isinstance(result.output, str) else [block for block in result.output if block.type != "text"]
    output = [TextBlock(text=text), *data] if data else text
    return result.model_copy(update={"output": output, "metadata": {**result.metadata, **whole.metadata}})
