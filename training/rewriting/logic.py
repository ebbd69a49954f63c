"""Conditions, duties, hedges, quantifiers and denials as groups of twins."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from random import Random

from training.pairs import Carrier
from training.rewriting.group import FALSE, TRUE, Group, Pairing, four
from vista_lab.datasets.pairs import NOT_ENOUGH_CLASS, UNSUPPORTED
from vista_lab.oasis.rewriters.polarity import DUTIES, negate, plainly
from vista_lab.oasis.rewriters.text import a_or_an, capitalised, tokens, uncapitalised

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


def condition_group(sentence: str, rng: Random) -> Group | None:
    """The condition as it is, reversed, and dropped; each claim true under one premise and not under another."""
    parts = split_condition(sentence)
    if not parts:
        return None
    main, mark, condition = parts
    other = OTHER_MARK[mark]
    bare = capitalised(main) + "."
    own, turned = (with_condition(main, m, condition, rng) for m in (mark, other))
    items = (
        Pairing((sentence,), own, TRUE),
        Pairing((sentence,), turned, UNSUPPORTED),
        Pairing((with_condition(main, other, condition, rng),), own, UNSUPPORTED),
        Pairing((with_condition(main, other, condition, rng),), turned, TRUE),
        Pairing((sentence,), bare, UNSUPPORTED),
        Pairing((bare,), bare, TRUE),
    )
    return Group("condition", items)


def duty_of(sentence: str) -> int | None:
    """Index of the duty that a sentence states once and in a main clause; None otherwise."""
    once = (i for i, (pattern, _) in enumerate(DUTIES) if len(re.findall(pattern, sentence)) == 1)
    return next((i for i in once if plainly(DUTIES[i][0], sentence)), None)


def turn_duty(sentence: str, number: int) -> str:
    """The sentence with its duty turned into the opposite."""
    return re.sub(*DUTIES[number], sentence)


def duty_group(carrier: Carrier) -> tuple[Group, int] | None:
    """A duty, a permission or an offer turned into its opposite, in the claim and in the evidence; and which one."""
    number = duty_of(carrier.claim)
    if number is None or len(carrier.evidence) != 1 or duty_of(carrier.text) != number:
        return None
    edited, twin = (turn_duty(carrier.text, number),), turn_duty(carrier.claim, number)
    return Group("duty", four(carrier.evidence, edited, carrier.claim, twin)), number


_MAY, _WILL = re.compile(r"\b(?:may|might)\b(?! not| be able| have)"), re.compile(r"\bwill\b(?! not| be able| have)")


def turn_hedge(sentence: str) -> str | None:
    """ "may" -> "will", "will" -> "may", where one of them stands once in a main clause."""
    for pattern, new in ((_MAY, "will"), (_WILL, "may")):
        once = len(pattern.findall(sentence)) == 1 and len(_MAY.findall(sentence)) + len(_WILL.findall(sentence)) == 1
        free = not re.search(r"\bif\b|\bunless\b|\byou (?:may|might)\b", sentence)
        if once and free and plainly(pattern.pattern, sentence):
            return pattern.sub(new, sentence)
    return None


def hedge_group(carrier: Carrier) -> Group | None:
    """Possibility and certainty: "may be" does not support "will be"."""
    turned = turn_hedge(carrier.claim)
    if not turned or carrier.evidence != (carrier.claim,):
        return None
    may, will = (carrier.claim, turned) if _MAY.search(carrier.claim) else (turned, carrier.claim)
    items = (Pairing((may,), will, (NOT_ENOUGH_CLASS,)), Pairing((will,), will, TRUE))
    return Group("hedge", items)


_PLURAL = re.compile(
    r"^(?P<q>All|Every|Each|Most|Many|Some|No|None of the|Several"
    r"|A few) (?P<of>of the )?(?P<rest>[a-z][^;:?\"]{12,160})\.$"
)


_NO_PLAIN_PLURAL = re.compile(
    r"^(?:of the )?(?:\w+ )?(?:years?|months|weeks|days|hours|times|decades|people say)\b"
    r"|\b(?:but|except|other|not|never|only|each)\b|n't"
)


def split_quantifier(sentence: str) -> tuple[str, str] | None:
    """(quantifier, the rest) of a sentence whose subject is a quantified plural."""
    match = _PLURAL.match(sentence)
    if not match or match["q"] in {"Every", "Each", "None of the"}:
        return None
    words = tokens(match["rest"])
    head = next((t for t in words if t.tag in {"NNS", "NN", "NNP"}), None)
    plural = head and head.tag == "NNS" and words.index(head) <= 2
    return (match["q"], match["rest"]) if plural and not _NO_PLAIN_PLURAL.search(match["rest"]) else None


_AMOUNTS = (("All", "All of the"), ("Some", "Some of the", "A few of the"), ("No", "None of the"))


def quantifier_group(sentence: str, others: Sequence[str], rng: Random) -> Group | None:
    """All, some, no and not all of the same things; two other sentences take the two other quantifiers each time."""
    parts = split_quantifier(sentence)
    rests = [parts[1], *others] if parts else []
    if len(rests) != 3:
        return None
    order, words = rng.sample(range(3), 3), [rng.choice(amounts) for amounts in _AMOUNTS]
    premises = [[f"{words[(turn + place) % 3]} {rests[place]}." for place in range(3)] for turn in range(3)]
    every, some, none = (tuple(lines[place] for place in order) for lines in premises)
    c_all, c_some, c_none, c_not = (f"{q} {rests[0]}." for q in ("All", "Some", "No", "Not all"))
    items = (
        Pairing(every, c_all, TRUE), Pairing(some, c_all, (NOT_ENOUGH_CLASS,)),
        Pairing(every, c_some, TRUE), Pairing(none, c_some, FALSE),
        Pairing(none, c_none, TRUE), Pairing(some, c_none, FALSE),
        Pairing(none, c_not, TRUE), Pairing(every, c_not, FALSE),
    )  # fmt: skip
    return Group("quantifier", items)


def denial_groups(carrier: Carrier, rng: Random) -> Iterator[Group]:
    """A short claim that says all that its evidence says, and both denied: "not" on either side or both says nothing."""
    if len(carrier.evidence) != 1 or carrier.source not in {"dstc9", "mnli", "mtragun", "summedits"}:
        return
    statement = carrier.evidence[0].split("? ")[-1]
    no_claim, no_evidence = negate(carrier.claim, rng), negate(statement, rng)
    if no_claim and no_evidence and near_equal(carrier.claim, statement):
        yield Group("denial", four((statement,), (no_evidence,), carrier.claim, a_or_an(no_claim)))


def near_equal(one: str, other: str) -> bool:
    """True if two sentences say about as much: like lengths, many shared words."""
    a, b = (set(re.findall(r"\w{3,}", t.lower())) for t in (one, other))
    return len(a & b) >= 0.6 * max(len(a), len(b))
