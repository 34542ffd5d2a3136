"""The types of the lazy names; the list is `PUBLIC` in `__init__.py`."""

from agentcli.agent.agent import Agent as Agent
from agentcli.errors import NothingWaiting as NothingWaiting
from agentcli.errors import StaleAnswer as StaleAnswer
from agentcli.errors import StillWaiting as StillWaiting
from agentcli.ledger.block import (
    Base64Source as Base64Source,
)
from agentcli.ledger.block import (
    DataBlock as DataBlock,
)
from agentcli.ledger.block import (
    HintBlock as HintBlock,
)
from agentcli.ledger.block import (
    TextBlock as TextBlock,
)
from agentcli.ledger.block import (
    ThinkingBlock as ThinkingBlock,
)
from agentcli.ledger.block import (
    ToolCallBlock as ToolCallBlock,
)
from agentcli.ledger.block import (
    ToolCallState as ToolCallState,
)
from agentcli.ledger.block import (
    ToolResultBlock as ToolResultBlock,
)
from agentcli.ledger.block import (
    ToolResultState as ToolResultState,
)
from agentcli.ledger.block import (
    UnknownBlock as UnknownBlock,
)
from agentcli.ledger.block import (
    URLSource as URLSource,
)
from agentcli.ledger.event import (
    AgentEvent as AgentEvent,
)
from agentcli.ledger.event import (
    ConfirmResult as ConfirmResult,
)
from agentcli.ledger.event import (
    ContextCompressedEvent as ContextCompressedEvent,
)
from agentcli.ledger.event import (
    CustomEvent as CustomEvent,
)
from agentcli.ledger.event import (
    DataBlockDeltaEvent as DataBlockDeltaEvent,
)
from agentcli.ledger.event import (
    DataBlockEndEvent as DataBlockEndEvent,
)
from agentcli.ledger.event import (
    DataBlockStartEvent as DataBlockStartEvent,
)
from agentcli.ledger.event import (
    ErrorInfo as ErrorInfo,
)
from agentcli.ledger.event import (
    ExceedMaxItersEvent as ExceedMaxItersEvent,
)
from agentcli.ledger.event import (
    ExternalExecutionResultEvent as ExternalExecutionResultEvent,
)
from agentcli.ledger.event import (
    HintBlockEvent as HintBlockEvent,
)
from agentcli.ledger.event import (
    ModelCallEndEvent as ModelCallEndEvent,
)
from agentcli.ledger.event import (
    ModelCallRetryEvent as ModelCallRetryEvent,
)
from agentcli.ledger.event import (
    ModelCallStartEvent as ModelCallStartEvent,
)
from agentcli.ledger.event import (
    ReplyEndEvent as ReplyEndEvent,
)
from agentcli.ledger.event import (
    ReplyEndReason as ReplyEndReason,
)
from agentcli.ledger.event import (
    ReplyPausedEvent as ReplyPausedEvent,
)
from agentcli.ledger.event import (
    ReplyStartEvent as ReplyStartEvent,
)
from agentcli.ledger.event import (
    RequireExternalExecutionEvent as RequireExternalExecutionEvent,
)
from agentcli.ledger.event import (
    RequireUserConfirmEvent as RequireUserConfirmEvent,
)
from agentcli.ledger.event import (
    TextBlockDeltaEvent as TextBlockDeltaEvent,
)
from agentcli.ledger.event import (
    TextBlockEndEvent as TextBlockEndEvent,
)
from agentcli.ledger.event import (
    TextBlockStartEvent as TextBlockStartEvent,
)
from agentcli.ledger.event import (
    ThinkingBlockDeltaEvent as ThinkingBlockDeltaEvent,
)
from agentcli.ledger.event import (
    ThinkingBlockEndEvent as ThinkingBlockEndEvent,
)
from agentcli.ledger.event import (
    ThinkingBlockStartEvent as ThinkingBlockStartEvent,
)
from agentcli.ledger.event import (
    ToolCallDeltaEvent as ToolCallDeltaEvent,
)
from agentcli.ledger.event import (
    ToolCallEndEvent as ToolCallEndEvent,
)
from agentcli.ledger.event import (
    ToolCallStartEvent as ToolCallStartEvent,
)
from agentcli.ledger.event import (
    ToolProgressEvent as ToolProgressEvent,
)
from agentcli.ledger.event import (
    ToolResultDataDeltaEvent as ToolResultDataDeltaEvent,
)
from agentcli.ledger.event import (
    ToolResultEndEvent as ToolResultEndEvent,
)
from agentcli.ledger.event import (
    ToolResultStartEvent as ToolResultStartEvent,
)
from agentcli.ledger.event import (
    ToolResultTextDeltaEvent as ToolResultTextDeltaEvent,
)
from agentcli.ledger.event import (
    UnknownEvent as UnknownEvent,
)
from agentcli.ledger.event import (
    UserConfirmResultEvent as UserConfirmResultEvent,
)
from agentcli.ledger.event import (
    UserInterruptEvent as UserInterruptEvent,
)
from agentcli.ledger.message import (
    AssistantMsg as AssistantMsg,
)
from agentcli.ledger.message import (
    Msg as Msg,
)
from agentcli.ledger.message import (
    SystemMsg as SystemMsg,
)
from agentcli.ledger.message import (
    Usage as Usage,
)
from agentcli.ledger.message import (
    UserMsg as UserMsg,
)
from agentcli.ledger.preview import Preview as Preview
from agentcli.ledger.rule import (
    PermissionBehavior as PermissionBehavior,
)
from agentcli.ledger.rule import (
    PermissionContext as PermissionContext,
)
from agentcli.ledger.rule import (
    PermissionMode as PermissionMode,
)
from agentcli.ledger.rule import (
    PermissionRule as PermissionRule,
)
from agentcli.ledger.state import AgentState as AgentState
from agentcli.model.openai_chat.client import OpenAIChatModel as OpenAIChatModel
from agentcli.model.openai_responses.client import OpenAIResponseModel as OpenAIResponseModel
from agentcli.model.scripted import ScriptedModel as ScriptedModel
from agentcli.permission.decision import PermissionDecision as PermissionDecision
from agentcli.permission.engine import PermissionEngine as PermissionEngine
from agentcli.runtime.conversation import Conversation as Conversation
from agentcli.session.store import SessionStore as SessionStore
from agentcli.tool.base import ToolBase as ToolBase
from agentcli.tool.base import ToolChunk as ToolChunk
from agentcli.tool.function import FunctionTool as FunctionTool
from agentcli.tool.toolkit import Toolkit as Toolkit
from agentcli.version import __version__ as __version__

__all__: list[str]
