"""Denials by vocabulary: a few words say that something is false, and an even number of them in a clause say that it is not.

Words about saying and truth are a closed set, so a sentence, a bracket or a label made of them alone speaks of its neighbour: "Scratch
that", "(not a word of it is true)", "What follows is a lie:". What else a frame holds is not read: "Nobody in Lisk doubts that ..."
"""

from __future__ import annotations

import re
from functools import lru_cache

from vista_guard.judges.embedded.english.words import any_of, word_set
from vista_guard.judges.embedded.mentions.words import LEFT_OVER, is_clause

_I = re.IGNORECASE
_DENYING = re.compile(
    r"\b"
    + any_of(
        r"""nothing could be (?:further|farther) from, false\w*, untrue, untruths?, wrong\w*, incorrect\w*, inaccura\w+, erroneous\w*,
        mistak\w+, misconce\w+, misunder\w+, misinform\w*, misled, mislead\w*, misspoke\w*, misstat\w+, errors?, erred, errs, lies?, lied,
        lying, liars?, myths?, hoax\w*, (?:pure |complete |total )?fiction, fictitious, fabricat\w+, invent\w*,
        ma(?:k(?:e|es|ing)|de)(?: \w+)? up, fak(?:e|ed|ery), bogus, nonsense, rubbish, baseless, unfounded, groundless, absurd, fallac\w+, jok(?:e|es|ed|ing),
        kidding, pranks?, doubt\w*, den(?:y|ies|ied|ying|ial), disput\w+, contest(?:s|ed)?, reject\w*, refut\w+, debunk\w*, disprov\w+,
        disagree\w*, discredit\w*, retract\w*, withdr[ae]w\w*, (?:take|takes|took|taking|taken)(?: \w+)? back, strike, struck, scratch\w*,
        scrap\w*, ignore\w*, disregard\w*, forget\w*, delet\w+, remov\w+, cross\w* out, opposite, contrary, reverse, fools?,
        impossible, anything but, far from, secret, unproven, unsubstantiated"""
    )
    + r"\b|[✗✘❌🚫]",
    _I,
)
_TURNING = re.compile(
    r"\b(?:not(?! only\b)|no(?! (?:wonder|matter)\b)|never|nobody|none|nothing|nowhere|neither|nor|hardly|scarcely|without|cannot)\b",
    _I,
)
_TRUTH = re.compile(
    r"\b(?:true|truth\w*|correct|right|case|so|real|reality|accurate|facts?|happen\w*|believ\w+|trust|sa(?:y|ys|id|ying))\b", _I
)
_CLOSED = (
    LEFT_OVER
    | word_set(
        """statement statements claim claims claimed sentence sentences line lines above below previous preceding last former latter
        next following follows fact facts true truth correct right case reality real word words thing things anything everything
        something all every information answer answers part bit point item items list text message verdict status result say
        says said saying state states stated tell tells told write wrote written read believe believes believed belief think
        thinks thought hear heard remark idea ideas notion trust mean meant happen happened get gets got was made make up take took back out please
        sorry oops whoops apologies apology correction wait actually really simply indeed however though although yet still ever
        quite entirely completely totally absolutely well oh ah hmm no nope rather merely purely common course second thoughts
        anyone anybody somebody someone everybody everyone whoever me us them him user assistant am did does now earlier before here there
        about against except again myself yourself let obviously clearly sadly unfortunately much any way like more least at into who
        accurate truthful pulling leg legs time sites sources page them both either these those too far further farther from could
        wise hold water evidence evidences question questions asked unfortunately statements"""
    )
) - word_set("if may might")
_SHORT_FORMS = ((r"can't|cannot", "can not"), (r"won't", "will not"), (r"n't\b", " not"), (r"'(?:s|re|ve|d|ll|m)\b", ""))
_TOKEN = re.compile(r"[^\W\d_]+|\d+|[✗✘❌🚫]")
_PARTS = re.compile(r"[,;:.!?…()\[\]\n]|\s[-–—]+\s|\b(?:and|but|yet|though|although|however)\b", _I)
_MOST_WORDS, _TAIL = 14, 120
_MARKS = " .!?)]…\"'"
_LABEL = re.compile(r"\W{0,4}(?P<label>[✗✘❌🚫]|[^:]{2,80}:)\s+(?=\S)")
_BEHIND = re.compile(r"\b(?:that|it|which|contrary|opposite|reverse|so|no|errors?|mistakes?|correct\w*|(?:delet|remov)\w+)\b", _I)
_AHEAD = re.compile(r"\b(?:following|follows|next|below)\b", _I)
_EVERYTHING = re.compile(r"\b(?:none|all|everything|nothing|any|both|these|those|neither|statements|claims)\b", _I)
_BREAK = re.compile(r"[,;:…]\s*|\s+[-–—]+\s*|\.{3}\s*|\s*[(\[]|\s(?=(?:but|yet|and|is|was|has|have|are|does|did|lacks)\b)", _I)


def _plain(text: str) -> str:
    text = text.replace("’", "'")
    for form, words in _SHORT_FORMS:
        text = re.sub(form, words, text, flags=_I)
    return text


def denies(frame: str) -> bool:
    """True if a clause of the frame says that something is false. "Nobody doubts" does not."""
    return any(_is_odd(part) for part in _PARTS.split(_plain(frame)))


@lru_cache(maxsize=4096)
def speaks_of_neighbour(text: str) -> bool:
    """True if it has words about saying and truth alone, and denies: what it is about stands beside it."""
    if len(text) > _TAIL or text.rstrip("\"')] ").endswith(("?", ":")) or not is_closed(text):
        return False
    parts = [part for part in _PARTS.split(_plain(text)) if _is_odd(part)]
    return any(_DENYING.search(part) or _TRUTH.search(part) for part in parts)


def speaks_ahead(text: str) -> bool:
    """True if what it denies comes after it."""
    return _AHEAD.search(text) is not None


def speaks_of_all(text: str) -> bool:
    """True if it denies all that stands before it, and not the last sentence alone."""
    return _EVERYTHING.search(text) is not None


def taken_back(said: str) -> str:
    """The clause that the end of its own sentence denies: "X, but that is wrong", "X (not true)"; nothing where none is."""
    clause = ""
    for match in reversed([*_BREAK.finditer(said, max(0, len(said) - _TAIL))]):
        tail = said[match.end() :].strip(_MARKS)
        if not is_closed(tail):
            break
        if tail.lower() in ("not", "no", "or not") or speaks_of_neighbour(tail):
            clause = said[: match.start()]
    return clause if clause and is_clause(clause) else ""


def disowned(said: str) -> str:
    """What stands behind a label that denies it: "Strike this: X", "✗ X"; nothing where there is none.

    "That is wrong: X" speaks of what was said before.
    """
    label = _LABEL.match(said)
    if label is None or _BEHIND.search(label[0]) or not speaks_of_neighbour(label["label"].rstrip(":")):
        return ""
    return said[label.end() :]


def is_closed(text: str) -> bool:
    """True if it has words about saying and truth alone."""
    words = _TOKEN.findall(_DENYING.sub(" ", _plain(text)).lower())
    return len(words) <= _MOST_WORDS and all(word in _CLOSED for word in words)


def _is_odd(clause: str) -> bool:
    rest = _DENYING.sub(" ", clause)
    found = len(_DENYING.findall(clause)) + len(_TURNING.findall(rest))
    return found % 2 == 1
