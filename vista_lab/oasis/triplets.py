"""Triplets of claim, passage and label for verifiers (LLM-OASIS, §5.3), and what a bag of words learns of them.

A falsified claim has a word that its passage lacks, so overlap alone tells it from the original. To train on, the two stand
beside two passages: the one that decides, and a mate from another document that has the words which one of them lacks there.
Both then share as many words with the premise, and are twins, which training ranks.
"""

from __future__ import annotations

import re
from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Any

from vista_guard._extras import require
from vista_guard.errors import InputError
from vista_guard.protocols import Verifier
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS
from vista_lab.oasis.gates import changed_words
from vista_lab.oasis.passages import Elsewhere
from vista_lab.oasis.records import GeneratedPair, Passage, Record
from vista_lab.oasis.rewriters.carrier import stems
from vista_lab.runs.made import State

if TYPE_CHECKING:
    from vista_lab.oasis.shortcuts import Result

LABELS = {SUPPORTED_CLASS: "supported", CONTRADICTED_CLASS: "contradicted", NOT_ENOUGH_CLASS: "not_enough"}
NEUTRAL = 0.5
"""Least probability of a neutral passage; if a document's best one is below it, there is none."""
_FEWEST = 40
"""Fewest rows for the check for shortcuts."""
_EDITED = ("/t", "/F", "/U")
_WORD = re.compile(r"\w+")
_TRIED = 40
"""Most candidate mates tried for one premise."""
_SHARED = 0.34
"""Share of a claim's content words that a mate may have: with more it might decide the claim itself."""


@dataclass(frozen=True)
class Triplet:
    """⟨claim, passage, label⟩ (§5.3). `twin`: triplets with the same one differ by the edit alone."""

    claim: str
    passage: str
    label: int
    kind: str
    twin: str
    document: str

    def training_row(self) -> dict[str, Any]:
        """A row for `training.train`."""
        texts = {"premise": self.passage, "hypothesis": self.claim, "allowed": [self.label]}
        return {**texts, "source": "oasis", "kind": self.kind, "twin": self.twin}

    def calibration_row(self) -> dict[str, Any]:
        """A row for `vista-guard calibrate --pairs`."""
        texts = {"evidence": self.passage, "claim": self.claim}
        return {**texts, "label": LABELS[self.label], "document": self.document}


def verifier_triplets(
    records: Sequence[Record],
    passages: Sequence[Passage] = (),
    neutrals: Verifier | None = None,
    *,
    entailed_by_unfactual: bool = False,
) -> Iterator[Triplet]:
    """The triplets of §5.3.

    Args:
        records: with pairs.
        passages: where neutral passages are chosen from; the records' own by default.
        neutrals: chooses the neutral passage of each claim; without one there are no neutral triplets.
        entailed_by_unfactual: the triplets ⟨c_j≠i, U, ENT⟩ too, which the paper's example A.2 breaks.
    """
    windows = Elsewhere()
    windows.add(passages or [record.passage for record in records])
    for record in records:
        yield from _pair_triplets(record.passage, pair_of(record), entailed_by_unfactual)
        if neutrals is not None:
            yield from _neutrals(record, windows, neutrals)


def _pair_triplets(passage: Passage, pair: GeneratedPair, entailed_by_unfactual: bool) -> Iterator[Triplet]:
    def carried(claim: str, text: str, side: str, twin: str) -> Triplet:
        return Triplet(claim, text, SUPPORTED_CLASS, f"{side} carries", f"{passage.id}/{twin}", passage.document)

    def refuted(claim: str, text: str, side: str) -> Triplet:
        twin = f"{passage.id}/{side}"
        return Triplet(claim, text, CONTRADICTED_CLASS, f"{side} contradicts", twin, passage.document)

    for side, text in (("t", passage.text), ("F", pair.factual)):
        for place, claim in enumerate(pair.claims):
            yield carried(claim, text, side, side if place == pair.altered else f"{side}/{place}")
        yield refuted(pair.falsified, text, side)
    yield carried(pair.falsified, pair.unfactual, "U", "U")
    yield refuted(pair.original, pair.unfactual, "U")
    for place, claim in enumerate(pair.claims) if entailed_by_unfactual else ():
        if place != pair.altered:
            yield carried(claim, pair.unfactual, "U", f"U/{place}")


def _neutrals(record: Record, windows: Elsewhere, verifier: Verifier) -> Iterator[Triplet]:
    """The claims, each with the most surely neutral passage (argmax of §5.3) that shares no sentence with t.

    Of the claim's own document, as in the paper; where that has no other window, of those that share most rare words with it.
    """
    own, claims = windows.of(record.passage), pair_of(record).claims
    apart = [own or windows.nearest(claim, record.passage) for claim in claims]
    pairs = [(text, claim) for claim, texts in zip(claims, apart, strict=True) for text in texts]
    scores = iter(verifier.probabilities(pairs)[:, NOT_ENOUGH_CLASS] if pairs else ())
    for number, (claim, texts) in enumerate(zip(claims, apart, strict=True)):
        surest, text = max(((float(next(scores)), text) for text in texts), default=(0.0, ""))
        if surest >= NEUTRAL:
            twin = f"{record.passage.id}/neutral/{number}"
            yield Triplet(claim, text, NOT_ENOUGH_CLASS, "neutral", twin, record.passage.document)


def pair_of(record: Record) -> GeneratedPair:
    """The pair of a usable record, which has one."""
    if record.pair is None:
        raise InputError(f"the record of {record.passage.id} has no pair")
    return record.pair


class MatePassages:
    """Word index of passages, to find mates."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._passages = passages
        self._places: dict[str, array[int]] = {}
        for place, passage in enumerate(passages):
            for word in set(_WORD.findall(passage.text.lower())):
                self._places.setdefault(word, array("L")).append(place)

    def beside(self, document: str, claims: Sequence[str], words: frozenset[str], rng: Random) -> str | None:
        """A passage of another document that has all these words and decides none of the claims."""
        postings = [self._places.get(word) for word in words]
        if not postings or any(places is None for places in postings):
            return None
        candidates = sorted(set.intersection(*(set(places) for places in postings if places is not None)))
        wanted = stems(" ".join(claims))
        for place in rng.sample(candidates, min(_TRIED, len(candidates))):
            other = self._passages[place]
            if other.document != document and len(stems(other.text) & wanted) <= _SHARED * len(wanted):
                return other.text
        return None


def twinned(triplets: Sequence[Triplet], passages: Sequence[Passage], seed: int = 0) -> Iterator[Triplet]:
    """The triplets to train on: each claim and its falsified version beside a mate of `passages`, or not at all."""
    mates, pairs = MatePassages(passages), defaultdict[str, list[Triplet]](list)
    for triplet in triplets:
        if triplet.twin.endswith(_EDITED):
            pairs[triplet.twin].append(triplet)
        else:
            yield triplet
    for twin, pair in pairs.items():
        premise = _premise(pair, mates, Random(f"{seed}:{twin}"))
        if premise is not None:
            yield from (replace(triplet, passage=premise) for triplet in pair)


def _premise(pair: Sequence[Triplet], mates: MatePassages, rng: Random) -> str | None:
    """The passage and its mate in random order; the passage alone if it lacks no word of one claim; None without a mate."""
    (one, other), text = (triplet.claim for triplet in pair), pair[0].passage
    old, new = (frozenset(_WORD.findall(" ".join(part).lower())) for part in changed_words(one, other))
    words = (old ^ new) - frozenset(_WORD.findall(text.lower()))
    if not words:
        return text
    mate = mates.beside(pair[0].document, (one, other), words, rng)
    if mate is None:
        return None
    return f"{text} {mate}" if rng.random() < 0.5 else f"{mate} {text}"


def shortcuts(records: Sequence[Record], passages: Sequence[Passage]) -> list[Result]:
    """Measures how well a bag of words tells a claim from its falsified version: of the claims alone, and beside each premise.

    Learned on other documents: windows of one overlap. Empty where there are too few.
    """
    pairs = [(record.passage.document, pair_of(record)) for record in records]
    if 2 * len(pairs) < _FEWEST:
        return []
    require("the check for shortcuts", "sklearn", "scipy", extra="evaluation")
    from vista_lab.oasis.shortcuts import Row, check

    rows = [Row("none", pair.original, True, "none", document) for document, pair in pairs]
    rows += [Row("none", pair.falsified, False, "none", document) for document, pair in pairs]
    for one in twinned(list(verifier_triplets(records)), passages):
        if one.twin.endswith(_EDITED):
            rows.append(Row(one.passage, one.claim, one.label == SUPPORTED_CLASS, one.twin[-1], one.document))
    return check(rows)


def settled(records: Sequence[Record]) -> list[Record]:
    """The records of a whole set: none is accepted if a bag of words tells the falsified claims; they are doubtful then."""
    accepted = [record for record in records if record.state is State.ACCEPTED]
    found = shortcuts(accepted, [record.passage for record in records])
    worst = next((result for result in found if result.fails), None)
    if worst is None:
        return list(records)
    why = f"shortcuts: a bag of words is right about {max(worst.claim, worst.sets):.0%} of claims, premise {worst.kind}"
    doubtful = {"state": State.DOUBTFUL, "reason": why}
    return [record.model_copy(update=doubtful) if record.state is State.ACCEPTED else record for record in records]
