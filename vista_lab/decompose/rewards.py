"""Rewards of a decomposition: its format, a verifier's support of its claims, and a checklist (DAD, §3.3.3 and App. I).

Pure: completions, probabilities and checks in, numbers in [0, 1] out. What the paper leaves open is decided in
`docs/design/decomposition.md`: τ is given by the caller, a completion without claims earns nothing from the verifier, and of
several `<output>` blocks the last one counts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from statistics import fmean, geometric_mean, harmonic_mean
from types import MappingProxyType
from typing import TypeVar

from vista_guard.errors import InputError, UnreadableError
from vista_guard.judges.model.answers.parsing import literal, stop_phrase

_BLOCK = r"<{0}>(.*?)</{0}>"
_THINK, _OUTPUT = (re.compile(_BLOCK.format(tag), re.DOTALL) for tag in ("think", "output"))
_CLEAN = re.compile(rf"\s*{_THINK.pattern}\s*{_OUTPUT.pattern}\s*", re.DOTALL)
_TAG = re.compile(r"</?(?:think|output)>")


@dataclass(frozen=True)
class Completion:
    """A decomposer's answer, read by the letter of App. I.2."""

    tagged: bool
    """Both blocks are there, `<output>` outside of `<think>`."""
    clean: bool
    """These two blocks in this order, each once, and nothing else."""
    claims: tuple[str, ...] | None
    """The list in `<output>`; None where it is no list of texts."""
    stopped: str | None = None
    """The stop phrase that stands there instead of a list."""

    @property
    def has_good_list(self) -> bool:
        """The list has at least one claim, and none of them is blank."""
        return bool(self.claims) and all(claim.strip() for claim in self.claims or ())


def read_completion(text: str) -> Completion:
    """Reads `<think>…</think><output>[…]</output>`; the list is JSON or a Python literal.

    Examples:
        >>> read_completion('<think>One fact.</think><output>["The hall seats 90."]</output>').claims
        ('The hall seats 90.',)
        >>> read_completion("<think>An opinion.</think><output>No verifiable claim</output>").stopped
        'No verifiable claim'
    """
    outputs = [match.group(1).strip() for match in _OUTPUT.finditer(_THINK.sub(" ", text))]
    body = outputs[-1] if outputs else ""
    tagged = bool(outputs) and _THINK.search(text) is not None
    clean = _CLEAN.fullmatch(text) is not None and len(_TAG.findall(text)) == 4
    return Completion(tagged=tagged, clean=clean, claims=_read_list(body), stopped=stop_phrase(body))


def _read_list(body: str) -> tuple[str, ...] | None:
    value = literal(body)
    return tuple(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else None


FORMAT_WEIGHTS = MappingProxyType({"tagged": 0.40, "clean": 0.10, "parsed": 0.40, "good list": 0.10})
"""App. I.2."""


def format_reward(completion: Completion, *, stop_counts: bool = False) -> float:
    """The weighted share of the four checks of format that a completion passes, in [0, 1].

    Args:
        completion: as `read_completion` gives it.
        stop_counts: A stop phrase passes for a good list. By the paper's letter it does not, so a decomposer that follows its
            own prompt loses half of the reward; training uses True.

    Examples:
        >>> round(format_reward(read_completion("<think>Nothing.</think><output>[]</output>")), 2)
        0.9
    """
    stopped = stop_counts and completion.stopped is not None
    listed, good = completion.claims is not None, completion.has_good_list
    passed = {"tagged": completion.tagged, "clean": completion.clean}
    passed |= {"parsed": listed or stopped, "good list": good or stopped}
    return sum(weight for name, weight in FORMAT_WEIGHTS.items() if passed[name])


def sparse_reward(probabilities: Sequence[float], supported: bool, threshold: float) -> float:
    """1 if "all claims reach the threshold" is right about the sentence, else 0. 0 without claims.

    Args:
        probabilities: of support, a claim each, in [0, 1].
        supported: the sentence's label.
        threshold: τ in (0, 1); the paper gives none. Never choose it on a test set.

    Raises:
        InputError: a probability, the label or the threshold is outside of its range.
    """
    _check_probabilities(probabilities)
    _check_label(supported)
    if not 0 < threshold < 1:
        raise InputError(f"threshold is {threshold}; it lies between 0 and 1")
    if not probabilities:
        return 0.0
    return float(all(p >= threshold for p in probabilities) == supported)


def dense_reward(probabilities: Sequence[float], supported: bool) -> float:
    """1 minus the Brier score of the geometric mean of the probabilities of support, in [0, 1]. 0 without claims.

    Raises:
        InputError: a probability is outside of [0, 1], or the label is neither 0 nor 1.

    Examples:
        >>> round(dense_reward([0.9, 0.4], supported=True), 2)
        0.84
    """
    _check_probabilities(probabilities)
    _check_label(supported)
    if not probabilities:
        return 0.0
    return 1 - (_geometric(probabilities) - supported) ** 2


def response_support(probabilities: Sequence[float]) -> float | None:
    """A response's support: the harmonic mean over its claims; above 0.5 it counts as supported. None without claims.

    Raises:
        InputError: a probability is outside of [0, 1].

    Examples:
        >>> round(response_support([0.9, 0.3]), 2)
        0.45
    """
    _check_probabilities(probabilities)
    if not probabilities:
        return None
    return float(harmonic_mean(probabilities))


class CheckAnswer(StrEnum):
    """The checklist judge's answer to one question."""

    YES = "Yes"
    NO = "No"
    NA = "NA"


GATE = "complete_verifiable"
"""A claim that is not one verifiable proposition earns nothing."""

CHECK_WEIGHTS = MappingProxyType(
    {
        "retrieval_relevant": 0.40,
        "qualifiers_sufficient": 0.15,
        "references_explicit": 0.30,
        "no_ungrounded_additions": 0.15,
    }
)
"""App. I.1."""

MAY_BE_NA = frozenset({"qualifiers_sufficient", "references_explicit"})

Checks = Mapping[str, CheckAnswer]
"""The five answers about one claim, by the question's name."""


T = TypeVar("T")


def read_checklist(text: str, claims: Sequence[str]) -> tuple[Checks, ...]:
    """The judge's answers, a mapping a claim, in the claims' order.

    The answer is strict JSON: a list of objects (K.2), or `{"claims": [...]}` around it, as structured output wants. `id` is
    the claim's place, from 1. Each object has `checks` and `rationales` with the five names. Raises UnreadableError: it is
    something else, an answer is missing or not allowed, or a claim is missing or there twice.
    """
    try:
        answer = strict_json(text)
        entries = answer["claims"] if isinstance(answer, dict) and set(answer) == {"claims"} else answer
        return read_by_claim(entries, claims, _checks)
    except ValueError as exc:
        raise UnreadableError(f"The checklist cannot be read: {exc}", text) from exc


def strict_json(text: str) -> object:
    """Parses JSON, refusing duplicate keys. Raises ValueError: it is no JSON, or a key is there twice."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in pairs]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"the key {twice[0]!r} is there twice")
        return dict(pairs)

    return json.loads(text, object_pairs_hook=once)


def read_by_claim(
    entries: object, claims: Sequence[str], read: Callable[[Mapping[str, object], int], T]
) -> tuple[T, ...]:
    """The answers of each entry of a judge's list, in the claims' order.

    Raises ValueError: it is no list of objects, or a claim is missing or there twice; names the claim.
    """
    if not isinstance(entries, list):
        raise ValueError("it is not a list of objects")
    by_place: dict[int, T] = {}
    for entry in entries:
        place = _place(entry)
        if place in by_place:
            raise ValueError(f"claim {place} is there twice")
        by_place[place] = read(entry, place)
    expected = range(1, len(claims) + 1)
    if missing := [place for place in expected if place not in by_place]:
        raise ValueError(f"claim {missing[0]} is missing: {claims[missing[0] - 1]!r}")
    if odd := by_place.keys() - set(expected):
        raise ValueError(f"claim {max(odd)} is there, but there are {len(claims)}")
    return tuple(by_place[place] for place in expected)


def _place(entry: object) -> int:
    place = entry.get("id") if isinstance(entry, dict) else None
    if isinstance(place, str) and place.isdecimal():
        place = int(place)
    if not isinstance(place, int) or isinstance(place, bool):
        raise ValueError(f"an entry has no claim's number as its id: {str(entry)[:80]!r}")
    return place


def _checks(entry: Mapping[str, object], place: int) -> Checks:
    checks = named_answers(entry, place, {GATE, *CHECK_WEIGHTS}, "checks")
    for name, answer in checks.items():
        allowed = tuple(CheckAnswer) if name in MAY_BE_NA else (CheckAnswer.YES, CheckAnswer.NO)
        if answer not in allowed:
            raise ValueError(f"{name} on claim {place} is {answer!r}: {', '.join(allowed)} are allowed")
    return {name: CheckAnswer(str(answer)) for name, answer in checks.items()}


def named_answers(
    entry: Mapping[str, object], place: int | str, names: Collection[str], field: str
) -> Mapping[str, object]:
    """The answers by name in a judge's entry, which must have `rationales` with the same names.

    Raises ValueError: one of the two is missing, or has other names.
    """
    for part in (field, "rationales"):
        value = entry.get(part)
        if not isinstance(value, dict) or set(value) != set(names):
            about = f"claim {place}" if isinstance(place, int) else f"the {place}"
            raise ValueError(f"the {part} on {about} are not these {len(names)}: {', '.join(sorted(names))}")
    answers = entry[field]
    assert isinstance(answers, dict)
    return answers


def checklist_reward(checks: Sequence[Checks] | None) -> float:
    """The geometric mean of the claims' weighted shares of Yes among the answers that are not NA, in [0, 1].

    0 where a claim fails the gate, where there are no claims, and for None: a judge's answer that could not be read.
    """
    if not checks:
        return 0.0
    return _geometric([_claim_score(answers) for answers in checks])


def _claim_score(answers: Checks) -> float:
    if answers[GATE] is not CheckAnswer.YES:
        return 0.0
    weights = {name: weight for name, weight in CHECK_WEIGHTS.items() if answers[name] is not CheckAnswer.NA}
    return sum(weight for name, weight in weights.items() if answers[name] is CheckAnswer.YES) / sum(weights.values())


def group_advantages(rewards: Sequence[float]) -> list[float]:
    """Each reward less the mean of its group (Eq. 2). Empty without rewards.

    Raises:
        InputError: a reward is no finite number: what was not scored has no place in a mean.

    Examples:
        >>> group_advantages([3, 2, 1, 2])
        [1.0, 0.0, -1.0, 0.0]
    """
    for place, reward in enumerate(rewards, 1):
        if not isfinite(reward):
            raise InputError(f"reward {place} is {reward}; leave out what was not scored")
    if not rewards:
        return []
    mean = fmean(rewards)
    return [reward - mean for reward in rewards]


def _geometric(values: Sequence[float]) -> float:
    return 0.0 if 0 in values else geometric_mean(values)


def _check_probabilities(values: Sequence[float]) -> None:
    for place, value in enumerate(values, 1):
        if not 0 <= value <= 1:  # NaN fails too
            raise InputError(f"probability {place} is {value}; probabilities lie in [0, 1]")


def _check_label(supported: float) -> None:
    if supported not in (0, 1):  # NaN fails too
        raise InputError(f"the sentence's label is {supported}; it is 1 (supported) or 0")
