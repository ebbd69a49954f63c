"""Generates a set of pairs from a folder's documents: one record per passage, accepted or not, written at once.

    ours/
      manifest.json    how the set was made: a `runs.folder.Manifest`
      records.jsonl    a `Record` a line
      README.md        the set's card, written at the end and made again from the other two at any time

A stopped run is resumed: passages with a record are skipped.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

from vista_guard.errors import ConfigError
from vista_guard.stores.line_file import ANOTHER_OUT, LineFile
from vista_guard.types import JudgeInfo
from vista_lab.oasis.gates import certain, standing
from vista_lab.oasis.passages import Corpus, Cut, survey
from vista_lab.oasis.records import RECORD_LINES, GeneratedPair, NoPair, PairAnswer, Passage, Record, all_records
from vista_lab.runs.folder import Manifest, begin, read_manifest
from vista_lab.runs.made import GateVerdict, State, made_from, open_records
from vista_lab.runs.workers import work_through
from vista_lab.systems.protocol import SystemInfo

SYSTEM = "oasis-generate"
"""Name of the system in the manifest of a generated set."""


class Generator(Protocol):
    """Generates a pair from a passage."""

    @property
    def name(self) -> str:
        """The model, or the version of the rules: all that changes the pairs."""
        ...

    async def generate(self, passage: Passage) -> PairAnswer:
        """The pair, or why there is none, after bounded attempts.

        Raises:
            BudgetError: the budget is spent.
            JudgeError: no answer came.
        """
        ...


@runtime_checkable
class CorpusReader(Protocol):
    """A generator that reads the corpus before it begins."""

    def learn(self, passages: Iterable[Passage]) -> None:
        """Called once, with windows of all documents."""
        ...


class JudgedGates(Protocol):
    """Gates that ask a verifier."""

    @property
    def name(self) -> str: ...

    async def verdicts(self, passage: Passage, pair: GeneratedPair) -> tuple[GateVerdict, ...]:
        """The verdicts of all judged gates. Raises JudgeError: the verifier failed."""
        ...


@dataclass(frozen=True)
class HowGenerated:
    """Settings that must not change for a set to be resumed."""

    generator: str
    gate: str
    options: Mapping[str, str] = field(default_factory=dict)
    prompts: Mapping[str, str] = field(default_factory=dict)

    def manifest(self, corpus: Corpus) -> Manifest:
        """The set's description."""
        cut = corpus.cut
        options = {
            "sentences": str(cut.sentences),
            "stride": str(cut.stride),
            "per document": str(cut.per_document),
            "language": cut.language,
            "shard": f"{cut.shard}/{cut.shards}",
            "gate": self.gate,
            **self.options,
        }
        name, _, rules = self.generator.partition(" ")
        judge = JudgeInfo(name=name, version=rules or "-")
        source = made_from(corpus.folder.resolve().name, corpus.files, corpus.documents, corpus.passages)
        skipped = {file.reason: 1 for file in corpus.skipped if file.broken}
        system = SystemInfo(name=SYSTEM, judge=judge, options=options, prompts=self.prompts)
        return begin(system, source.model_copy(update={"skipped": skipped}), limit=cut.limit or None, seed=cut.seed)


def open_set(folder: Path, manifest: Manifest) -> LineFile[Record]:
    """Opens the records of a new set, or of one made in the same way, which is resumed.

    Raises ConfigError: the set was made in another way, which names the fields; the folder holds something else, is in use,
    or cannot be written.
    """
    return open_records(folder, "generated set", RECORD_LINES, manifest)


@dataclass
class Outcome:
    """The outcome of a run. `states`: its records by state. `resumed`: records of earlier runs. `unasked`: passages
    without an answer, and so without a record; the next run retries them."""

    total: int
    resumed: int = 0
    states: Counter[State] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    unasked: int = 0
    stopped: str = ""
    """Why it stopped early; empty if it finished."""

    @property
    def made(self) -> int:
        """Records that this run wrote."""
        return sum(self.states.values())


@dataclass
class Making:
    """Generator, gates and callbacks of a run.

    `at_once`: passages worked on at the same time. `told`: called with each record. `stop`: ends the run after those underway.
    """

    generator: Generator
    gates: JudgedGates | None = None
    at_once: int = 64
    told: Callable[[Record], None] = lambda record: None
    stop: asyncio.Event = field(default_factory=asyncio.Event)


def join(sets: Sequence[Path], out: Path) -> int:
    """Joins the sets of shards into a new one, in the order given; returns its number of records.

    Raises:
        ConfigError: the sets were made in different ways, or the folder has another set.
        InputError: a set cannot be read, or two hold one passage.
    """
    manifests = [read_manifest(folder) for folder in sets]
    joined = _join_manifests(manifests)
    for folder, manifest in zip(sets, manifests, strict=True):
        alone = _join_manifests([manifest])
        alone.check_same(folder, joined.model_copy(update={"rows": alone.rows}))
    for _ in all_records(sets):  # Nothing is written of sets that cannot be joined.
        pass
    with closing(open_set(out, joined)) as records:
        if records.lines:
            raise ConfigError(f"{out} has {records.lines} records already. {ANOTHER_OUT}")
        for record in all_records(sets):
            records.append(record)
        return records.lines


def _join_manifests(manifests: Sequence[Manifest]) -> Manifest:
    """Manifest of the joined set, as one run over all shards would have written it."""
    first = manifests[0]
    rows = [manifest.rows for manifest in manifests if manifest.rows is not None]
    system = first.system.model_copy(update={"options": {**first.system.options, "shard": "1/1"}})
    names = tuple(sorted(name for part in rows for name in part.conversations))
    whole = rows[0].model_copy(update={"conversations": names, "turns": sum(part.turns for part in rows)})
    return first.model_copy(update={"system": system, "rows": whole})


async def generate(corpus: Corpus, making: Making, out: Path, how: HowGenerated) -> Outcome:
    """Generates the set's missing records.

    Raises:
        ConfigError, StoreError: as `open_set`, or the disk is full; what was written is safe, and the next run resumes.
        InputError: a document changed during the run.
    """
    outcome = Outcome(corpus.passages)
    with closing(open_set(out, how.manifest(corpus))) as records, closing(corpus):
        outcome.resumed = records.lines
        if isinstance(making.generator, CorpusReader) and outcome.resumed < outcome.total:
            making.generator.learn(corpus.everywhere())
        run = _Run(corpus, making, records, outcome)
        # Reading waits for another process; the loop must keep serving the model's answers.
        work = await work_through(
            run.pending(), run.make, at_once=making.at_once, stop=making.stop, noun="passages", aside=True
        )
    outcome.unasked, outcome.stopped = work.unasked, work.stopped
    return outcome


async def make_set(
    folder: Path,
    out: Path,
    generator: Generator,
    *,
    gates: JudgedGates | None = None,
    cut: Cut | None = None,
    at_once: int = 64,
) -> Outcome:
    """Generates a set from a folder's documents, or resumes one made in the same way.

    Args:
        folder: text, Markdown, HTML or PDF files, in folders of any depth.
        out: the set's folder.
        generator: `EmbeddedGenerator()`, `ModelGenerator(model)`, or one of your own.
        gates: `VerifierGates(verifier)`; without any the certain gates run alone.
        cut: how documents are cut and which passages are drawn.
        at_once: passages worked on at the same time.

    Raises:
        InputError, ConfigError, StoreError: as `survey` and `generate`.
    """
    corpus = survey(folder, cut or Cut())
    options, prompts = getattr(generator, "options", {}), getattr(generator, "prompts", {})
    how = HowGenerated(generator.name, "none" if gates is None else gates.name, options, prompts)
    outcome = await generate(corpus, Making(generator, gates, at_once), out, how)
    from vista_lab.oasis.statistics import write_card

    write_card(out)
    return outcome


class _Run:
    def __init__(self, corpus: Corpus, making: Making, records: LineFile[Record], outcome: Outcome) -> None:
        self._corpus, self._making, self._records, self._outcome = corpus, making, records, outcome

    def pending(self) -> Iterator[Passage]:
        """Passages without a record, in order."""
        for document, passages in self._corpus.read():
            done = {record.passage.id for record in self._records.of_group(document.id)}
            yield from (passage for passage in passages if passage.id not in done)

    async def make(self, passage: Passage) -> None:
        """Makes and writes the record of a passage."""
        record = await self._record(passage)
        self._records.append(record)
        self._outcome.states[record.state] += 1
        if record.state is not State.ACCEPTED:
            self._outcome.reasons[record.reason.partition(" (")[0]] += 1
        self._making.told(record)

    async def _record(self, passage: Passage) -> Record:
        refusal = self._refusal(passage)
        answer = PairAnswer(NoPair(refusal), 0) if refusal else await self._making.generator.generate(passage)
        pair, origin = answer.pair, {"made_by": self._making.generator.name, "attempts": answer.attempts}
        if isinstance(pair, NoPair):
            return Record(passage=passage, state=State.REJECTED, reason=pair.reason, raw=pair.raw, **origin)
        verdicts = certain(passage, pair, self._corpus.repeats)
        if standing(verdicts)[0] is not State.REJECTED and self._making.gates is not None:
            verdicts = (*verdicts, *await self._making.gates.verdicts(passage, pair))
        state, reason = standing(verdicts)
        return Record(passage=passage, state=state, pair=pair, verdicts=verdicts, reason=reason, **origin)

    def _refusal(self, passage: Passage) -> str:
        language = self._corpus.languages.get(passage.document)
        if language:
            return f"language: the document is in {language!r}, not in {self._corpus.cut.language!r}"
        earlier = self._corpus.repeats.get(passage.id)
        return f"near-duplicate: the passage repeats {earlier}" if earlier else ""
