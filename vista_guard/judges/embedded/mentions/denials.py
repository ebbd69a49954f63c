"""Denials by vocabulary: of the words that say that something is false, an even number in a clause says that it is not.

Words about saying and truth are a closed set: a sentence, bracket or label of them alone denies its neighbour: "Scratch that".
"""

from __future__ import annotations

import re
from functools import lru_cache

from vista_guard.judges.embedded.english.words import word_set
from vista_guard.judges.embedded.mentions.words import DENYING, LEFT_OVER, is_clause

_I = re.IGNORECASE
_TURNING = re.compile(
    r"\b(?:not(?! only\b)|no(?! (?:wonder|matter)\b)|never|nobody|none|nothing|nowhere|neither|nor|hardly)\b|n't\b|cannot",
    _I,
)
_TRUTH = re.compile(
    r"\b(?:true|truth\w*|correct|right|case|so|real|reality|accurate|facts?|happen\w*|believ\w+|trust|sa(?:y|ys|id|ying)|statement|vouch|supported|confirmed|agree|holds?)\b",
    _I,
)
_CLOSED = LEFT_OVER - word_set("if may might") | word_set(
    """statement statements claim claims claimed sentence sentences line above below previous preceding last first
        former latter next following follows fact facts true truth truthful correct right case reality real word words
        thing things anything everything something all every information answer answers part bit point item items list
        text verdict status result say says said saying state states tell tells told write wrote written read believe
        believes believed belief think thinks thought hear heard remark idea notion trust mean meant happen happened
        get got gets was made make take took back out please sorry oops whoops apologies apology correction wait
        actually really simply indeed however though although yet still ever quite entirely completely totally
        absolutely well oh ah hmm nope nah rather merely purely common course second thoughts anyone anybody somebody
        someone everybody everyone whoever me us them him user assistant am did does do now earlier before here there
        about against except again myself yourself let obviously clearly sadly unfortunately much any way like more at
        least into accurate pulling leg time sites sources page both either far further from and but hold water wise
        don doesn didn isn wasn aren weren won wouldn shouldn couldn can ca wo t s re ve d ll m lol yeah
    edit update quote stand vouch supported confirmed longer documents document agree hold holds story according"""
)
_TOKEN = re.compile(r"[^\W\d_]+|\d+")
_PARTS = re.compile(r"[,;:.!?…()\[\]\n]|\s[-–—]+\s|\b(?:and|but|yet|though|although|however)\b", _I)
_BREAK = re.compile(
    r"[,;:…]\s*|\s+[-–—]+\s*|\.{3}\s*|\s*[(\[]|\s(?=(?:but|yet|and|is|was|has|have|are|does|did|lacks)\b|[✗✘❌🚫])", _I
)
_MOST_WORDS, _TAIL = 14, 120
_LABEL = re.compile(r"\W{0,4}(?:x\]\W{0,2})?(?P<label>[✗✘❌🚫]|[^:]{2,80}:)\s+(?=\S)")
_BEHIND = re.compile(
    r"\b(?:that|it|which|contrary|opposite|reverse|so|no|errors?|mistakes?|correct\w*|(?:delet|remov)\w+)\b", _I
)


_BARE_NO = re.compile(
    r"\W*(?:(?:lol|no|but|and|well|oh|wait|actually|absolutely|definitely|certainly|of course|except)\b\W*)*"
    r"(?:(?:it|he|she|they|this|that)\s)?(?:(?:do|does|did|has|have|had|is|was|are|were|will|can)(?:n't| not| never)"
    r"|not(?: really| at all)?|never|hardly|nope|lol no|as if)\W*",
    _I,
)
"""A denial without a word of its own: "It did not." """


def denies(frame: str) -> bool:
    """True if a clause of the frame says that something is false. "Nobody doubts" does not."""
    return any(_is_odd(part) for part in _PARTS.split(frame.replace("’", "'")))


def is_closed(text: str) -> bool:
    """True if it has words about saying and truth alone."""
    words = _TOKEN.findall(_TURNING.sub(" ", DENYING.sub(" ", text.replace("’", "'"))).lower())
    return len(words) <= _MOST_WORDS and _CLOSED.issuperset(words)


@lru_cache(maxsize=4096)
def speaks_of_neighbour(text: str) -> bool:
    """True if it denies, and has no words to say what: that stands beside it."""
    if len(text) > _TAIL or text.rstrip("\"')] ").endswith(("?", ":")) or not is_closed(text):
        return False
    if _BARE_NO.fullmatch(text.replace("’", "'")):
        return True
    odd = [part for part in _PARTS.split(text.replace("’", "'")) if _is_odd(part)]
    return any(DENYING.search(part) or _TRUTH.search(part) for part in odd)


def taken_back(said: str) -> str:
    """The clause that the end of its own sentence denies: "X, but that is wrong", "X (not true)"; nothing where none is."""
    clause = ""
    for match in reversed([*_BREAK.finditer(said, max(0, len(said) - _TAIL))]):
        tail = said[match.end() :].strip(" .!?)]…\"'")
        if not is_closed(tail):
            break
        if tail.lower() in ("not", "no", "or not") or speaks_of_neighbour(tail):
            clause = said[: match.start()]
    return clause if clause and is_clause(clause) else ""


def disowned(said: str) -> str:
    """What a label before it denies: "Strike this: X", "✗ X". "That is wrong: X" speaks of what was said before."""
    label = _LABEL.match(said)
    if label is None or _BEHIND.search(label[0]) or not speaks_of_neighbour(label["label"].rstrip(":")):
        return ""
    return said[label.end() :]


def _is_odd(clause: str) -> bool:
    return (len(DENYING.findall(clause)) + len(_TURNING.findall(DENYING.sub(" ", clause)))) % 2 == 1
