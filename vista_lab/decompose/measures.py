"""Quality of a decomposition: its claims against their sentence, one another, and the facts to be told (DAD, App. A).

A judge or people mark five desiderata: `read_desiderata`. A verifier and an embedder stand in for three of them: claims that
their sentence carries (faithfulness), claims that repeat another (uniqueness), facts that the claims carry (coverage). These
measures stand beside the five and replace none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from statistics import fmean

import numpy as np

from vista_guard.errors import InputError, UnreadableError
from vista_guard.protocols import Embedder, Verifier
from vista_lab.decompose.rewards import named_answers, read_by_claim, strict_json
from vista_lab.metrics.claim_sets import COSINE, plain

OF_CLAIMS = ("verifiability", "faithfulness", "clarity")
"""Desiderata of each claim (App. A.3)."""
OF_SENTENCES = ("coverage", "uniqueness")
"""Desiderata of all claims of a sentence together."""
DESIDERATA = (*OF_CLAIMS, *OF_SENTENCES)

SUPPORTED = 0.5
"""P(supported) from which a claim counts as supported."""
NEAREST = 5
"""Pieces that a fact is checked against: those nearest to it."""


@dataclass(frozen=True)
class Decomposition:
    """A sentence and the claims that a decomposer made of it. `context` is the response around it, with `[...]` where cut."""

    sentence: str
    claims: tuple[str, ...]
    question: str = ""
    context: str = ""
    group: str = field(default="", compare=False)
    """The response that the sentence is of: intervals draw whole responses."""


@dataclass(frozen=True)
class Marks:
    """The five desiderata of one sentence, each 1 or 0: those of each claim, in the claims' order, and those of all together."""

    claims: tuple[Mapping[str, int], ...]
    sentence: Mapping[str, int]


def read_desiderata(text: str, claims: Sequence[str]) -> Marks:
    """A judge's marks, from strict JSON: `claims`, a list with `id`, `marks` and `rationales`, and `sentence`, with the last two.

    Raises UnreadableError: it is something else, a mark is missing or neither 0 nor 1, or a claim is missing or there twice.
    """
    try:
        answer = strict_json(text)
        complete = isinstance(answer, dict) and set(answer) == {"claims", "sentence"}
        if not isinstance(answer, dict) or not complete or not isinstance(answer["sentence"], dict):
            raise ValueError("it is no object with claims and sentence")
        of_claims = read_by_claim(answer["claims"], claims, lambda entry, place: _marks(entry, place, OF_CLAIMS))
        return Marks(of_claims, _marks(answer["sentence"], "sentence", OF_SENTENCES))
    except ValueError as exc:
        raise UnreadableError(f"The marks cannot be read: {exc}", text) from exc


def _marks(entry: Mapping[str, object], place: int | str, names: Sequence[str]) -> Mapping[str, int]:
    marks = named_answers(entry, place, names, "marks")
    for name, mark in marks.items():
        if isinstance(mark, bool) or mark not in (0, 1):
            raise ValueError(f"{name} on {place} is {mark!r}; give 1 or 0")
    return {name: int(str(mark)) for name, mark in marks.items()}


def supports(verifier: Verifier, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """P(supported) of each (evidence, claim). Empty without pairs.

    Raises:
        InputError: the verifier gave something that is no probability; names the pair.
        JudgeError: the verifier failed.
    """
    if not pairs:
        return []
    probabilities = [float(p) for p in np.asarray(verifier.probabilities(pairs))[:, 0]]
    odd = next((place for place, p in enumerate(probabilities) if not -1e-6 <= p <= 1 + 1e-6), None)
    if odd is not None:
        value = f"P(supported) {probabilities[odd]} for claim {pairs[odd][1]!r}"
        raise InputError(f"verifier {verifier.name} gave {value}; probabilities lie in [0, 1]")
    return [min(max(p, 0.0), 1.0) for p in probabilities]


def best_support(verifier: Verifier, claims: Sequence[str], pieces: Sequence[str]) -> list[float]:
    """P(supported) of each claim, by its best piece of evidence.

    Raises:
        InputError: there are claims and no piece, or as `supports`.
        JudgeError: the verifier failed.
    """
    if claims and not pieces:
        raise InputError(f"claim {claims[0]!r} has no evidence to be verified against")
    probabilities = supports(verifier, [(piece, claim) for claim in claims for piece in pieces])
    return [max(probabilities[at : at + len(pieces)]) for at in range(0, len(probabilities), max(len(pieces), 1))]


def repeats(claims: Sequence[str], embedder: Embedder) -> list[bool]:
    """True for each claim that an earlier one says already: the same words, or a cosine above 0.9.

    Examples:
        >>> from vista_guard.testing import WordEmbedder
        >>> repeats(["The pier is old.", "It is long.", "the pier is old"], WordEmbedder())
        [False, False, True]
    """
    if len(claims) < 2:
        return [False] * len(claims)
    vectors, words = embedder.embed(claims), [plain(claim) for claim in claims]
    cosines = np.asarray(vectors @ vectors.T)
    return [any(words[to] == words[at] or cosines[at, to] > COSINE for to in range(at)) for at in range(len(claims))]


def covered(facts: Sequence[str], told: Sequence[Sequence[str]], verifier: Verifier, embedder: Embedder) -> list[bool]:
    """True for each fact that the claims carry, one alone or those of one sentence together.

    `told` are the claims, sentence by sentence. The verifier is asked about the five pieces that are nearest to a fact.
    """
    single = [claim for claims in told for claim in claims]
    pieces = list(dict.fromkeys([*single, *(" ".join(claims) for claims in told if len(claims) > 1)]))
    if not facts or not pieces:
        return [False] * len(facts)
    vectors = embedder.embed([*facts, *pieces])
    cosines = np.asarray(vectors[: len(facts)] @ vectors[len(facts) :].T)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEAREST]
    pairs = [(pieces[to], fact) for fact, places in zip(facts, nearest, strict=True) for to in places]
    probabilities = supports(verifier, pairs)
    width = nearest.shape[1]
    return [max(probabilities[at : at + width]) >= SUPPORTED for at in range(0, len(probabilities), width)]


def atomicity(facts: Iterable[int]) -> float | None:
    """Mean of log2 of the facts that each claim states, at least 1 (Lu et al., 2025). None without claims.

    Raises:
        InputError: a claim states fewer.

    Examples:
        >>> atomicity([1, 2, 4])
        1.0
    """
    counts = list(facts)
    odd = next((count for count in counts if count < 1), None)
    if odd is not None:
        raise InputError(f"a claim states {odd} facts; it states at least one")
    return fmean(map(log2, counts)) if counts else None
