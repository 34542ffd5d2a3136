"""The fold of events into blocks of the transcript. Deltas are only kept; `flush` makes them rows once a frame."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

from agentcli.frontend.tui.transcript.blocks import Block, ErrorBlock, NoticeBlock, TextPart, ThinkingBlock, UserBlock
from agentcli.frontend.tui.transcript.chunks import Chunk, Chunker
from agentcli.frontend.tui.transcript.retry import RetryBlock
from agentcli.frontend.tui.transcript.tool_call import ToolBlock
from agentcli.ledger import event as ev
from agentcli.ledger.block import TextBlock, ToolResultState
from agentcli.ledger.message import Msg
from agentcli.view.summary import plural, seconds_between


class Page(Protocol):
    """Where blocks are shown."""

    def add(self, block: Block) -> None: ...
    def change(self, block: Block) -> None: ...
    def withdraw(self, block: Block) -> None: ...
    def ask_frame(self, *, now: bool = False) -> None: ...


class TextRun:
    """One text block of a reply while it grows."""

    def __init__(self) -> None:
        self.chunker = Chunker()
        self.pending: list[str] = []
        self.open: TextPart | None = None
        self.over = False

    def settle(self, page: Page) -> None:
        """Show what has come since the last frame; only the open tail is drawn again."""
        closed = self.chunker.feed("".join(self.pending)) if self.pending else []
        self.pending.clear()
        if self.over:
            closed += self.chunker.end()
        for chunk in closed:
            self._show(chunk, page)
            self.open = None
        tail = self.chunker.tail
        if tail.source.strip():
            self._show(tail, page)

    def _show(self, chunk: Chunk, page: Page) -> None:
        if self.open is None:
            self.open = TextPart(chunk)
            page.add(self.open)
        elif self.open.chunk != chunk:
            self.open.chunk = chunk
            page.change(self.open)


class Feed:
    """Takes messages and events in their order."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.tools: dict[str, ToolBlock] = {}
        self._texts: dict[str, TextRun] = {}
        self._dirty: dict[str, TextRun] = {}
        self._thoughts: dict[str, ThinkingBlock] = {}
        self._started: dict[str, str] = {}
        self._touched: dict[int, Block] = {}
        self._model_calls = 0
        self._model = ""
        self._retry_row: RetryBlock | None = None
        self._take: dict[str, Callable[[Any], None]] = {
            "REPLY_START": self._reply_start,
            "MODEL_CALL_START": self._model_call,
            "TEXT_BLOCK_START": self._text_start,
            "TEXT_BLOCK_DELTA": self._text_delta,
            "TEXT_BLOCK_END": self._text_end,
            "THINKING_BLOCK_START": self._thinking_start,
            "THINKING_BLOCK_DELTA": self._thinking_delta,
            "THINKING_BLOCK_END": self._thinking_end,
            "DATA_BLOCK_START": self._data_start,
            "HINT_BLOCK": self._hint,
            "TOOL_CALL_START": self._call_start,
            "TOOL_CALL_DELTA": self._call_delta,
            "TOOL_RESULT_START": self._result_start,
            "TOOL_RESULT_TEXT_DELTA": self._result_delta,
            "TOOL_RESULT_DATA_DELTA": self._result_data,
            "TOOL_RESULT_END": self._result_end,
            "TOOL_PROGRESS": self._progress,
            "REQUIRE_USER_CONFIRM": self._asked,
            "REQUIRE_EXTERNAL_EXECUTION": self._handed_out,
            "USER_CONFIRM_RESULT": self._answered,
            "MODEL_CALL_RETRY": self._retry,
            "CONTEXT_COMPRESSED": self._compressed,
            "REPLY_END": self._end,
        }

    def take(self, event: ev.AgentEvent) -> None:
        """One event; unknown ones show nothing."""
        if self._retry_row is not None and event.type != "MODEL_CALL_RETRY":
            self._settle_retry()
        handle = self._take.get(event.type)
        if handle is not None:
            handle(event)

    def say(self, msg: Msg) -> None:
        """A message of the user."""
        text = "\n".join(block.text for block in msg.content if isinstance(block, TextBlock))
        self.flush()
        self.page.add(UserBlock(text))

    def notice(self, text: str) -> None:
        """A sentence of the program."""
        self.flush()
        self.page.add(NoticeBlock(text))

    def flush(self) -> None:
        """Make blocks of all that was kept; called once a frame and before a block of another kind."""
        for key, run in list(self._dirty.items()):
            run.settle(self.page)
            if run.over:
                self._texts.pop(key, None)
        self._dirty.clear()
        for block in self._touched.values():
            self.page.change(block)
        self._touched.clear()

    def running(self) -> list[ToolBlock]:
        """The calls whose mark changes."""
        return [tool for tool in self.tools.values() if tool.runs]

    def _touch(self, block: Block) -> None:
        self._touched[id(block)] = block
        self.page.ask_frame()

    # -- text and thinking ---------------------------------------------------------------------

    def _text_start(self, event: ev.TextBlockStartEvent) -> None:
        self.flush()
        self._texts[event.block_id] = TextRun()

    def _text_delta(self, event: ev.TextBlockDeltaEvent) -> None:
        run = self._texts.get(event.block_id)
        if run is not None:
            run.pending.append(event.delta)
            self._dirty[event.block_id] = run
            self.page.ask_frame()

    def _text_end(self, event: ev.TextBlockEndEvent) -> None:
        run = self._texts.get(event.block_id)
        if run is not None:
            run.over = True
            self._dirty[event.block_id] = run
            self.page.ask_frame(now=True)

    def _thinking_start(self, event: ev.ThinkingBlockStartEvent) -> None:
        self.flush()
        block = self._thoughts[event.block_id] = ThinkingBlock()
        self._started[event.block_id] = event.created_at
        self.page.add(block)

    def _thinking_delta(self, event: ev.ThinkingBlockDeltaEvent) -> None:
        block = self._thoughts.get(event.block_id)
        if block is not None:
            block.pieces.append(event.delta)
            self._touch(block)

    def _thinking_end(self, event: ev.ThinkingBlockEndEvent) -> None:
        block = self._thoughts.get(event.block_id)
        if block is not None:
            block.over = True
            block.seconds = seconds_between(self._started.pop(event.block_id, None), event.created_at)
            self._touch(block)

    def _data_start(self, event: ev.DataBlockStartEvent) -> None:
        self.notice(f"[{event.media_type}]")

    def _hint(self, event: ev.HintBlockEvent) -> None:
        self.flush()
        hint = event.hint if isinstance(event.hint, str) else "\n".join(b.text for b in event.hint if isinstance(b, TextBlock))
        self.page.add(UserBlock(hint, "while it worked") if event.source == "user" else NoticeBlock(hint))

    # -- calls ---------------------------------------------------------------------------------

    def _call_start(self, event: ev.ToolCallStartEvent) -> None:
        self.flush()
        if event.tool_call_id not in self.tools:
            block = self.tools[event.tool_call_id] = ToolBlock(event.tool_call_name)
            self.page.add(block)

    def _call_delta(self, event: ev.ToolCallDeltaEvent) -> None:
        block = self.tools.get(event.tool_call_id)
        if block is not None:
            block.arguments.append(event.delta)
            self._touch(block)

    def _result_start(self, event: ev.ToolResultStartEvent) -> None:
        block = self.tools.get(event.tool_call_id)
        if block is None:
            self.flush()
            block = self.tools[event.tool_call_id] = ToolBlock(event.tool_call_name)
            self.page.add(block)
        block.state, block.waiting, block.began = ToolResultState.RUNNING, "", time.monotonic()
        self._started[event.tool_call_id] = event.created_at
        self._touch(block)

    def _result_delta(self, event: ev.ToolResultTextDeltaEvent) -> None:
        block = self.tools.get(event.tool_call_id)
        if block is not None:
            block.result.append(event.delta)
            self._touch(block)

    def _result_data(self, event: ev.ToolResultDataDeltaEvent) -> None:
        block = self.tools.get(event.tool_call_id)
        if block is not None:
            block.result.append(f"[{event.media_type}]\n")
            self._touch(block)

    def _progress(self, event: ev.ToolProgressEvent) -> None:
        block = self.tools.get(event.tool_call_id)
        if block is not None:
            block.show_progress(event.delta)
            self._touch(block)

    def _result_end(self, event: ev.ToolResultEndEvent) -> None:
        block = self.tools.get(event.tool_call_id)
        if block is None:
            return
        block.state, block.waiting, block.progress = event.state, "", ""
        block.metadata = event.metadata
        block.seconds = seconds_between(self._started.pop(event.tool_call_id, None), event.created_at)
        self._touch(block)

    def _asked(self, event: ev.RequireUserConfirmEvent) -> None:
        self._wait([call.id for call in event.tool_calls], "asked")

    def _handed_out(self, event: ev.RequireExternalExecutionEvent) -> None:
        self._wait([call.id for call in event.tool_calls], "elsewhere")

    def _wait(self, ids: list[str], what: str) -> None:
        for call_id in ids:
            block = self.tools.get(call_id)
            if block is not None and block.state in (None, ToolResultState.RUNNING):
                block.waiting = what
                self._touch(block)

    def _answered(self, event: ev.UserConfirmResultEvent) -> None:
        for answer in event.confirm_results:
            block = self.tools.get(answer.tool_call.id)
            if block is None:
                continue
            block.waiting = ""
            if answer.confirmed:
                block.state, block.began = ToolResultState.RUNNING, time.monotonic()
                block.replace(answer.tool_call.name, answer.tool_call.input)
            self._touch(block)

    # -- the reply -----------------------------------------------------------------------------

    def _retry(self, event: ev.ModelCallRetryEvent) -> None:
        for block_id in event.withdrawn:
            block = self._thoughts.pop(block_id, None)
            if block is not None:
                self.page.withdraw(block)
        now, other = time.monotonic(), event.model_name if self._model and event.model_name != self._model else ""
        self._model = event.model_name
        if other:
            self._settle_retry()
        row = RetryBlock(event.error, event.attempt, now + event.delay_s, other)
        row.count(now)
        before, self._retry_row = self._retry_row, row
        self.flush()
        if before is not None:  # one row for all attempts of a model
            self.page.withdraw(before)
        self.page.add(row)

    @property
    def counting(self) -> RetryBlock | None:
        """The row that counts down, where there is one."""
        row = self._retry_row
        return row if row is not None and row.left > 0 else None

    def _settle_retry(self) -> None:
        row, self._retry_row = self._retry_row, None
        if row is not None:
            row.settle(time.monotonic())
            self._touch(row)

    def _reply_start(self, event: ev.ReplyStartEvent) -> None:
        self._model_calls = 0

    def _model_call(self, event: ev.ModelCallStartEvent) -> None:
        self._model = event.model_name
        if event.metadata.get("purpose") != "compression":  # the summary's call counts for no limit
            self._model_calls += 1

    def _compressed(self, event: ev.ContextCompressedEvent) -> None:
        figures = f"{event.tokens_before:,} -> {event.tokens_after:,} tokens"
        self.notice(f"The older part of the conversation is sent in short from here on: {figures}.\n{event.summary}")

    def _end(self, event: ev.ReplyEndEvent) -> None:
        for run in self._texts.values():
            run.over = True
        self._dirty.update(self._texts)
        self.flush()
        for block in self._thoughts.values():
            if not block.over:
                block.over = True
                self._touch(block)
        self._thoughts.clear()
        for tool in self.tools.values():
            if tool.waiting:
                tool.waiting = ""
                self._touch(tool)
        if event.error is not None:
            self.page.add(ErrorBlock(event.error))
        elif event.finished_reason is ev.ReplyEndReason.INTERRUPTED:
            self.notice("Interrupted.")
        elif event.finished_reason is ev.ReplyEndReason.EXCEED_MAX_ITERS:
            calls = f"after {plural(self._model_calls, 'model call')}" if self._model_calls else "at the limit of model calls"
            self.notice(f"Stopped {calls}. Enter on the empty prompt goes on.")
        said = event.metadata.get("notice")
        if isinstance(said, str) and said:
            self.notice(said)
        self.tools.clear()
        self.flush()
