"""Claims that people wrote, beside the text that decides them: encyclopedia, abstracts of papers, clinical trials."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

from training.pairs import KindPair
from training.sources.parts import Part, ended, json_rows, mended, stretch, tenth, zipped_rows
from training.suites.loaders import FEVER_LABELS
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, SUPPORTED_CLASS
from vista_lab.oasis.rewriters.carrier import stems

VITAMINC = {"real": "train/vitaminc/vitaminc_real.zip", "synthetic": "train/vitaminc/vitaminc_synthetic.zip"}
FM2 = "train/fm2/dev.jsonl.gz"
FEVEROUS = "train/feverous/feverous_s_dev.json.gz"
SCIFACT = {
    "train": ("train/scifact/train.jsonl.gz", "train/scifact/test.jsonl.gz"),
    "dev": ("train/scifact/val.jsonl.gz",),
}
CREAK = {"train": "train/creak/train.json.gz", "dev": "train/creak/dev.json.gz"}
TRIALS = "train/evidence-inference/evidence_inference_v2.jsonl.gz"
FILES = (*VITAMINC.values(), FM2, FEVEROUS, *SCIFACT["train"], CREAK["train"], TRIALS)
_OPINION = re.compile(r"\b(?:true|untrue|false|incorrect|fact|wikipedia|google|searched?)\b", re.IGNORECASE)
_BOOLEAN = {"true": SUPPORTED_CLASS, "false": CONTRADICTED_CLASS}
_OUTCOMES = {
    "significantly increased": (
        "{outcome} was higher with {one} than with {other}",
        "{one} raised {outcome} compared with {other}",
        "Compared with {other}, {one} led to more {outcome}",
    ),
    "significantly decreased": (
        "{outcome} was lower with {one} than with {other}",
        "{one} reduced {outcome} compared with {other}",
        "Compared with {other}, {one} led to less {outcome}",
    ),
    "no significant difference": (
        "{outcome} did not differ significantly between {one} and {other}",
        "{one} was no better and no worse than {other} for {outcome}",
        "There was no clear difference in {outcome} between {one} and {other}",
    ),
}
_TURNED = {"significantly increased": "significantly decreased", "significantly decreased": "significantly increased"}


def vitaminc(data: Path, part: Part) -> Iterator[KindPair]:
    """Claims against two versions of a Wikipedia sentence each; the four pairs of a case are twins."""
    for kind, name in VITAMINC.items():
        for row in zipped_rows(data / name, f"vitaminc_{kind}/test.jsonl"):
            if tenth(row["case_id"], part):
                allowed, twin = (FEVER_LABELS[row["label"]],), f"vitaminc-{kind}-{row['case_id']}"
                yield KindPair(
                    mended(row["evidence"]), mended(row["claim"]), allowed, "vitaminc", f"vitaminc_{kind}", twin
                )


def fm2(data: Path, part: Part) -> Iterator[KindPair]:
    """Claims that players wrote to fool others, against the sentences that decide them."""
    for row in json_rows(data / FM2):
        evidence = " ".join(mended(one["text"]) for one in row["gold_evidence"])
        if evidence and tenth(row["id"], part):
            premise = stretch(f"{row['wikipedia_page']}\n{evidence}", row["text"])
            yield KindPair(premise, mended(row["text"]), (FEVER_LABELS[row["label"]],), "fm2", "fm2", "")


def feverous(data: Path, part: Part) -> Iterator[KindPair]:
    """FEVEROUS (Aly 2021): long claims that need several sentences of a page; links are written out."""
    for row in json_rows(data / FEVEROUS):
        if tenth(str(row["id"]), part):
            evidence = re.sub(r"\[\[(?:[^\]|]*\|)?([^\]]*)\]\]", r"\1", row["evidence"]).replace("\t", ". ")
            label = FEVER_LABELS[row["label"].upper()]
            yield KindPair(
                stretch(mended(evidence), row["claim"]), mended(row["claim"]), (label,), "feverous", "feverous", ""
            )


def scifact(data: Path, part: Part) -> Iterator[KindPair]:
    """SciFact (Wadden 2020): claims about findings, beside the stretch of the abstract that decides them."""
    for name in SCIFACT[part]:
        for row in json_rows(data / name):
            premise = stretch(mended(row["abstract"]), f"{mended(row['rationale'])} {row['claim']}", 130)
            yield KindPair(premise, mended(row["claim"]), (FEVER_LABELS[row["label"]],), "scifact", "scifact", "")


def creak(data: Path, part: Part) -> Iterator[KindPair]:
    """CREAK (Onoe 2021): claims about things that everybody knows, against what the writer gave as the reason."""
    for row in json_rows(data / CREAK[part]):
        given = row["explanation"]
        if len(given.split()) > 4 and stems(given) & stems(row["sentence"]) and not _OPINION.search(given):
            allowed = (_BOOLEAN[row["label"]],)
            yield KindPair(mended(given), ended(mended(row["sentence"])), allowed, "creak", "creak", "")


def trials(data: Path, part: Part) -> Iterator[KindPair]:
    """Evidence Inference 2.0 (DeYoung 2020): what a treatment did against another, told from either side, true and false."""
    for row in json_rows(data / TRIALS):
        if tenth(str(row["pmcid"]), part) and len(row["evidence"].split()) > 5:
            rng, twin = Random(str(row["prompt_id"])), f"trials-{row['prompt_id']}"
            premise = stretch(mended(row["abstract"]), row["evidence"], 110)
            premise = premise if row["evidence"][:40] in premise else f"{premise} {mended(row['evidence'])}"
            wrong = rng.choice([label for label in _OUTCOMES if label != row["label"]])
            for label, said in ((SUPPORTED_CLASS, row["label"]), (CONTRADICTED_CLASS, wrong)):
                yield KindPair(premise, outcome(row, said, rng), (label,), "trials", "trials", twin)


def outcome(row: Mapping[str, str], label: str, rng: Random) -> str:
    """A finding in words; now and then told from the other group's side."""
    groups = {"one": row["intervention"].strip(), "other": row["comparator"].strip()}
    if rng.random() < 0.4:
        label, groups = _TURNED.get(label, label), {"one": groups["other"], "other": groups["one"]}
    return ended(mended(rng.choice(_OUTCOMES[label]).format(outcome=row["outcome"].strip(), **groups)))
