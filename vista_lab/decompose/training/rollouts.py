"""Scores a policy's samples, term by term, for its trainer, and detects a collapse from the log.

A term without a value never becomes 0: the run stops, at a checkpoint, and is resumed when its model is back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vista_guard._aio import run
from vista_guard.errors import JudgeError
from vista_guard.protocols import Verifier
from vista_lab.decompose.training.completions import CompletionRow, ScoredRow, Scoring, score

FIELDS = ("sentence", "question", "context", "label", "evidence")
"""Columns of a row that its rewards are made of."""
_MOST_REMEMBERED = 200_000


@dataclass
class RememberingVerifier:
    """Asks a verifier about each pair once: a policy repeats itself, within a group most of all."""

    inner: Verifier
    asked: int = 0
    """Pairs that the verifier was asked about."""
    _known: dict[tuple[str, str], NDArray[np.float32]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The wrapped verifier's name."""
        return self.inner.name

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """The verifier's probabilities; known pairs are not asked about again."""
        known = {pair: self._known[pair] for pair in pairs if pair in self._known}
        new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
        if new:
            known |= dict(zip(new, self.inner.probabilities(new), strict=True))
            self.asked += len(new)
            if len(self._known) > _MOST_REMEMBERED:
                self._known = {}
            self._known |= {pair: known[pair] for pair in new}
        return np.array([known[pair] for pair in pairs], np.float32).reshape(len(pairs), 3)


class Rollouts:
    """The rewards of a run. `functions`: the trainer's, one per term and named after it.

    Args:
        how: terms, verifier and judge. Its verifier is asked about each pair once.
    """

    def __init__(self, how: Scoring) -> None:
        self._how = replace(how, verifier=how.verifier and RememberingVerifier(how.verifier))
        self._of: object = None
        self._scored: list[ScoredRow] = []

    @property
    def functions(self) -> list[Callable[..., list[float]]]:
        """Reward functions in the form of TRL: completions and columns in, a value each out."""
        return [self._function(term) for term in self._how.terms]

    def _function(self, term: str) -> Callable[..., list[float]]:
        def reward(completions: Sequence[Any], **columns: Any) -> list[float]:
            return [getattr(row, term) for row in self._batch(completions, columns)]

        reward.__name__ = term
        return reward

    def _batch(self, completions: Sequence[Any], columns: Mapping[str, Any]) -> list[ScoredRow]:
        if completions is self._of:  # the trainer asks once a term
            return self._scored
        fields = ({name: columns[name][place] for name in FIELDS} for place in range(len(completions)))
        both = zip(completions, fields, strict=True)
        rows = [CompletionRow(completion=text_of(completion), **own) for completion, own in both]
        self._of, self._scored = completions, self.score(rows)
        for name, value in figures(self._scored).items():
            columns["log_metric"](name, value)
        return self._scored

    def score(self, rows: Sequence[CompletionRow]) -> list[ScoredRow]:
        """The rows with all of their terms. Raises JudgeError: a term has no value, since its model is down."""
        scored = run(score(rows, self._how))
        if down := next((row for row in scored if row.unscored), None):
            term, why = next(iter(down.unscored.items()))
            raise JudgeError(f"the {term} term has no value: {why}")
        return scored


def text_of(completion: Any) -> str:
    """The words of a completion: a text, or a chat's messages."""
    return completion if isinstance(completion, str) else "".join(message["content"] for message in completion)


def figures(scored: Sequence[ScoredRow]) -> dict[str, float]:
    """Means beside the terms: claims a completion, stop phrases, both of the verifier's rewards, unreadable checklists."""
    means = {"claims": fmean(len(one.claims or ()) for one in scored)}
    means["no_list"] = fmean(not one.claims for one in scored)
    for name in ("dense", "sparse"):
        values = [value for row in scored if (value := getattr(row, name)) is not None]
        if values:
            means[name] = fmean(values)
    if any(row.checklist is not None for row in scored):
        means["malformed"] = fmean(row.malformed is not None for row in scored)
    return means


ALL_EQUAL = 0.99
"""Share of groups without variance from which no group differs."""
CLIPPED = 0.9
"""Share of completions cut off by their limit that is a collapse."""
FEWER = 0.5
"""Claims a completion, as a share of those at the start, that are a collapse."""


def collapse(log: Sequence[Mapping[str, Any]], patience: int) -> str:
    """Why training collapsed, by the last `patience` lines of its log; empty if it did not, or if `patience` is 0.

    Examples:
        >>> collapse([{"equal_groups": 1.0, "clipped": 0.0, "claims": 2.0}] * 5, 5)[:16]
        'no group differs'
    """
    last = log[-patience:] if 0 < patience <= len(log) else []
    if not last:
        return ""
    if all(line["equal_groups"] >= ALL_EQUAL for line in last):
        return (
            f"no group differs in {patience} steps: all completions of a sentence earn the same, so nothing is learnt. Begin "
            "with exemplars (stage sft), or raise the temperature; if rewards are high, training is done"
        )
    if all(line["clipped"] >= CLIPPED for line in last):
        cut = f"{last[-1]['clipped']:.0%} of the completions are cut off at their limit"
        return f"{cut}: begin with exemplars, or raise completion_tokens"
    start = fmean(line["claims"] for line in log[:patience])
    now = fmean(line["claims"] for line in last)
    if len(log) >= 2 * patience and now < FEWER * start:
        return (
            f"claims a completion fell from {start:.2f} to {now:.2f}: the policy has found that fewer claims earn more. Add the "
            "checklist's term, or begin with exemplars"
        )
    return ""
