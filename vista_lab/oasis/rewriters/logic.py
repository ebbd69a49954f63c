"""Conditions, duties, quantifiers and denials of real sentences: inserted, removed or reversed, on either side."""

from __future__ import annotations

import re
from random import Random

from vista_lab.oasis.rewriters.text import capitalised, tokens, uncapitalised

_CONDITION = re.compile(
    r"^(?P<main>[A-Z][^,;:()?\"]{12,140}?),? (?P<mark>if|unless|only if|provided that|as long as"
    r"|except when) (?P<rest>[^,;:()?\"]{8,120})\.$"
)
_LEADING = re.compile(
    r"^(?P<mark>If|Unless|As long as) (?P<rest>[^,;:()?\"]{8,90}), (?P<main>(?:then )?[^;:()?\"]{12,140})\.$"
)
_WHETHER = re.compile(
    r"\b(?:even|as|what) if\b|\b(?:ask\w*|wonder\w*|know|knew|sure|see|saw|tell|told|determin\w+|decid\w+|check"
    r"|question\w*|unclear|find out) (?:[\w'-]+ ){0,4}if\b"
)
OTHER_MARK = {
    "if": "unless", "unless": "if", "as long as": "unless", "provided that": "unless", "only if": "unless",
    "except when": "only if",
}  # fmt: skip


def split_condition(sentence: str) -> tuple[str, str, str] | None:
    """(main clause, mark, condition) of a sentence with one condition."""
    match = _CONDITION.match(sentence) or _LEADING.match(sentence)
    marks = re.findall(r"\b(?:if|unless|whether)\b", sentence, re.IGNORECASE)
    if not match or len(marks) != 1 or _WHETHER.search(sentence):
        return None
    main = re.sub(r"^then ", "", match["main"])
    ready = re.match(
        r"(?:you|we|they|it|he|she|i|the|this|that|there|a|an|all|your|our|its|any|no|guests?|children|users?"
        r"|[A-Z]\w+)\b",
        main,
        re.I,
    )
    finite = any(t.tag in {"VBZ", "VBP", "VBD", "MD"} for t in tokens(main))
    return (main, match["mark"].lower(), match["rest"]) if ready and finite else None


def with_condition(main: str, mark: str, rest: str, rng: Random) -> str:
    """Main clause and condition, in either order."""
    if rng.random() < 0.5 and mark in {"if", "unless", "as long as"}:
        return f"{capitalised(mark)} {rest}, {uncapitalised(main)}."
    return f"{capitalised(main)} {mark} {rest}."


DUTIES = (
    (r"\bmust not\b", "may"),
    (r"\bmust\b(?! not| have| be the)", "need not"),
    (r"\b(?:have|has) to\b", "need not"),
    (r"\b(?:is|are) required to\b", "need not"),
    (r"\bcan not\b|\bcannot\b|\bcan['’]t\b", "can"),
    (r"\bcan\b(?! not| be seen)", "cannot"),
    (r"\b(is|are) not allowed\b", r"\1 allowed"),
    (r"\b(is|are) allowed\b", r"\1 not allowed"),
    (r"\b(is|are) not permitted\b", r"\1 permitted"),
    (r"\b(is|are) permitted\b", r"\1 not permitted"),
    (r"\b(is|are) (?:prohibited|forbidden)\b", r"\1 allowed"),
    (r"\b(is|are) (?:mandatory|obligatory|compulsory)\b", r"\1 optional"),
    (r"\b(is|are) optional\b", r"\1 mandatory"),
    (r"\bwill be charged\b", "will not be charged"),
    (r"\b(is|are) included\b", r"\1 not included"),
    (r"\b(is|are) available\b", r"\1 not available"),
)


def plainly(pattern: str, text: str) -> bool:
    """True if the pattern matches in a main clause without a negation."""
    match = re.search(pattern, text)
    head = re.split(r"[.?!;] ", text[: match.start()] if match else text)[-1]
    return not re.search(
        r"\b(?:neither|nor|if|unless|whether|when|once|until|as|that|which|who|where|because|while"
        r"|not|no|never|only|what|how|will|to)\b"
        r"|n['’]t|['’]ll",
        head,
        re.IGNORECASE,
    )
