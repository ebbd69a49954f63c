"""Tells code from prose inside fences, and finds unreadable text: base64, ROT13, swapped letters, rows of numbers.

Errs towards prose, as no document is consulted about code. A line is code if it has a mark of code and no run of plain words,
as only prose has them; its strings and comments are prose again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from vista_guard.inference.onnx import known_words
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
    """True if a whole line within a fence is prose."""
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


def prose_spans(line: str, start: int) -> Iterator[tuple[int, int]]:
    """Where the strings and comments of a line of code, which begins at `start`, say something."""
    for match in _PIECE.finditer(line):
        name = match.lastgroup or "double"
        begin, end = match.span(name)
        inner = line[begin:end]
        if name == "comment" and '"' in inner and not says(_PIECE.sub(" ", inner)):
            yield from prose_spans(inner, start + begin)
        elif says(inner):
            yield start + begin, start + begin + len(inner.rstrip("*/->\"' "))


def says(text: str) -> bool:
    """True if a string, a comment or a heading states something checkable rather than only naming it."""
    words = [word for word in words_of(text) if word[0].isalnum()]
    if len(words) == 1:
        return _GLUED.search(text) is not None
    return (len(words) > 2 and has_verb(text)) or (len(words) > 1 and _FIGURE.search(text) is not None)


def fence(block: str) -> str:
    """A block of code as the text of its claim: in a fence, whatever marks it had."""
    return block if block.startswith(MARK) else f"{MARK}\n{block.strip('~')}"


def is_code(claim: str) -> bool:
    """True if a claim stands for a block of code, and not for a fence of prose."""
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


_LONG = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,3}")
_LINK = re.compile(r"(?:https?://|www\.)[^\s<>]+")
_HEX = re.compile(r"(?:[0-9a-f]{20,}|[0-9A-F]{20,})")
_BASE32 = re.compile(r"(?=[A-Z]*[2-7])[A-Z2-7]{24,}")
_BYTES = re.compile(r"(?<!\w)(?:(?:0x)?[0-9a-fA-F]{2}[\s,]{1,2}){11}|(?<!\w)(?:[01]{7,8}\s){5}")
_CODES = re.compile(r"(?<!\S)(?:\d{2,3}[ ,]{1,2}){11}\d{2,3}")
SYMBOLS = re.compile("(?:[.\\-·–]{1,5}[ /]{1,3}){8}|[\u2801-\u28ff]{2}")
"""Morse and Braille: words without a letter."""
_LONG_WORD = re.compile(r"[^\W_]{3,}")
_COUNTED = re.compile(r"\d+[a-zA-Z]{1,3}|[a-zA-Z]{1,4}\d+[a-zA-Z]?")
_CAMEL = re.compile(r"[A-Z]?[a-z]+")
_FEWEST, _KNOWN_SHARE = 4, 0.34
"""With fewer words nothing is told; with a smaller share of known ones a text is not read. Names are unknown, too."""
_PRINTABLE = range(32, 127)


def looks_encoded(text: str) -> bool:
    """True if `text`, or a part of it, is unreadable as English."""
    return next(unreadable_parts(text), None) is not None


def unreadable_parts(text: str) -> Iterator[str]:
    """The unreadable parts of `text`; all of it if its words are no words."""
    said = _LINK.sub(" ", text)
    yield from (match.group() for match in _LONG.finditer(said) if _is_code_like(match.group()))
    yield from (match.group() for pattern in (_BYTES, SYMBOLS) for match in pattern.finditer(said))
    yield from (match.group() for match in _CODES.finditer(said) if _spells(match.group()))
    words = [word for word in _LONG_WORD.findall(said) if not word.isdigit()]
    if len(words) >= _FEWEST and sum(map(_is_known, words)) < _KNOWN_SHARE * len(words):
        yield said


def _is_code_like(token: str) -> bool:
    if _HEX.fullmatch(token) and re.search(r"\d", token):
        return True
    if _BASE32.fullmatch(token):
        return True
    parts = [part for part in re.split(r"[-_/+]", token) if part]
    mixed = (
        re.search(r"[a-z]", token) and re.search(r"[A-Z]", token) and (re.search(r"\d", token) or token.endswith("="))
    )
    # "the-2024-Annual-Report", "WhaleHall2024Opening": words, joined.
    pieces = [piece.lower() for part in parts for piece in _CAMEL.findall(part) if len(piece) > 2]
    known = sum(len(piece) for piece in pieces if piece in known_words())
    return bool(mixed) and known * 2 < len(token)


def _spells(numbers: str) -> bool:
    """True if each number is a letter's code, which figures are not by chance."""
    return all(int(number) in _PRINTABLE for number in re.findall(r"\d+", numbers))


def _is_known(word: str) -> bool:
    lower = word.lower()
    known = known_words()
    if lower in known or any(
        lower.endswith(end) and lower[: -len(end)] in known for end in ("s", "ed", "d", "ing", "ly", "er")
    ):
        return True
    return bool(_COUNTED.fullmatch(word))
