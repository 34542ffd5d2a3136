"""A message, and the fold of events into it.

`Msg.append_event` is the only code that changes an assistant message (law 1).
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, ClassVar, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from agentcli.ledger import event as ev
from agentcli.ledger.block import (
    KNOWN_BLOCKS,
    Base64Source,
    BlockBase,
    ContentBlock,
    DataBlock,
    Growing,
    HintBlock,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    ToolCallState,
    ToolResultBlock,
    URLSource,
    new_id,
    now,
)

log = logging.getLogger(__name__)

OF_ROLE = {"user": {"text", "data"}, "system": {"text"}}


class Usage(BaseModel):
    """Tokens, each the sum so far."""

    model_config = ConfigDict(extra="allow")

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, more: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(more, name) for name in Usage.model_fields})


class Msg(BaseModel):
    """One message of a conversation; an assistant's grows by its events."""

    model_config = ConfigDict(extra="allow")

    id: str = Field(default_factory=new_id)
    name: str
    role: Literal["user", "assistant", "system"]
    content: list[ContentBlock] = Field(default_factory=list[ContentBlock])
    metadata: dict[str, Any] = Field(default_factory=dict[str, Any])
    created_at: str = Field(default_factory=now)
    finished_at: str | None = None
    usage: Usage | None = None
    finished_reason: ev.ReplyEndReason | None = None
    error: ev.ErrorInfo | None = None

    _known: dict[tuple[str, str], BlockBase] | None = PrivateAttr(None)
    _changed: dict[tuple[str, str], BlockBase] = PrivateAttr(default_factory=dict[tuple[str, str], BlockBase])

    @model_validator(mode="after")
    def _content_of_role(self) -> Self:
        allowed = OF_ROLE.get(self.role)
        known = {block.type for block in self.content} & KNOWN_BLOCKS
        wrong = sorted(known - allowed) if allowed is not None else []
        if wrong:
            raise ValueError(f"a {self.role} message cannot hold a block of type {wrong[0]}")
        return self

    def get_text_content(self, separator: str = "\n") -> str | None:
        """The text blocks joined; None where there are none."""
        texts = [block.text for block in self.content if isinstance(block, TextBlock)]
        return separator.join(texts) if texts else None

    @property
    def calls(self) -> list[ToolCallBlock]:
        """The tool calls, in order."""
        return [block for block in self.content if isinstance(block, ToolCallBlock)]

    def call(self, call_id: str) -> ToolCallBlock | None:
        """The call with this id."""
        found = self._find("tool_call", call_id)
        return found if isinstance(found, ToolCallBlock) else None

    def result(self, call_id: str) -> ToolResultBlock | None:
        """The result of the call with this id."""
        found = self._find("tool_result", call_id)
        return found if isinstance(found, ToolResultBlock) else None

    def open_calls(self) -> list[ToolCallBlock]:
        """The calls that have no final result, in order; one whose result was lost is open again."""
        return [call for call in self.calls if call.state != ToolCallState.FINISHED or self.result(call.id) is None]

    def take_changes(self) -> list[BlockBase]:
        """The blocks that changed since this was last asked, in order of first change."""
        changed, self._changed = list(self._changed.values()), {}
        return changed

    # -- the fold ------------------------------------------------------------------------------

    def append_event(self, event: ev.AgentEvent) -> Self:
        """Fold one event; one of another reply or of an unknown kind changes nothing."""
        if getattr(event, "reply_id", None) != self.id:
            return self
        fold = self.FOLD.get(event.type)
        if fold is not None:
            fold(self, event)
        return self

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Msg)
            and self.__dict__ == other.__dict__
            and (self.__pydantic_extra__ or {}) == (other.__pydantic_extra__ or {})
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]  # mutable

    def _start(self, event: ev.ReplyStartEvent) -> None:
        self.name, self.created_at = event.name, event.created_at

    def _start_text(self, event: ev.TextBlockStartEvent) -> None:
        self._add(TextBlock(id=event.block_id, text="", created_at=event.created_at))

    def _start_thinking(self, event: ev.ThinkingBlockStartEvent) -> None:
        self._add(ThinkingBlock(id=event.block_id, thinking="", created_at=event.created_at, **event.metadata))

    def _start_data(self, event: ev.DataBlockStartEvent) -> None:
        source = Base64Source(data="", media_type=event.media_type)
        self._add(DataBlock(id=event.block_id, source=source, created_at=event.created_at))

    def _hint(self, event: ev.HintBlockEvent) -> None:
        self._add(HintBlock(id=event.block_id, hint=event.hint, source=event.source, created_at=event.created_at))

    def _start_call(self, event: ev.ToolCallStartEvent) -> None:
        self._add(ToolCallBlock(id=event.tool_call_id, name=event.tool_call_name, input="", created_at=event.created_at))

    def _start_result(self, event: ev.ToolResultStartEvent) -> None:
        # What has a result is asked no more, whoever settled it (an answer, or the rule given with a sibling's).
        call = self._find("tool_call", event.tool_call_id)
        if isinstance(call, ToolCallBlock) and call.state in (ToolCallState.PENDING, ToolCallState.ASKING):
            self._set_state(call.id, ToolCallState.ALLOWED)
        self._add(ToolResultBlock(id=event.tool_call_id, name=event.tool_call_name, output=[], created_at=event.created_at))

    def _submit(self, event: ev.RequireExternalExecutionEvent) -> None:
        for call in event.tool_calls:
            self._set_state(call.id, ToolCallState.SUBMITTED)

    def _grow_block(self, event: ev.TextBlockDeltaEvent | ev.ThinkingBlockDeltaEvent) -> None:
        block = self._touch("text" if type(event) is ev.TextBlockDeltaEvent else "thinking", event.block_id)
        if isinstance(block, Growing):
            block.grow(event.delta)

    def _grow_call(self, event: ev.ToolCallDeltaEvent) -> None:
        block = self._touch("tool_call", event.tool_call_id)
        if isinstance(block, Growing):
            block.grow(event.delta)

    def _end_block(self, event: ev.TextBlockEndEvent | ev.ThinkingBlockEndEvent | ev.DataBlockEndEvent) -> None:
        block = self._touch(event.type.partition("_")[0].lower(), event.block_id)
        if block is None:
            return
        block.finished_at = event.created_at
        for key, value in event.metadata.items():
            setattr(block, key, value)

    @property
    def _hot(self) -> dict[str, Any]:
        # pydantic looks up a private attribute by a Python function, a hundred times slower than this dict.
        private = self.__pydantic_private__
        assert private is not None
        if private["_known"] is None:
            private["_known"] = {(block.type, block.id): block for block in self.content}
        return private

    def _find(self, kind: str, block_id: str) -> BlockBase | None:
        return self._hot["_known"].get((kind, block_id))

    def _add(self, block: ContentBlock) -> None:
        key = (block.type, block.id)
        hot = self._hot
        if key in hot["_known"]:
            log.debug("a second start of %s %s", *key)
            return
        self.content.append(block)
        hot["_known"][key] = hot["_changed"][key] = block

    def _touch(self, kind: str, block_id: str) -> BlockBase | None:
        key = (kind, block_id)
        hot = self._hot
        block = hot["_known"].get(key)
        if block is None:
            log.debug("no block %s %s in reply %s", kind, block_id, self.id)
        else:
            hot["_changed"][key] = block
        return block

    def _grow_data(self, event: ev.DataBlockDeltaEvent) -> None:
        block = self._touch("data", event.block_id)
        if isinstance(block, DataBlock) and isinstance(block.source, Base64Source) and event.data:
            block.source.grow(event.data)

    def _open_result(self, call_id: str) -> ToolResultBlock | None:
        block = self._touch("tool_result", call_id)
        return block if isinstance(block, ToolResultBlock) else None

    def _grow_result(self, event: ev.ToolResultTextDeltaEvent) -> None:
        block = self._open_result(event.tool_call_id)
        if block is None:
            return
        if isinstance(block.output, str):
            block.output = [TextBlock(id=f"{block.id}/0", text=block.output)]
        last = block.output[-1] if block.output else None
        if not isinstance(last, TextBlock):
            # The id is made from the place, so that every fold of the stream gives the same one.
            last = TextBlock(id=f"{block.id}/{len(block.output)}", text="")
            block.output.append(last)
        last.grow(event.delta)

    def _data_of_result(self, event: ev.ToolResultDataDeltaEvent) -> None:
        block = self._open_result(event.tool_call_id)
        if block is None:
            return
        if isinstance(block.output, str):
            block.output = [TextBlock(id=f"{block.id}/0", text=block.output)]
        same = next((b for b in block.output if isinstance(b, DataBlock) and b.id == event.block_id), None)
        if same is not None and isinstance(same.source, Base64Source) and event.data is not None:
            same.source.grow(event.data)
        elif same is None and event.data is not None:
            source = Base64Source(data=event.data, media_type=event.media_type)
            block.output.append(DataBlock(id=event.block_id, source=source))
        elif same is None and event.url is not None:
            url = URLSource.model_validate({"url": event.url, "media_type": event.media_type})
            block.output.append(DataBlock(id=event.block_id, source=url))

    def _end_result(self, event: ev.ToolResultEndEvent) -> None:
        block = self._open_result(event.tool_call_id)
        if block is None:
            return
        block.state, block.finished_at = event.state, event.created_at
        block.metadata = dict(event.metadata)
        self._set_state(event.tool_call_id, ToolCallState.FINISHED)

    def _set_state(self, call_id: str, state: ToolCallState) -> None:
        call = self._touch("tool_call", call_id)
        if isinstance(call, ToolCallBlock) and call.state != ToolCallState.FINISHED:
            call.state = state

    def _ask(self, event: ev.RequireUserConfirmEvent) -> None:
        for asked in event.tool_calls:
            call = self._touch("tool_call", asked.id)
            if isinstance(call, ToolCallBlock) and call.state != ToolCallState.FINISHED:
                call.state, call.suggested_rules = ToolCallState.ASKING, list(asked.suggested_rules)

    def _confirm(self, event: ev.UserConfirmResultEvent) -> None:
        for answer in event.confirm_results:
            call = self._find("tool_call", answer.tool_call.id)
            if not isinstance(call, ToolCallBlock) or call.state != ToolCallState.ASKING or not answer.confirmed:
                continue
            self._touch("tool_call", call.id)
            call.settle()
            call.name, call.input, call.state = answer.tool_call.name, answer.tool_call.input, ToolCallState.ALLOWED

    def _withdraw(self, event: ev.ModelCallRetryEvent) -> None:
        gone = {("thinking", block_id) for block_id in event.withdrawn}
        self.content = [block for block in self.content if (block.type, block.id) not in gone]
        self._known = None
        for key in gone:
            self._changed.pop(key, None)

    def _count(self, event: ev.ModelCallEndEvent) -> None:
        usage = self.usage or Usage()
        self.usage = Usage(
            input_tokens=usage.input_tokens + event.input_tokens,
            output_tokens=usage.output_tokens + event.output_tokens,
            cached_tokens=usage.cached_tokens + event.cached_tokens,
            reasoning_tokens=usage.reasoning_tokens + event.reasoning_tokens,
        )

    def _end_reply(self, event: ev.ReplyEndEvent) -> None:
        self.finished_at, self.finished_reason, self.error = event.created_at, event.finished_reason, event.error
        if event.metadata:
            self.metadata = {**self.metadata, **event.metadata}

    FOLD: ClassVar[dict[str, Callable[[Msg, Any], None]]] = {
        "TEXT_BLOCK_START": _start_text,
        "TEXT_BLOCK_DELTA": _grow_block,
        "TEXT_BLOCK_END": _end_block,
        "THINKING_BLOCK_START": _start_thinking,
        "THINKING_BLOCK_DELTA": _grow_block,
        "THINKING_BLOCK_END": _end_block,
        "DATA_BLOCK_START": _start_data,
        "DATA_BLOCK_DELTA": _grow_data,
        "DATA_BLOCK_END": _end_block,
        "HINT_BLOCK": _hint,
        "TOOL_CALL_START": _start_call,
        "TOOL_CALL_DELTA": _grow_call,
        "TOOL_RESULT_START": _start_result,
        "TOOL_RESULT_TEXT_DELTA": _grow_result,
        "TOOL_RESULT_DATA_DELTA": _data_of_result,
        "TOOL_RESULT_END": _end_result,
        "REQUIRE_USER_CONFIRM": _ask,
        "REQUIRE_EXTERNAL_EXECUTION": _submit,
        "USER_CONFIRM_RESULT": _confirm,
        "MODEL_CALL_RETRY": _withdraw,
        "MODEL_CALL_END": _count,
        "REPLY_START": _start,
        "REPLY_END": _end_reply,
    }
    """What each kind of event does; every other kind folds to nothing.

    A table by name and not a `match`: pydantic's instance check costs more than the whole fold of a delta.
    """


def UserMsg(name: str = "user", content: str | list[Any] = "", **more: Any) -> Msg:  # AgentScope's name
    """A message of the user; a str becomes one text block."""
    return _whole("user", name, content, **more)


def SystemMsg(name: str = "system", content: str | list[Any] = "", **more: Any) -> Msg:
    """A message of the program."""
    return _whole("system", name, content, **more)


def AssistantMsg(name: str = "assistant", content: str | list[Any] = "", **more: Any) -> Msg:
    """A message of the agent; it has no end yet."""
    return Msg(name=name, role="assistant", content=_blocks(content), **more)


def _whole(role: Literal["user", "system"], name: str, content: str | list[Any], **more: Any) -> Msg:
    msg = Msg(name=name, role=role, content=_blocks(content), **more)
    if msg.finished_at is None:
        msg.finished_at = msg.created_at
    return msg


def _blocks(content: str | list[Any]) -> list[Any]:
    if isinstance(content, str):
        return [TextBlock(text=content)] if content else []
    return content
