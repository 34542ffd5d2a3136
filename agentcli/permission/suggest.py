"""Which rules *always* would grant: they match the call that they come from, and as little else as is of use."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence

from agentcli.ledger.rule import PermissionBehavior, PermissionContext, PermissionRule
from agentcli.permission.match import WordRule
from agentcli.permission.programs import PROGRAMS, RAW
from agentcli.permission.subject import UNKNOWN, Command, Kind, Subject, Target, Way
from agentcli.permission.use import names
from agentcli.permission.wrappers import ACTIONS, REBINDERS, SHELLS, TEXTS, WRAPPERS, name_of

TWO_WORDS = names(
    """git npm yarn pnpm bun cargo go docker podman kubectl helm terraform pip pip3 uv poetry pdm hatch gh glab dotnet mvn gradle
    bundle rake gem brew apt composer mix stack cabal swift flutter dart rustup nox pre-commit just task bazel"""
)
"""Their second word says what they do."""
THREE_WORDS = frozenset((("npm", "run"), ("yarn", "run"), ("pnpm", "run"), ("bun", "run"), ("docker", "compose"), ("uv", "pip")))
EVALUATING = names(
    """exec x run dlx create eval shell repl script foreach bisect filter-branch rebase config submodule difftool mergetool
    send-email"""
)
"""Second words behind which any program may stand."""
INTERPRETERS = re.compile(
    r"(?:python|pypy|perl|ruby|node|deno|php|lua|tclsh|awk|gawk|mawk|osascript|pwsh|powershell|R|julia|ghci|irb|ipython)[\d.]*\Z"
)
NEVER = names(
    """mkfs fdisk kill killall pkill shutdown reboot curl wget ssh scp sftp rsync nc ncat telnet npx bunx uvx pipx vim vi nano
    emacs ed ex less more man gdb lldb expect tar zip docker-compose awk"""
)
"""Programs that can do anything with the right further words."""
KNOWN = (PROGRAMS.keys() | RAW.keys()) - {"git"}
"""Asked only for what is odd about it, so a rule for all of it would say too much."""
SUBCOMMAND = re.compile(r"[a-z][a-z0-9:_-]*\Z")
FURTHER = frozenset(("git", word) for word in ("add", "commit", "describe", "rev-parse", "status", "tag"))
"""Take any further words: none of their options runs a program or writes elsewhere. All else is granted word for word, since
`make --eval`, `npm --script-shell`, `git fetch --upload-pack`, `cargo --config` or `pytest --basetemp` do either."""
MAX_WORDS = 120
"""A longer command is not read before it is granted."""
MAX_RULES = 3
"""More are not read before they are granted."""
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def suggested_rules(subject: Subject, context: PermissionContext) -> list[PermissionRule]:
    """The rules to offer with a question; none where none would be safe."""
    if any(target.protected or not target.inside or target.fault for target in subject.targets):
        return []
    match subject.kind:
        case Kind.FILE:
            return _for_files(subject, context)
        case Kind.SHELL:
            return _for_line(subject, context)
        case Kind.FUNCTION:
            return [_rule(subject.tool, None)]
        case Kind.FREE:
            return []


def _for_files(subject: Subject, context: PermissionContext) -> list[PermissionRule]:
    if all(target.way is Way.LOOK for target in subject.targets):
        return _looking(subject.targets, context)
    changed = [target for target in subject.targets if target.way is not Way.LOOK]
    contents = _widest([content for target in changed if (content := _changing(target, context))])
    looked = [target for target in subject.targets if target.way is Way.LOOK]
    rules = [*(_rule("Edit", content) for content in contents), *_looking(looked, context)]
    return rules if len(rules) <= MAX_RULES else []


def _for_line(subject: Subject, context: PermissionContext) -> list[PermissionRule]:
    commands = subject.line.commands if subject.line else ()
    if commands and all(command.read_only for command in commands):
        return _looking(subject.targets, context)
    if len(commands) != 1 or (subject.line and subject.line.fault):
        return []
    if commands[0].simple_change:
        return _for_files(subject, context)
    content = _words(commands[0])
    return [_rule(subject.tool, content)] if content else []


def _looking(targets: Sequence[Target], context: PermissionContext) -> list[PermissionRule]:
    """Every way of looking below the root; below an added folder, that one by its own name."""
    contents = dict.fromkeys(_around(target.path, context) for target in targets)
    return [_rule("Read", content) for content in contents if content]


def _around(path: str, context: PermissionContext) -> str | None:
    if _below(path, context.root):
        return "**"
    added = next((folder for folder in context.working_directories if _below(path, folder)), None)
    return _escaped(added) + "/**" if added and not CONTROL.search(added) else None


def _changing(target: Target, context: PermissionContext) -> str | None:
    """The folder of the file; a file at the root alone."""
    folder, name = os.path.split(target.path)
    if CONTROL.search(target.path):
        return None
    if folder == context.root:
        return "./" + _escaped(name)
    if _below(folder, context.root):
        return _escaped(os.path.relpath(folder, context.root)) + "/**"
    return _escaped(folder) + "/**"


def _widest(contents: Sequence[str]) -> list[str]:
    """Without those that lie below another folder."""
    folders = {content.removesuffix("**") for content in contents if content.endswith("/**")}
    return [
        new for new in dict.fromkeys(contents) if not any(new != f"{folder}**" and new.startswith(folder) for folder in folders)
    ]


def _words(command: Command) -> str | None:
    words = command.words
    if not words or not command.plain or "/" in words[0] or CONTROL.search(words[0]) or not re.fullmatch(r"[\w.+-]+", words[0]):
        return None
    if _runs_anything(words[0]):
        return None
    if words[:2] in FURTHER:
        return f"{words[0]} {words[1]}:*"
    return _word_for_word(words) if words[0] not in TWO_WORDS or _says_what(words) else None


def _says_what(words: Sequence[str]) -> bool:
    """The word after the program says what it does, and that is not to run another one."""
    if len(words) < 2 or not SUBCOMMAND.match(words[1]):
        return False
    if tuple(words[:2]) in THREE_WORDS:
        return len(words) > 2 and SUBCOMMAND.match(words[2]) is not None
    return words[1] not in EVALUATING


def _word_for_word(words: tuple[str, ...]) -> str | None:
    """The command as a rule text, if a rule reads it as these very words."""
    content = shlex.join(words)
    if len(content) > MAX_WORDS or CONTROL.search(content) or any(word.startswith(UNKNOWN) for word in words):
        return None
    return content if WordRule.parse(content) == WordRule(words, further=False) else None


def _runs_anything(word: str) -> bool:
    name = name_of(word)
    return (
        any(name in table for table in (SHELLS, WRAPPERS, REBINDERS, ACTIONS, TEXTS, NEVER, KNOWN))
        or INTERPRETERS.match(name) is not None
    )


def _escaped(path: str) -> str:
    return re.sub(r"([\\*?\[])", r"\\\1", path)


def _below(path: str, folder: str) -> bool:
    return bool(folder) and (path == folder or path.startswith(folder.rstrip("/") + "/"))


def _rule(tool: str, content: str | None) -> PermissionRule:
    return PermissionRule(tool_name=tool, rule_content=content, behavior=PermissionBehavior.ALLOW, source="suggested")
