"""How good a decomposition is: its claims against their sentence, one another, and the facts to be told (DAD, App. A).

Five desiderata are a judge's word or people's: `read_desiderata`. What a verifier and an embedder can say stands in for three of
them: claims that their sentence carries (faithfulness), claims that repeat another (uniqueness), facts that the claims carry
(coverage). It is a measure beside the five, not a substitute.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log2
from statistics import fmean

import numpy as np

from vista_guard.errors import InputError, UnreadableError
from vista_guard.protocols import Embedder, Verifier
from vista_lab.metrics.claim_sets import COSINE, plain
from vista_lab.metrics.rewards import named_answers, read_by_claim, strict_json

OF_CLAIMS = ("verifiability", "faithfulness", "clarity")
"""Desiderata of each claim (App. A.3)."""
OF_SENTENCES = ("coverage", "uniqueness")
"""Desiderata of all claims of a sentence together."""
DESIDERATA = (*OF_CLAIMS, *OF_SENTENCES)

SUPPORTED = 0.5
"""P(supported) from which a claim counts as carried."""
NEAREST = 5
"""Pieces that a fact is held against: those nearest to it."""


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

    Raises:
        UnreadableError: it is something else, a mark is missing or neither 0 nor 1, or a claim is missing or there twice.
    """
    try:
        found = strict_json(text)
        whole = isinstance(found, dict) and set(found) == {"claims", "sentence"}
        if not isinstance(found, dict) or not whole or not isinstance(found["sentence"], dict):
            raise ValueError("it is no object with claims and sentence")
        of_claims = read_by_claim(found["claims"], claims, lambda entry, place: _marks(entry, place, OF_CLAIMS))
        return Marks(of_claims, _marks(found["sentence"], "sentence", OF_SENTENCES))
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
    found = [float(one) for one in np.asarray(verifier.probabilities(pairs))[:, 0]]
    odd = next((place for place, one in enumerate(found) if not -1e-6 <= one <= 1 + 1e-6), None)
    if odd is not None:
        raise InputError(
            f"verifier {verifier.name} gave P(supported) {found[odd]} for claim {pairs[odd][1]!r}; probabilities lie in [0, 1]"
        )
    return [min(max(one, 0.0), 1.0) for one in found]


def best_support(verifier: Verifier, claims: Sequence[str], pieces: Sequence[str]) -> list[float]:
    """Of each claim P(supported) by the piece of evidence that supports it best.

    Raises:
        InputError: there are claims and no piece, or as `supports`.
        JudgeError: the verifier failed.
    """
    if claims and not pieces:
        raise InputError(f"claim {claims[0]!r} has no evidence to be held against")
    found = supports(verifier, [(piece, claim) for claim in claims for piece in pieces])
    return [max(found[at : at + len(pieces)]) for at in range(0, len(found), max(len(pieces), 1))]


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
    near = np.asarray(vectors @ vectors.T)
    return [any(words[to] == words[at] or near[at, to] > COSINE for to in range(at)) for at in range(len(claims))]


def covered(facts: Sequence[str], told: Sequence[Sequence[str]], verifier: Verifier, embedder: Embedder) -> list[bool]:
    """True for each fact that the claims carry, one alone or those of one sentence together.

    `told` are the claims, sentence by sentence. The verifier is asked about the five pieces that are nearest to a fact.
    """
    single = [claim for claims in told for claim in claims]
    pieces = list(dict.fromkeys([*single, *(" ".join(claims) for claims in told if len(claims) > 1)]))
    if not facts or not pieces:
        return [False] * len(facts)
    vectors = embedder.embed([*facts, *pieces])
    near = np.asarray(vectors[: len(facts)] @ vectors[len(facts) :].T)
    chosen = np.argsort(-near, axis=1, kind="stable")[:, :NEAREST]
    found = supports(verifier, [(pieces[to], fact) for fact, own in zip(facts, chosen, strict=True) for to in own])
    width = chosen.shape[1]
    return [max(found[at : at + width]) >= SUPPORTED for at in range(0, len(found), width)]


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
