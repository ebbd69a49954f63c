"""Delivery of an answer: facts told, facts contradicted, and the tokens that each costs the reader (KnowMT-Bench, §3.3.2).

Pure: verdicts on the facts of a reference answer and on the statements of an answer in, figures out. Two things differ from what
the paper defines, as its own tables do: S_f and S_h are means of each answer's own harmonic mean, with
Eq. 2 and 3 beside them, and an answer without statements has P = S = 0, where the authors' code gives NaN. An abstention makes no
statement: it has S = 0, no P and no D, and is counted beside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf, isfinite
from statistics import fmean, harmonic_mean

from vista_guard.errors import InputError


class PairReading(StrEnum):
    """How a pair counts that the judge finds both entailed and contradicted."""

    CODE = "code"
    """As both: the authors' code asks twice, and either answer counts."""
    EXCLUSIVE = "exclusive"
    """As neither; such pairs are counted."""


@dataclass(frozen=True)
class PairFinding:
    """A judge's verdicts on one pair. None: unjudged."""

    entails: bool | None
    contradicts: bool | None

    @property
    def judged(self) -> bool:
        return self.entails is not None and self.contradicts is not None

    @property
    def in_conflict(self) -> bool:
        """True when found both entailed and contradicted."""
        return bool(self.entails and self.contradicts)


@dataclass(frozen=True)
class JudgedAnswer:
    """The last answer of a dialogue, judged.

    Attributes:
        id: of the item.
        tokens: length of the answer, T(a); at least 0.
        facts: a verdict on each fact of the reference, held against the answer.
        statements: a verdict on each statement of the answer, held against the reference.
        abstains: True if it refuses, or is the guard's own message, and states nothing.
    """

    id: str
    tokens: int
    facts: tuple[PairFinding, ...]
    statements: tuple[PairFinding, ...]
    abstains: bool = False

    @property
    def judged(self) -> bool:
        """True if every pair is judged."""
        return all(pair.judged for pair in (*self.facts, *self.statements))


@dataclass(frozen=True)
class Delivery:
    """Figures of one answer. Shares lie in [0, 1]; tokens a fact are above 0, infinite where there is no such fact.

    An abstention has neither precision nor costs: None.
    """

    id: str
    r_f: float
    """Factual recall: facts that the answer entails."""
    p_f: float | None
    """Factual precision: statements that the reference entails."""
    r_m: float
    """Misrepresentation rate: facts that the answer contradicts."""
    p_fc: float | None
    """False claim rate: statements that the reference contradicts."""
    tokens: int
    told: int
    """|F+|."""
    contradicted: int
    """|F-|."""

    @property
    def abstains(self) -> bool:
        return self.p_f is None

    @property
    def s_f(self) -> float:
        """Factual F1 of this answer."""
        return _f1(self.p_f, self.r_f)

    @property
    def s_h(self) -> float:
        """Hallucination F1 of this answer."""
        return _f1(self.p_fc, self.r_m)

    @property
    def d_f(self) -> float | None:
        """Tokens a fact that is told."""
        return self._tokens_a(self.told)

    @property
    def d_h(self) -> float | None:
        """Tokens a fact that is contradicted."""
        return self._tokens_a(self.contradicted)

    @property
    def d_r(self) -> float | None:
        """Tokens over the share of facts that are told."""
        return self._tokens_a(self.r_f)

    def _tokens_a(self, facts: float) -> float | None:
        if self.abstains:
            return None
        return self.tokens / facts if facts else inf


def _f1(precision: float | None, recall: float) -> float:
    return 0.0 if precision is None else harmonic_mean((precision, recall))


@dataclass(frozen=True)
class Cost:
    """Tokens a fact over a cohort: one of D_f, D_h, D_R.

    Attributes:
        mean: Eq. 4, with the cohort's largest finite term where an answer has no such fact; None where no answer has one.
        filled: share of the terms that were filled in so, in [0, 1].
        pooled: tokens of all answers over all such facts, which no cohort's largest term moves; None where there is no such fact.

    Abstentions have no term.
    """

    mean: float | None
    filled: float
    pooled: float | None


@dataclass(frozen=True)
class DeliveryFigures:
    """Figures of a cohort of answers: means over `answers`, all in [0, 1] but the costs.

    Attributes:
        p_f, p_fc: without abstentions; None where all abstain.
        s_f, s_h: means of each answer's harmonic mean, as the paper's tables and the authors' code have them.
        s_f_of_means, s_h_of_means: Eq. 2 and 3: the harmonic mean of the means.
        answers: how many were judged and count here.
        abstentions: answers among them that refuse, or are the guard's message: in R and S, but not in P and D.
        without_statements: other answers that make no statement; their P and S are 0.
        unjudged: answers with a pair that the judge did not decide; they count in no mean.
        conflicts: pairs found both entailed and contradicted.
        bounds: least and largest S_f and S_h if the unjudged pairs went against or for the answer.
    """

    r_f: float
    p_f: float | None
    r_m: float
    p_fc: float | None
    s_f: float
    s_h: float
    s_f_of_means: float
    s_h_of_means: float
    d_f: Cost
    d_h: Cost
    d_r: Cost
    answers: int
    abstentions: int
    without_statements: int
    unjudged: int
    conflicts: int
    bounds: tuple[tuple[float, float], tuple[float, float]]

    @property
    def coverage(self) -> float:
        """Share of the answers that were judged whole."""
        return self.answers / (self.answers + self.unjudged)


def delivery(answer: JudgedAnswer, reading: PairReading = PairReading.CODE) -> Delivery:
    """The figures of one answer.

    Raises:
        InputError: it has no facts to be held against, its tokens are negative, or a pair is unjudged.

    Examples:
        >>> yes, no, against = PairFinding(True, False), PairFinding(False, False), PairFinding(False, True)
        >>> one = delivery(JudgedAnswer("a", 100, facts=(yes, yes, against, no), statements=(yes, no)))
        >>> one.r_f, one.p_f, one.s_f, one.d_f
        (0.5, 0.5, 0.5, 50.0)
    """
    if not answer.facts:
        raise InputError(f"item {answer.id!r} has no facts to hold its answer against")
    if answer.tokens < 0:
        raise InputError(f"the answer to item {answer.id!r} has {answer.tokens} tokens")
    if not answer.judged:
        raise InputError(f"item {answer.id!r} has unjudged pairs; judge them, or take figures(), which counts them")
    told, contradicted = _counts(answer.facts, reading)
    carried, false = _counts(answer.statements, reading)
    statements = len(answer.statements)
    return Delivery(
        id=answer.id,
        r_f=told / len(answer.facts),
        p_f=None if answer.abstains else carried / statements if statements else 0.0,
        r_m=contradicted / len(answer.facts),
        p_fc=None if answer.abstains else false / statements if statements else 0.0,
        tokens=answer.tokens,
        told=told,
        contradicted=contradicted,
    )


def figures(answers: Sequence[JudgedAnswer], reading: PairReading = PairReading.CODE) -> DeliveryFigures:
    """The figures of a cohort. Missing answers (refused, failed) are not in `answers`: count them separately.

    Raises InputError: no answer is judged whole, or one cannot be held against facts.
    """
    judged = [answer for answer in answers if answer.judged]
    if not judged:
        raise InputError(f"none of {len(answers)} answers is judged whole: there is nothing to take a mean of")
    deliveries = [delivery(answer, reading) for answer in judged]
    r_f, r_m = fmean(answer.r_f for answer in deliveries), fmean(answer.r_m for answer in deliveries)
    p_f, p_fc = _mean([answer.p_f for answer in deliveries]), _mean([answer.p_fc for answer in deliveries])
    return DeliveryFigures(
        r_f=r_f,
        p_f=p_f,
        r_m=r_m,
        p_fc=p_fc,
        s_f=fmean(answer.s_f for answer in deliveries),
        s_h=fmean(answer.s_h for answer in deliveries),
        s_f_of_means=_f1(p_f, r_f),
        s_h_of_means=_f1(p_fc, r_m),
        d_f=_cost(deliveries, lambda answer: answer.d_f, lambda answer: answer.told),
        d_h=_cost(deliveries, lambda answer: answer.d_h, lambda answer: answer.contradicted),
        d_r=_cost(deliveries, lambda answer: answer.d_r, lambda answer: answer.r_f),
        answers=len(judged),
        abstentions=sum(answer.abstains for answer in judged),
        without_statements=sum(not answer.statements and not answer.abstains for answer in judged),
        unjudged=len(answers) - len(judged),
        conflicts=sum(pair.in_conflict for answer in judged for pair in (*answer.facts, *answer.statements)),
        bounds=_bounds(answers, reading),
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _counts(pairs: Sequence[PairFinding], reading: PairReading) -> tuple[int, int]:
    counted = [pair for pair in pairs if reading is PairReading.CODE or not pair.in_conflict]
    return sum(bool(pair.entails) for pair in counted), sum(bool(pair.contradicts) for pair in counted)


def filled(terms: Sequence[float]) -> list[float]:
    """Tokens a fact, with the largest finite term where an answer has no such fact; infinite where no answer has one.

    Examples:
        >>> filled([20.0, inf, 50.0])
        [20.0, 50.0, 50.0]
    """
    largest = max((term for term in terms if isfinite(term)), default=inf)
    return [term if isfinite(term) else largest for term in terms]


def _cost(
    deliveries: Sequence[Delivery], term: Callable[[Delivery], float | None], facts: Callable[[Delivery], float]
) -> Cost:
    counted = [(answer, value) for answer in deliveries if (value := term(answer)) is not None]
    terms = [value for _, value in counted]
    filled_terms = filled(terms)
    total_facts = sum(facts(answer) for answer, _ in counted)
    return Cost(
        mean=fmean(filled_terms) if filled_terms and isfinite(filled_terms[0]) else None,
        filled=1 - sum(map(isfinite, terms)) / len(terms) if terms else 0.0,
        pooled=sum(answer.tokens for answer, _ in counted) / total_facts if total_facts else None,
    )


def _bounds(answers: Sequence[JudgedAnswer], reading: PairReading) -> tuple[tuple[float, float], tuple[float, float]]:
    """Least and largest S_f, and S_h, over all answers, with each unjudged pair decided one way and the other."""

    def means(entails: bool, contradicts: bool) -> tuple[float, float]:
        deliveries = [delivery(_with_verdicts(answer, entails, contradicts), reading) for answer in answers]
        return fmean(answer.s_f for answer in deliveries), fmean(answer.s_h for answer in deliveries)

    low, high = means(entails=False, contradicts=True), means(entails=True, contradicts=False)
    return (low[0], high[0]), (high[1], low[1])


def _with_verdicts(answer: JudgedAnswer, entails: bool, contradicts: bool) -> JudgedAnswer:
    def decide(pair: PairFinding) -> PairFinding:
        entailed = entails if pair.entails is None else pair.entails
        return PairFinding(entailed, contradicts if pair.contradicts is None else pair.contradicts)

    return replace(answer, facts=tuple(map(decide, answer.facts)), statements=tuple(map(decide, answer.statements)))


def smape(first: Sequence[float], second: Sequence[float]) -> float:
    """Symmetric mean absolute percentage error of two series of counts, 2|a - b| / (a + b), in [0, 2]; 0/0 counts 0 (App. D.3).

    The paper names no formula; this one is ours.

    Raises:
        InputError: the series are empty, or not of one length.

    Examples:
        >>> smape([2, 0], [1, 0])
        0.3333333333333333
    """
    if not first or len(first) != len(second):
        raise InputError(f"two series of one length are needed, not of {len(first)} and {len(second)}")
    return fmean(2 * abs(a - b) / (a + b) if a + b else 0.0 for a, b in zip(first, second, strict=True))
