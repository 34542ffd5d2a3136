"""The types of the lazy names; the list is `PUBLIC` in `__init__.py`."""

from agentcli.agent.agent import Agent as Agent
from agentcli.errors import NothingWaiting as NothingWaiting, StaleAnswer as StaleAnswer, StillWaiting as StillWaiting
from agentcli.ledger.block import (
    Base64Source as Base64Source,
    DataBlock as DataBlock,
    HintBlock as HintBlock,
    TextBlock as TextBlock,
    ThinkingBlock as ThinkingBlock,
    ToolCallBlock as ToolCallBlock,
    ToolCallState as ToolCallState,
    ToolResultBlock as ToolResultBlock,
    ToolResultState as ToolResultState,
    URLSource as URLSource,
    UnknownBlock as UnknownBlock,
)
from agentcli.ledger.event import (
    AgentEvent as AgentEvent,
    ConfirmResult as ConfirmResult,
    ContextCompressedEvent as ContextCompressedEvent,
    CustomEvent as CustomEvent,
    DataBlockDeltaEvent as DataBlockDeltaEvent,
    DataBlockEndEvent as DataBlockEndEvent,
    DataBlockStartEvent as DataBlockStartEvent,
    ErrorInfo as ErrorInfo,
    ExceedMaxItersEvent as ExceedMaxItersEvent,
    ExternalExecutionResultEvent as ExternalExecutionResultEvent,
    HintBlockEvent as HintBlockEvent,
    ModelCallEndEvent as ModelCallEndEvent,
    ModelCallRetryEvent as ModelCallRetryEvent,
    ModelCallStartEvent as ModelCallStartEvent,
    ReplyEndEvent as ReplyEndEvent,
    ReplyEndReason as ReplyEndReason,
    ReplyPausedEvent as ReplyPausedEvent,
    ReplyStartEvent as ReplyStartEvent,
    RequireExternalExecutionEvent as RequireExternalExecutionEvent,
    RequireUserConfirmEvent as RequireUserConfirmEvent,
    TextBlockDeltaEvent as TextBlockDeltaEvent,
    TextBlockEndEvent as TextBlockEndEvent,
    TextBlockStartEvent as TextBlockStartEvent,
    ThinkingBlockDeltaEvent as ThinkingBlockDeltaEvent,
    ThinkingBlockEndEvent as ThinkingBlockEndEvent,
    ThinkingBlockStartEvent as ThinkingBlockStartEvent,
    ToolCallDeltaEvent as ToolCallDeltaEvent,
    ToolCallEndEvent as ToolCallEndEvent,
    ToolCallStartEvent as ToolCallStartEvent,
    ToolProgressEvent as ToolProgressEvent,
    ToolResultDataDeltaEvent as ToolResultDataDeltaEvent,
    ToolResultEndEvent as ToolResultEndEvent,
    ToolResultStartEvent as ToolResultStartEvent,
    ToolResultTextDeltaEvent as ToolResultTextDeltaEvent,
    UnknownEvent as UnknownEvent,
    UserConfirmResultEvent as UserConfirmResultEvent,
    UserInterruptEvent as UserInterruptEvent,
)
from agentcli.ledger.message import (
    AssistantMsg as AssistantMsg,
    Msg as Msg,
    SystemMsg as SystemMsg,
    Usage as Usage,
    UserMsg as UserMsg,
)
from agentcli.ledger.preview import Preview as Preview
from agentcli.ledger.rule import (
    PermissionBehavior as PermissionBehavior,
    PermissionContext as PermissionContext,
    PermissionMode as PermissionMode,
    PermissionRule as PermissionRule,
)
from agentcli.ledger.state import AgentState as AgentState
from agentcli.model.openai_chat.client import OpenAIChatModel as OpenAIChatModel
from agentcli.model.scripted import ScriptedModel as ScriptedModel
from agentcli.permission.decision import PermissionDecision as PermissionDecision
from agentcli.permission.engine import PermissionEngine as PermissionEngine
from agentcli.runtime.conversation import Conversation as Conversation
from agentcli.session.store import SessionStore as SessionStore
from agentcli.tool.base import ToolBase as ToolBase, ToolChunk as ToolChunk
from agentcli.tool.function import FunctionTool as FunctionTool
from agentcli.tool.toolkit import Toolkit as Toolkit
from agentcli.version import __version__ as __version__

__all__: list[str]
