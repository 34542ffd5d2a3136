"""A shell line read in two ways: exactly, or not at all; and loosely, to see every program that it names.

The grammar's words are not bash's words: each rule here closes a difference that was measured between the two.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from agentcli.permission.meaning import stood_in
from agentcli.permission.subject import UNKNOWN
from agentcli.permission.use import names
from agentcli.permission.word import GIVEN, Sort, Word, decode
from agentcli.permission.wrappers import inner_of, name_of

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_EXACT, MAX_READ = 4_096, 65_536
MAX_COMMANDS, MAX_NESTING = 32, 6
JOINERS = frozenset(("&&", "||", ";", "|", "\n"))
WRITING = frozenset((">", ">>", ">|", "&>", "&>>"))
HARMLESS_ASSIGNMENTS = frozenset(("LC_ALL", "LANG", "LC_CTYPE", "LC_COLLATE", "NO_COLOR", "COLUMNS"))
RESERVED = names("if then elif else fi for while until do done case esac select function coproc in ! [[ ]] { }")
BLANKS = re.compile(rb"[ \t]*\Z")
SEPARATING = re.compile(rb"(?:[ \t]+|(?<=[ \t])\\\n(?=[ \t]))+\Z")
BETWEEN_STATEMENTS = re.compile(rb"[ \t\n]*\Z")
NETWORK = ("/dev/tcp/", "/dev/udp/")
BESIDE_WORDS = frozenset(("variable_assignment", "file_redirect", "herestring_redirect"))
WORDS = frozenset(("word", "number", "raw_string", "string", "concatenation", "simple_expansion", "expansion"))


@dataclass(slots=True, frozen=True)
class Part:
    """One simple command of the exact reading."""

    words: tuple[Word, ...]
    after: str = ""
    """The joiner that stands before it."""
    plain: bool = True
    """False: an assignment before it may change what the words mean."""
    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()


@dataclass(slots=True, frozen=True)
class Reading:
    """Both readings of a line."""

    parts: tuple[Part, ...] = ()
    """The exact one; empty where there is none."""
    found: tuple[tuple[Word, ...], ...] = ()
    """argv of every program that is named anywhere."""
    writes: tuple[Word, ...] = ()
    """Where redirections write, anywhere."""
    reads: tuple[Word, ...] = ()
    """What redirections read, anywhere."""
    fault: str | None = None
    unproven: str | None = None


class Unproven(Exception):
    """The exact reading ends; the message says at what."""


def read_line(text: str) -> Reading:
    """Read a line; never raises for what is written in it."""
    fault = _odd(text) or (f"it is longer than {MAX_READ} bytes" if len(text.encode(errors="replace")) > MAX_READ else None)
    if fault:
        return Reading(fault=fault, unproven=fault)
    source = text.encode()
    root = _parser().parse(source).root_node
    if root.has_error:
        return Reading(fault="it cannot be parsed", unproven="it cannot be parsed")
    loose = Loose()
    loose.read(root, source, 0)
    try:
        parts = _exact(root, source)
    except Unproven as reason:
        return Reading((), tuple(loose.found), tuple(loose.writes), tuple(loose.reads), loose.fault, str(reason))
    return Reading(parts, tuple(loose.found), tuple(loose.writes), tuple(loose.reads), loose.fault)


def words_of(text: str) -> tuple[str, ...] | None:
    """The words of one simple command without anything to expand, or None."""
    parts = read_line(text).parts
    if len(parts) != 1 or parts[0].reads or parts[0].writes:
        return None
    return tuple(word.text for word in parts[0].words) if all(word.sort is Sort.SURE for word in parts[0].words) else None


def _odd(text: str) -> str | None:
    for letter in text:
        if letter in " \t\n" or " " < letter <= "~":
            continue
        if unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"):
            return f"it holds the character U+{ord(letter):04X}"
    return None


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


# The exact reading.


def _exact(root: Node, source: bytes) -> tuple[Part, ...]:
    if len(source) > MAX_EXACT:
        raise Unproven(f"it is longer than {MAX_EXACT} bytes")
    if not BETWEEN_STATEMENTS.match(source[: root.start_byte]) or not BETWEEN_STATEMENTS.match(source[root.end_byte :]):
        raise Unproven("something stands around it")
    if sum(node.type == "command" for node in _every(root)) > MAX_COMMANDS:
        raise Unproven(f"it has more than {MAX_COMMANDS} commands")
    return tuple(_statement(root, source, ""))


def _statement(node: Node, source: bytes, after: str) -> list[Part]:
    _check_edges(node, source)
    match node.type:
        case "program" | "list" | "pipeline":
            return _joined(node, source, after)
        case "redirected_statement":
            return _redirected(node, source, after)
        case "command":
            return [_command(node, source, after)]
        case "test_command":
            return [_test(node, source, after)]
        case kind:
            raise Unproven(f"it uses {kind.replace('_', ' ')}")


def _joined(node: Node, source: bytes, after: str) -> list[Part]:
    parts: list[Part] = []
    _check_gaps(node.children, source, BETWEEN_STATEMENTS)
    for child in node.children:
        if child.type == "comment":
            if source[child.start_byte - 1 : child.start_byte] not in (b"", b" ", b"\t", b"\n", b";", b"|"):
                raise Unproven("a comment stands close to a word")
        elif child.is_named:
            parts += _statement(child, source, after)
            after = "\n"
        elif child.type in JOINERS and (child.text or b"").strip(b" \t") == child.type.encode():
            after = child.type
        else:
            raise Unproven(f"it uses {child.type}")
    return parts


def _redirected(node: Node, source: bytes, after: str) -> list[Part]:
    body, *redirects = node.children
    _check_words(node.children, source)
    parts = _statement(body, source, after)
    if not parts:
        raise Unproven("a redirection has no command")
    reads, writes = _redirections(redirects, source)
    return [*parts[:-1], replace(parts[-1], reads=(*parts[-1].reads, *reads), writes=(*parts[-1].writes, *writes))]


def _redirections(nodes: Sequence[Node], source: bytes) -> tuple[list[Word], list[Word]]:
    reads: list[Word] = []
    writes: list[Word] = []
    for node in nodes:
        if node.type != "file_redirect":
            raise Unproven(f"it uses {node.type.replace('_', ' ')}")
        _check_gaps(node.children, source, BLANKS)
        if not _numbered(node):
            raise Unproven("a word stands close to a redirection")
        operator, *destinations = [child for child in node.children if child.type != "file_descriptor"]
        if len(destinations) != 1:
            raise Unproven("a redirection is followed by further words")
        word = decode(destinations[0], source)
        if operator.type == ">&" and destinations[0].type == "number" and len(word.text) == 1:
            continue
        if word.sort is not Sort.SURE or word.text.startswith(NETWORK):
            raise Unproven("where a redirection leads is not known")
        if operator.type == "<":
            reads.append(word)
        elif operator.type not in (*WRITING, ">&"):
            raise Unproven(f"it uses {operator.type}")
        elif word.text != "/dev/null":
            writes.append(word)
    return reads, writes


def _command(node: Node, source: bytes, after: str) -> Part:
    children = node.children
    redirects = [child for child in children if child.type == "file_redirect"]
    reads, writes = _redirections(redirects, source)
    assignments = [child for child in children if child.type == "variable_assignment"]
    named = [child for child in children if child.type == "command_name" or child.type in WORDS]
    if len(redirects) + len(assignments) + len(named) != len(children):
        raise Unproven("it has parts that are not words")
    _check_words(children, source)
    words = tuple(_exact_word(name, source) for name in named)
    if not words or words[0].sort is not Sort.SURE or words[0].text in RESERVED or words[0].home or not words[0].text:
        raise Unproven("the program is not named plainly")
    plain = all(_harmless(assignment, source) for assignment in assignments)
    return Part(words, after, plain, tuple(reads), tuple(writes))


def _test(node: Node, source: bytes, after: str) -> Part:
    """`[ -d src ]`; anything richer may evaluate what it compares."""
    match node.children:
        case [opening, body, closing] if opening.type == "[" and closing.type == "]" and body.type == "unary_expression":
            pieces = [opening, *body.children, closing]
        case _:
            raise Unproven("it uses a test that is more than one question")
    if len(pieces) != 4:
        raise Unproven("it uses a test that is more than one question")
    _check_gaps(pieces, source, SEPARATING)
    return Part((Word("["), *(_exact_word(piece, source) for piece in pieces[1:3]), Word("]")), after)


def _exact_word(node: Node, source: bytes) -> Word:
    word = decode(node, source)
    if word.sort in (Sort.LOOSE, Sort.HIDDEN):
        raise Unproven("a word is only known when it runs")
    return word


def _harmless(assignment: Node, source: bytes) -> bool:
    match assignment.children:
        case [name, _, value] if (name.text or b"").decode() in HARMLESS_ASSIGNMENTS:
            return decode(value, source).sort is Sort.SURE
        case _:
            return False


def _check_edges(node: Node, source: bytes) -> None:
    """A node may be longer than its children; what they leave over must be blank (a last `\\ ` is a word for bash)."""
    if not node.children:
        return
    first, last = node.children[0], node.children[-1]
    edges = (source[node.start_byte : first.start_byte], source[last.end_byte : node.end_byte])
    if not all(BETWEEN_STATEMENTS.match(edge) for edge in edges):
        raise Unproven("it ends in something that is no word")


def _check_gaps(nodes: Sequence[Node], source: bytes, allowed: re.Pattern[bytes]) -> None:
    for left, right in pairwise(nodes):
        if not _gap(left, right, source, allowed):
            raise Unproven("it is not divided as it looks")


def _check_words(nodes: Sequence[Node], source: bytes) -> None:
    """Between two words stand blanks; only the sign of a redirection may touch the word before it (`a2>f` is the word `a2`)."""
    for left, right in pairwise(nodes):
        numbered = right.child_count > 0 and right.children[0].type == "file_descriptor"
        touching = right.type == "file_redirect" and not numbered
        if not _gap(left, right, source, BLANKS if touching else SEPARATING):
            raise Unproven("its words are not divided as they look")


def _numbered(redirect: Node) -> bool:
    """What the grammar takes for a descriptor is one: `-i1>&2` is the word `-i1` for bash."""
    return all((child.text or b"").isdigit() for child in redirect.children if child.type == "file_descriptor")


def _gap(left: Node, right: Node, source: bytes, allowed: re.Pattern[bytes]) -> bool:
    # `pattern.match` with a start keeps look-behinds aware of what stands before the gap.
    return allowed.match(source[: right.start_byte], left.end_byte) is not None


# The loose reading.


@dataclass(slots=True)
class Loose:
    """Collects what a line names, however deep; says at what it had to give up."""

    found: list[tuple[Word, ...]] = field(default_factory=list[tuple[Word, ...]])
    writes: list[Word] = field(default_factory=list[Word])
    reads: list[Word] = field(default_factory=list[Word])
    fault: str | None = None

    def read(self, root: Node, source: bytes, depth: int) -> None:
        """Look at every node once, in the order of the text."""
        for node in _every(root):
            match node.type:
                case "command":
                    self._command(node, source, depth)
                case "declaration_command" | "unset_command" | "test_command":
                    self.found.append((Word((node.children[0].text or b"").decode()),))
                case "file_redirect":
                    self._redirect(node, source)
                case "expansion" if any(child.type in ("@", "!") for child in node.children):
                    self._give_up("a variable is evaluated")
                case _:
                    pass

    def _command(self, node: Node, source: bytes, depth: int) -> None:
        named = [child for child in node.children if child.type not in BESIDE_WORDS]
        if any(_hides_an_end(left, right, source) for left, right in pairwise(named)):
            return self._give_up("a line ends inside a word")
        words = tuple(decode(name, source) for name in named)
        if words:
            self._words(words, depth)

    def _words(self, words: tuple[Word, ...], depth: int) -> None:
        if not words[0].readable or not words[0].text:
            return self._give_up("a program is only named when it runs")
        self.found.append(words)
        if depth > MAX_NESTING:
            return self._give_up("it is nested too deeply")
        inner = inner_of([word.shown for word in words])
        if inner.fault:
            self._give_up(inner.fault)
        for start in inner.starts:
            self._words(_inner_words(words, start), depth + 1)
        for text in inner.texts:
            self._text(text, depth + 1)

    def _text(self, text: str, depth: int) -> None:
        """Shell text inside a word is a line of its own."""
        source = text.encode(errors="replace")
        root = _parser().parse(source).root_node
        if UNKNOWN in text or depth > MAX_NESTING or root.has_error:
            return self._give_up("text that a shell will run cannot be read")
        self.read(root, source, depth)

    def _redirect(self, node: Node, source: bytes) -> None:
        operator, *destinations = [child for child in node.children if child.type != "file_descriptor"] or [node]
        if len(destinations) > 1 or not _numbered(node):
            self._give_up("a redirection has words beside it")
        if operator.type in (*WRITING, ">&", "<>") and destinations and destinations[0].type != "number":
            self.writes.append(decode(destinations[0], source))
        if operator.type in ("<", "<>") and destinations:
            self.reads.append(decode(destinations[0], source))

    def _give_up(self, reason: str) -> None:
        self.fault = self.fault or reason


def _inner_words(words: tuple[Word, ...], start: int) -> tuple[Word, ...]:
    """What an inner program is given: by `find` what it has found, by `xargs` what it reads."""
    match name_of(words[0].text):
        case "find":
            return stood_in(words, start)
        case "xargs" | "parallel" | "fd" | "fdfind":
            return (*words[start:], GIVEN)
        case _:
            return words[start:]


def _hides_an_end(left: Node, right: Node, source: bytes) -> bool:
    """A backslash at a line's end joins what the grammar divides."""
    return b"\\" in source[left.end_byte : right.start_byte] and not _gap(left, right, source, SEPARATING)


def _every(root: Node) -> Iterator[Node]:
    """All nodes below, in order; a stack of our own, since the depth is the writer's choice."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)
