"""Development sets as claims, each against one or several stretches of evidence."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from training.rewriting.windows import best_sentences
from training.sources.summedits import tidy
from training.suites import evalsets
from training.suites.loaders import best_window, clean, edited_summaries, read_tsv, summedits_file
from vista_guard.judges.embedded.evidence import choose, pool
from vista_guard.protocols import Embedder
from vista_guard.reading.passages import passages
from vista_guard.types import Document, EvidenceSet
from vista_lab.datasets.pairs import SUPPORTED_CLASS
from vista_lab.oasis.rewriters.carrier import sentences

T = TypeVar("T")
THREE = ("supported", "contradicted", "not_enough")


@dataclass(frozen=True)
class Item:
    """A claim, what it is read against, its gold label, its kind, and what it is counted with (a pair, a summary)."""

    pieces: tuple[str, ...]
    claim: str
    gold: str
    kind: str = ""
    group: str = ""

    @property
    def supported(self) -> bool:
        return self.gold == THREE[SUPPORTED_CLASS]


def spaced(rows: Sequence[T], most: int) -> list[T]:
    """At most ``most`` rows, evenly spaced; 0 for all."""
    return [rows[i * len(rows) // most] for i in range(most)] if 0 < most < len(rows) else list(rows)


def _of(claims: evalsets.Claims, most: int = 10_000) -> list[Item]:
    rows = spaced(list(zip(claims.evidence, claims.texts, claims.gold, strict=True)), most)
    return [Item(tuple(evalsets.chunks(evidence)), text, gold) for evidence, text, gold in rows]


def begin(data: Path) -> list[Item]:
    """BEGIN dev wow, whole responses."""
    return _of(evalsets.begin(data / "begin/begin_dev_wow.tsv"))


def fever(data: Path) -> list[Item]:
    """FEVER dev, 1,500 rows."""
    return _of(evalsets.fever(data / "train/fever/dev.jsonl.gz"), 1500)


def dnli(data: Path) -> list[Item]:
    """DNLI dev, three turns of context."""
    return _of(evalsets.nli(data / "train/dnli/dev_3.tsv.gz"))


def rte(data: Path) -> list[Item]:
    """The negated twins of RTE: entailed or not."""
    rows = gzip.decompress((data / "train/negation/RTE.txt.gz").read_bytes()).decode("cp1252", "replace").splitlines()
    cells = [row.split("\t") for row in rows[1:] if row.count("\t") == 3]
    return [
        Item((best_window(clean(premise), claim, 120),), clean(claim), THREE[0] if label == "entailment" else "not")
        for _, premise, claim, label in cells
    ]


def med(data: Path) -> list[Item]:
    """MED: monotonicity, 1,500 rows."""
    rows = [row for row in read_tsv(data / "train/help/med.tsv.gz")[1:] if row[15] in ("entailment", "neutral")]
    kinds = ("downward", "upward", "non_monotone")
    items = []
    for row in spaced(rows, 1500):
        kind = next(k for k in (*kinds, "") if k in row[3])
        items.append(Item((row[8],), row[9], THREE[0] if row[15] == "entailment" else "not", kind))
    return items


def worlds(count: int) -> list[Item]:
    """Small worlds, development part: both members of a pair count together."""
    from training.worlds import build

    return [
        Item((p.premise,), p.hypothesis, THREE[p.allowed[0]] if len(p.allowed) == 1 else "not", p.kind, p.twin)
        for p in build(None, count, 7, "development")
    ]


def summedits(data: Path, domain: str, summaries: int = 300) -> list[Item]:
    """Sentences of summaries against their three nearest stretches; ``group`` is the summary, ``kind`` the domain."""
    rows = list(edited_summaries(data / summedits_file(domain)))
    items = []
    for row in spaced(rows, summaries):
        units = _document(row.document)
        for sentence in sentences(tidy(row.text)):
            gold = THREE[0] if row.consistent else "not"
            items.append(Item(nearest(units, sentence), sentence, gold, domain, row.identity))
    return items


@cache
def _document(text: str) -> tuple[str, ...]:
    return tuple(sentences(tidy(text)))


def nearest(units: Sequence[str], sentence: str) -> tuple[str, ...]:
    """Three stretches of a document that tell the sentence best: a few sentences, more around them, and the next best."""
    first = best_sentences(units, sentence, words=60)
    rest = [unit for unit in units if unit not in first.best]
    second = best_sentences(rest, sentence, words=60) if rest else first
    wide = best_sentences(units, sentence, words=150)
    return tuple(dict.fromkeys((first.text, wide.text, second.text)))


def product_pieces(documents: Iterable[Document], claims: Sequence[str], embedder: Embedder) -> list[tuple[str, ...]]:
    """What the shipped judge reads each claim against."""
    found = tuple(passage for document in documents for passage in passages(document))
    return [tuple(piece.text for piece in row) for row in choose(claims, pool(EvidenceSet(documents=found)), embedder)]


def vista(data: Path, embedder: Embedder) -> list[Item]:
    """VISTA human dev: claims given against the turn's document, the sentences that the judge would choose."""
    claims = evalsets.vista(data / "vista-human/human_eval_dev.json")
    items = []
    for evidence, text, gold in zip(claims.evidence, claims.texts, claims.gold, strict=True):
        pieces = product_pieces([Document(id="d", text=evidence)], [text], embedder)[0] if evidence.strip() else ()
        items.append(Item(pieces, text, THREE[0] if gold == "VERIFIED" else "not", gold))
    return items


def challenge(folder: Path, embedder: Embedder, reading: str) -> list[Item]:
    """The development half of the hand-written challenge.

    ``reading``: ``sentences`` as the shipped judge cuts them, ``windows`` for whole passages, ``gold`` for what decides.
    """
    items = []
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            items.extend(_challenge_items(json.loads(line), embedder, reading))
    return items


def _challenge_items(entry: Any, embedder: Embedder, reading: str) -> list[Item]:
    documents = [Document(id=one["id"], title=one.get("title") or None, text=one["text"]) for one in entry["documents"]]
    members = [(number, pair, side) for number, pair in enumerate(entry["pairs"]) for side in ("right", "wrong")]
    texts = [pair[side]["text"] for _, pair, side in members]
    if reading == "sentences":
        pieces = product_pieces(documents, texts, embedder)
    elif reading == "windows":
        pieces = whole_passages(documents, texts, embedder)
    else:
        pieces = [(" ".join(pair["gold"]),) for _, pair, _ in members]
    labels = {"VERIFIED": THREE[0], "CONTRADICTED": THREE[1]}
    return [
        Item(found, text, labels.get(pair[side]["label"], "not"), pair["phenomenon"], f"{entry['id']}-{number}")
        for (number, pair, side), text, found in zip(members, texts, pieces, strict=True)
    ]


def whole_passages(documents: Sequence[Document], claims: Sequence[str], embedder: Embedder) -> list[tuple[str, ...]]:
    """For each claim the three passages nearest in meaning, whole, under their titles."""
    found = [passage for document in documents for passage in passages(document)]
    texts = [f"{one.title}. {one.text}" if one.title else one.text for one in found]
    if len(found) <= 3:
        return [tuple(texts)] * len(claims)
    scores = embedder.embed(claims) @ embedder.embed([one.text for one in found]).T
    return [tuple(texts[i] for i in sorted((-row).argsort(kind="stable")[:3])) for row in scores]
