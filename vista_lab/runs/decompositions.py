"""The claims of runs, sentence by sentence: what a run's decomposer made of each sentence of the responses it judged.

A claim belongs to the sentence that its span shares most characters with; one without a place in the response to the sentence
that shares most words with it. Sentences without claims are there too: a decomposer that drops them must not look better for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from json import dumps
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.judges.decomposers.rules import finer
from vista_guard.judges.decomposers.sentences import Statement, statements, window
from vista_guard.judges.embedded.english.decompose import decompose
from vista_guard.protocols import Embedder, Verifier
from vista_guard.types import Claim, Role, Turn, TurnReport
from vista_lab.logs.source import LoggedConversation
from vista_lab.metrics.decomposition import Decomposition, covered, repeats, supports
from vista_lab.runs.folder import REPORTS, TurnName, read_manifest, read_reports
from vista_lab.runs.gold import questions_of

BEFORE = AFTER = 2
"""Sentences of context on either side (§3.1)."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class KnownTurn:
    """A turn as its log has it: the question, and people's claims of it, where it brings some."""

    question: str = ""
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlacedSentence:
    """A sentence of a response, with what was made of it. `place` is where it begins."""

    turn: TurnName
    place: int
    made: Decomposition

    @property
    def key(self) -> tuple[TurnName, int, str]:
        """The same in every run over the same response."""
        return self.turn, self.place, self.made.sentence

    @property
    def id(self) -> str:
        """Names sentence and claims (12 hex digits), and not the run: what two decomposers made alike is marked once."""
        content = dumps([*self.turn, self.place, self.made.sentence, *self.made.claims])
        return blake2b(content.encode(), digest_size=6).hexdigest()


@dataclass(frozen=True)
class DecomposedRun:
    """A run's sentences, in the order of its reports, and the facts of each turn."""

    name: str
    judge: str
    sentences: tuple[PlacedSentence, ...]
    facts: Mapping[TurnName, tuple[str, ...]]
    unplaced: int
    """Claims that have no place in the response, and went to the sentence with most of their words."""
    unchecked: int
    """Claims that were not judged; a sentence that the decomposer failed on is among them, as it stands."""


def read_decompositions(folder: Path, name: str, log: Mapping[TurnName, KnownTurn]) -> DecomposedRun:
    """The sentences of a run that `vista-guard eval` wrote; `name` is what tables call it, `log` what is known of its turns.

    Raises ConfigError or InputError if the run cannot be read, or has no sentence.
    """
    judge = read_manifest(folder).system.judge
    sentences: list[PlacedSentence] = []
    facts: dict[TurnName, tuple[str, ...]] = {}
    unplaced = unchecked = 0
    for report in read_reports(folder / REPORTS):
        turn = report.conversation_id or "", report.turn_index
        told = log.get(turn, KnownTurn())
        made, lost = _of_report(report, turn, told.question)
        sentences += made
        unplaced += lost
        unchecked += len(report.unchecked)
        facts[turn] = told.facts or rule_facts(report.response)
    if not sentences:
        raise InputError(f"{folder / REPORTS} has no response with a sentence; evaluate a log with assistant turns")
    return DecomposedRun(name, f"{judge.name} {judge.version}", tuple(sentences), facts, unplaced, unchecked)


def told_by_log(entries: Iterator[object]) -> dict[TurnName, KnownTurn]:
    """Questions and people's claims, by turn. What cannot be read is left out: the run has no report of it either."""
    found: dict[TurnName, KnownTurn] = {}
    for entry in entries:
        if isinstance(entry, LoggedConversation):
            for index, question in questions_of(entry.conversation).items():
                claims = tuple(claim.text for claim in entry.conversation.turns[index].claims or ())
                found[entry.conversation.id or "", index] = KnownTurn(question, claims)
    return found


def shared_sentences(runs: Sequence[DecomposedRun]) -> list[DecomposedRun]:
    """The runs with the sentences that all of them have. Raises InputError if there is none; names two runs."""
    keys = set.intersection(*({one.key for one in run.sentences} for run in runs))
    if not keys:
        raise InputError(f"{runs[0].name} and {runs[-1].name} have no sentence in common: they are of different data")
    return [replace(run, sentences=tuple(one for one in run.sentences if one.key in keys)) for run in runs]


def rule_facts(text: str) -> tuple[str, ...]:
    """The facts that the rules of `steps:embedded` find in a text, in its order; each once."""
    claims = decompose(Turn(role=Role.ASSISTANT, text=text), ())
    return tuple(dict.fromkeys(part for claim in claims for part in finer(claim.text)))


def _of_report(report: TurnReport, turn: TurnName, question: str) -> tuple[list[PlacedSentence], int]:
    found = statements(report.response)
    claims: dict[int, list[str]] = {}
    unplaced = 0
    for claim in (outcome.claim for outcome in report.outcomes if found):
        at = _by_span(report, claim, found)
        unplaced += at is None
        claims.setdefault(_by_words(claim.text, found) if at is None else at, []).append(claim.text)
    group = f"{turn[0]}#{turn[1]}"
    made = [
        Decomposition(one.text, tuple(claims.get(at, ())), question, window(found, at, BEFORE, AFTER), group)
        for at, one in enumerate(found)
    ]
    return [PlacedSentence(turn, one.span.start, own) for one, own in zip(found, made, strict=True)], unplaced


def _by_span(report: TurnReport, claim: Claim, found: Sequence[Statement]) -> int | None:
    delivered = report.delivered_spans(claim.span) if claim.span is not None else ()
    places = [one.span for one in found]
    shared = [sum(max(min(one.end, own.end) - max(one.start, own.start), 0) for own in delivered) for one in places]
    return shared.index(max(shared)) if any(shared) else None


def _by_words(claim: str, found: Sequence[Statement]) -> int:
    wanted = set(_WORD.findall(claim.casefold()))
    shared = [len(wanted & set(_WORD.findall(one.text.casefold()))) for one in found]
    return shared.index(max(shared))


# Measures without a model


@dataclass(frozen=True)
class MeasuredSentence:
    """Entailment and coverage of one sentence's claims, by verifier and embedder, in their order.

    `by_sentence` and `in_context` are P(supported) by the sentence alone, and by the question with the context window;
    `repeats` is true for a claim that an earlier one says; `facts` counts what each states, by the rules of `steps:embedded`.
    """

    by_sentence: tuple[float, ...]
    in_context: tuple[float, ...]
    repeats: tuple[bool, ...]
    facts: tuple[int, ...]


@dataclass(frozen=True)
class MeasuredRun:
    """A run's sentences with their measures; `covered` says of each fact of a turn whether the claims carry it."""

    run: DecomposedRun
    sentences: tuple[MeasuredSentence, ...]
    covered: Mapping[TurnName, tuple[bool, ...]]


def measure_run(run: DecomposedRun, verifier: Verifier, embedder: Embedder) -> MeasuredRun:
    """Measures a run's claims without a model (see `metrics.decomposition`).

    Raises InputError, JudgeError if the verifier failed, or gave what is no probability.
    """
    turns: dict[TurnName, list[Sequence[str]]] = {}
    for one in run.sentences:
        turns.setdefault(one.turn, []).append(one.made.claims)
    return MeasuredRun(
        run,
        tuple(_measure(one.made, verifier, embedder) for one in run.sentences),
        {turn: tuple(covered(run.facts.get(turn, ()), told, verifier, embedder)) for turn, told in turns.items()},
    )


def _measure(made: Decomposition, verifier: Verifier, embedder: Embedder) -> MeasuredSentence:
    around = f"{made.question}\n{made.context}".strip() or made.sentence
    found = supports(verifier, [(text, claim) for text in (made.sentence, around) for claim in made.claims])
    half = len(made.claims)
    return MeasuredSentence(
        tuple(found[:half]),
        tuple(found[half:]),
        tuple(repeats(made.claims, embedder)),
        tuple(max(len(rule_facts(claim)), 1) for claim in made.claims),
    )
