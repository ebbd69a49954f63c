"""The claims of runs, sentence by sentence, as their decomposers made them.

A claim belongs to the sentence that its span shares most characters with; one without a span belongs to the sentence
that shares most words with it. Sentences without claims are kept: a decomposer must not look better for dropping them.
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
from vista_lab.decompose.measures import Decomposition, covered, repeats, supports
from vista_lab.logs.source import LoggedConversation
from vista_lab.runs.folder import REPORTS, TurnName, read_manifest, read_reports
from vista_lab.runs.gold import questions_of

BEFORE = AFTER = 2
"""Sentences of context on either side (§3.1)."""
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class KnownTurn:
    """The question and people's claims of a turn in its log."""

    question: str = ""
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlacedSentence:
    """A sentence of a response, with its decomposition. `place` is its start in the response."""

    turn: TurnName
    place: int
    made: Decomposition

    @property
    def key(self) -> tuple[TurnName, int, str]:
        """Identifies the sentence across runs over the same response."""
        return self.turn, self.place, self.made.sentence

    @property
    def id(self) -> str:
        """A hash of the sentence and its claims (12 hex digits), without the run: equal decompositions are marked once."""
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
    """Claims without a span in the response, which went to the sentence with most of their words."""
    unchecked: int
    """Claims that were not judged, including whole sentences that the decomposer failed on."""


def read_decompositions(folder: Path, name: str, log: Mapping[TurnName, KnownTurn]) -> DecomposedRun:
    """The sentences of a run that `vista-guard eval` wrote; `name` is for tables, `log` has questions and facts of its turns.

    Raises ConfigError or InputError if the run cannot be read, or has no sentence.
    """
    judge = read_manifest(folder).system.judge
    sentences: list[PlacedSentence] = []
    facts: dict[TurnName, tuple[str, ...]] = {}
    unplaced = unchecked = 0
    for report in read_reports(folder / REPORTS):
        turn = report.conversation_id or "", report.turn_index
        known_turn = log.get(turn, KnownTurn())
        placed, lost = _placed_sentences(report, turn, known_turn.question)
        sentences += placed
        unplaced += lost
        unchecked += len(report.unchecked)
        facts[turn] = known_turn.facts or rule_facts(report.response)
    if not sentences:
        raise InputError(f"{folder / REPORTS} has no response with a sentence; evaluate a log with assistant turns")
    return DecomposedRun(name, f"{judge.name} {judge.version}", tuple(sentences), facts, unplaced, unchecked)


def known_turns(entries: Iterator[object]) -> dict[TurnName, KnownTurn]:
    """Questions and people's claims, by turn. Unreadable entries are skipped: the run has no report on them either."""
    turns: dict[TurnName, KnownTurn] = {}
    for entry in entries:
        if isinstance(entry, LoggedConversation):
            for index, question in questions_of(entry.conversation).items():
                claims = tuple(claim.text for claim in entry.conversation.turns[index].claims or ())
                turns[entry.conversation.id or "", index] = KnownTurn(question, claims)
    return turns


def shared_sentences(runs: Sequence[DecomposedRun]) -> list[DecomposedRun]:
    """The runs, limited to the sentences that all of them have. Raises InputError if there is none; names two runs."""
    keys = set.intersection(*({sentence.key for sentence in run.sentences} for run in runs))
    if not keys:
        raise InputError(f"{runs[0].name} and {runs[-1].name} have no sentence in common: they are of different data")
    return [replace(run, sentences=tuple(one for one in run.sentences if one.key in keys)) for run in runs]


def rule_facts(text: str) -> tuple[str, ...]:
    """The facts that the rules of `steps:embedded` find in a text, in order, without duplicates."""
    claims = decompose(Turn(role=Role.ASSISTANT, text=text), ())
    return tuple(dict.fromkeys(part for claim in claims for part in finer(claim.text)))


def _placed_sentences(report: TurnReport, turn: TurnName, question: str) -> tuple[list[PlacedSentence], int]:
    sentences = statements(report.response)
    claims: dict[int, list[str]] = {}
    unplaced = 0
    for claim in (outcome.claim for outcome in report.outcomes if sentences):
        index = _by_span(report, claim, sentences)
        unplaced += index is None
        claims.setdefault(_by_words(claim.text, sentences) if index is None else index, []).append(claim.text)
    group = f"{turn[0]}#{turn[1]}"
    decompositions = [
        Decomposition(one.text, tuple(claims.get(at, ())), question, window(sentences, at, BEFORE, AFTER), group)
        for at, one in enumerate(sentences)
    ]
    made = zip(sentences, decompositions, strict=True)
    return [PlacedSentence(turn, sentence.span.start, own) for sentence, own in made], unplaced


def _by_span(report: TurnReport, claim: Claim, sentences: Sequence[Statement]) -> int | None:
    delivered = report.delivered_spans(claim.span) if claim.span is not None else ()
    places = [sentence.span for sentence in sentences]
    shared = [sum(max(min(one.end, own.end) - max(one.start, own.start), 0) for own in delivered) for one in places]
    return shared.index(max(shared)) if any(shared) else None


def _by_words(claim: str, sentences: Sequence[Statement]) -> int:
    wanted = set(_WORD.findall(claim.casefold()))
    shared = [len(wanted & set(_WORD.findall(sentence.text.casefold()))) for sentence in sentences]
    return shared.index(max(shared))


# Measures without a model


@dataclass(frozen=True)
class MeasuredSentence:
    """Entailment and coverage of one sentence's claims, by verifier and embedder, in order.

    `by_sentence` and `in_context` are P(supported) by the sentence alone, and by the question with the context window;
    `repeats` is true for a claim that repeats an earlier one; `facts` counts its facts, by the rules of `steps:embedded`.
    """

    by_sentence: tuple[float, ...]
    in_context: tuple[float, ...]
    repeats: tuple[bool, ...]
    facts: tuple[int, ...]


@dataclass(frozen=True)
class MeasuredRun:
    """A run's sentences with their measures; `covered` is true for each fact of a turn that the claims cover."""

    run: DecomposedRun
    sentences: tuple[MeasuredSentence, ...]
    covered: Mapping[TurnName, tuple[bool, ...]]


def measure_run(run: DecomposedRun, verifier: Verifier, embedder: Embedder) -> MeasuredRun:
    """Measures a run's claims without a model (see `metrics.decomposition`).

    Raises InputError or JudgeError if the verifier failed, or gave something other than probabilities.
    """
    turns: dict[TurnName, list[Sequence[str]]] = {}
    for sentence in run.sentences:
        turns.setdefault(sentence.turn, []).append(sentence.made.claims)
    facts = ((turn, run.facts.get(turn, ()), claims) for turn, claims in turns.items())
    told = {turn: tuple(covered(own, claims, verifier, embedder)) for turn, own, claims in facts}
    return MeasuredRun(run, tuple(_measure(sentence.made, verifier, embedder) for sentence in run.sentences), told)


def _measure(made: Decomposition, verifier: Verifier, embedder: Embedder) -> MeasuredSentence:
    around = f"{made.question}\n{made.context}".strip() or made.sentence
    scores = supports(verifier, [(text, claim) for text in (made.sentence, around) for claim in made.claims])
    half = len(made.claims)
    facts = tuple(max(len(rule_facts(claim)), 1) for claim in made.claims)
    return MeasuredSentence(tuple(scores[:half]), tuple(scores[half:]), tuple(repeats(made.claims, embedder)), facts)
