"""What of a fence is code and what is prose. Errs towards prose: what is called code, no document is asked about.

A line is code when it has a mark of code and no run of words as only prose has them: in code two plain words hardly ever stand
side by side. What its strings and comments say is prose again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from vista_guard.judges.embedded.english.verbs import has_verb, words_of
from vista_guard.judges.embedded.english.words import DETERMINERS, is_auxiliary, is_verb, word_set

_OPENING = re.compile(r"[ \t]*(?:(?:>|[-*+•‣◦–]|\(?\d{1,3}[.)])[ \t]*)*(?P<marks>```+|~~~+)(?P<rest>[^\n]*)")
_QUOTE_MARKS = re.compile(r"[ \t>]*")
_TEXTUAL = word_set("text txt plain plaintext md markdown output console log none quote note answer email letter")
"""Languages of a fence that say nothing of code."""
_CODE_MARK = re.compile(r"[={}\[\]();<>|&$@\\_`~^#*]|::|->|//|--|\w/\w|[a-z][A-Z]|[a-z]\.[a-z]|^\s*\W*$")
_KEYWORDS = word_set(
    """abstract alter and as assert async await auto bool boolean break by byte case catch char class const continue create def
    default del delete desc distinct do done double drop elif else end enum esac except exec export extends extern fi final
    finally float fn for foreach from func function global go goto group having if impl implements import in include inner
    insert int integer interface into is join lambda left let limit local long match mod module mut namespace new nil none
    nonlocal not null object on or order outer override package pass print private protected pub public raise readonly rescue
    return right select self set short signed sizeof static string struct super switch table template then this throw throws trait
    true false try type typedef typeof undefined union unless unsigned until update use using val values var varchar void
    volatile when where while with yield"""
)
_COMMANDS = word_set(
    """apt apt-get bash brew bundle cargo cat cd chmod chown conda copy cp curl cmd docker echo env entrypoint expose export
    from gem git go grep helm java kill kubectl ls make mkdir mv node npm npx pip pip3 pnpm poetry python python3 rm ruby run sed
    sh source ssh sudo systemctl tar touch uv vista-guard wget workdir yarn"""
)
_SHELL = re.compile(r"\s*(?:\$|>|%|#|PS>|C:\\>)?\s*(?P<command>[\w-]+)(?=\s|$)")
_PIECE = re.compile(
    r'"(?P<double>(?:[^"\\\n]|\\.)*)"|(?<!\w)\'(?P<single>(?:[^\'\\\n]|\\.)*)\'(?!\w)|`(?P<back>[^`\n]*)`'
    r"|(?:(?<!\S)(?:#+|--+|;+|%+)|//+|/\*+|<!--|\"\"\"|''')(?P<comment>[^\n]*)"
)
_WORD = re.compile(r"(?<![\w.$@/-])[A-Za-z]{2,}(?:'[a-z]{1,2})?(?![\w$@/(\[=-]|\.\w)|[^\s\w'\"]")
_FIGURE = re.compile(r"\d{3,}")
_GLUED = re.compile(r"[A-Za-z]{8}\w{0,80}\d{3}")
"""Words and a figure without a space between them."""
_RUN = 3
"""Words side by side that are no code any more."""
MARK = "```"
"""What the text of a claim that stands for a block of code begins with."""


@dataclass(frozen=True)
class Fence:
    """A fenced block: the whole of it, and the text within. `written` when its marks say that it holds a programming language."""

    start: int
    end: int
    body: int
    body_end: int
    written: bool


def fences(text: str) -> Iterator[Fence]:
    """The fenced blocks of a text, in order; one that nobody closed goes on to the end."""
    opened: re.Match[str] | None = None
    for start, end in line_ranges(text):
        match = _OPENING.match(text, start, end)
        if opened is None:
            # "```word```" is code within a line.
            opened = match if match and "`" not in match["rest"] else None
        elif match and match["marks"].startswith(opened["marks"]) and not match["rest"].strip():
            yield _fence(opened, start, end)
            opened = None
    if opened is not None:
        yield _fence(opened, len(text), len(text))


def line_ranges(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Where the lines of a range begin and end, without their breaks."""
    end = len(text) if end is None else end
    while start <= end:
        newline = text.find("\n", start, end)
        last = newline if newline >= 0 else end
        if last > start or newline >= 0:
            yield start, last
        start = last + 1


def is_prose(line: str, *, written: bool) -> bool:
    """Whether a line within a fence, as a whole, is prose."""
    if not line.strip():
        return False
    rest = _PIECE.sub(lambda match: " " * len(match.group()), line)
    shell = _SHELL.match(rest)
    if shell and shell["command"].lower() in _COMMANDS:
        words = words_of(rest)
        told = any(word in DETERMINERS or is_auxiliary(word) or word.endswith("ed") for word in words[1:])
        return told and _longest_run(rest) >= _RUN
    if _longest_run(rest) >= _RUN:
        return True
    opens = words_of(rest)[:1]
    coded = written or _CODE_MARK.search(line) is not None or (opens != [] and opens[0].lower() in _KEYWORDS)
    return not coded


def said_in(line: str, start: int) -> Iterator[tuple[int, int]]:
    """Where the strings and comments of a line of code, which begins at `start`, say something."""
    for match in _PIECE.finditer(line):
        name = match.lastgroup or "double"
        begin, end = match.span(name)
        inner = line[begin:end]
        if name == "comment" and '"' in inner and not says(_PIECE.sub(" ", inner)):
            yield from said_in(inner, start + begin)
        elif says(inner):
            yield start + begin, start + begin + len(inner.rstrip("*/->\"' "))


def says(text: str) -> bool:
    """Whether a string, a comment or a heading says something that could be checked, and does not only name it."""
    words = [word for word in words_of(text) if word[0].isalnum()]
    if len(words) == 1:
        return _GLUED.search(text) is not None
    return (len(words) > 2 and has_verb(text)) or (len(words) > 1 and _FIGURE.search(text) is not None)


def fenced(block: str) -> str:
    """A block of code as the text of its claim: in a fence, whatever marks it had."""
    return block if block.startswith(MARK) else f"{MARK}\n{block.strip('~')}"


def is_code(claim: str) -> bool:
    """Whether a claim stands for a block of code, and not for a fence of prose."""
    if not claim.startswith(MARK):
        return False
    written = _is_language(claim[3 : claim.find("\n")] if "\n" in claim else "")
    lines = claim.split("\n")[1:]
    return any(line.strip() and not line.startswith(MARK) and not is_prose(line, written=written) for line in lines)


def _fence(opened: re.Match[str], last: int, end: int) -> Fence:
    info = opened["rest"].strip()
    # Several words behind the marks are no language: they are read with the text.
    worded = len(info.split()) > 1
    body = opened.start("rest") if worded else min(opened.end() + 1, last)
    return Fence(opened.start("marks"), end, body, max(body, last), written=_is_language(info))


def _is_language(info: str) -> bool:
    name = info.strip().strip("{}.").lower()
    return bool(name) and len(name.split()) == 1 and name not in _TEXTUAL


def _longest_run(line: str) -> int:
    """Most plain words side by side in a stretch that has a verb or an article. Keywords are nobody's neighbours."""
    best = 0
    for plain, group in groupby(_WORD.findall(line), key=lambda word: word[0].isalpha()):
        words = list(group)
        if plain and any(is_verb(word) or word.lower() in DETERMINERS for word in words):
            runs = groupby(words, key=lambda word: word.lower() in _KEYWORDS)
            best = max([best, *(len(list(run)) for keyword, run in runs if not keyword)])
    return best


def without_quote_marks(text: str, start: int, end: int) -> int:
    """Where a line of a fence begins that may stand in a quotation."""
    match = _QUOTE_MARKS.match(text, start, end)
    return match.end() if match else start
