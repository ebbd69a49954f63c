"""Questions and what follows them: an answered question is a statement, or the denial of one."""

from __future__ import annotations

import re

from vista_guard.judges.embedded.english.words import any_of

_I = re.IGNORECASE
_LABEL = re.compile(
    r"^\W*(?:(?:q\d*|question|faq|frequently asked|asked|visitors? ask|quiz)\b[^:?]{0,20}[:.)]\s*)+", _I
)
_ANSWER_LABEL = re.compile(r"^\W*(?:a|answer|reply|response)\s*(?:\d+\s*)?[:.)]\s*", _I)
_YES = re.compile(
    r"(?:"
    + any_of(
        """yes, yeah, yep, yup, indeed, correct, certainly, absolutely, of course, sure, right, true, exactly, definitely,
        that is (?:right|so|correct|true)"""
    )
    + r"|(?:it|he|she|they|this|we) (?:really |certainly |indeed )?(?:does|did|do|is|was|are|were|has|have)\b(?=\W|$))"
    r"(?=\W|$)(?! (?:not|n't|never|a (?:myth|lie|joke)|untrue|false|unclear|unknown))(?! \w+ing\b)",
    _I,
)
_NO = re.compile(
    any_of(
        """no, nope, nah, not, never, unfortunately not, sadly not, of course not, certainly not, by no means, false, wrong,
        untrue, incorrect,
        (?:it|he|she|they|this|that|we) (?:\\w+ )?(?:(?:does|did|do|is|was|are|were|has|have)(?: not|n't)|never),
        that is (?:not|false|wrong|untrue)"""
    )
    + r"\b",
    _I,
)
_NOBODY = re.compile(
    r"\W*(?:nobody|no one|none|never|nothing|nowhere|unknown|not|no|it (?:never|did not|didn't|was not"
    r"|wasn't)|we do not|we don't|i do|i don)\b",
    _I,
)
_YES_OR_NO = re.compile(
    r"(?:and |but |so |or )?(?P<aux>do|does|did|am|is|are|was|were|have|has|had|can|could|will|would"
    r"|should|must)(?:n't)?\s+(?P<rest>.+)",
    _I,
)
_SUPPOSES = re.compile(r"\b(?:would|could|might)\b.*\bif\b|\bif\b.*\b(?:would|could|might)\b", re.IGNORECASE)
"""What asks for the outcome of a thing that is not so: the sentence behind it answers something else."""
_OPEN = re.compile(
    r"(?:(?:in|at|on|for|from|to|with|by|of|since|until) )?(?:what|who|whom|whose|where|when|which"
    r"|how (?:long|much|many|far|big|tall|old|heavy|often|high|deep|wide|fast))\b",
    _I,
)
_TAIL = re.compile(
    r",\s*(?:right|correct|(?:is|are|was|were|do|does|did|has|have)(?:n't)? (?:it|he|she|they|there|not))\s*$", _I
)


def question(said: str) -> str:
    """What a sentence asks, without its label and its mark; nothing where it asks nothing."""
    bare = said.strip().rstrip("\"'”’)* ")
    return _LABEL.sub("", bare).rstrip("? ") if bare.endswith("?") else ""


def declared(asked: str) -> str:
    """The statement that a question of yes or no asks for, its auxiliary dropped; nothing for any other question."""
    match = _YES_OR_NO.fullmatch(asked)
    if match is None:
        return "" if _OPEN.match(asked) or re.match(r"(?:why|how|if|or)\b", asked, _I) else _TAIL.sub("", asked)
    return match["rest"]


def is_open(asked: str) -> bool:
    """Whether it asks for a value of what is so: when, who, how long. "Why" takes for granted what it asks: it is not."""
    return _OPEN.match(asked) is not None and not _SUPPOSES.search(asked)


def answer(said: str) -> str:
    """What follows a question, without its label."""
    return _ANSWER_LABEL.sub("", said).strip()


def agrees(said: str) -> bool:
    """Whether an answer begins with yes."""
    return _YES.match(answer(said)) is not None


def declines(said: str) -> bool:
    """Whether an answer begins with no."""
    return _NO.match(answer(said)) is not None


def names_nothing(said: str) -> bool:
    """Whether the answer to an open question is that there is none."""
    return _NOBODY.match(answer(said)) is not None
