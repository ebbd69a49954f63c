"""The five desiderata marked by people: sentences of several decomposers as items, blind, and a judge beside them (App. A).

Annotators see sentences, questions and claims. An item's id names neither run nor method; methods are mixed within each sentence,
and claims that two methods made alike are one item.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vista_guard.errors import InputError
from vista_lab.logs.source import BrokenEntry, values
from vista_lab.metrics.decomposition import OF_CLAIMS, OF_SENTENCES, Marks
from vista_lab.people.agreement import FormResults
from vista_lab.people.forms import Answers, Item, Part, load_form
from vista_lab.runs.decompositions import DecomposedRun, PlacedSentence
from vista_lab.tables.writers import Sheet

FORM = "desiderata"


def items_of(runs: Sequence[DecomposedRun]) -> list[PlacedSentence]:
    """The sentences with claims that people mark, in the order of the text; within a sentence by id, which mixes the methods."""
    order = {one.key: place for place, one in enumerate(runs[0].sentences)}
    by_id = {one.id: one for run in runs for one in run.sentences if one.made.claims}
    return sorted(by_id.values(), key=lambda one: (order[one.key], one.id))


def items_text(items: Iterable[PlacedSentence]) -> str:
    """The items as `vista-guard annotations export FILE --form desiderata` takes them, a line of JSON each."""
    lines = []
    for one in items:
        made = one.made
        item = {"id": one.id, "question": made.question, "sentence": made.sentence, "claims": list(made.claims)}
        lines.append(json.dumps({**item, "group": made.group}, ensure_ascii=False) + "\n")
    return "".join(lines)


def read_consensus(path: Path) -> dict[str, Marks]:
    """People's marks by item, from the `consensus.jsonl` of `vista-guard agree`. An item with a mark still open is left out.

    Raises:
        InputError: the file cannot be read, or a mark is missing or neither 0 nor 1; names file, line, item and value.
    """
    found: dict[str, Marks] = {}
    for number, value in enumerate(values(path), 1):
        if isinstance(value, BrokenEntry):
            raise InputError(f"{value.source}: {value.error}")
        content, where = value.content, f"{path}, line {number}"
        if not isinstance(content, Mapping) or not {"id", "marks", "parts", "open"} <= content.keys():
            raise InputError(f"{where} is {str(content)[:80]!r}; give the {path.name} that vista-guard agree wrote")
        if not content["open"]:
            found[str(content["id"])] = _marks(content, f"{where}, item {content['id']}")
    return found


def _marks(content: Mapping[str, Any], where: str) -> Marks:
    parts = content["parts"].items()
    of_claims = tuple(_bits(marks, OF_CLAIMS, f"{where}, {name}") for name, marks in parts)
    return Marks(of_claims, _bits(content["marks"], OF_SENTENCES, where))


def _bits(given: Mapping[str, object], names: Sequence[str], where: str) -> dict[str, int]:
    for name in names:
        if str(given.get(name)) not in ("0", "1"):
            raise InputError(f"{where} has {name} {given.get(name)!r}; it is 0 or 1")
    return {name: int(str(given[name])) for name in names}


def judge_and_people(
    items: Sequence[PlacedSentence], judge: Mapping[str, Marks], people: Mapping[str, Marks], about: Sequence[str]
) -> Sheet | None:
    """Agreement of a judge with people's majority on each desideratum: %, Cohen's κ, Pearson's r. None without a common item."""
    both = [one for one in items if one.id in judge and one.id in people]
    if not both:
        return None
    answers = {"judge": judge, "people": people}
    given = {who: {one.id: _answers(marks[one.id]) for one in both} for who, marks in answers.items()}
    results = FormResults(load_form(FORM), [_item(one) for one in both], given, about, {})
    return next((sheet for sheet in results.sheets() if sheet.name == "agreement"), None)


def _item(one: PlacedSentence) -> Item:
    parts = tuple(Part(f"c{number}", {"text": claim}) for number, claim in enumerate(one.made.claims, 1))
    return Item(one.id, {"question": one.made.question, "sentence": one.made.sentence}, parts, one.made.group)


def _answers(marks: Marks) -> Answers:
    parts = {f"c{number}": {name: str(bit) for name, bit in own.items()} for number, own in enumerate(marks.claims, 1)}
    return Answers({name: str(bit) for name, bit in marks.sentence.items()}, parts)
