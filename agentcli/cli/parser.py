"""The flags of every command, and nothing that has to be loaded for them but argparse."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from agentcli.cli.say import say

MODES = ("default", "accept_edits", "explore", "bypass", "dont_ask")
APIS = ("chat", "responses")
RESUME = {
    "chat": "go on with a session, by its id or a beginning of it; without ID it is picked on the screen",
    "run": "go on with a session, by its id or a beginning of it",
}
SESSION_ID = "the id, or a beginning of it that no other has"

COMMANDS = {
    "chat": "the screen, in the current folder (this is also what `agentcli` alone does)",
    "run": "one reply without a screen",
    "sessions": "saved sessions: list, show, search, export, fork, title, verify, rm",
    "inbox": "the questions that wait for an answer, over all sessions; on a terminal they can be answered",
    "rules": "permission rules: list, test, rm",
    "trust": "the settings that this repository brings: shown, and used or not",
    "why": "who decided a tool call, when, by which rule, and what was shown",
    "models": "the models that can be used now, those of servers on this machine included",
    "themes": "the themes found",
    "doctor": "what works on this machine",
}
HELP = "\n".join(
    [
        "usage: agentcli [COMMAND] [FLAGS]",
        "",
        "A terminal coding agent whose approvals outlive the process.",
        "",
        "commands:",
        *(f"  {name:<10}{words}" for name, words in COMMANDS.items()),
        "",
        "flags:",
        "  -h, --help    this text; after a command, the text of that command",
        "  --version     the version",
    ]
)


class Parser(argparse.ArgumentParser):
    """A parser whose every complaint is one line and exit code 2."""

    def error(self, message: str) -> NoReturn:
        say(f"{message} (see {self.prog} --help)")
        sys.exit(2)


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The command line as data; `command` names the command. Ends the process for help and for what is wrong."""
    words = list(argv)
    if words and words[0] in ("-h", "--help"):
        print(HELP)
        sys.exit(0)
    command, rest = ("chat", words) if not words or words[0].startswith("-") else (words[0], words[1:])
    if command not in PARSERS:
        Parser(prog="agentcli").error(f"unknown command {command!r}")
    parser = Parser(prog=f"agentcli {command}", description=COMMANDS[command], allow_abbrev=False)
    parser.set_defaults(command=command)
    return PARSERS[command](parser, rest)


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _amount(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ValueError
    return value


# argparse shows these names where a value is wrong
_count.__name__ = "number from 1"
_amount.__name__ = "number above 0"


def _chat(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    parser.add_argument("prompt", nargs="*", metavar="PROMPT", help="sent at once")
    _add_conversation(parser)
    chosen = _mixed(parser, words)
    chosen.prompt = _only(parser, chosen.prompt)
    return chosen


def _run(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    parser.add_argument(
        "prompt", nargs="*", metavar="PROMPT", help="the message; `-`, or none at all, reads stdin (PROMPT - joins both)"
    )
    _add_conversation(parser)
    parser.add_argument("--output", choices=("text", "json", "events"), default="text", help="the form of stdout (text)")
    parser.add_argument("--input", choices=("events",), help="stdin is JSON lines: messages, answers, interrupts")
    parser.add_argument(
        "--on-ask", choices=("stop", "deny", "allow"), default="stop", help="at a question: leave it waiting (stop), or answer it"
    )
    parser.add_argument("--answer", choices=("allow", "deny"), help="answer everything that waits in the resumed session")
    parser.add_argument("--dry-run", action="store_true", help="print the request that would be sent, and send nothing")
    chosen = _mixed(parser, words)
    if chosen.answer and not _resumes(chosen):
        parser.error("--answer needs --resume ID or --continue")
    prompts = [word for word in chosen.prompt if word != "-"]
    if len(chosen.prompt) - len(prompts) > 1:
        parser.error("- stands more than once")
    if "-" in chosen.prompt and chosen.input:
        parser.error("- and --input events both read stdin")
    if chosen.dry_run and (chosen.answer or chosen.input):
        parser.error(f"--dry-run and {'--answer' if chosen.answer else '--input events'} contradict each other")
    asked_for = chosen.prompt or _resumes(chosen) or chosen.input or chosen.dry_run
    chosen.read_stdin = "-" in chosen.prompt or not asked_for
    chosen.prompt = _only(parser, prompts)
    return chosen


def _sessions(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    actions = _actions(parser)
    listed = actions.add_parser("list", help="all sessions, the last one first", allow_abbrev=False)
    shown = actions.add_parser("show", help="the messages of a session", allow_abbrev=False)
    searched = actions.add_parser("search", help="where a text stands, over all sessions", allow_abbrev=False)
    searched.add_argument("text", metavar="TEXT", help="the words; upper and lower case are one")
    exported = actions.add_parser("export", help="a session as a document", allow_abbrev=False)
    exported.add_argument("--format", choices=("md", "html"), help="Markdown (md), or one self-contained HTML file")
    exported.add_argument("--output", metavar="FILE", help="where to (stdout); its ending chooses the format too")
    forked = actions.add_parser("fork", help="a new session that begins as this one stands; prints its id", allow_abbrev=False)
    entitled = actions.add_parser("title", help="what a session is called", allow_abbrev=False)
    verified = actions.add_parser("verify", help="whether a log is whole, or all of them; exit code 1 if not", allow_abbrev=False)
    verified.add_argument("id", metavar="ID", nargs="?", help=SESSION_ID)
    removed = actions.add_parser("rm", help="remove a session for good", allow_abbrev=False)
    removed.add_argument("--yes", action="store_true", help="do not ask")
    for action in (shown, exported, forked, entitled, removed):
        action.add_argument("id", metavar="ID", help=SESSION_ID)
    entitled.add_argument("text", metavar="TEXT", help="its title; of a longer one the beginning")
    for action in (listed, shown, searched, forked, verified):
        _add_json(action)
    return parser.parse_args(words)


def _rules(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    actions = _actions(parser)
    listed = actions.add_parser("list", help="the rules that hold here, and where each comes from", allow_abbrev=False)
    _add_json(listed)
    tested = actions.add_parser(
        "test", help="decide without running: a JSON line {tool, input, mode?} in, a decision out", allow_abbrev=False
    )
    removed = actions.add_parser("rm", help="take away a rule that was given by a keypress", allow_abbrev=False)
    removed.add_argument("rule", metavar="RULE", help="its text, as `rules list` shows it")
    removed.add_argument("--everywhere", action="store_true", help="the rule of everywhere, not of this project")
    for action in (listed, tested, removed):
        _add_places(action)
    return parser.parse_args(words)


def _trust(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    said = parser.add_mutually_exclusive_group()
    said.add_argument("--yes", dest="answer", action="store_const", const=True, help="use them, as long as they stay as they are")
    said.add_argument("--no", dest="answer", action="store_const", const=False, help="do not, and do not ask again")
    said.add_argument("--forget", action="store_true", help="forget what was said")
    parser.add_argument("--cwd", metavar="DIR", help="a folder of the repository (the current one)")
    _add_json(parser)
    return parser.parse_args(words)


def _why(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    parser.add_argument("call", metavar="CALL", nargs="?", default="", help="its id, or a beginning of it (the last call)")
    parser.add_argument("--session", metavar="ID", help="look only there")
    _add_json(parser)
    return parser.parse_args(words)


def _plain(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    _add_json(parser)
    return parser.parse_args(words)


PARSERS: dict[str, Callable[[Parser, Sequence[str]], argparse.Namespace]] = {
    "chat": _chat,
    "run": _run,
    "sessions": _sessions,
    "inbox": _plain,
    "rules": _rules,
    "trust": _trust,
    "why": _why,
    "models": _plain,
    "themes": _plain,
    "doctor": _plain,
}


def _actions(parser: Parser) -> argparse._SubParsersAction[Parser]:  # pyright: ignore[reportPrivateUsage]
    return parser.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=Parser)


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def _add_places(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cwd", metavar="DIR", help="the working folder (the current one)")
    parser.add_argument(
        "--add-dir", metavar="DIR", action="append", default=[], help="a further folder to work in; may be repeated"
    )


def _add_conversation(parser: argparse.ArgumentParser) -> None:
    """The flags that `chat` and `run` share."""
    parser.add_argument("--resume", metavar="ID", nargs="?", const="", help=RESUME[parser.get_default("command")])
    parser.add_argument("--continue", dest="continue_", action="store_true", help="go on with the last session of this folder")
    parser.add_argument("--fork", action="store_true", help="with either: go on in a new session")
    parser.add_argument("--explore", action="store_true", help="look only, change nothing: --mode explore")
    parser.add_argument("--mode", choices=MODES, help="what is asked for, allowed, denied")
    parser.add_argument("--model", metavar="NAME", help="a model, provider/model, demo, or script:FILE")
    parser.add_argument("--api", choices=APIS, help="how the endpoint is spoken to")
    _add_places(parser)
    parser.add_argument("--max-iters", metavar="N", type=_count, help="model calls in one reply (200)")
    parser.add_argument("--max-cost", metavar="USD", type=_amount, help="what one reply may cost before it asks whether to go on")
    parser.add_argument(
        "--max-tokens", metavar="N", type=_count, help="tokens one reply may take, in and out, before it asks whether to go on"
    )
    parser.add_argument("--external-tools", metavar="FILE", help="a JSON list of tools that are executed outside")
    parser.add_argument("--theme", metavar="NAME", help="one of `agentcli themes`")


def _mixed(parser: Parser, words: Sequence[str]) -> argparse.Namespace:
    """Flags and prompts in any order; what stands behind `--` is no flag."""
    flags = list(words)
    rest: list[str] = []
    if "--" in flags:
        at = flags.index("--")
        flags, rest = flags[:at], flags[at + 1 :]
    chosen = parser.parse_intermixed_args(flags)
    chosen.prompt = [*chosen.prompt, *rest]
    pick = _pick(parser, chosen)
    if chosen.explore and chosen.mode not in (None, "explore"):
        parser.error(f"--explore and --mode {chosen.mode} contradict each other")
    if (pick or chosen.resume is not None) and chosen.continue_:
        parser.error("--resume and --continue contradict each other")
    if chosen.fork and not (pick or _resumes(chosen)):
        parser.error("--fork needs --resume ID or --continue")
    if chosen.command == "chat":
        chosen.pick = pick
    if chosen.explore:
        chosen.mode = "explore"
    return chosen


def _pick(parser: Parser, chosen: argparse.Namespace) -> bool:
    """Whether `--resume` stands without an ID; no id has a blank, so what has one behind it is the PROMPT of `chat`."""
    if chosen.resume is None:
        return False
    if chosen.command != "chat":
        if not chosen.resume:
            parser.error("--resume needs an ID here; `agentcli sessions list` shows them")
        return False
    if len(chosen.resume.split()) > 1:
        chosen.prompt, chosen.resume = [chosen.resume, *chosen.prompt], ""
    if chosen.resume:
        return False
    chosen.resume = None
    return True


def _only(parser: Parser, prompts: Sequence[str]) -> str | None:
    if len(prompts) > 1:
        parser.error("more than one PROMPT; put it in quotes")
    return prompts[0] if prompts else None


def _resumes(chosen: argparse.Namespace) -> bool:
    return chosen.resume is not None or chosen.continue_
