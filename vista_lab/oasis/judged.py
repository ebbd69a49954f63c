"""Gates that ask a verifier: passed, doubtful or failed, with the deciding probability (LLM-OASIS, §4.1, asks people).

A verifier often misses the support of a paraphrase, so a record fails only on a contradiction, or on support that must not
be there. Unsure cases are kept as doubtful; otherwise only copies would be accepted.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from vista_guard.errors import JudgeError
from vista_guard.protocols import Verifier
from vista_lab.oasis.passages import Elsewhere, sentences_of
from vista_lab.oasis.records import GeneratedPair, Passage
from vista_lab.runs.made import GateVerdict, Grade


@dataclass(frozen=True)
class Limits:
    """Least probabilities with which a gate passes: of support where a text carries a claim, of a contradiction elsewhere."""

    supported: float = 0.5
    contradicted: float = 0.5
    differs: float = 0.5
    """Support below which a falsified claim differs from the original, and its text no longer carries that."""
    retried: float = 0.0
    """Support of the whole text from which an unsupported claim is tried against each sentence."""


READER = Limits(supported=0.12, contradicted=0.05, differs=0.95, retried=0.05)
"""Of the careful reader: unsure of free wording, it gives next to no support to what is not there (docs/design/oasis.md)."""
SURE = 0.97
"""Probability from which a record fails.

At 0.8 the shipped verifier failed 13 of 100 pairs, of which a reader found 11 sound: it reads "ends in January" as "begins
in January" with 0.95 (docs/design/oasis.md).
"""
COPIED = 0.7
"""Share of F's four-word runs found in the passage above which F is doubtful as a paraphrase."""
GATES = (
    "passage-carries-claim", "passage-contradicts-falsified", "falsified-differs", "falsified-elsewhere",
    "factual-carries-claim", "factual-adds-nothing", "factual-copies-little", "unfactual-carries-falsified",
    "unfactual-carries-claim", "unfactual-drops-original",
)  # fmt: skip
"""Names of the judged gates, in their order."""

Probabilities = Sequence[float]
"""Of supported, contradicted, not enough."""


@dataclass(frozen=True)
class _Question:
    gate: str
    evidence: str
    claim: str
    grade: Callable[[Probabilities, Limits], tuple[Grade, float, str]]


class VerifierGates:
    """Implements `JudgedGates` with any verifier. One record's questions form one batch; batches run one at a time.

    Args:
        verifier: answers the questions.
        elsewhere: windows of all documents; without it the gate `falsified-elsewhere` does not run.
        limits: when a gate passes; by default `READER` for the careful reader, and 0.5 for all others.
    """

    def __init__(self, verifier: Verifier, elsewhere: Elsewhere | None = None, limits: Limits | None = None) -> None:
        self._verifier, self._elsewhere = verifier, elsewhere
        self._limits = limits or (READER if verifier.name == "reader" else Limits())
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="gates")

    @property
    def name(self) -> str:
        """The verifier's name."""
        return self._verifier.name

    async def verdicts(self, passage: Passage, pair: GeneratedPair) -> tuple[GateVerdict, ...]:
        """The verdicts of all judged gates. Raises JudgeError: the verifier failed."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self.judge, passage, pair)

    def judge(self, passage: Passage, pair: GeneratedPair) -> tuple[GateVerdict, ...]:
        """Sync version of `verdicts`."""
        questions = list(self._questions(passage, pair))
        try:
            rows = self._verifier.probabilities([(question.evidence, question.claim) for question in questions])
        except JudgeError:
            raise
        except Exception as exc:  # a verifier that users bring raises whatever its library raises
            raise JudgeError(f"the gate {self.name} failed: {type(exc).__name__}: {exc}") from exc
        verdicts = []
        for question, row in zip(questions, rows, strict=True):
            read = self._by_sentence(question, [float(value) for value in row])
            grade, score, why = question.grade(read, self._limits)
            about, score = question.claim, round(score, 3)
            verdicts.append(GateVerdict(gate=question.gate, grade=grade, about=about, score=score, why=why))
        return (*verdicts, _copies(passage, pair))

    def _by_sentence(self, question: _Question, row: Probabilities) -> Probabilities:
        """Retries an unsupported claim against each sentence: verifiers read short texts best."""
        pieces = sentences_of(question.evidence)
        settled = not self._limits.retried <= row[0] < self._limits.supported
        if question.grade is not _carried or settled or len(pieces) < 2:
            return row
        rows = self._verifier.probabilities([(piece, question.claim) for piece in pieces])
        best = [float(value) for value in max(rows, key=lambda scores: float(scores[0]))]
        return best if best[0] >= self._limits.supported else row

    def _questions(self, passage: Passage, pair: GeneratedPair) -> Iterator[_Question]:
        text = passage.text
        for claim in pair.claims:
            yield _Question("passage-carries-claim", text, claim, _carried)
        yield _Question("passage-contradicts-falsified", text, pair.falsified, _contradicted)
        yield _Question("falsified-differs", pair.original, pair.falsified, _different)
        for other in self._elsewhere.nearest(pair.falsified, passage) if self._elsewhere is not None else ():
            yield _Question("falsified-elsewhere", other, pair.falsified, _absent)
        for claim in pair.claims:
            yield _Question("factual-carries-claim", pair.factual, claim, _carried)
        for sentence in sentences_of(pair.factual):
            yield _Question("factual-adds-nothing", text, sentence, _carried)
        yield _Question("unfactual-carries-falsified", pair.unfactual, pair.falsified, _carried)
        for place, claim in enumerate(pair.claims):
            if place != pair.altered:
                yield _Question("unfactual-carries-claim", pair.unfactual, claim, _carried)
        yield _Question("unfactual-drops-original", pair.unfactual, pair.original, _dropped)


def _carried(row: Probabilities, limits: Limits) -> tuple[Grade, float, str]:
    if row[0] >= limits.supported:
        return Grade.PASSED, row[0], ""
    if row[1] >= SURE:
        return Grade.FAILED, row[1], f"contradicted with {row[1]:.2f}"
    return Grade.DOUBTFUL, row[0], f"supported with {row[0]:.2f} only"


def _contradicted(row: Probabilities, limits: Limits) -> tuple[Grade, float, str]:
    if row[0] >= SURE:
        return Grade.FAILED, row[0], f"supported with {row[0]:.2f}: not false"
    if row[1] >= limits.contradicted:
        return Grade.PASSED, row[1], ""
    return Grade.DOUBTFUL, row[1], f"contradicted with {row[1]:.2f} only"


def _different(row: Probabilities, limits: Limits) -> tuple[Grade, float, str]:
    if row[0] >= SURE:
        return Grade.FAILED, row[0], f"follows from the original claim with {row[0]:.2f}: a paraphrase"
    if row[1] >= limits.contradicted and row[0] < limits.differs:
        return Grade.PASSED, row[1], ""
    return Grade.DOUBTFUL, row[1], f"contradicts the original claim with {row[1]:.2f} only"


def _unsupported(failed: str, doubtful: str) -> Callable[[Probabilities, Limits], tuple[Grade, float, str]]:
    """A grader of claims that must not be supported; both reasons are formatted with the probability."""

    def grade(row: Probabilities, limits: Limits) -> tuple[Grade, float, str]:
        if row[0] >= SURE:
            return Grade.FAILED, row[0], failed.format(f"{row[0]:.2f}")
        if row[0] >= limits.differs:
            return Grade.DOUBTFUL, row[0], doubtful.format(f"{row[0]:.2f}")
        return Grade.PASSED, row[0], ""

    return grade


_absent = _unsupported("another passage supports it with {}", "another passage may support it ({})")
_dropped = _unsupported("U still carries the original claim with {}", "U may still carry the original claim ({})")


def _copies(passage: Passage, pair: GeneratedPair) -> GateVerdict:
    share = copied(pair.factual, passage.text)
    why = f"{share:.0%} of its runs of four words are the passage's" if share > COPIED else ""
    grade = Grade.DOUBTFUL if why else Grade.PASSED
    return GateVerdict(gate="factual-copies-little", grade=grade, score=round(share, 3), why=why)


def copied(text: str, source: str, run: int = 4) -> float:
    """Share of the text's runs of words that the source has too, in [0, 1].

    Examples:
        >>> copied("The hall opened in 1850.", "In town the hall opened in 1850.")
        1.0
    """
    one, other = (_runs(part, run) for part in (text, source))
    return len(one & other) / len(one) if one else 0.0


def _runs(text: str, run: int) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[place : place + run]) for place in range(len(words) - run + 1)}
