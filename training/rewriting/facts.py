"""Two real facts side by side: whose they are, which came first, and both in one claim."""

from __future__ import annotations

import re
from random import Random

from training.pairs import Carrier
from training.rewriting.group import FALSE, Group, Quad, four
from training.rewriting.swaps import names_itself
from vista_lab.datasets.pairs import UNSUPPORTED
from vista_lab.oasis.rewriters.carrier import content_words, stems
from vista_lab.oasis.rewriters.text import stripped, uncapitalised
from vista_lab.oasis.rewriters.values import exchange, numeric_values, occurrences

_GENERAL = re.compile(
    r"\b(?:is|was|are|were|has|have) (?:an?|the|one|some|American|in|not)\b|\b(?:appeared|person|people|film|actor)\b"
)
_EXCLUSIVE = re.compile(
    r"\b(?:born|died|premiered|capital|founded|directed by|written by|released|located|population|based)\b"
)


def subject_quad(one: Carrier, other: Carrier, rng: Random) -> Quad | None:
    """One page's fact attributed to another's subject, and the evidence with both names swapped."""
    a, b = bare(one.title), bare(other.title)
    if not (both_named(one, a) and both_named(other, b)) or a in b or b in a:
        return None
    evidence = (*one.evidence, *other.evidence)
    parts = [p for name in (a, b) for p in re.findall(r"[A-Z]\w{2,}", name)]
    blanked = exchange(" ".join(evidence), a, "\0").replace(b, "\0").replace("\0", " ")
    if any(re.search(rf"\b{re.escape(p)}\b", blanked) for p in parts):
        return None
    goes_on = re.match(r" (?:is|was|are|were|has|had|can|will|\w+(?:ed|s))\b", one.claim[len(one.title) :])
    longer = rf"(?:{re.escape(a)}|{re.escape(b)}) (?:to|of|for|and|the|[A-Z])"
    if not goes_on or re.search(longer, " ".join(evidence)):
        return None
    predicate = stems(one.claim.replace(one.title, ""))
    if not predicate or predicate & stems(other.text) or _GENERAL.search(one.claim.replace(one.title, "")):
        return None
    order = evidence if rng.random() < 0.5 else tuple(reversed(evidence))
    edited = tuple(exchange(s, a, b) for s in order)
    false = FALSE if set(_EXCLUSIVE.findall(one.claim)) & set(_EXCLUSIVE.findall(other.text)) else UNSUPPORTED
    claim, twin = (one.claim.replace(one.title, name) for name in (a, b))
    return Quad("swap_subject", order, edited, claim, twin, false, (a, b))


def bare(title: str) -> str:
    """A title without its bracketed part."""
    return re.sub(r" \(.*\)$", "", title)


def both_named(carrier: Carrier, name: str) -> bool:
    """True if the evidence is one sentence that names its subject in full, as the claim does."""
    single = len(carrier.evidence) == 1 and bool(name) and carrier.claim.startswith(carrier.title)
    return single and len(name) > 3 and bool(occurrences(carrier.text, name)) and names_itself(carrier)


_DATED = re.compile(
    r"^(.*?),? (?:in|on) (?:the year )?((?:[A-Z][a-z]+ )?(?:\d{1,2}(?:st|nd|rd|th)?,? )?\b(?:1[5-9]\d\d|20[01]\d))\.$"
)
_EVENT = re.compile(
    r"\b(?:was|were) (?:\w+ )?(?:born|released|founded|published|formed|established|created|opened"
    r"|built|elected|signed|discontinued"
    r"|launched|awarded|nominated|married|appointed|introduced|premiered|broadcast)\b|\b(?:died"
    r"|premiered|debuted|opened|won|started"
    r"|began|married|joined|graduated|retired|moved|ended|aired)\b"
)


def event_of(carrier: Carrier) -> tuple[str, int] | None:
    """("Captain America was discontinued", 1950): an event that is told with one year."""
    match = _DATED.match(carrier.claim)
    years = [v.text for v in numeric_values(carrier.claim) if re.search(r"\d{4}", v.text)]
    if not match or len(years) != 1 or not _EVENT.search(match[1]):
        return None
    unsure = re.search(r"\b(?:before|after|not|never|by|on)\b|n't", match[1])
    return None if unsure else (match[1], int(match[2][-4:]))


def order_group(one: Carrier, other: Carrier, rng: Random) -> Group | None:
    """Claims on which of two events came first and by how much, under the evidence as it is and with the years swapped."""
    first, second = event_of(one), event_of(other)
    if not first or not second or abs(first[1] - second[1]) < 2 or one.title == other.title or first[0] == second[0]:
        return None
    evidence = (*one.evidence, *other.evidence)
    years = {y for s in evidence for y in re.findall(r"\b\d{4}\b", s)}
    named = names_itself(one) and names_itself(other)
    if len(evidence) != 2 or years != {str(first[1]), str(second[1])} or not named:
        return None
    edited = tuple(exchange(s, str(first[1]), str(second[1])) for s in evidence)
    if re.search(r"born .*died|\d (?:–|-) *\d", " ".join(evidence)):
        return None
    if first[1] > second[1]:
        first, second, evidence, edited = second, first, evidence, edited
    true, false = order_claims(first[0], second[0], second[1] - first[1], rng)
    flip = rng.random() < 0.5
    evidence, edited = (evidence[::-1], edited[::-1]) if flip else (evidence, edited)
    return Group("order", four(evidence, edited, true, false))


def order_claims(early: str, late: str, gap: int, rng: Random) -> tuple[str, str]:
    """A true and a false statement of the order of two events."""
    happened = r"(.+?) (was|were) (born|released|founded|formed|published|created|established|opened)$"
    subjects = [re.match(happened, event) for event in (early, late)]
    if subjects[0] and subjects[1] and subjects[0][3] == subjects[1][3] and rng.random() < 0.7:
        return alike_events(subjects[0][1], subjects[1][1], subjects[0][3], gap, rng)
    a, b, c, d = uncapitalised(early), uncapitalised(late), early, late
    years = f"{gap} years " if rng.random() < 0.35 else ""
    forms = [
        (f"{c} {years}before {b}.", f"{d} {years}before {a}."),
        (f"{d} {years}after {a}.", f"{c} {years}after {b}."),
        (f"First {a}, then {b}.", f"First {b}, then {a}."),
    ]
    return rng.choice(forms)


def alike_events(early: str, late: str, verb: str, gap: int, rng: Random) -> tuple[str, str]:
    """Two subjects that one thing happened to: "X was founded before Y", "X is older than Y"."""
    years = f"{gap} years " if rng.random() < 0.35 else ""
    forms = [
        ("{0} was {v} {y}before {1}.", False),
        ("{0} was {v} {y}after {1}.", True),
        ("{0} was {v} earlier than {1}.", False),
        ("{0} was {v} later than {1}.", True),
        ("Of the two, {0} was {v} first.", False),
        ("{0} was {v} first, {1} second.", False),
    ]
    if verb == "born":
        forms += [
            ("{0} is {y}older than {1}.", False),
            ("{0} is {y}younger than {1}.", True),
            ("{0} is the elder of the two.", False),
        ]
    form, turned = rng.choice(forms)
    order = (late, early) if turned else (early, late)
    return form.format(*order, v=verb, y=years), form.format(*order[::-1], v=verb, y=years)


_JOINTS = (
    "{a}, and {b}.", "{a}; {b}.", "{a}, while {b}.", "{A}. {B}.", "Both of these hold: {a}, and {b}.", "{a}. Besides, {b}.",
)  # fmt: skip


def fused_quad(quad: Quad, other: Carrier, rng: Random) -> Quad | None:
    """The quad's claims, each joined with a second true fact, whose evidence stands beside."""
    shared = content_words(other.claim) & set(map(str.lower, quad.values))
    if shared or not names_itself(other) or len(other.evidence) > 1:
        return None
    joint, first = rng.choice(_JOINTS), rng.random() < 0.5
    sides = (quad.evidence, quad.edited)
    evidence, edited = ((*own, *other.evidence) if first else (*other.evidence, *own) for own in sides)
    claim, twin = (joined_claims(joint, c, other.claim, first) for c in (quad.claim, quad.twin))
    false = FALSE if quad.false == FALSE else UNSUPPORTED
    return Quad("fusion", evidence, edited, claim, twin, false, quad.values)


def joined_claims(joint: str, one: str, other: str, first: bool) -> str:
    """Two statements in one sentence, in either order."""
    a, b = (stripped(text)[0] for text in ((one, other) if first else (other, one)))
    low_a = uncapitalised(a) if joint.startswith("Both") else a
    text = joint.replace("{a}", low_a).replace("{A}", a).replace("{B}", b).replace("{b}", uncapitalised(b))
    return text[:1].upper() + text[1:]
