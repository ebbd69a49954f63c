"""Values and roles of a claim exchanged, as groups of twins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from training.pairs import Carrier
from training.rewriting.group import FALSE, Quad
from vista_lab.datasets.pairs import UNSUPPORTED
from vista_lab.oasis.rewriters.carrier import content_words, stem, stems
from vista_lab.oasis.rewriters.falsify import fits, loosely_held
from vista_lab.oasis.rewriters.names import NameKinds
from vista_lab.oasis.rewriters.text import a_or_an
from vista_lab.oasis.rewriters.values import (
    Value,
    exchange,
    numeric_values,
    occurrences,
)

_CLAUSE = re.compile(r"[,;:()\n–]| and | but | while | whereas | who | which | that |(?<=[a-z\"\d])[.!?] |\. ")


_ONE_VALUE = re.compile(
    r"\b(?:born|died|birth|death|capital|directed|written|wrote|founded|located|based|created|composed|won"
    r"|produced by|named after"
    r"|costs?|priced?|open|closes?|starts?|begins?|ends?|check|first|last|only|debut|premiered|released|published"
    r"|population"
    r"|married|son of|daughter of|president|located|headquarter\w*|developed by|played by|portrayed)\b"
)


_SYMMETRIC = re.compile(
    r"\b(?:marr\w+|spouse|wed\w*|wife|husband|sibling\w*|brother|sister|cousin|friends?|met|near|border\w*"
    r"|collaborat\w+|and|or"
    r"|both|together|equal|same|similar\w*|related|relationship|dat(?:ed|ing)|between|duo|co-\w+|with|partner\w*"
    r"|(?:is |was |also |better |publicly )*known|pseudonym|name|nick\w*"
    r"|called|known as|stage name|same as|neighbou?rs?)\b",
    re.IGNORECASE,
)


_DIRECTED = re.compile(
    r"\b(?:defeat\w*|beat|kill\w*|succeed\w*|precede\w*|follow\w*|son of|daughter of|father of|mother of|bought"
    r"|acquired|owned by|owns"
    r"|directed|wrote|founded|replaced|student of|taught|sequel|prequel|older|younger|larger|smaller|higher|before"
    r"|after|part of"
    r"|located in|capital|governed|conquered|invaded|invented|discovered|created|produced|sold|adapted|based on|won"
    r"|lost|led)\b"
)


def value_swaps(carrier: Carrier, kinds: NameKinds, rng: Random) -> Iterator[Quad]:
    """Quads in which a value of the claim changes places with another of its kind elsewhere in the evidence."""
    text = carrier.text
    here = [*numeric_values(text), *kinds.names(text)]
    for own in [*numeric_values(carrier.claim), *kinds.names(carrier.claim)]:
        contexts = [carrier.claim[: own.start], *(text[:start] for start, _ in occurrences(text, own.text))]
        if any(loosely_held(before, own.kind) for before in contexts):
            continue
        others = [v for v in here if fits(own, v) and not occurrences(carrier.claim, v.text)]
        rng.shuffle(others)
        for other in others:
            if occurrences(text, own.text) and apart(carrier, own, other) and clean_swap(carrier, own.text, other.text):
                yield quad(carrier, own, other)
                break


def join(carrier: Carrier, stranger: Carrier, rng: Random) -> Carrier:
    """The carrier with a sentence about something else beside its evidence."""
    extra, own = stranger.evidence[:1], carrier.evidence
    evidence = (*own, *extra) if rng.random() < 0.5 else (*extra, *own)
    return Carrier(carrier.claim, evidence, carrier.source, carrier.title, carrier.before, carrier.after)


def names_itself(carrier: Carrier) -> bool:
    """True if the first evidence sentence names what the claim is about: it can then stand beside another subject."""
    last = re.sub(r" \(.*\)$", "", carrier.title).split()[-1:]
    pronoun = re.match(
        r"(?:The (?:film|series|album|song|show|city|book|novel|game|band|group|company)|He|She|It"
        r"|They|His|Her|Its|Their|This"
        r"|These|Both|Other|(?:In|On|After|Since|During|At|For|By|As|Among|With"
        r"|Throughout)\b.*?\b(?:he|she|it|they|his|her|its)) ",
        carrier.evidence[0],
    )
    return bool(last) and last[0] in carrier.evidence[0] and carrier.title in carrier.claim and not pronoun


def apart(carrier: Carrier, own: Value, other: Value) -> bool:
    """True if the claim shares words with its own value's clauses and none with the other value's."""
    names = carrier.title + " " + own.text + " " + other.text
    claim_words = {w for w in content_words(carrier.claim) if w not in content_words(names)}
    near, far = clauses_with(carrier.text, own.text), clauses_with(carrier.text, other.text)
    roots = {stem(w) for w in claim_words}
    near_only = bool(roots & stems(near)) and not roots & stems(far)
    return near_only and not shared_clause(carrier.text, own.text, other.text)


def clauses_with(text: str, value: str) -> str:
    """The clauses that hold the value."""
    masked = value.replace(",", "\0")
    clauses = _CLAUSE.split(text.replace(value, masked))
    return " ".join(clause for clause in clauses if clause and masked in clause).replace("\0", ",")


def shared_clause(text: str, one: str, other: str) -> bool:
    """True if both stand in one clause, or in one list."""
    masked = text.replace(one, "\1").replace(other, "\2")
    listed = re.search(r"[\1\2](?:\s*(?:,|and|or|&|–|-|to|through|until|/|\()\s*(?:[A-Z][\w.']*\s*)*)+[\1\2]", masked)
    return bool(listed) or any("\1" in clause and "\2" in clause for clause in _CLAUSE.split(masked))


def clean_swap(carrier: Carrier, one: str, other: str) -> bool:
    """True if neither value names the page or recurs in part elsewhere."""
    if any(value in carrier.title or (carrier.title and carrier.title in value) for value in (one, other)):
        return False
    blanked = exchange(carrier.text, one, "\0").replace(other, "\0").replace(one, "\0")
    parts = [p for value in (one, other) for p in re.findall(r"[A-Z]\w{2,}", value)]
    return not any(re.search(rf"\b{re.escape(p)}\b", blanked) for p in parts)


def quad(carrier: Carrier, own: Value, other: Value) -> Quad:
    """The quad of one swap."""
    edited = tuple(a_or_an(exchange(s, own.text, other.text)) for s in carrier.evidence)
    claim = carrier.claim[: own.start] + other.text + carrier.claim[own.end :]
    sure = not own.kind.startswith("name:") or bool(_ONE_VALUE.search(carrier.claim))
    kind, false = "swap_name" if own.kind.startswith("name:") else "swap_value", FALSE if sure else UNSUPPORTED
    return Quad(kind, carrier.evidence, edited, carrier.claim, a_or_an(claim), false, (own.text, other.text))


def role_swaps(carrier: Carrier, kinds: NameKinds) -> Iterator[Quad]:
    """Quads in which the two things that a claim relates change roles."""
    claim = carrier.claim
    names = kinds.names(claim)
    opening = re.match(r"(?!The |A )(?:[A-Z][\w.-]+ )*[A-Z][\w.-]+(?= [a-z])", claim)
    if opening and not any(n.start == 0 for n in names):
        kind = kinds.kind(Value("name", opening.group(), 0, 0), "")
        names = [Value(f"name:{kind}", opening.group(), *opening.span()), *names]
    alike = len(names) == 2 and names[0].kind == names[1].kind and names[0].kind in {"name:person", "name:place"}
    if not alike or _SYMMETRIC.search(claim) or numeric_values(claim):
        return
    one, other = names[0].text, names[1].text
    inside = all(occurrences(carrier.text, name) for name in (one, other)) and one not in other and other not in one
    if inside and not re.search(r"\b(?:He|She|It|They|His|Her)\b", carrier.text):
        edited = tuple(exchange(s, one, other) for s in carrier.evidence)
        false = FALSE if _DIRECTED.search(claim) else UNSUPPORTED
        yield Quad("swap_roles", carrier.evidence, edited, claim, exchange(claim, one, other), false, (one, other))
