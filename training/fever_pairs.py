"""Training pairs from FEVER (Thorne et al. 2018): gold, mismatched, falsified, identical and as whole responses."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from training import augment
from training.pairs import Pair
from training.suites.loaders import FeverClaim
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS, UNSUPPORTED

_FORMS = augment.lines("unsupported")


class Fever:
    """FEVER training claims with the look-ups that hard negatives need."""

    def __init__(self, claims: Sequence[FeverClaim], rng: random.Random) -> None:
        self.claims, self.rng = claims, rng
        self.by_label: dict[int, list[FeverClaim]] = defaultdict(list)
        self.pages: dict[str, list[FeverClaim]] = defaultdict(list)
        for claim in claims:
            self.by_label[claim.label].append(claim)
            if claim.evidence:
                self.pages[page_key(claim.claim)].append(claim)
        self.sentences = [s for c in claims for s in c.evidence[:1]]
        self.names = [c.title for c in claims if c.title]

    def premise(self, claim: FeverClaim, sentences: Sequence[str] | None = None) -> str:
        """Evidence as a document chunk: sometimes with a title, sometimes among distractor sentences."""
        parts = list(sentences if sentences is not None else claim.evidence)
        if self.rng.random() < 0.22:
            page = self.pages[page_key(claim.claim)]
            near = [s for c in self.rng.sample(page, min(2, len(page))) for s in c.evidence[:1]]
            extra = [s for s in near + self.rng.sample(self.sentences, 1) if s not in parts and s not in claim.evidence]
            parts += extra[: self.rng.choice([1, 2, 2])]
            self.rng.shuffle(parts)
        text = " ".join(parts)
        roll = self.rng.random()
        if claim.title and roll < 0.4:
            text = f"{claim.title}{'.' if roll < 0.1 else ''}\n{text}"
        return text

    def unrelated(self, claim: FeverClaim) -> FeverClaim | None:
        """A claim of the same page, or nearly, whose evidence does not settle ``claim``."""
        near = [c for c in self.pages.get(page_key(claim.claim), ()) if not shares_too_much(claim, c)]
        if near:
            return self.rng.choice(near)
        if claim.label != NOT_ENOUGH_CLASS and self.rng.random() < 0.8:
            return None
        return self.rng.choice(self.by_label[SUPPORTED_CLASS])

    def sample(self, label: int, count: int) -> list[FeverClaim]:
        """Claims of one label; more than there are wraps around."""
        pool = self.rng.sample(self.by_label[label], len(self.by_label[label]))
        return [pool[i % len(pool)] for i in range(count)]


def page_key(claim: str) -> str:
    """FEVER claims mostly open with the page's title: the first two words stand for it."""
    return " ".join(claim.split()[:2]).lower()


def shares_too_much(claim: FeverClaim, other: FeverClaim) -> bool:
    """Whether the other claim's evidence may settle this claim: same sentence, or nearly the same words."""
    if set(claim.evidence) & set(other.evidence) or claim.claim == other.claim:
        return True
    if claim.label == NOT_ENOUGH_CLASS:
        return False
    words = set(re.findall(r"\w{4,}", claim.claim.lower())) - set(re.findall(r"\w+", page_key(claim.claim)))
    found = set(re.findall(r"\w{4,}", " ".join(other.evidence).lower()))
    return len(words & found) > 0.4 * max(1, len(words))


def fever_pairs(fever: Fever, label: int, count: int, source: str) -> Iterator[Pair]:
    """Claims with their gold evidence."""
    for claim in fever.sample(label, count):
        yield Pair(fever.premise(claim), styled(claim.claim, fever.rng), (label,), source)


def mismatch_pairs(fever: Fever, claims: Iterable[FeverClaim], source: str) -> Iterator[Pair]:
    """Claims with evidence that is about the same page but does not settle them: not enough information."""
    for claim in claims:
        other = fever.unrelated(claim)
        if other is not None:
            premise = fever.premise(other, other.evidence[: fever.rng.choice([1, 1, 2, 4])])
            yield Pair(premise, styled(claim.claim, fever.rng), (NOT_ENOUGH_CLASS,), source)


def falsified_pairs(fever: Fever, count: int) -> Iterator[Pair]:
    """Supported claims made false by one edit; names come from the evidence (hard) or from anywhere (easy)."""
    for claim in fever.sample(SUPPORTED_CLASS, 2 * count)[:count]:
        inside = [m.group() for s in claim.evidence for m in augment.NAME.finditer(s) if m.start() > 0]
        names = inside if inside and fever.rng.random() < 0.6 else fever.rng.sample(fever.names, 5)
        changed = augment.falsified(claim.claim, fever.rng, names)
        if changed:
            yield Pair(fever.premise(claim), styled(changed, fever.rng), (CONTRADICTED_CLASS,), "fever_falsified")


def identity_pairs(fever: Fever, count: int) -> Iterator[Pair]:
    """The claim is the premise, one of its sentences, or the beginning of one: supported."""
    for claim in fever.sample(SUPPORTED_CLASS, count):
        sentence = fever.rng.choice(claim.evidence)
        ways = [(claim.claim, claim.claim), (sentence, sentence), (sentence, first_clause(sentence))]
        same, text = fever.rng.choice(ways)
        premise = fever.premise(claim, [same])
        yield Pair(premise, styled(text, fever.rng), (SUPPORTED_CLASS,), "identity")


def first_clause(sentence: str) -> str:
    """The sentence up to its last comma, when enough remains."""
    head = sentence.rsplit(",", 1)[0]
    return f"{head}." if len(head.split()) > 6 and "(" not in head and head.count(",") == 0 else sentence


def dialogue_pairs(fever: Fever, count: int) -> Iterator[Pair]:
    """Whole responses: supported content alone, or with a remark, a stranger's claim or a false edit."""
    rng = fever.rng
    for claim in fever.sample(SUPPORTED_CLASS, count):
        content = rng.choice([claim.claim, claim.claim, claim.evidence[0], first_clause(claim.evidence[0])])
        premise, roll = fever.premise(claim, claim.evidence[:2]), rng.random()
        lead = augment.opened(content, rng) if rng.random() < 0.5 else content
        if roll < 0.33:
            response, allowed = lead, (SUPPORTED_CLASS,)
        elif roll < 0.55:
            remark = augment.spoken(rng.choice(augment.REMARKS + augment.GENERIC), rng)
            response, allowed = (f"{lead} {remark}" if rng.random() < 0.5 else f"{remark} {lead}"), UNSUPPORTED
        elif roll < 0.7:
            other = fever.unrelated(claim) or rng.choice(fever.claims)
            response, allowed = f"{lead} {other.claim}", UNSUPPORTED
        elif roll < 0.85:
            changed = augment.falsified(content, rng, fever.names[: rng.randint(5, 500)])
            response = changed or rng.choice(augment.GENERIC)
            allowed = (CONTRADICTED_CLASS,) if changed else (NOT_ENOUGH_CLASS,)
        else:
            response, allowed = unsupported_talk(claim, rng), (NOT_ENOUGH_CLASS,)
        yield Pair(premise, augment.lower(response) if rng.random() < 0.3 else response, allowed, "dialogue")


def unsupported_talk(claim: FeverClaim, rng: random.Random) -> str:
    """Small talk, or a personal statement about the topic: nothing a document could support."""
    if rng.random() < 0.35:
        return " ".join(rng.sample(augment.GENERIC + augment.REMARKS, rng.choice([1, 2])))
    subject, topic = augment.person(rng), claim.title or "this"
    return augment.render(rng.choice(_FORMS), subject, topic)


def styled(text: str, rng: random.Random) -> str:
    """Chat style for a minority: an opener (8%) or a report frame (4%). Lower-casing is done for whole pairs later."""
    roll = rng.random()
    if roll < 0.08:
        return augment.opened(text, rng)
    return augment.reported(text, rng) if roll < 0.12 else text
