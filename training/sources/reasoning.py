"""Logic, negation, aspect, word meaning and order of events: small or templated sets, of which a little is enough."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random

from training.pairs import KindPair
from training.sources.parts import Part, ended, json_rows, mended, zipped_rows
from training.suites.loaders import NLI_LABELS
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS, UNSUPPORTED

FOLIO = {"train": "train/folio/folio-train.jsonl.gz", "dev": "train/folio/folio-validation.jsonl.gz"}
SCIENCE = "train/entailment-bank/task_1_train.tsv.gz"
BREAKING = "train/breaking-nli/breaking_nli_dataset.zip"
SWAPS = tuple(f"train/syntactic-nli/{n}_large.tsv.gz" for n in ("inv_orig", "inv_trsf", "pass_orig", "pass_trsf"))
ASPECT = "train/aspect-nli/TEA.txt.gz"
_SCOPES = ("no_negation", "one_not_scoped", "one_scoped", "one_scoped_one_not_scoped", "two_not_scoped", "two_scoped")
SCOPE = tuple(f"train/scone/train_{name}.csv.gz" for name in _SCOPES)
STORIES = "train/tracie/train_uniform.jsonl.gz"
FILES = (FOLIO["train"], SCIENCE, BREAKING, *SWAPS, ASPECT, *SCOPE, STORIES)
_FOLIO_LABELS = {
    "True": SUPPORTED_CLASS, "False": CONTRADICTED_CLASS, "Uncertain": NOT_ENOUGH_CLASS, "Unknown": NOT_ENOUGH_CLASS,
}  # fmt: skip
_FACT = re.compile(r"sent\d+: (.+?)(?= sent\d+: |$)")


def folio(data: Path, part: Part) -> Iterator[KindPair]:
    """FOLIO (Han 2022): conclusions from a few rules and facts; those of one story are twins."""
    for row in json_rows(data / FOLIO[part]):
        given = row["premises"] if isinstance(row["premises"], list) else row["premises"].splitlines()
        premise = " ".join(ended(one) for one in given)
        twin = f"folio-{row.get('story_id', premise)}"
        yield KindPair(premise, ended(row["conclusion"]), (_FOLIO_LABELS[row["label"]],), "folio", "folio", twin)


def science(data: Path, part: Part) -> Iterator[KindPair]:
    """EntailmentBank (Dalvi 2021): what follows from several facts together; without one of them it does not."""
    if part == "dev":
        return
    lines = gzip.decompress((data / SCIENCE).read_bytes()).decode("utf-8").splitlines()
    cells = [(re.search(r"\$hypothesis\$ = (.*?) ; \$context\$ = (.*?)\t", line)) for line in lines]
    trees = [(found[1], _FACT.findall(found[2])) for found in cells if found]
    rng = Random(8)
    for number, (claim, facts) in enumerate(trees):
        if len(facts) > 1:
            wanted, stranger = len(facts), rng.choice(rng.choice(trees)[1])
            left = [*rng.sample(facts, wanted - 1), stranger]
            twin = f"science-{number}"
            both = (rng.sample(facts, wanted), SUPPORTED_CLASS), (rng.sample(left, wanted), NOT_ENOUGH_CLASS)
            for given, label in both:
                premise = " ".join(ended(fact) for fact in given)
                yield KindPair(premise, ended(claim), (label,), "science", "science", twin)


def one_word(data: Path, part: Part) -> Iterator[KindPair]:
    """Breaking NLI (Glockner 2018): one word replaced; what contradicts is thinned out to what follows."""
    if part == "dev":
        return
    groups: dict[str, list[KindPair]] = defaultdict(list)
    for row in zipped_rows(data / BREAKING, "data/dataset.jsonl"):
        premise, allowed = row["sentence1"], (NLI_LABELS[row["gold_label"]],)
        pair = KindPair(premise, ended(row["sentence2"]), allowed, "one_word", "one_word", f"one_word-{premise}")
        groups[premise].append(pair)
    for pairs in groups.values():
        good = [pair for pair in pairs if pair.allowed == (SUPPORTED_CLASS,)]
        yield from good
        yield from [pair for pair in pairs if pair.allowed != (SUPPORTED_CLASS,)][: len(good)]


def swaps(data: Path, part: Part) -> Iterator[KindPair]:
    """Passives, and subject with object exchanged (Min 2020)."""
    if part == "train":
        for name in SWAPS:
            for line in gzip.decompress((data / name).read_bytes()).decode("utf-8").splitlines():
                row = line.split("\t")
                yield KindPair(
                    mended(row[8]), ended(mended(row[9])), (NLI_LABELS[row[-1]],), "swaps", "swaps", f"swaps-{row[8]}"
                )


def aspect(data: Path, part: Part) -> Iterator[KindPair]:
    """TEA (Kober 2019): what a tense and aspect says of another."""
    if part == "train":
        rows = csv.DictReader(io.StringIO(gzip.decompress((data / ASPECT).read_bytes()).decode("utf-8")))
        for number, row in enumerate(rows):
            allowed = (SUPPORTED_CLASS,) if row["label"] == "1" else UNSUPPORTED
            twin = f"aspect-{row['sentence_1']}-{number // 9}"
            yield KindPair(ended(row["sentence_1"]), ended(row["sentence_2"]), allowed, "aspect", "aspect", twin)


def scope(data: Path, part: Part) -> Iterator[KindPair]:
    """ScoNe (She 2023): negation inside and outside the scope; rows with a word that replacement broke are left out."""
    if part == "dev":
        return
    for name in SCOPE:
        rows = csv.DictReader(io.StringIO(gzip.decompress((data / name).read_bytes()).decode("utf-8")))
        for row in rows:
            edited = "_edited" if "sentence1_edited" in row else ""
            texts = row[f"sentence1{edited}"], row[f"sentence2{edited}"]
            if not any(re.search(rf"\w{re.escape(row[f'sentence{i}_lex'])}", texts[i - 1]) for i in (1, 2)):
                label = NLI_LABELS[row[f"gold_label{edited}"]]
                twin = f"{Path(name).stem}-{row.get('group_index', texts[0])}"
                yield KindPair(ended(texts[0]), ended(texts[1]), (label,), "scope", "scope", twin)


def stories(data: Path, part: Part) -> Iterator[KindPair]:
    """TRACIE (Zhou 2021): which of two events of a short story began first; the two orders are twins."""
    if part == "train":
        for row in json_rows(data / STORIES):
            found = re.match(r"event: (.+?) starts (after|before) (.+)", row["query"])
            if found:
                claim = f"{found[1].strip(' .')}, and that began {found[2]} {found[3].strip()}"
                twin = f"stories-{found[1]}-{found[3]}"
                yield KindPair(row["story"], ended(claim), (NLI_LABELS[row["label"]],), "stories", "stories", twin)
