"""Exports a generated set: the released files, a pipeline's training data, and its test logs.

data/
  export.json                 how it was made: set, gate, split, counts
  train/ validation/ test/
    claim_extraction.jsonl    title, text, claims
    claim_falsification.jsonl title, original, falsified
    factual_text.jsonl        title, claims, text
    unfactual_text.jsonl      title, claims, text
    verifier.jsonl            triplets (§5.3), as `training.train` reads them: premise, hypothesis, allowed, twin; a claim and its
                              falsified version beside two passages, so that no word tells them apart (see `triplets`)
    pairs.jsonl               the triplets as they are, as `vista-guard calibrate --pairs` reads them: evidence, claim, label
    retriever.jsonl           claim and passage (§5.2); `group`: rows of one are never each other's negatives
    extractor.jsonl           text and claims (§5.1)
    task1.json, task2.json    logs in the reference format (§4.2), for `eval`, `compare`, `calibrate`

Passages themselves are in no log, as models may know them by heart. Both logs name the document that a turn is of, so that
intervals draw documents.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from vista_guard.errors import InputError
from vista_guard.protocols import Verifier
from vista_guard.stores.line_file import write_whole
from vista_guard.types import Label
from vista_lab.files import writing
from vista_lab.oasis.records import GeneratedPair, Passage, Record, all_records
from vista_lab.oasis.splits import SetPart, Splitting, divide
from vista_lab.oasis.triplets import pair_of, settled, twinned, verifier_triplets
from vista_lab.runs.folder import claim_folder, read_manifest
from vista_lab.runs.made import EXPORT, State


class ExportNote(BaseModel):
    """The sources of an export. `eval` reads `gate`: a judge that chose the pairs is no independent measure of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    vista_guard_oasis_export: int = 1
    sets: tuple[str, ...]
    made_by: tuple[str, ...]
    gate: str
    """Name of the verifier that was the gate; `none` where there was none."""
    doubtful: bool
    split: str
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Exporting:
    """The options of an export.

    `doubtful`: doubtful records too. `entailed_by_unfactual`: the triplets ⟨c_j≠i, U, ENT⟩, which the paper's example A.2 breaks.
    `neutrals`: chooses the neutral passage of each claim; without one there are no neutral triplets, and so no not-enough rows.
    """

    splitting: Splitting = field(default_factory=Splitting)
    doubtful: bool = False
    entailed_by_unfactual: bool = False
    neutrals: Verifier | None = None


def export(sets: Sequence[Path], out: Path, how: Exporting) -> ExportNote:
    """Writes the files of all parts.

    Raises:
        InputError: a set cannot be read, has nothing to export, or two hold one passage.
        ConfigError: the folder cannot be written, or holds something else.
    """
    every = settled(list(all_records(sets)))
    records = [record for record in every if is_usable(record, doubtful=how.doubtful)]
    if not records:
        more = "" if how.doubtful else "; --doubtful takes those that no gate is sure of"
        raise InputError(f"{', '.join(map(str, sets))}: no record is accepted{more}; vista-guard oasis stats says why")
    parts = divide(every, how.splitting)
    counts: Counter[str] = Counter()
    claim_folder(out, "export", (EXPORT, *SetPart))
    for part, members in parts.items():
        usable = [record for record in members if is_usable(record, doubtful=how.doubtful)]
        counts += _write_part(out / part, usable, how, [record.passage for record in members])
    note = _note(sets, how, records, counts)
    write_whole(out / EXPORT, note.model_dump_json(indent=2) + "\n")
    return note


def is_usable(record: Record, *, doubtful: bool = False) -> bool:
    """True for accepted records, with `doubtful` for doubtful ones too."""
    return record.state is State.ACCEPTED or (doubtful and record.state is State.DOUBTFUL)


def _note(sets: Sequence[Path], how: Exporting, records: Sequence[Record], counts: Counter[str]) -> ExportNote:
    gates = {read_manifest(folder).system.options.get("gate", "none") for folder in sets}
    split = how.splitting
    names, makers = tuple(folder.name for folder in sets), tuple(sorted({record.made_by for record in records}))
    gate, told = ", ".join(sorted(gates - {"none"})) or "none", dict(sorted(counts.items()))
    by = f"by {split.by}, test {split.test:g}, validation {split.validation:g}, seed {split.seed}"
    return ExportNote(sets=names, made_by=makers, gate=gate, doubtful=how.doubtful, split=by, counts=told)


def _write_part(folder: Path, records: Sequence[Record], how: Exporting, passages: Sequence[Passage]) -> Counter[str]:
    with writing(folder):
        folder.mkdir(exist_ok=True)
    counts: Counter[str] = Counter()
    triplets = list(verifier_triplets(records, passages, how.neutrals, entailed_by_unfactual=how.entailed_by_unfactual))
    rows: dict[str, Iterable[Mapping[str, Any]]] = {
        **{
            f"{name}.jsonl": [{"title": one.passage.document, **columns(one.passage, pair_of(one))} for one in records]
            for name, columns in RELEASED.items()
        },
        "verifier.jsonl": (one.training_row() for one in twinned(triplets, passages, how.splitting.seed)),
        "pairs.jsonl": (triplet.calibration_row() for triplet in triplets),
        "retriever.jsonl": retriever_pairs(records),
        "extractor.jsonl": map(extractor_row, records),
    }
    for name, entries in rows.items():
        lines = [json.dumps(row, ensure_ascii=False) + "\n" for row in entries]
        counts[f"{folder.name}/{name}"] = len(lines)
        write_whole(folder / name, "".join(lines))
    for name, log in ((TASK_1, text_log), (TASK_2, claim_log)):
        counts[f"{folder.name}/{name}"] = 2 * len(records)
        write_whole(folder / name, log(records))
    return counts


RELEASED: Mapping[str, Callable[[Passage, GeneratedPair], dict[str, Any]]] = {
    "claim_extraction": lambda passage, pair: {"text": passage.text, "claims": list(pair.claims)},
    "claim_falsification": lambda passage, pair: {"original": pair.original, "falsified": pair.falsified},
    "factual_text": lambda passage, pair: {"claims": list(pair.claims), "text": pair.factual},
    "unfactual_text": lambda passage, pair: {"claims": pair.altered_claims, "text": pair.unfactual},
}
"""The four files of the released data, by name; each row has the document as its title."""


def extractor_row(record: Record) -> dict[str, Any]:
    """⟨t, C⟩ (§5.1)."""
    return {"passage": record.passage.id, "text": record.passage.text, "claims": list(pair_of(record).claims)}


def retriever_pairs(records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """⟨c_j, t⟩, ⟨c_j, F⟩, ⟨c_j, U⟩ and the same with c̄ (§5.2); the falsified claim's original is one of the c_j."""
    for record in records:
        pair = pair_of(record)
        for claim in (*pair.claims, pair.falsified):
            for kind, text in (("t", record.passage.text), ("F", pair.factual), ("U", pair.unfactual)):
                yield {"claim": claim, "passage": text, "kind": kind, "group": record.passage.id}


TASK_1, TASK_2 = "task1.json", "task2.json"
"""Names of the logs."""

JUDGEMENTS = {Label.VERIFIED: "verifiable", Label.CONTRADICTED: "contradicted"}
"""Words of the reference format."""


def text_log(records: Iterable[Record]) -> str:
    """Task 1: each factual and each unfactual text as the one turn of a conversation. Records without a pair are left out."""
    return _log(line for record, pair in _pairs(records) for line in _texts(record, pair))


def claim_log(records: Iterable[Record]) -> str:
    """Task 2: each falsified claim and its original as one turn each, with the factual text as its document.

    The turn brings itself as its one claim, with a label, for `--claims given`.
    """
    return _log(line for record, pair in _pairs(records) for line in _claims(record, pair))


def _pairs(records: Iterable[Record]) -> Iterator[tuple[Record, GeneratedPair]]:
    return ((record, record.pair) for record in records if record.pair is not None)


def _texts(record: Record, pair: GeneratedPair) -> Iterator[dict[str, Any]]:
    yield _turn(record, "factual", pair.factual, true=True)
    yield _turn(record, "unfactual", pair.unfactual, true=False)


def _claims(record: Record, pair: GeneratedPair) -> Iterator[dict[str, Any]]:
    for name, claim, label in (
        ("original", pair.original, Label.VERIFIED),
        ("falsified", pair.falsified, Label.CONTRADICTED),
    ):
        claims = [{"claim_text": claim, "human_judgement": JUDGEMENTS[label]}]
        turn = _turn(record, name, claim, true=label is Label.VERIFIED)
        yield {**turn, "retrieved_document": pair.factual, "human_claims": claims}


def _turn(record: Record, name: str, text: str, *, true: bool) -> dict[str, Any]:
    label = "faithful" if true else "hallucinated"
    place = {"conversation_id": f"{record.passage.id}/{name}", "original_dataset_label": label}
    return {"role": "assistant", "utterance": text, **place, "group": record.passage.document}


def _log(turns: Iterable[dict[str, Any]]) -> str:
    lines = ",\n".join(json.dumps([turn], ensure_ascii=False) for turn in turns)
    return f"[\n{lines}\n]\n"
