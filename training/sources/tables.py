"""Claims that people wrote about tables, with the table written as documents have it."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from random import Random

from training.pairs import NOT_CONTRADICTED, KindPair
from training.sources.parts import Part, ended, json_rows, mended, tenth
from training.sources.sentence_pairs import csv_rows, tsv
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS, UNSUPPORTED

INFOTABS = {
    "train": tuple(f"train/infotabs/infotabs_{name}.tsv.gz" for name in ("train", "dev", "test_alpha1", "test_alpha3")),
    "dev": ("train/infotabs/infotabs_test_alpha2.tsv.gz",),
}
INFOBOXES = "train/infotabs/tables.jsonl.gz"
SCITAB = "train/scitab/sci_tab.json.gz"
E2E = ("train/e2e/devset.csv.gz", "train/e2e/testset_w_refs.csv.gz")
CAR = {
    "train": tuple(f"train/ci-tod/{name}.json.gz" for name in (
        "calendar_train", "calendar_test", "navigate_train", "navigate_test", "weather_new_test")),
    "dev": tuple(f"train/ci-tod/{name}_dev.json.gz" for name in ("calendar", "navigate", "weather_new")),
}  # fmt: skip
FILES = (*INFOTABS["train"], INFOBOXES, SCITAB, *E2E, *CAR["train"])
_ENC = {"E": SUPPORTED_CLASS, "C": CONTRADICTED_CLASS, "N": NOT_ENOUGH_CLASS}
_SCITAB_LABELS = {"supports": SUPPORTED_CLASS, "refutes": CONTRADICTED_CLASS, "not enough info": NOT_ENOUGH_CLASS}
_ATTRIBUTE = re.compile(r"(\w[\w ]*)\[([^\]]*)\]")
_SAID = {
    "food": "{} food",
    "customer rating": "rated {}",
    "rating": "rated {}",
    "priceRange": "prices {}",
    "near": "near {}",
}
Box = Mapping[str, Sequence[str]]


def infotabs(data: Path, part: Part) -> Iterator[KindPair]:
    """INFOTABS (Gupta 2020): three claims that one worker wrote about one infobox are twins."""
    rng, boxes = Random(5), infoboxes(data)
    for name in INFOTABS[part]:
        for row in tsv(data / name):
            twin = f"infotabs-{row['table_id']}-{row['annotater_id']}"
            premise = written_out(boxes[row["table_id"]], Random(f"{twin}-{rng.random() < 0.2}"))
            yield KindPair(
                premise, ended(mended(row["hypothesis"])), (_ENC[row["label"]],), "infotabs", "infotabs", twin
            )


def infoboxes(data: Path) -> dict[str, Box]:
    """Every infobox by its id."""
    with gzip.open(data / INFOBOXES, "rt", encoding="utf-8") as lines:
        return {row["table_id"]: row["table"] for row in map(json.loads, lines)}


def written_out(box: Box, rng: Random) -> str:
    """The infobox as a list, a table, aligned columns or prose; the title above or in the text."""
    title = " ".join(box.get("title", ()))
    cells = [(key.rstrip(": "), ", ".join(mended(v) for v in values)) for key, values in box.items() if key != "title"]
    form = rng.choice((_listed, _listed, _table, _aligned, _prose))
    return form(title, cells)


Cells = Sequence[tuple[str, str]]


def _listed(title: str, cells: Cells) -> str:
    return "\n".join([title, *(f"- {key}: {value}" for key, value in cells)])


def _table(title: str, cells: Cells) -> str:
    return "\n".join([title, "| | |", "|---|---|", *(f"| {key} | {value} |" for key, value in cells)])


def _aligned(title: str, cells: Cells) -> str:
    width = 2 + max((len(key) for key, _ in cells), default=0)
    return "\n".join([title, *(f"{key:{width}}{value}" for key, value in cells)])


def _prose(title: str, cells: Cells) -> str:
    return " ".join(f"{key} of {title}: {value}." for key, value in cells)


def papers(data: Path, part: Part) -> Iterator[KindPair]:
    """SciTab (Lu 2023): claims of papers about their result tables; tables that are too long to be read whole stay out."""
    for row in json_rows(data / SCITAB):
        names, rows = row["table_column_names"], row["table_content_values"]
        lines = [" | ".join(plain(cell) for cell in line) for line in (names, *rows)]
        premise = "\n".join([row["table_caption"], *lines])
        if len(premise.split()) < 150 and tenth(row["paper_id"], part):
            twin, allowed = f"papers-{row['table_id']}", (_SCITAB_LABELS[row["label"]],)
            yield KindPair(premise, ended(row["claim"]), allowed, "papers", "papers", twin)


def plain(cell: str) -> str:
    """A cell without marks of type."""
    return re.sub(r"\[\w+\]|</?\w+>", "", cell).strip()


def venues(data: Path, part: Part) -> Iterator[KindPair]:
    """E2E (Novikova 2017): a description against a list of places; told of another place of the list it is wrong."""
    if part == "dev":
        return
    rng = Random(4)
    rows = [(dict(_ATTRIBUTE.findall(row["mr"])), row["ref"]) for name in E2E for row in csv_rows(data / name)]
    for number, (place, told) in enumerate(rows):
        others = [
            other for other, _ in rng.sample(rows, 8) if other["name"] != place["name"] and other["name"] not in told
        ]
        other = next((o for o in others if not place.items() - {("name", place["name"])} <= o.items()), None)
        if other and place["name"] in told and len(place) > 2:
            listed = rng.sample([place, other], 2)
            premise = "\n".join(described(one) for one in listed)
            twin = f"venues-{number}"
            yield KindPair(premise, ended(told), (SUPPORTED_CLASS,), "venues", "venues", twin)
            false = told.replace(place["name"], other["name"])
            yield KindPair(premise, ended(false), UNSUPPORTED, "venues", "venues", twin)


def described(place: Mapping[str, str]) -> str:
    """A place's attributes in a line, as a directory has them."""
    known = {"yes": "family-friendly", "no": "not family-friendly"}
    told = {key: value for key, value in place.items() if key != "name"}
    if "familyFriendly" in told:
        told["familyFriendly"] = known.get(told["familyFriendly"], told["familyFriendly"])
    parts = [_SAID.get(key, "{}").format(value) for key, value in told.items()]
    return f"{place['name']}: {', '.join(parts)}"


def in_car(data: Path, part: Part) -> Iterator[KindPair]:
    """CI-ToD (Qin 2021): an assistant's last answer that the table on the screen contradicts, or does not."""
    for name in CAR[part]:
        for row in json_rows(data / name):
            items, answer = row["scenario"]["kb"]["items"], row["dialogue"][-1]["utterance"]
            flags = {row["scenario"][flag] for flag in ("qi", "hi")}
            if items and flags == {"0"} and "?" not in answer and len(row["dialogue"]) > 1:
                allowed = (CONTRADICTED_CLASS,) if row["scenario"]["kbi"] == "1" else NOT_CONTRADICTED
                lines = ["; ".join(f"{key}: {value}" for key, value in item.items() if value != "-") for item in items]
                asked = row["dialogue"][-2]["utterance"]
                premise = "\n".join([*lines, f"User: {asked}"]).replace("_", " ")
                yield KindPair(premise, ended(answer.replace("_", " ")), allowed, "in_car", "in_car", "")
