"""Settings and flags become a conversation; the only place that knows all parts."""

from __future__ import annotations

import asyncio
import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, cast

from agentcli import paths
from agentcli.agent.agent import MOST_ITERATIONS, Agent
from agentcli.agent.budget import Budget, Limits
from agentcli.agent.journal import NoJournal
from agentcli.agent.masking import Masks
from agentcli.config.load import NOT_CONFIGURED, load_settings, resolve_model
from agentcli.config.rules import RulesFile
from agentcli.config.settings import Settings
from agentcli.errors import ConfigError, UsageError
from agentcli.ledger.block import now
from agentcli.ledger.rule import PermissionContext, PermissionMode
from agentcli.ledger.state import AgentState
from agentcli.model.price import has_price, prices_of
from agentcli.model.registry import ModelSpec, make_model
from agentcli.permission.rules import unknown_tools
from agentcli.runtime.conversation import Conversation, no_limit
from agentcli.runtime.examples import check_examples
from agentcli.runtime.forking import write_fork
from agentcli.runtime.keeper import Keeper
from agentcli.runtime.options import Options
from agentcli.runtime.restore import Saved, restore, saved_of
from agentcli.runtime.rules import LATER
from agentcli.runtime.undo import Changes
from agentcli.runtime.where import find_place, folder
from agentcli.session.store import Loaded, SessionLog, SessionStore, new_session_id
from agentcli.tool.builtin import builtin_tools
from agentcli.tool.function import ExternalTool
from agentcli.tool.toolkit import Toolkit
from agentcli.workspace.root import Place
from agentcli.workspace.secrets import secret_values

__all__ = ["Options", "open_conversation"]

LOG_VERSION = 1
Api = Literal["chat", "responses"]


@dataclass(slots=True)
class Opened:
    """A session as it was found, or one that is yet to be made."""

    session_id: str
    log: SessionLog | None = None
    loaded: Loaded | None = None
    parent: str | None = None

    @property
    def saved(self) -> Saved | None:
        return saved_of(self.loaded) if self.loaded is not None else None


async def open_conversation(options: Options) -> Conversation:
    """Make or resume a conversation.

    Raises `UsageError` and `ConfigError` for what cannot be used, `SessionHeld` where another process writes the session.
    """
    return await _open(options, await asyncio.to_thread(_prepare, options))


@dataclass(slots=True)
class Prepared:
    """Everything that was read from disk."""

    settings: Settings
    store: SessionStore
    opened: Opened
    place: Place
    spec: ModelSpec
    mode: PermissionMode
    rules: RulesFile
    external: list[ExternalTool]
    limits: Limits
    notices: list[str]


def _prepare(options: Options) -> Prepared:
    notices: list[str] = []
    here = folder(options.cwd or _here())
    external = _external(options.external_tools)
    store = SessionStore(paths.data_dir())
    opened = _session(store, options, here)
    try:
        cwd = here if options.cwd or opened.saved is None else _saved_folder(opened.saved, here)
        place = find_place(cwd, options.add_dirs, opened.session_id)
        settings = load_settings(place.root)
        notices += settings.warnings
        known = [*(tool.name for tool in (*builtin_tools(), *external)), *LATER]
        notices += unknown_tools(settings.rules, known)
        check_examples(settings.levels, place, builtin_tools())
        if opened.saved is not None and (opened.parent is None or not options.cwd):
            notices += _moved(opened.saved, place.cwd)
        if place.root == place.home:
            notices.append("The root is your home folder: everything below it counts as inside.")
        spec = _model(settings, options, opened.saved, notices)
        mode = _mode(settings, options, opened.saved, notices)
        limits = _limits(settings, options, spec, notices)
        if opened.loaded is not None:
            notices += opened.loaded.lost
        return Prepared(settings, store, opened, place, spec, mode, RulesFile(paths.config_dir()), external, limits, notices)
    except BaseException:
        if opened.log is not None:
            opened.log.close()
        raise


async def _open(options: Options, made: Prepared) -> Conversation:
    opened, place, saved = made.opened, made.place, made.opened.saved
    permission = PermissionContext(
        mode=made.mode,
        root=place.root,
        home=place.home,
        working_directories=list(place.added),
        rules=[*made.settings.rules, *made.rules.load(place.root)],
    )
    if opened.loaded is not None:
        state = restore(opened.loaded, opened.session_id, permission)
    else:
        state = AgentState(session_id=opened.session_id, permission_context=permission)
    keeper = Keeper(made.store, made.rules, place.root, _header(made, opened), opened.log)
    keys = [provider.api_key_env for provider in made.settings.providers.values() if provider.api_key_env]
    tools = Toolkit([*builtin_tools(hidden=keys, passed=made.settings.environment), *made.external])
    model = make_model(made.spec)
    agent = Agent(
        "agent",
        lambda: system_prompt(place, permission.mode),
        model,
        tools,
        state,
        place=place,
        journal=NoJournal() if options.dry else keeper,
        max_iters=options.max_iters or made.settings.max_iters or MOST_ITERATIONS,
        masks=Masks({*secret_values(os.environ), *filter(None, [made.spec.api_key])}, wanted=made.settings.mask_secrets),
        budget=Budget(made.limits, prices_of(made.spec), opened.loaded.records if opened.loaded is not None else ()),
    )
    notices = list(made.notices)
    if opened.loaded is not None and opened.parent is None:
        notices += await agent.recover(from_log=True, records=opened.loaded.records)
    if opened.parent is not None and opened.loaded is not None:
        await write_fork(await keeper.opened(), state, opened.loaded.records, opened.parent)
    elif opened.loaded is not None:
        keeper.changes = Changes(opened.loaded.records)
        if saved is not None and saved.cwd != place.cwd:
            await keeper.record("cwd", {"cwd": place.cwd, "root": place.root}, durable=True)
        if saved is not None and saved.mode != made.mode:
            await keeper.record("mode", {"mode": made.mode.value}, durable=True)
        if saved is not None and saved.model != made.spec.name:
            await keeper.record("model", {"model": made.spec.name, "api": made.spec.api})
    title = saved.title if saved is not None else ""
    return Conversation(agent, keeper, place, made.settings, made.spec, tuple(notices), title)


def _header(made: Prepared, opened: Opened) -> dict[str, Any]:
    return {
        "version": LOG_VERSION,
        "id": opened.session_id,
        "cwd": made.place.cwd,
        "root": made.place.root,
        "title": opened.saved.title or None if opened.saved is not None else None,
        "parent": opened.parent,
        "created_at": now(),
        "mode": made.mode.value,
        "model": made.spec.name,
        "api": made.spec.api,
    }


# -- the parts ---------------------------------------------------------------------------------


def _here() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        raise UsageError("the current folder is gone; --cwd DIR says another one") from error


def _saved_folder(saved: Saved, here: str) -> str:
    return saved.cwd if saved.cwd and os.path.isdir(saved.cwd) else here


def _moved(saved: Saved, cwd: str) -> list[str]:
    """What to say of a session that goes on in another folder."""
    if saved.cwd == cwd:
        return []
    if not saved.cwd:
        return [f"The folder of this session cannot be read any more; it belongs to {cwd} from now on. --cwd says another one."]
    gone = "" if os.path.isdir(saved.cwd) else ", which is gone"
    return [f"This session was in {saved.cwd}{gone}; it belongs to {cwd} from now on. --cwd says another one."]


def _session(store: SessionStore, options: Options, here: str) -> Opened:
    if options.resume is not None:
        session_id = store.find(options.resume)
    elif options.continue_:
        found = store.last_of(here)
        if found is None:
            raise UsageError("there is no session of this folder to continue")
        session_id = found
    elif options.fork:
        raise UsageError("--fork needs --resume ID or --continue")
    else:
        return Opened(new_session_id())
    if options.dry:
        return Opened(session_id, loaded=store.read(session_id))
    if options.fork:
        return Opened(new_session_id(), loaded=store.read(session_id), parent=session_id)
    log, loaded = store.open(session_id)
    return Opened(session_id, log, loaded)


def _mode(settings: Settings, options: Options, saved: Saved | None, notices: list[str]) -> PermissionMode:
    if options.mode is not None:
        return options.mode
    if saved is not None and saved.mode is not None:
        return saved.mode
    if saved is not None:
        # What a damaged log no longer says may have been EXPLORE, and nothing but a flag may take that away.
        notices.append("The mode of this session cannot be read any more; it goes on in explore. --mode says another one.")
        return PermissionMode.EXPLORE
    return settings.mode or PermissionMode.DEFAULT


def _model(settings: Settings, options: Options, saved: Saved | None, notices: list[str]) -> ModelSpec:
    """Flag, then what the session was left with, then environment and settings; the demo where a screen may explain it."""
    env, api = os.environ, cast("Api | None", options.api)
    kept = saved.model if saved is not None else ""
    if options.model is None and kept and kept != "demo" and not kept.startswith("script:"):
        try:
            spec = resolve_model(settings, kept, api or cast("Api | None", saved.api if saved else None), env)
        except UsageError as error:
            notices.append(f"The model of this session cannot be used now ({error}).")
        else:
            if spec is not None:
                return spec
    try:
        spec = resolve_model(settings, options.model, api, env)
        if spec is None:
            raise ConfigError(NOT_CONFIGURED)
    except ConfigError as error:
        if options.headless or options.model is not None:
            raise
        notices.append(f"{str(error)[:1].upper()}{str(error)[1:]}.")
        return ModelSpec(name="demo", model="demo")
    return spec


def _limits(settings: Settings, options: Options, spec: ModelSpec, notices: list[str]) -> Limits:
    """What a reply may take; a limit of cost that nobody can keep is said, or refused where nobody reads."""
    limits = Limits(options.max_cost or settings.max_cost, options.max_tokens or settings.max_tokens)
    if limits.cost is not None and not options.dry and not has_price(spec):
        if options.headless and options.max_cost is not None:
            raise UsageError(f"{no_limit(spec.name)[:1].lower()}{no_limit(spec.name)[1:-1]}")
        notices.append(no_limit(spec.name))
    return limits


def _external(file: str | None) -> list[ExternalTool]:
    if file is None:
        return []
    try:
        rows = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"--external-tools {file}: {error}") from error
    if not isinstance(rows, list):
        raise UsageError(f"--external-tools {file}: not a list")
    tools = [_external_tool(file, row) for row in cast("list[Any]", rows)]
    taken = {tool.name for tool in builtin_tools()}
    for tool in tools:
        if tool.name in taken:
            raise UsageError(f"--external-tools {file}: there is a tool {tool.name} already")
        taken.add(tool.name)
    return tools


def _external_tool(file: str, row: Any) -> ExternalTool:
    if not isinstance(row, dict):
        raise UsageError(f"--external-tools {file}: {json.dumps(row)[:60]} is no tool; it needs name, description, parameters")
    fields = cast("dict[str, Any]", row)
    name, description, parameters = fields.get("name"), fields.get("description"), fields.get("parameters")
    if not isinstance(name, str) or not isinstance(description, str) or not isinstance(parameters, dict):
        raise UsageError(f"--external-tools {file}: {json.dumps(fields)[:60]} is no tool; it needs name, description, parameters")
    return ExternalTool(name, description, cast("Mapping[str, Any]", parameters), read_only=fields.get("read_only") is True)


def system_prompt(place: Place, mode: PermissionMode) -> str:
    """What every model call begins with."""
    text = files("agentcli.agent.prompt").joinpath("system.md").read_text(encoding="utf-8")
    lines = [text.strip(), "", f"Working folder: {place.cwd}"]
    if place.root != place.cwd:
        lines.append(f"Repository root: {place.root}")
    lines += [f"Added folder: {path}" for path in place.added]
    lines += [f"System: {platform.system()}", f"Date: {datetime.now(UTC).date().isoformat()}"]
    if mode == PermissionMode.EXPLORE:
        lines.append("Mode: EXPLORE. Nothing can be changed; writes, edits and shell commands are refused. Look, and propose.")
    return "\n".join(lines)
