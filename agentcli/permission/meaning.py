"""What the words of known programs mean: which are files that they look at or change, which could do harm."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from agentcli.permission.sed import prints_only
from agentcli.permission.use import UNKNOWN_USE, Parsed, Use, names
from agentcli.permission.word import GIVEN, PRINTABLE_VARIABLES, Sort, Word
from agentcli.permission.wrappers import ACTIONS, name_of

Meaning = Callable[[Parsed], Use]
"""From options and operands, for programs whose options follow the rules."""
Raw = Callable[[Sequence[Word]], Use]
"""From all words after the program."""

HERE = Word(".")
PICKED = Word("./(what find picks)")
QUESTIONS = names("-e -f -d -r -w -x -s -L -h -b -c -p -S")
PRINTED = re.compile(r"(?:[^%]|%%|%[-+ #0']*\d*(?:\.\d+)?[sdiouxXeEfFgGcb])*\Z", re.DOTALL)
FIND_ALONE = names(
    """-print -print0 -ls -empty -prune -not ! -o -or -a -and -depth -mount -xdev -executable -readable -writable
    -true -false -quit ( ) -nouser -nogroup -noleaf -daystart"""
)
FIND_WITH_ONE = names(
    """-name -iname -path -ipath -wholename -iwholename -regex -iregex -regextype -type -xtype -size -mtime -mmin -ctime -cmin
    -atime -amin -maxdepth -mindepth -printf -perm -user -group -links -inum -uid -gid -newermt"""
)
FIND_WITH_FILE = names("-newer -anewer -cnewer -samefile")
PS_WORDS = names("aux ax a x u axu -e -f -ef -A -a -l -el -u")
NOT_IN_JQ = re.compile(r"\benv\b|\$ENV|\bimport\b|\binclude\b|\bmodulemeta\b")
REMOVERS = names("rm rmdir unlink shred")
FIND_BEFORE = re.compile(r"-[HLP]+|-O\d+")
FIND_NARROWING = names(
    "-name -iname -path -ipath -wholename -iwholename -regex -iregex -newer -size -mtime -mmin -ctime -cmin -atime -amin"
)
FIND_WIDENING = names("! -not -o -or ,")
ALL = re.compile(r"[./*?]*\Z")
BRACES = re.compile(r"([\w./+-]*)\{([\w./+-]*(?:,[\w./+-]*)+)\}([\w./+-]*)\Z")
BRACKETED = re.compile(r"[A-Za-z0-9_./:=@%+,#*?\[\]!-]*\Z")
GIT_SHOWING = names("diff show grep archive blame difftool format-patch")
GIT_TAKING = names("-C -c --git-dir --work-tree --namespace")
MOST_MENTIONS = 1_000


def files_of(operands: Sequence[Word]) -> tuple[Word, ...]:
    """The operands that are files; a lone dash is the input."""
    return tuple(word for word in operands if word.text != "-")


# Programs that only look.


def filtering(parsed: Parsed) -> Use:
    """Operands are files that are looked at."""
    return Use(read_only=True, looks=files_of(parsed.operands))


def telling(parsed: Parsed) -> Use:
    """Operands are texts."""
    return Use(read_only=True)


def alone(parsed: Parsed) -> Use:
    """An operand would mean something else."""
    return UNKNOWN_USE if parsed.operands else Use(read_only=True)


def listing(parsed: Parsed) -> Use:
    """Operands are places; without one it is the working folder."""
    return Use(read_only=True, looks=files_of(parsed.operands) or (HERE,))


def searching(parsed: Parsed) -> Use:
    """grep: a pattern, then files, or folders with all that lies below."""
    files = parsed.operands if parsed.has("-e", "--regexp") else parsed.operands[1:]
    if parsed.has("-r", "--recursive"):
        return Use(read_only=True, walks=files_of(files) or (HERE,))
    return Use(read_only=True, looks=files_of(files))


def ripping(parsed: Parsed) -> Use:
    """rg: a pattern, then places."""
    files = parsed.operands if parsed.has("-e", "--regexp", "--files", "--type-list") else parsed.operands[1:]
    bare = not parsed.has("-u", "--hidden", "--no-ignore")
    return Use(read_only=True, walks=files_of(files) or (HERE,), plain_names=bare)


def comparing(parsed: Parsed) -> Use:
    """diff: files, or folders with what lies in them."""
    return Use(read_only=True, walks=files_of(parsed.operands), follows=not parsed.has("--no-dereference"))


def reading_strings(parsed: Parsed) -> Use:
    """strings: files; `@x` anywhere would be replaced by the words that the file x holds, file names among them."""
    values = [value for given in parsed.options.values() for value in given]
    if any(word.text.startswith("@") for word in (*parsed.operands, *values)):
        return UNKNOWN_USE
    return filtering(parsed)


def dating(parsed: Parsed) -> Use:
    """date: an operand that is no format would set the clock."""
    shown = all(word.text.startswith("+") for word in parsed.operands)
    return Use(read_only=True, looks=tuple(parsed.values("-r"))) if shown else UNKNOWN_USE


def picking(parsed: Parsed) -> Use:
    """sed: a script that only prints, or files that are edited in place."""
    scripts = parsed.values("-e", "--expression")
    files = parsed.operands if scripts else parsed.operands[1:]
    scripts = scripts or list(parsed.operands[:1])
    if parsed.has("-i", "--in-place"):
        return Use(edits=files)
    harmless = bool(scripts) and all(script.sort is Sort.SURE and prints_only(script.text) for script in scripts)
    return Use(read_only=True, looks=files_of(files)) if harmless else UNKNOWN_USE


def querying(parsed: Parsed) -> Use:
    """jq: a filter that names neither the environment nor other files."""
    if not parsed.operands or NOT_IN_JQ.search(parsed.operands[0].text):
        return UNKNOWN_USE
    return Use(read_only=True, looks=files_of(parsed.operands[1:]))


def echo(words: Sequence[Word]) -> Use:
    """Prints its words; a variable may hold a key."""
    if any(word.sort not in (Sort.SURE, Sort.GLOB) and not _printable(word) for word in words):
        return UNKNOWN_USE
    return Use(read_only=True, looks=tuple(word for word in words if word.sort is Sort.GLOB))


def _printable(word: Word) -> bool:
    found = re.findall(r"\$\{?([A-Za-z0-9_]*)", word.source)
    return word.sort is Sort.VARIABLE and all(name in PRINTABLE_VARIABLES for name in found)


def printf(words: Sequence[Word]) -> Use:
    """`%n` and `-v` assign to a name, and an assignment evaluates its subscript."""
    words = words[1:] if words and words[0].text == "--" else words
    if not words or words[0].text.startswith("-") or any(word.sort is not Sort.SURE for word in words):
        return UNKNOWN_USE
    return Use(read_only=True) if PRINTED.match(words[0].text) else UNKNOWN_USE


def test(words: Sequence[Word]) -> Use:
    """One question about a file or a text; `-v` and numbers would evaluate what they are given."""
    if any(word.sort is not Sort.SURE for word in words):
        return UNKNOWN_USE
    match [word.text for word in words]:
        case [question, _] if question in QUESTIONS:
            return Use(read_only=True, looks=(words[1],))
        case [("-n" | "-z"), _] | [_, ("=" | "==" | "!="), _]:
            return Use(read_only=True)
        case _:
            return UNKNOWN_USE


def bracket(words: Sequence[Word]) -> Use:
    """`[` is `test` with an end."""
    return test(words[:-1]) if words and words[-1].text == "]" else UNKNOWN_USE


def find(words: Sequence[Word]) -> Use:
    """Places, then tests; an action that is not known may run or write anything."""
    if any(word.sort is not Sort.SURE for word in words):
        return _find_changing(words)
    index = _tests_of_find(words)
    looks, rest = list(words[:index]) or [HERE], list(reversed(words[index:]))
    while rest:
        word = rest.pop().text
        if word in FIND_ALONE:
            continue
        if word not in FIND_WITH_ONE | FIND_WITH_FILE or not rest:
            return _find_changing(words)
        value = rest.pop()
        looks += [value] if word in FIND_WITH_FILE else []
    return Use(read_only=True, looks=tuple(looks))


def _tests_of_find(words: Sequence[Word]) -> int:
    """Where the places end."""
    return next((i for i, word in enumerate(words) if word.text.startswith("-") or word.text in ("(", "!")), len(words))


def _find_changing(words: Sequence[Word]) -> Use:
    """With tests before it that pick by name, age or size, a removal takes some of what lies below; without, all."""
    folders, tests = _parts_of_find(words)
    texts = [word.text for word in tests]
    acts = next((i for i, text in enumerate(texts) if text in ACTIONS["find"]), len(texts))
    if "-delete" not in texts and not any(name_of(text) in REMOVERS for text in texts[acts:] if text):
        return UNKNOWN_USE
    return Use(edits=folders) if _narrowed(folders, tests) else Use(removes=folders)


def _parts_of_find(words: Sequence[Word]) -> tuple[tuple[Word, ...], Sequence[Word]]:
    while words and FIND_BEFORE.fullmatch(words[0].text):
        words = words[1:]
    index = _tests_of_find(words)
    return tuple(words[:index]) or (HERE,), words[index:]


def _narrowed(folders: Sequence[Word], tests: Sequence[Word]) -> bool:
    texts = [word.text for word in tests]
    if not all(word.readable or word.home or word.guessed for word in folders) or any(text in FIND_WIDENING for text in texts):
        return False
    picked = [value for test, value in pairwise(texts) if test in FIND_NARROWING]
    return "-empty" in texts or any(not ALL.match(value) for value in picked)


def stood_in(words: Sequence[Word], start: int) -> tuple[Word, ...]:
    """A command that `find` runs, with its folders in the place of `{}`; those are too much to say where its tests pick."""
    folders, tests = _parts_of_find(words[1:])
    meant = (PICKED,) if _narrowed(folders, tests) else folders
    return tuple(new for word in words[start:] for new in (meant if word.text == "{}" else (word,)))


def processes(words: Sequence[Word]) -> Use:
    """ps: not all letters, since `e` shows the environments of other programs."""
    return Use(read_only=True) if all(word.sort is Sort.SURE and word.text in PS_WORDS for word in words) else UNKNOWN_USE


def command(words: Sequence[Word]) -> Use:
    """Looks a name up, else it is a wrapper."""
    asks = len(words) == 2 and words[0].text in ("-v", "-V") and words[1].sort is Sort.SURE
    return Use(read_only=True) if asks else UNKNOWN_USE


def git(words: Sequence[Word]) -> Use:
    """Anything but its version may read the repository's settings, and those may name programs."""
    if [word.text for word in words] == ["--version"]:
        return Use(read_only=True)
    rest = list(words)
    while rest and rest[0].text.startswith("-"):
        rest = rest[2:] if rest[0].text in GIT_TAKING else rest[1:]
    texts = [word.text for word in rest]
    shows = bool(texts) and (
        texts[0] in GIT_SHOWING or (texts[0] in ("log", "stash") and bool({"-p", "-u", "--patch"} & set(texts)))
    )
    paths = tuple(rest[texts.index("--") + 1 :]) if "--" in texts else ()
    return replace(mentioning(words), sweeps=(paths or (HERE,)) if shows else ())


def cd(words: Sequence[Word]) -> Use:
    """Moves only the shell that the line runs in."""
    to = words[0] if words else Word("~", home=True)
    if len(words) > 1 or to.sort is not Sort.SURE or to.text.startswith("-") or not to.text:
        return UNKNOWN_USE
    return Use(read_only=True, looks=(to,))


# Programs that change what they name.


def making(parsed: Parsed) -> Use:
    """mkdir, touch: the operands and nothing else."""
    return Use(simple_change=bool(parsed.operands), edits=parsed.operands, looks=tuple(parsed.values("-r", "--reference")))


def copying(parsed: Parsed) -> Use:
    """cp: sources, then the place that is written."""
    sources, end = _sources(parsed)
    if end is None or not sources:
        return Use(edits=parsed.operands)
    puts = tuple((source, end) for source in sources)
    deep = parsed.has("-r", "-R", "-a", "-d", "-P", "--recursive", "--archive")
    return Use(simple_change=True, looks=sources, puts=puts, deep=deep, follows=parsed.has("-L", "-H"))


def moving(parsed: Parsed) -> Use:
    """mv: sources, which are gone then, and the place that is written."""
    sources, end = _sources(parsed)
    if end is None or not sources:
        return Use(edits=parsed.operands)
    puts = tuple((source, end) for source in sources)
    return Use(simple_change=True, looks=sources, removes=sources, puts=puts, deep=True)


def _sources(parsed: Parsed) -> tuple[tuple[Word, ...], Word | None]:
    given = parsed.values("-t", "--target-directory")
    if given:
        return parsed.operands, given[-1]
    return parsed.operands[:-1], parsed.operands[-1] if parsed.operands else None


def removing(words: Sequence[Word]) -> Use:
    """rm and kin; without an operand some other program gives it what it removes."""
    removed = tuple(one for word in _operands(words) for one in _spelt_out(word))
    return Use(removes=removed or (GIVEN,))


def _spelt_out(word: Word) -> list[Word]:
    """`{a,b}` as the words that bash makes of it, `[ab]*` as a pattern; `{}` is what another program puts there."""
    if "{}" in word.text:
        return [GIVEN]
    if word.sort is not Sort.HIDDEN:
        return [word]
    if found := BRACES.match(word.source):
        return [Word(found[1] + middle + found[3]) for middle in found[2].split(",")]
    return [Word(word.source, Sort.GLOB, source=word.source)] if BRACKETED.match(word.source) else [word]


def editing(words: Sequence[Word]) -> Use:
    """Every operand may be written."""
    return Use(edits=_operands(words))


def editing_after_first(words: Sequence[Word]) -> Use:
    """The first operand is no place."""
    return Use(edits=_operands(words)[1:])


def dd(words: Sequence[Word]) -> Use:
    """`if=` is read, `of=` is written."""
    named = {word.text[:3]: Word(word.text[3:], word.sort) for word in words}
    return Use(looks=tuple(filter(None, [named.get("if=")])), edits=tuple(filter(None, [named.get("of=")])))


def _operands(words: Sequence[Word]) -> tuple[Word, ...]:
    """Every word that is no option; a value of an option may be among them, which only makes the question wider."""
    texts = [word.text for word in words]
    end = texts.index("--") if "--" in texts else len(words)
    return (*(word for word in words[:end] if not word.text.startswith("-")), *words[end + 1 :])


# Programs that are not known.


def mentioning(words: Sequence[Word]) -> Use:
    """Every word may name a file, whole or after a sign (`-fX`, `--from=X`, `@X`)."""
    if len(words) > MOST_MENTIONS:
        return Use(sweeps=(HERE,))
    return Use(mentions=tuple(piece for word in words for piece in _pieces(word)))


def sweeping(words: Sequence[Word]) -> Use:
    """As such, and folders with all that lies below."""
    found = mentioning(words)
    return replace(found, sweeps=found.sweeps or found.mentions)


def _pieces(word: Word) -> Iterator[Word]:
    if word.home or word.sort is Sort.GLOB:
        yield word
    elif word.readable or word.guessed:
        short = [word.text[2:]] if re.match(r"-[^-]", word.text) else []
        yield from (Word(text) for text in dict.fromkeys((word.text, *short, *re.split(r"[=:,@]", word.text))) if text)
