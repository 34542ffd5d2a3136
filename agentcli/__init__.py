"""A terminal coding agent whose approvals outlive the process.

The public names are loaded when they are first asked for; nothing inside the package imports from here.
"""

PUBLIC = {
    "agentcli.agent.agent": "Agent",
    "agentcli.errors": "NothingWaiting StaleAnswer StillWaiting",
    "agentcli.ledger.block": (
        "Base64Source DataBlock HintBlock TextBlock ThinkingBlock ToolCallBlock ToolCallState ToolResultBlock ToolResultState "
        "URLSource UnknownBlock"
    ),
    "agentcli.ledger.event": (
        "AgentEvent ConfirmResult ContextCompressedEvent CustomEvent DataBlockDeltaEvent DataBlockEndEvent DataBlockStartEvent "
        "ErrorInfo ExceedMaxItersEvent ExternalExecutionResultEvent HintBlockEvent ModelCallEndEvent ModelCallRetryEvent "
        "ModelCallStartEvent ReplyEndEvent ReplyEndReason ReplyPausedEvent ReplyStartEvent RequireExternalExecutionEvent "
        "RequireUserConfirmEvent TextBlockDeltaEvent TextBlockEndEvent TextBlockStartEvent ThinkingBlockDeltaEvent "
        "ThinkingBlockEndEvent ThinkingBlockStartEvent ToolCallDeltaEvent ToolCallEndEvent ToolCallStartEvent "
        "ToolProgressEvent ToolResultDataDeltaEvent ToolResultEndEvent ToolResultStartEvent ToolResultTextDeltaEvent "
        "UnknownEvent UserConfirmResultEvent UserInterruptEvent"
    ),
    "agentcli.ledger.message": "AssistantMsg Msg SystemMsg Usage UserMsg",
    "agentcli.ledger.preview": "Preview",
    "agentcli.ledger.rule": "PermissionBehavior PermissionContext PermissionMode PermissionRule",
    "agentcli.ledger.state": "AgentState",
    "agentcli.model.openai_chat.client": "OpenAIChatModel",
    "agentcli.model.openai_responses.client": "OpenAIResponseModel",
    "agentcli.model.scripted": "ScriptedModel",
    "agentcli.permission.decision": "PermissionDecision",
    "agentcli.permission.engine": "PermissionEngine",
    "agentcli.runtime.conversation": "Conversation",
    "agentcli.session.store": "SessionStore",
    "agentcli.tool.base": "ToolBase ToolChunk",
    "agentcli.tool.function": "FunctionTool",
    "agentcli.tool.toolkit": "Toolkit",
    "agentcli.version": "__version__",
}
HOMES = {name: home for home, names in PUBLIC.items() for name in names.split()}
__all__ = sorted(HOMES)  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *HOMES})
