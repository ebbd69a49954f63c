"""What the suites are asked, as the judge's own nouns. Data sets that users evaluate too are read by `evaluation.datasets`."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from vista_guard.evaluation.datasets.published.files import whole
from vista_guard.evaluation.datasets.published.sets import begin as begin_set
from vista_guard.evaluation.datasets.published.sets import coconot as coconot_set
from vista_guard.evaluation.datasets.published.sets import dialfact as dialfact_set
from vista_guard.evaluation.datasets.published.sets import rgm as rgm_set
from vista_guard.evaluation.datasets.published.talk import documents, said
from vista_guard.evaluation.datasets.source import LoggedConversation
from vista_guard.evaluation.suites.reading import fever_rows, read_csv
from vista_guard.types import Document, Role, Turn

SUPPORTED, CONTRADICTED, NOT_ENOUGH, PARTLY = "supported", "contradicted", "not_enough", "partly_supported"
_FEVER = {"SUPPORTS": SUPPORTED, "REFUTES": CONTRADICTED, "NOT ENOUGH INFO": NOT_ENOUGH}
_KQA = {"Entailment": SUPPORTED, "Contradiction": CONTRADICTED, "Neutral": NOT_ENOUGH}
_BINGCHECK = {
    "supported": SUPPORTED,
    "partially supported": PARTLY,
    "not supported": NOT_ENOUGH,
    "refuted": CONTRADICTED,
}


@dataclass(frozen=True)
class Given:
    """A statement with evidence of its own. `history` is what was said before it."""

    text: str
    documents: tuple[Document, ...]
    gold: str
    history: tuple[Turn, ...] = ()


def begin(path: Path) -> list[Given]:
    """BEGIN (Dziri et al. 2022): "Fully attributable" is supported; "Not fully" and "Generic" are not."""
    return [
        Given(
            found.text,
            documents([found.knowledge]),
            SUPPORTED if found.label == begin_set.FULLY else NOT_ENOUGH,
            said([found.message]),
        )
        for found in whole(begin_set.responses(path))
    ]


def fever(path: Path) -> list[Given]:
    """FEVER: the gold sentences of a claim, joined, are its document."""
    return [Given(row.claim, documents([" ".join(row.sentences)]), _FEVER[row.label]) for row in fever_rows(path)]


def dialfact(path: Path) -> list[Given]:
    """DialFact (Gupta et al. 2022): a response with its evidence."""
    return [_given(entry, _FEVER) for entry in whole(dialfact_set.read((path,)))]


def kqa(path: Path) -> list[Given]:
    """K-QA (Manes et al. 2024): a physicians' claim against a model's answer; the majority of three labels."""
    return [
        Given(row["claim"], documents([row["answer"]]), _KQA[row["majority_label"]], said([row["Question"]]))
        for row in read_csv(path)
    ]


def bingcheck(path: Path) -> list[Given]:
    """BingCheck (Li et al. 2024), one response a line: each sub-claim with what was retrieved for it."""
    return [
        Given(claim, documents(row["evidence"].get(claim) or ()), _BINGCHECK[conclusion], said([row["query"]]))
        for row in _lines(path)
        for claim, conclusion in row["subconclusions"].items()
    ]


def rgm(folder: Path) -> list[rgm_set.Pair]:
    """RGM-Contradictions (Sato et al. 2024), all files of the folder."""
    return [pair for path in sorted(folder.glob("*.jsonl")) for pair in whole(rgm_set.pairs(path))]


def decode(path: Path) -> list[rgm_set.Pair]:
    """The DECODE sample: pairs without a history; label 0 is a contradiction."""
    return [
        rgm_set.Pair(
            tuple(Turn(role=Role.ASSISTANT, text=row[side]) for side in ("seg1", "seg2")), 0, row["label"] == "0"
        )
        for row in read_csv(path, "\t", csv.QUOTE_NONE)
    ]


def coconot(path: Path) -> list[coconot_set.Reply]:
    """CoCoNot contrast requests (Brahman et al. 2024), which deserve an answer, those to incomplete requests among them."""
    return list(whole(coconot_set.replies(path)))


def held_out(request: str) -> bool:
    """Half of the CoCoNot requests, by fingerprint: those that nothing may be trained or chosen on.

    The contrast *training* file and the preference file hold the same 927 requests, so a request is what must be split.
    """
    return bool(sha256(" ".join(request.lower().split()).encode()).digest()[0] % 2)


def _given(entry: LoggedConversation, gold: Mapping[str, str]) -> Given:
    """A conversation's last turn; `gold` says what the publisher's word on it is called here."""
    *history, last = entry.conversation.turns
    return Given(last.text, last.documents, gold[entry.gold[len(history)].label], tuple(history))


def _lines(path: Path) -> Iterator[Any]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
