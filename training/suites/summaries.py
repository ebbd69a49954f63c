"""SummEdits (Laban et al. 2023): summaries, some with a detail made false, through the guard beside their document.

    python -m training.suites.summaries --data FOLDER [--limit 60]

A summary is an assistant turn, decomposed by the judge; its document is the evidence. Balanced accuracy of
inconsistent-or-not: by the turn's risk and by the most confident failed claim (thresholds cross-fitted over documents), by
any failed claim, by the flags of `balanced`, and, to compare, by the share of words that the document lacks. Intervals
resample documents. Podcasts and earnings calls, which nothing is trained on. Needs the extra `evaluation`.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.suites.faithful import held_against, policies, reaches
from training.suites.loaders import edited_summaries, summedits_file
from training.suites.product import progress
from vista_guard.errors import InputError
from vista_guard.guard import Guard
from vista_guard.policy.label_policy import LabelPolicy
from vista_guard.types import Action, Conversation, Document, Role, Turn, TurnReport

DOMAINS = ("podcast", "ectsum")
"""Development; the other domains are training data."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class SummaryCase:
    """A summary and its document. `consistent`: people found it true to the document."""

    domain: str
    document: str
    text: str
    consistent: bool

    @property
    def conversation(self) -> Conversation:
        """One turn, grounded in the document."""
        document = Document(id="document", text=self.document)
        return Conversation(turns=(Turn(role=Role.ASSISTANT, text=self.text, documents=(document,)),))

    @property
    def unheard(self) -> float:
        """Share of its words of four letters or more, and its figures, that the document does not have, in [0, 1]."""
        words, document_words = (set(_words(text)) for text in (self.text, self.document))
        return len(words - document_words) / len(words) if words else 0.0


@dataclass(frozen=True)
class JudgedSummary:
    """A summary with the guard's report on it."""

    summary: SummaryCase
    report: TurnReport


def read(data: Path) -> Iterator[SummaryCase]:
    """The summaries of the development domains, in the files' order.

    Raises:
        InputError: a file is missing, or is something else.
    """
    for domain in DOMAINS:
        for summary in edited_summaries(data / summedits_file(domain)):
            yield SummaryCase(domain, summary.document, summary.text, summary.consistent)


async def judge(guard: Guard, summaries: Sequence[SummaryCase]) -> list[JudgedSummary]:
    """Each summary with its report, in order. Progress goes to stderr."""
    return [JudgedSummary(case, await guard.acheck(case.conversation)) for case in progress(summaries, "summaries")]


def table(judged: Sequence[JudgedSummary], policy: LabelPolicy) -> Iterator[str]:
    """Markdown: a line for each way to tell, a column for each domain and one for both."""
    parts = {domain: [row for row in judged if row.summary.domain == domain] for domain in DOMAINS}
    columns = {name: SummaryFigures(rows) for name, rows in {**parts, "both": list(judged)}.items() if rows}
    yield f"| balanced accuracy | {' | '.join(columns)} |"
    yield "|---|" + "---:|" * len(columns)
    for name, score in _SCORES.items():
        yield _line(
            f"{name}, threshold cross-validated", [column.cross_validated(score) for column in columns.values()]
        )
    flags = (held_against, lambda report: reaches(report, policy, Action.FLAG))
    for name, says in zip(("any claim held against it", f"flagged by {policy.name}"), flags, strict=True):
        yield _line(name, [column.yes_no_accuracy(says) for column in columns.values()])
    for name, score in _SCORES.items():
        yield _line(f"AUC: {name}", [column.auc(score) for column in columns.values()])


Score = Callable[[JudgedSummary], float]
_SCORES: dict[str, Score] = {
    "the turn's risk": lambda one: one.report.risk or 0.0,
    "surest claim held against it": lambda one: max(held_against(one.report), default=0.0),
    "words that the document lacks (baseline)": lambda one: one.summary.unheard,
}


class SummaryFigures:
    """Figures over some summaries. What is to be found is inconsistency."""

    def __init__(self, judged: Sequence[JudgedSummary]) -> None:
        self._judged = judged
        self._gold = np.array([not row.summary.consistent for row in judged])
        self._documents = [row.summary.document for row in judged]

    def cross_validated(self, score: Score) -> str:
        """Balanced accuracy of a score, each document's threshold chosen on others; a dash where there are too few."""
        from training.suites.arrays import cross_validated_predictions

        try:
            return self._balanced_accuracy(
                cross_validated_predictions(self._gold, self._scores(score), self._documents)
            )
        except InputError:
            return "–"

    def yes_no_accuracy(self, says: Callable[[TurnReport], object]) -> str:
        """Balanced accuracy of a yes-or-no test."""
        return self._balanced_accuracy(np.array([bool(says(row.report)) for row in self._judged]))

    def auc(self, score: Score) -> str:
        """Area under the ROC curve of a score."""
        from training.suites.arrays import auc

        return f"{100 * auc(self._gold.tolist(), self._scores(score).tolist()):.1f}"

    def _scores(self, score: Score) -> NDArray[np.float64]:
        return np.array([score(row) for row in self._judged], np.float64)

    def _balanced_accuracy(self, predicted: NDArray[np.bool_]) -> str:
        from training.suites.arrays import binary_balanced_accuracy
        from vista_lab.metrics.intervals import bootstrap_interval, share_text

        interval = bootstrap_interval(
            self._documents, lambda rows: binary_balanced_accuracy(self._gold[rows], predicted[rows])
        )
        return share_text(binary_balanced_accuracy(self._gold, predicted), interval)


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if len(word) > 3 or any(char.isdigit() for char in word)]


def _line(name: str, cells: Sequence[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


def evenly_spaced(rows: Sequence[SummaryCase], most: int | None) -> list[SummaryCase]:
    """At most so many, evenly spaced: the files have their documents one after the other."""
    return [rows[place * len(rows) // most] for place in range(most)] if most and len(rows) > most else list(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--judge", default="embedded", help="as in the settings")
    parser.add_argument("--limit", type=int, help="at most so many summaries, evenly spaced")
    args = parser.parse_args()
    began, summaries = time.monotonic(), evenly_spaced(list(read(args.data)), args.limit)
    with Guard.from_settings(judge=args.judge, policy="monitor", store="memory", retrieve=False) as guard:
        judged = asyncio.run(judge(guard, summaries))
        info, policy = guard.parts.judge.info, policies(guard.parts.turn_risk)["balanced"]
    seconds = time.monotonic() - began
    consistent, documents = sum(summary.consistent for summary in summaries), len({one.document for one in summaries})
    print(
        f"SummEdits {', '.join(DOMAINS)}, {info.name} {info.version}: {len(summaries)} summaries of {documents} documents, "
        f"{consistent} consistent; {seconds:.0f} s\n"
    )
    print("\n".join(table(judged, policy)), file=sys.stdout)


if __name__ == "__main__":
    main()
