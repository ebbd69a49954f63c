"""People mark the five desiderata blind, on sentences of several decomposers, to compare them with a judge (App. A).

Annotators see sentences, questions and claims. An item's id names neither run nor method; methods are mixed within each sentence,
and equal claims of two methods are one item.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vista_guard.errors import InputError
from vista_lab.annotate.agreement import FormResults
from vista_lab.annotate.forms import Answers, Item, Part, load_form
from vista_lab.decompose.decompositions import DecomposedRun, PlacedSentence
from vista_lab.decompose.measures import OF_CLAIMS, OF_SENTENCES, Marks
from vista_lab.logs.source import BrokenEntry, values
from vista_lab.tables.writers import Sheet

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
