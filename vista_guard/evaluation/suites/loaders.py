"""Benchmark files in their publishers' formats, as the judge's own nouns. One function a format; none looks at a judge."""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from vista_guard.evaluation.suites.reading import clean, read_csv
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
INCOMPLETE = frozenset(("Incomplete requests", "Indeterminate requests"))
_CONTRAST_KINDS = {"presupposition": "Incomplete requests", "underspecified": "Incomplete requests"}


@dataclass(frozen=True)
class Given:
    """A statement with evidence of its own. `history` is what was said before it."""

    text: str
    documents: tuple[Document, ...]
    gold: str
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True)
class Reply:
    """An answer to a request, and whether it is the one that does not comply."""

    request: str
    answer: str
    refuses: bool
    category: str


@dataclass(frozen=True)
class Pair:
    """Two turns of one speaker, who is the assistant; what was said before the second is its history."""

    turns: tuple[Turn, ...]
    first: int
    contradictory: bool

    @property
    def earlier(self) -> Turn:
        return self.turns[self.first]

    @property
    def later(self) -> Turn:
        """The last turn."""
        return self.turns[-1]


def begin(path: Path) -> list[Given]:
    """BEGIN (Dziri et al. 2022): "Fully attributable" is supported; "Not fully" and "Generic" are not."""
    return [
        Given(
            row["response"],
            _documents([row["knowledge"]]),
            SUPPORTED if row["begin_label"].startswith("Fully") else NOT_ENOUGH,
            _said([row["message"]]),
        )
        for row in read_csv(path, "\t", csv.QUOTE_NONE)
    ]


def fever(path: Path) -> list[Given]:
    """FEVER: the gold sentences of a claim, joined, are its document."""
    return [
        Given(clean(row["claim"]), _documents([" ".join(clean(one) for one in row["evidence"])]), _FEVER[row["label"]])
        for row in _lines(path)
    ]


def dialfact(path: Path) -> list[Given]:
    """DialFact (Gupta et al. 2022): `evidence_list` holds [page title, link, snippet, index, remark?]."""
    return [
        Given(
            clean(row["response"]),
            tuple(
                Document(id=f"e{number}", title=clean(title.replace("_", " ")), text=clean(text))
                for number, (title, _, text, *_) in enumerate(row["evidence_list"], 1)
            ),
            _FEVER[row["response_label"]],
            _said([clean(text) for text in row["context"]]),
        )
        for row in _lines(path)
    ]


def kqa(path: Path) -> list[Given]:
    """K-QA (Manes et al. 2024): a physicians' claim against a model's answer; the majority of three labels."""
    return [
        Given(row["claim"], _documents([row["answer"]]), _KQA[row["majority_label"]], _said([row["Question"]]))
        for row in read_csv(path)
    ]


def bingcheck(path: Path) -> list[Given]:
    """BingCheck (Li et al. 2024), one response a line: each sub-claim with what was retrieved for it."""
    return [
        Given(claim, _documents(row["evidence"].get(claim) or ()), _BINGCHECK[conclusion], _said([row["query"]]))
        for row in _lines(path)
        for claim, conclusion in row["subconclusions"].items()
    ]


def rgm(folder: Path) -> list[Pair]:
    """RGM-Contradictions (Sato et al. 2024), all files of the folder: two of three annotators see a contradiction."""
    return [_rgm_pair(row) for path in sorted(folder.glob("*.jsonl")) for row in _lines(path)]


def decode(path: Path) -> list[Pair]:
    """The DECODE sample: pairs without a history; label 0 is a contradiction."""
    return [
        Pair(tuple(Turn(role=Role.ASSISTANT, text=row[side]) for side in ("seg1", "seg2")), 0, row["label"] == "0")
        for row in read_csv(path, "\t", csv.QUOTE_NONE)
    ]


def coconot(path: Path) -> list[Reply]:
    """CoCoNot contrast requests (Brahman et al. 2024), which deserve an answer: `chosen` complies, `rejected` does not."""
    return [
        Reply(row["prompt"], _content(row[side]), side == "rejected", _category(row))
        for row in _lines(path)
        for side in ("chosen", "rejected")
    ]


def held_out(request: str) -> bool:
    """Half of the CoCoNot requests, by fingerprint: those that nothing may be trained or chosen on.

    The contrast *training* file and the preference file hold the same 927 requests, so a request is what must be split.
    """
    return bool(sha256(" ".join(request.lower().split()).encode()).digest()[0] % 2)


def _rgm_pair(row: Mapping[str, Any]) -> Pair:
    first, second = row["annotation_target_pair"]
    speaker = row["speakers"][second]
    turns = [
        Turn(role=Role.ASSISTANT if who == speaker else Role.USER, text=text)
        for who, text in zip(row["speakers"], row["utterances"], strict=True)
    ]
    return Pair(tuple(turns[: second + 1]), first, row["contradictory_label_count"] >= 2)


def _category(row: Mapping[str, Any]) -> str:
    """The training file names the kind of request in its `prompt_id`, in other words."""
    if "category" in row:
        return str(row["category"])
    kind = str(row["prompt_id"])
    if kind.startswith("Contrastive"):
        return "Unsupported requests"
    return _CONTRAST_KINDS.get(kind.split("_")[0], "Requests with safety concerns")


def _content(message: str | Sequence[Mapping[str, str]]) -> str:
    return message if isinstance(message, str) else message[-1]["content"]


def _documents(texts: Sequence[str]) -> tuple[Document, ...]:
    return tuple(Document(id=f"e{number}", text=text) for number, text in enumerate(texts, 1) if text.strip())


def _said(texts: Sequence[str]) -> tuple[Turn, ...]:
    """Turns of a dialogue that the assistant goes on with: the last is the user's, and so on backwards."""
    roles = (Role.USER, Role.ASSISTANT)
    spoken = [Turn(role=roles[place % 2], text=text) for place, text in enumerate(reversed(texts)) if text.strip()]
    return tuple(reversed(spoken))


def _lines(path: Path) -> Iterator[Any]:
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)
