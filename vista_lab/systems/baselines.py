"""Baselines: one label for all claims, and word overlap with the documents.

Both are fitted on a data set of their own, never on the one that is measured; the run's manifest names it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, Protocol

from vista_guard.errors import ConfigError
from vista_guard.judges.embedded.english.cues import FUNCTION_WORDS, PREPOSITIONS
from vista_guard.judges.embedded.english.words import AUXILIARIES, DETERMINERS, PRONOUNS
from vista_guard.types import Check, Claim, Document, EvidenceSet, JudgeInfo, Label, Passage
from vista_lab.datasets.files import DataSet, Entry
from vista_lab.logs.source import LoggedConversation, Task
from vista_lab.systems.protocol import POSITIVE, LabellingJudge, labelled_check

THRESHOLD = 0.5
"""Half of the words: chosen before anything was measured, and fitted on nothing."""

_WORD = re.compile(r"\w+(?:[.,]\d+|'\w+)*")
_NO_CONTENT = AUXILIARIES | DETERMINERS | FUNCTION_WORDS | PREPOSITIONS | PRONOUNS


class Majority(LabellingJudge):
    """Implements `Judge`: gives every claim the same label. A turn that brings no claims is one claim."""

    def __init__(self, label: Label) -> None:
        self._label = label
        self.info = JudgeInfo(name="majority", version=str(label))

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check]:
        return [labelled_check(claim, self._label, f"{self._label} is the most frequent label") for claim in claims]


class Overlap(LabellingJudge):
    """Implements `Judge`: a claim is VERIFIED when at least `threshold` of its content words stand in the documents.

    A turn that brings no claims is one claim. Function words of English count for nothing; words are compared as they are
    written, without regard to case. A claim of function words alone has nothing that documents could lack.
    """

    def __init__(self, threshold: float = THRESHOLD) -> None:
        self._threshold = threshold
        self.info = JudgeInfo(name="overlap", version=f"threshold {threshold:g}")

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check]:
        """Checks claims by the words of the turn's documents alone."""
        document_words = _known_words(evidence.documents)
        return [self._check(claim, share(claim.text, document_words)) for claim in claims]

    def _check(self, claim: Claim, fraction: float) -> Check:
        label = Label.VERIFIED if fraction >= self._threshold else Label.LACKING_EVIDENCE
        reason = f"{fraction:.0%} of its words are in the documents, and {self._threshold:.0%} must be"
        return labelled_check(claim, label, reason)


def words(text: str) -> set[str]:
    """The content words of a text, in lower case."""
    tokens = _WORD.findall(text.casefold().replace("’", "'"))
    return {word.removesuffix("'s") for word in tokens} - _NO_CONTENT


def _known_words(texts: Iterable[Document | Passage]) -> set[str]:
    return {word for text in texts for word in words(f"{text.title or ''} {text.text}")}


def share(claim: str, known: set[str]) -> float:
    """Share of the claim's content words that are known, in [0, 1]; 1 when it has none."""
    claim_words = words(claim)
    return len(claim_words & known) / len(claim_words) if claim_words else 1.0


FITTED = ("majority", "overlap")
"""Systems that can be fitted."""


class MeasuredRows(Protocol):
    """The rows to be measured: a `DataSet`, or a log that is ready to be read."""

    @property
    def name(self) -> str: ...

    @property
    def split(self) -> str: ...

    @property
    def task(self) -> Task: ...


def fit(
    name: str,
    on: DataSet,
    entries: Iterable[Entry],
    *,
    measured: MeasuredRows,
    claims: Literal["given", "judge"] = "judge",
) -> Mapping[str, str]:
    """Options of system `majority` or `overlap`, fitted on entries of another set than the measured one.

    `claims` says whether the labels of given claims count, or those of whole turns. Raises ConfigError if the system has
    nothing to fit; the set is a test set, is the measured one, or looks for something else; it has no labels.
    """
    _check_fits(name, on, measured)
    rows = [entry for entry in entries if isinstance(entry, LoggedConversation)]
    fitted = {"fitted on": f"{on.name} {on.split}"}
    if name == "majority":
        return {**fitted, "label": str(_most_frequent(_labels(rows, on, claims), on))}
    return {**fitted, "threshold": f"{_best_threshold(list(_shares(rows)), on)}"}


def _check_fits(name: str, on: DataSet, measured: MeasuredRows) -> None:
    if name not in FITTED:
        raise ConfigError(f"system {name!r} cannot be fitted; {' and '.join(FITTED)} can")
    if on.test:
        raise ConfigError(f"{on.name} is a test set; fit on its dev or train split")
    if (on.name, on.split) == (measured.name, measured.split):
        raise ConfigError(
            f"{name} would be fitted on {on.name}, the data it is measured on. Choose another split or set"
        )
    if on.task is not measured.task:
        tasks = f"{on.name} is labelled for the task {str(on.task)!r}, and {measured.name} for {str(measured.task)!r}"
        raise ConfigError(f"{tasks}; choose a set of the same task")


def _labels(rows: Sequence[LoggedConversation], on: DataSet, claims: Literal["given", "judge"]) -> Iterator[Label]:
    for row in rows:
        if claims == "given":
            yield from row.labels.values()
        else:
            positives = (gold.positive for gold in row.gold.values() if gold.positive is not None)
            yield from (POSITIVE[on.task] if positive else Label.VERIFIED for positive in positives)


def _most_frequent(labels: Iterator[Label], on: DataSet) -> Label:
    counts = Counter(labels)
    if not counts:
        raise ConfigError(f"{on.name} {on.split} has no labels of this kind to take a majority of; choose another set")
    # Of equals the first in the enum's order: the result must not depend on the order of rows.
    return max(Label, key=lambda label: counts[label])


def _shares(rows: Sequence[LoggedConversation]) -> Iterator[tuple[float, bool]]:
    for row in rows:
        for index, gold in row.gold.items():
            turn = row.conversation.turns[index]
            if gold.positive is not None:
                yield share(turn.text, _known_words(turn.documents)), gold.positive


def _best_threshold(turns: Sequence[tuple[float, bool]], on: DataSet) -> float:
    """The observed share that classifies most turns correctly; the lowest of equals."""
    if not turns:
        raise ConfigError(f"{on.name} {on.split} has no labelled turns to fit a threshold on; choose another set")
    candidates = sorted({observed for observed, _ in turns})
    return max(candidates, key=lambda least: (sum((seen < least) == positive for seen, positive in turns), -least))
