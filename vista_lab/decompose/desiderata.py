"""People mark the five desiderata blind, on sentences of several decomposers, to compare them with a judge (App. A).

Annotators see sentences, questions and claims. An item's id names neither run nor method; methods are mixed within each sentence,
and equal claims of two methods are one item.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vista_guard.errors import InputError
from vista_lab.annotate.agreement import FormResults
from vista_lab.annotate.forms import Answers, Item, Part, load_form
from vista_lab.decompose.decompositions import DecomposedRun, MeasuredRun, PlacedSentence
from vista_lab.decompose.measures import DESIDERATA, OF_CLAIMS, OF_SENTENCES, SUPPORTED, Marks, atomicity
from vista_lab.logs.source import BrokenEntry, values
from vista_lab.metrics.intervals import share_interval, share_text
from vista_lab.tables.writers import NOTHING, Sheet, decimals, headings, row

FORM = "desiderata"


def items_of(runs: Sequence[DecomposedRun]) -> list[PlacedSentence]:
    """The sentences with claims that people mark, in the order of the text; within a sentence by id, which mixes the methods."""
    order = {sentence.key: place for place, sentence in enumerate(runs[0].sentences)}
    by_id = {sentence.id: sentence for run in runs for sentence in run.sentences if sentence.made.claims}
    return sorted(by_id.values(), key=lambda sentence: (order[sentence.key], sentence.id))


def items_text(items: Iterable[PlacedSentence]) -> str:
    """The items as JSON lines, the input of `vista-guard annotations export FILE --form desiderata`."""
    lines = []
    for sentence in items:
        made = sentence.made
        item = {"id": sentence.id, "question": made.question, "sentence": made.sentence, "claims": list(made.claims)}
        lines.append(json.dumps({**item, "group": made.group}, ensure_ascii=False) + "\n")
    return "".join(lines)


def read_consensus(path: Path) -> dict[str, Marks]:
    """People's marks by item, from the `consensus.jsonl` of `vista-guard agree`. An item with a mark still open is left out.

    Raises InputError: the file cannot be read, or a mark is missing or neither 0 nor 1; names file, line, item and value.
    """
    marks: dict[str, Marks] = {}
    for number, value in enumerate(values(path), 1):
        if isinstance(value, BrokenEntry):
            raise InputError(f"{value.source}: {value.error}")
        content, where = value.content, f"{path}, line {number}"
        if not isinstance(content, Mapping) or not {"id", "marks", "parts", "open"} <= content.keys():
            raise InputError(f"{where} is {str(content)[:80]!r}; give the {path.name} that vista-guard agree wrote")
        if not content["open"]:
            marks[str(content["id"])] = _marks(content, f"{where}, item {content['id']}")
    return marks


def _marks(content: Mapping[str, Any], where: str) -> Marks:
    parts = content["parts"].items()
    of_claims = tuple(_bits(marks, OF_CLAIMS, f"{where}, {name}") for name, marks in parts)
    return Marks(of_claims, _bits(content["marks"], OF_SENTENCES, where))


def _bits(marks: Mapping[str, object], names: Sequence[str], where: str) -> dict[str, int]:
    for name in names:
        if str(marks.get(name)) not in ("0", "1"):
            raise InputError(f"{where} has {name} {marks.get(name)!r}; it is 0 or 1")
    return {name: int(str(marks[name])) for name in names}


def judge_and_people(
    items: Sequence[PlacedSentence], judge: Mapping[str, Marks], people: Mapping[str, Marks], about: Sequence[str]
) -> Sheet | None:
    """Agreement of a judge with people's majority on each desideratum: %, Cohen's κ, Pearson's r. None without a shared item."""
    common = [sentence for sentence in items if sentence.id in judge and sentence.id in people]
    if not common:
        return None
    answers = {"judge": judge, "people": people}
    given = {who: {sentence.id: _answers(marks[sentence.id]) for sentence in common} for who, marks in answers.items()}
    results = FormResults(load_form(FORM), [_item(sentence) for sentence in common], given, about, {})
    return next((sheet for sheet in results.sheets() if sheet.name == "agreement"), None)


def _item(sentence: PlacedSentence) -> Item:
    parts = tuple(Part(f"c{number}", {"text": claim}) for number, claim in enumerate(sentence.made.claims, 1))
    made = sentence.made
    return Item(sentence.id, {"question": made.question, "sentence": made.sentence}, parts, made.group)


def _answers(marks: Marks) -> Answers:
    parts = {f"c{number}": {name: str(bit) for name, bit in own.items()} for number, own in enumerate(marks.claims, 1)}
    return Answers({name: str(bit) for name, bit in marks.sentence.items()}, parts)


Held = Sequence[tuple[str, bool]]
"""Response and value of each claim, sentence or fact."""


def share(held: Held) -> str:
    """A share with its interval over responses and its n: `97.5 % (93.1–99.2), n 120`; a dash for nothing."""
    interval = share_interval([group for group, _ in held], [true for _, true in held])
    if interval is None:
        return NOTHING
    return f"{share_text(sum(true for _, true in held) / len(held), interval)}, n {len(held):,}"


def measures(runs: Sequence[MeasuredRun], notes: Sequence[str] = ()) -> Sheet:
    """Claims a sentence, atomicity and the three measures without a model, one row per run."""
    rows = [row(run.run.name, run.run.judge, *_counts(run), *map(share, _shares(run).values())) for run in runs]
    same = "Repeated: a cosine above 0.9 with an earlier claim, or the same words."
    drawn = "Intervals of 95 % draw whole responses."
    remarks = (f"Entailed: P(supported) of at least 0.5. {same}", drawn, *notes)
    counts = ("sentences", "without claims", "claims", "claims a sentence", "log2 atomicity")
    heads = headings(("run", "judge"), *counts, *_SHARES)
    return Sheet("measures", "Claims against their sentences", heads, tuple(rows), remarks)


_SHARES = ("entailed by the sentence", "entailed in context", "repeated", "facts covered")


def _shares(run: MeasuredRun) -> Mapping[str, Held]:
    by_sentence: list[tuple[str, bool]] = []
    in_context: list[tuple[str, bool]] = []
    repeated: list[tuple[str, bool]] = []
    for sentence, measured in zip(run.run.sentences, run.sentences, strict=True):
        by_sentence += [(sentence.made.group, p >= SUPPORTED) for p in measured.by_sentence]
        in_context += [(sentence.made.group, p >= SUPPORTED) for p in measured.in_context]
        repeated += [(sentence.made.group, is_repeat) for is_repeat in measured.repeats]
    facts = [(f"{turn[0]}#{turn[1]}", is_covered) for turn, covered in run.covered.items() for is_covered in covered]
    return dict(zip(_SHARES, (by_sentence, in_context, repeated, facts), strict=True))


def _counts(run: MeasuredRun) -> Iterator[str]:
    claims = [len(sentence.made.claims) for sentence in run.run.sentences]
    atoms = atomicity(facts for sentence in run.sentences for facts in sentence.facts)
    yield f"{len(claims):,}"
    yield f"{claims.count(0):,}"
    yield f"{sum(claims):,}"
    yield f"{sum(claims) / len(claims):.2f}"
    yield decimals(atoms, 2)


def desiderata(
    runs: Sequence[DecomposedRun], marks: Mapping[str, Mapping[str, Marks]], notes: Sequence[str] = ()
) -> Sheet:
    """The five desiderata, one row per run and marker.

    `marks` are by marker (`judge`, `people`), then by the sentence's id; `notes` stand below the table.
    """
    held = ((run, who, _by_desideratum(run, by_sentence)) for run in runs for who, by_sentence in marks.items())
    rows = [row(run.name, who, *map(share, own.values())) for run, who, own in held]
    remarks = ("Coverage and uniqueness are of sentences, the others of claims.", *notes)
    heads = headings(("run", "marked by"), *DESIDERATA)
    return Sheet("desiderata", "Five desiderata", heads, tuple(rows), remarks)


def _by_desideratum(run: DecomposedRun, marks: Mapping[str, Marks]) -> Mapping[str, Held]:
    bits: dict[str, list[tuple[str, bool]]] = {name: [] for name in DESIDERATA}
    for sentence in run.sentences:
        if (sentence_marks := marks.get(sentence.id)) is None:
            continue
        for mark in sentence_marks.claims:
            for name, bit in mark.items():
                bits[name].append((sentence.made.group, bool(bit)))
        for name in OF_SENTENCES:
            if sentence.made.claims or name == "coverage":  # without claims none repeats another
                bits[name].append((sentence.made.group, bool(sentence_marks.sentence[name])))
    return bits
