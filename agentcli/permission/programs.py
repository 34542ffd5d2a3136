"""Programs whose effects are known, option by option; what is not listed is not known.

Read-only means: changes no file, runs no other program, opens no connection, whatever the files hold that it reads,
in an environment that names no programs or options of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agentcli.permission import meaning as means
from agentcli.permission.meaning import Meaning, Raw
from agentcli.permission.use import UNKNOWN_USE, Options, Use, names, options
from agentcli.permission.word import Sort, Word
from agentcli.permission.wrappers import name_of

NO_OPTIONS = Options()


@dataclass(slots=True, frozen=True)
class Program:
    """One row: why it is known, which options it may be given, and what its operands are."""

    why: str
    options: Options = NO_OPTIONS
    meaning: Meaning = means.filtering
    most: int | None = None
    """More operands would mean something else."""
    tolerant: bool = False
    """No option can do harm, so a file whose name is an option cannot either: globs are welcome."""

    def use(self, words: Sequence[Word]) -> Use:
        """What the words after the program do."""
        parsed = self.options.parse(words)
        if parsed is None or (self.most is not None and len(parsed.operands) > self.most):
            return UNKNOWN_USE
        return self.meaning(parsed)


FILTER = "prints what it reads"
DIGEST = Program(
    "prints digests; checking a list opens whatever that names", options("btz", "", "binary text zero tag"), tolerant=True
)
ENCODER = Program("encodes; a second operand is refused", options("di", "w", "decode ignore-garbage wrap"), most=1)

FILTERS: dict[str, Program] = {
    "cat": Program(FILTER, options("AbeEnstTuv", longs="show-all number number-nonblank squeeze-blank show-ends"), tolerant=True),
    "head": Program(FILTER, options("qvz", "nc", "quiet silent verbose lines bytes", numbers=True), tolerant=True),
    "tail": Program("prints an end; following has none", options("qvz", "nc", "quiet verbose lines bytes", numbers=True)),
    "wc": Program("counts; names from a file are left out", options("clmwL", longs="bytes chars lines words"), tolerant=True),
    "nl": Program(FILTER, options("p", "bdfhilnsvw"), tolerant=True),
    "tac": Program(FILTER, options("br", "s"), tolerant=True),
    "rev": Program(FILTER, tolerant=True),
    "cut": Program(FILTER, options("sz", "bcdf", "complement only-delimited delimiter fields"), tolerant=True),
    "paste": Program(FILTER, options("sz", "d"), tolerant=True),
    "tr": Program("changes letters between input and output", options("cCdst"), means.telling),
    "fold": Program(FILTER, options("bs", "w", "width"), tolerant=True),
    "fmt": Program(FILTER, options("cstu", "wgp"), tolerant=True),
    "expand": Program(FILTER, options("i", "t", "tabs"), tolerant=True),
    "unexpand": Program(FILTER, options("a", "t"), tolerant=True),
    "comm": Program(FILTER, options("123z", longs="check-order nocheck-order output-delimiter total"), tolerant=True),
    "join": Program(FILTER, options("iz", "aejotv12", "header check-order nocheck-order"), tolerant=True),
    "uniq": Program("a second operand is written", options("cdDuiz", "fsw", "count repeated unique ignore-case"), most=1),
    "base64": ENCODER,
    "base32": ENCODER,
    "od": Program("dumps", options("abcdfilosxv", "AjNt", "address-radix skip-bytes read-bytes format"), tolerant=True),
    "xxd": Program("dumps; a second operand is written", options("abeiupE", "cgls", bundles=False), most=1),
    "hexdump": Program("dumps", options("bcCdovx", "ns"), tolerant=True),
    "strings": Program(
        "prints what can be read; `@x` names files in x",
        options("afwo", "nets", "all print-file-name bytes radix"),
        means.reading_strings,
        tolerant=True,
    ),
    "column": Program(FILTER, options("tx", "sco", "table separator output-separator columns"), tolerant=True),
    **dict.fromkeys(("md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum"), DIGEST),
    "cksum": Program("prints digests", tolerant=True),
    "sum": Program("prints digests", options("rs"), tolerant=True),
    "sed": Program(
        "prints what a script picks; scripts that write or run are left out",
        options("nEruszi", "e", "quiet silent regexp-extended unbuffered null-data posix in-place", "expression"),
        means.picking,
    ),
    "jq": Program(
        "prints what a filter picks",
        options(
            "rcnesSMCaj", "", "raw-output compact-output null-input exit-status slurp sort-keys tab join-output ascii-output"
        ),
        means.querying,
    ),
}

SEARCHERS: dict[str, Program] = {
    "cmp": Program("compares", options("bls", "in", "verbose print-bytes quiet silent"), tolerant=True),
    "diff": Program(
        "compares; paging through pr is left out",
        options(
            "abBcdeEiNpqrstTuwyZ",
            "CUWxI",
            "unified context brief recursive color minimal side-by-side new-file ignore-case no-dereference",
            "exclude",
        ),
        means.comparing,
    ),
    "grep": Program(
        "searches; links are not followed below a folder, patterns from a file are left out",
        options(
            "abcEFGhHiIlLnoPqrsTUvwxyzZ",
            "eABCm",
            """color colour line-number recursive ignore-case files-with-matches files-without-match count only-matching text null
            fixed-strings extended-regexp perl-regexp word-regexp invert-match quiet no-messages with-filename no-filename""",
            "regexp include exclude exclude-dir max-count context before-context after-context",
            numbers=True,
        ),
        means.searching,
    ),
    "rg": Program(
        "searches; preprocessors, decompressors, host names and following links are left out",
        options(
            "abcFHiIlnNopPqsSuUvwx0",
            "egtTABCmjMr",
            """no-config hidden no-ignore no-ignore-vcs files json heading no-heading line-number no-line-number count column trim
            count-matches stats vimgrep fixed-strings ignore-case smart-case case-sensitive word-regexp line-regexp invert-match
            files-with-matches files-without-match only-matching multiline multiline-dotall text type-list no-messages null""",
            """regexp glob iglob type type-not after-context before-context context max-count max-depth max-columns max-filesize
            color sort sortr replace threads""",
        ),
        means.ripping,
    ),
    "ls": Program(
        "lists",
        options(
            "aAbBcCdfFgGhHiklLmnNopqQrRsStuUvxXZ1",
            "",
            """all almost-all author escape classify color directory full-time group-directories-first human-readable inode ignore
            literal no-group numeric-uid-gid recursive reverse size sort time time-style width zero si indicator-style hide""",
        ),
        means.listing,
        tolerant=True,
    ),
    "tree": Program(
        "lists; writing the listing and following links are left out",
        options("adfispugDFqNACrtUvxJX", "LIP", "dirsfirst noreport prune du si gitignore"),
        means.listing,
    ),
    "du": Program(
        "adds up",
        options(
            "abchkmsSx0", "dBt", "all apparent-size bytes human-readable summarize total one-file-system", "exclude max-depth"
        ),
        means.listing,
        tolerant=True,
    ),
    "df": Program("tells about disks", options("ahHiklPT", "tB", "all human-readable inodes local print-type"), tolerant=True),
    "stat": Program("tells about files", options("Lft", "c", "format printf dereference file-system terse"), tolerant=True),
    "file": Program("guesses; compiling and unpacking are left out", options("bhikLNnr0", "F", "brief mime mime-type")),
    "realpath": Program("resolves", options("emLPqsz", "", "canonicalize-existing relative-to relative-base"), tolerant=True),
    "readlink": Program("resolves", options("femnqsvz", "", "canonicalize canonicalize-existing"), tolerant=True),
}

TELLERS: dict[str, Program] = {
    "pwd": Program("names the folder", options("LP"), means.alone),
    "whoami": Program("names the user", meaning=means.alone),
    "logname": Program("names the user", meaning=means.alone),
    "groups": Program("names the user's groups", meaning=means.alone),
    "id": Program("names the user; others may be looked up over a network", options("ugGnrz"), means.alone),
    "uname": Program("names the system", options("asnrvmpio"), means.alone),
    "arch": Program("names the system", meaning=means.alone),
    "hostname": Program("names the machine; an operand renames it", meaning=means.alone),
    "uptime": Program("tells the time since the start", options("ps"), means.alone),
    "free": Program("tells about memory", options("bkmghtlw"), means.alone),
    "nproc": Program("counts processors", options(longs="all ignore"), means.alone),
    "tty": Program("names the terminal", options("s"), means.alone),
    "date": Program("tells the time; setting it is left out", options("uR", "dr", "utc iso-8601 rfc-3339 date"), means.dating),
    "true": Program("does nothing", meaning=means.telling, tolerant=True),
    "false": Program("does nothing", meaning=means.telling, tolerant=True),
    "sleep": Program("waits", meaning=means.telling),
    "seq": Program("prints numbers", options("w", "sf"), means.telling),
    "expr": Program("reckons with what it is given", meaning=means.telling),
    "basename": Program("cuts a text", options("az", "s"), means.telling, tolerant=True),
    "dirname": Program("cuts a text", options("z"), means.telling, tolerant=True),
    "type": Program("looks a name up", options("aftpP"), means.telling),
    "which": Program("looks a name up", options("as"), means.telling),
}

CHANGERS: dict[str, Program] = {
    "mkdir": Program("makes the folders that it names", options("pv", "m", "parents verbose mode"), means.making),
    "touch": Program("makes or stamps what it names", options("acmfh", "dtr", "no-create date reference time"), means.making),
    "cp": Program(
        "writes the last operand, or below it",
        options("aRrpvnfuidPLH", "t", "recursive archive verbose no-clobber force update preserve", "target-directory"),
        means.copying,
    ),
    "mv": Program(
        "moves the operands", options("vnfui", "t", "verbose no-clobber force update", "target-directory"), means.moving
    ),
}

PROGRAMS: dict[str, Program] = {**FILTERS, **SEARCHERS, **TELLERS, **CHANGERS}

RAW: dict[str, Raw] = {
    "echo": means.echo,
    "printf": means.printf,
    "test": means.test,
    "[": means.bracket,
    "find": means.find,
    "ps": means.processes,
    "command": means.command,
    "git": means.git,
    "cd": means.cd,
    **dict.fromkeys(("rm", "rmdir", "unlink", "shred"), means.removing),
    **dict.fromkeys(("tee", "truncate", "ln", "install", "mkfifo", "mknod"), means.editing),
    **dict.fromkeys(("chmod", "chown", "chgrp", "split"), means.editing_after_first),
    "dd": means.dd,
    **dict.fromkeys(("tar", "zip", "7z", "rsync", "scp", "cpio"), means.sweeping),
}
"""Programs that need all their words at once. From `rm` on they are known to change what they name, and no more than that."""


SPEAKING = names("echo printf expr basename dirname : true false export set unset local exit return kill wait")
"""Their words are texts, whatever they look like."""


def use_of(words: Sequence[Word]) -> Use:
    """What a simple command does; a program by its path is another program, however known its name."""
    name = words[0].text
    program = PROGRAMS.get(name)
    if raw := RAW.get(name):
        use = raw(words[1:])
    elif program and all(_welcome(word, program) for word in words):
        use = program.use(words[1:])
    else:
        use = UNKNOWN_USE
    return changes_of(words) if use == UNKNOWN_USE else use


def changes_of(words: Sequence[Word]) -> Use:
    """What is seen of a command that proves nothing: the places that it may look at or change, read loosely."""
    name = name_of(words[0].text)
    if name in SPEAKING:
        return UNKNOWN_USE
    if raw := RAW.get(name):
        seen = raw(words[1:])
    elif program := PROGRAMS.get(name):
        seen = program.use([replace(word, sort=Sort.SURE) if _sure_enough(word) else word for word in words[1:]])
    else:
        seen = UNKNOWN_USE
    if seen == UNKNOWN_USE:
        return means.mentioning(words[1:])
    return replace(seen, read_only=False, simple_change=False)


def _sure_enough(word: Word) -> bool:
    return word.readable or (word.sort is not Sort.GLOB and (word.home or word.guessed))


def _welcome(word: Word, program: Program) -> bool:
    return word.sort is Sort.SURE or (word.sort is Sort.GLOB and program.tolerant)
