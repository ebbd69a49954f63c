"""Pairs of sentences that people wrote, changed or judged: does the second follow from the first?"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

from training.pairs import KindPair
from training.sources.parts import Part, ended, json_rows, matched, mended
from training.suites.loaders import NLI_LABELS
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS, UNSUPPORTED

CAD = {"train": ("train/cad-nli/train.tsv.gz", "train/cad-nli/test.tsv.gz"), "dev": ("train/cad-nli/dev.tsv.gz",)}
PAWS = {"train": "train/paws/dev.tsv.gz", "dev": "train/paws/test.tsv.gz"}
TAXINLI = "train/taxinli/taxinli10k.tsv.gz"
WIKIFACTCHECK = tuple(f"train/cannot/wikifactcheck_english_{i}.tsv.gz" for i in range(5))
SEMANTONEG = "train/cannot/SemAntoNeg_v1.0.json.gz"
ESNLI = "train/esnli/dev.jsonl.gz"
ONESTOP = tuple(f"train/onestop/{name}.txt.gz" for name in ("ADV-ELE", "ADV-INT", "ELE-INT"))
PARAPHRASES = "train/perspectrum/Pilot-16-perspective-paraphrase-verification_raw_all.csv.gz"
KEY_POINTS = tuple(
    tuple(f"train/kpa/{name}_{part}.csv.gz" for name in ("arguments", "key_points", "labels"))
    for part in ("train", "test")
)
FILES = (
    *CAD["train"], PAWS["train"], TAXINLI, *WIKIFACTCHECK, SEMANTONEG, ESNLI, *ONESTOP, PARAPHRASES,
    *(name for group in KEY_POINTS for name in group),
)  # fmt: skip


def csv_rows(path: Path) -> list[dict[str, str]]:
    """Rows of a gzipped CSV file with a header."""
    return list(csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode("utf-8"))))


def tsv(path: Path) -> list[dict[str, str]]:
    """Rows of a gzipped TSV file with a header, unquoted."""
    text = gzip.decompress(path.read_bytes()).decode("utf-8")
    return list(csv.DictReader(io.StringIO(text), delimiter="\t", quoting=csv.QUOTE_NONE))


def cad(data: Path, part: Part) -> Iterator[KindPair]:
    """Counterfactual SNLI (Kaushik 2020): twins share the hypothesis, or else the premise."""
    for name in CAD[part]:
        rows = [(mended(r["sentence1"]), mended(r["sentence2"]), NLI_LABELS[r["gold_label"]]) for r in tsv(data / name)]
        seconds: dict[str, set[int]] = defaultdict(set)
        for _, second, label in rows:
            seconds[second].add(label)
        for first, second, label in rows:
            shared = second if len(seconds[second]) > 1 else first
            yield KindPair(first, ended(second), (label,), "cad", "cad", f"cad-{shared}")


def taxinli(data: Path, part: Part) -> Iterator[KindPair]:
    """MNLI pairs sorted by kinds of reasoning (Joshi 2020), with three labels; nothing is kept for development."""
    if part == "train":
        for row in tsv(data / TAXINLI):
            if row["label"] in NLI_LABELS:
                yield KindPair(
                    mended(row["prem"]), mended(row["hyp"]), (NLI_LABELS[row["label"]],), "taxinli", "taxinli", ""
                )


def paws(data: Path, part: Part) -> Iterator[KindPair]:
    """PAWS-Wiki (Zhang 2019): the same words in another order, with the same meaning or not; both directions."""
    for line in gzip.decompress((data / PAWS[part]).read_bytes()).decode("utf-8").splitlines():
        _, one, other, label = line.split("\t")
        allowed = (SUPPORTED_CLASS,) if label == "1" else UNSUPPORTED
        first, second = mended(one), mended(other)
        yield KindPair(first, second, allowed, "paws", "paws", "")
        yield KindPair(second, first, allowed, "paws", "paws", "")


def minimal_refutations(data: Path, part: Part) -> Iterator[KindPair]:
    """WikiFactCheck claims and people's refutations of them (in CANNOT): each sentence against itself and the other."""
    if part == "dev":
        return
    seen: Counter[str] = Counter()
    for name in WIKIFACTCHECK:
        for row in tsv(data / name):
            one, other = mended(row["sentence"] or ""), mended(row["negated"] or "")
            if one and other and one != other and not seen[one]:
                seen[one] += 1
                premise, swapped = (one, other) if len(seen) % 2 else (other, one)
                twin = f"wikifactcheck-{len(seen)}"
                yield KindPair(premise, ended(premise), (SUPPORTED_CLASS,), "cannot", "wikifactcheck", twin)
                yield KindPair(premise, ended(swapped), (CONTRADICTED_CLASS,), "cannot", "wikifactcheck", twin)


def double_negation(data: Path, part: Part) -> Iterator[KindPair]:
    """SemAntoNeg (in CANNOT): "not X" means the antonym; the antonym negated and the plain word don't follow."""
    if part == "train":
        for row in (r for r in json_rows(data / SEMANTONEG) if not r["input"].endswith("?")):
            for place, sentence in enumerate(row["sentences"]):
                allowed = (SUPPORTED_CLASS,) if place == row["label"] else UNSUPPORTED
                yield KindPair(row["input"], sentence, allowed, "cannot", "semantoneg", f"semantoneg-{row['idx']}")


def esnli(data: Path, part: Part) -> Iterator[KindPair]:
    """SNLI dev: three hypotheses about one picture's caption are twins."""
    if part == "train":
        for row in json_rows(data / ESNLI):
            premise, label = mended(row["premise"]), NLI_LABELS[row["label"]]
            yield KindPair(premise, ended(mended(row["hypothesis"])), (label,), "esnli", "esnli", f"esnli-{premise}")


def onestop(data: Path, part: Part) -> Iterator[KindPair]:
    """OneStopEnglish (Vajjala 2018): a teacher's simpler sentence follows from the harder one, not from the next one."""
    if part == "dev":
        return
    for name in ONESTOP:
        text = gzip.decompress((data / name).read_bytes()).decode("utf-8", "replace")
        blocks = [block.strip().splitlines() for block in text.split("*******")]
        pairs = [(mended(block[0]), mended(block[1])) for block in blocks if len(block) == 2]
        for number, ((hard, simple), (other, _)) in enumerate(pairwise(pairs)):
            if hard != simple and len(set(words(simple)) & set(words(other))) < 0.5 * len(set(words(simple))):
                twin = f"{Path(name).stem}-{number}"
                yield KindPair(hard, simple, (SUPPORTED_CLASS,), "onestop", "onestop", twin)
                yield KindPair(other, simple, (NOT_ENOUGH_CLASS,), "onestop", "onestop", twin)


def words(text: str) -> list[str]:
    """Words in lower case."""
    return re.findall(r"\w+", text.lower())


def perspectives(data: Path, part: Part) -> Iterator[KindPair]:
    """Perspectrum (Chen 2019): opinions, paraphrases that voters accepted, and another opinion on the same question."""
    if part == "dev":
        return
    opinions: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in csv_rows(data / PARAPHRASES):
        if int(row["vote_yes"]) >= 2 and row["vote_no"] == "0":
            opinions[row["claim_id"]].append((ended(row["p_title"]), ended(row["para_title"])))
    for pairs in opinions.values():
        for (said, again), (_, other) in zip(pairs, [*pairs[3:], *pairs[:3]], strict=True):
            if len(set(words(said)) & set(words(other))) < 0.4 * len(set(words(said))):
                twin = f"perspectrum-{said}-{again}"
                yield KindPair(said, again, (SUPPORTED_CLASS,), "perspectrum", "perspectrum", twin)
                yield KindPair(said, other, (NOT_ENOUGH_CLASS,), "perspectrum", "perspectrum", twin)


def key_points(data: Path, part: Part) -> Iterator[KindPair]:
    """Key point analysis (Bar-Haim 2020): does the argument say the point? Twins share the point."""
    if part == "dev":
        return
    rng = Random(9)
    for arguments_file, points_file, labels_file in KEY_POINTS:
        arguments = {row["arg_id"]: row["argument"] for row in csv_rows(data / arguments_file)}
        points = {row["key_point_id"]: row["key_point"] for row in csv_rows(data / points_file)}
        sides: dict[str, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
        for row in csv_rows(data / labels_file):
            sides[row["key_point_id"]][row["label"] != "1"].append(arguments[row["arg_id"]])
        for point, (saying, silent) in sides.items():
            for place, (good, bad) in enumerate(matched(saying, silent, rng, rounds=8)):
                for group, label in ((good, SUPPORTED_CLASS), (bad, NOT_ENOUGH_CLASS)):
                    for text in group:
                        twin = f"kpa-{point}-{place}"
                        yield KindPair(ended(text), ended(points[point]), (label,), "kpa", "kpa", twin)
