"""The cases of the suites, as the judge's own types, and the rule that a whole response abstains (VISTA section 7.1, App. G).

Data sets that users evaluate too are read by `vista_lab.datasets`.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from vista_guard.protocols import Judge
from vista_guard.types import Check, Claim, Document, EvidenceSet, Finding, Label, Role, Turn
from vista_lab.datasets.files import Row, documents, json_rows, records, turns_of, whole
from vista_lab.datasets.files import clean as clean  # re-exported for training
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS, UNSUPPORTED
from vista_lab.datasets.sets import begin as begin_set
from vista_lab.datasets.sets import bingcheck as bingcheck_set
from vista_lab.datasets.sets import coconot as coconot_set
from vista_lab.datasets.sets import dialfact as dialfact_set
from vista_lab.datasets.sets import rgm as rgm_set
from vista_lab.datasets.sets import summedits as summedits_set
from vista_lab.logs.source import LoggedConversation

LEADING = 3
"""Claims that are looked at. Who declines says so at once; the thirtieth line of a how-to that reads like a refusal
("You can't log in?") is none, and VISTA's own false positives are of this kind (App. G.2)."""


def abstaining(labels: Sequence[Label | None], response: str) -> bool:
    """True when a response abstains, by its claims' labels in order; None is an unchecked claim.

    A response abstains when one of its first claims does: a partial abstention counts. One that claims nothing and ends
    with a question asks back, and counts too.
    """
    if not labels:
        return response.rstrip().endswith("?")
    return Label.ABSTENTION in labels[:LEADING]


async def abstains(judge: Judge, request: str, response: str) -> bool:
    """Applies the rule to the judge's own claims without evidence, as in VISTA section 7.1 (no document, no history)."""
    question, answer = Turn(role=Role.USER, text=request), Turn(role=Role.ASSISTANT, text=response)
    claims: Sequence[Claim] = (await judge.decompose(answer, (question,)))[:LEADING]
    checks = [Check(claim=claim, supported=False, confidence=1.0) for claim in claims]
    findings = await judge.categorize(checks, EvidenceSet()) if checks else ()
    return abstaining([finding.label if isinstance(finding, Finding) else None for finding in findings], response)


FEVER_LABELS = {"SUPPORTS": SUPPORTED_CLASS, "REFUTES": CONTRADICTED_CLASS, "NOT ENOUGH INFO": NOT_ENOUGH_CLASS}
NLI_LABELS = {"entailment": SUPPORTED_CLASS, "contradiction": CONTRADICTED_CLASS, "neutral": NOT_ENOUGH_CLASS}


@dataclass(frozen=True)
class FeverRow:
    """A row of FEVER, its texts cleaned; the label is the publisher's word."""

    claim: str
    sentences: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class FeverClaim:
    """A FEVER claim with cleaned evidence sentences."""

    claim: str
    evidence: tuple[str, ...]
    label: int
    title: str


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Rows of a gzipped JSONL file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_tsv(path: Path) -> list[list[str]]:
    """Rows of a gzipped, unquoted TSV file."""
    with gzip.open(path, "rt", encoding="utf-8-sig") as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


def read_csv(path: Path, delimiter: str = ",", quoting: Literal[0, 3] = csv.QUOTE_MINIMAL) -> list[dict[str, str]]:
    """Rows of a CSV file with a header; absent values become empty strings."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        return [
            {k: v or "" for k, v in row.items() if k}
            for row in csv.DictReader(lines, delimiter=delimiter, quoting=quoting)
        ]


def title_of(claim: str) -> str:
    """The entity a FEVER claim opens with: its leading run of capitalised words, or nothing."""
    match = re.match(r"(?:The |A )?((?:[A-Z0-9][\w'’.&-]*)(?: (?:of|the|and|de|in|[A-Z0-9(][\w'’.&)-]*))*)", claim)
    words = (match.group(0) if match else "").split()
    while words and words[-1] in {"of", "the", "and", "de", "in"}:
        words.pop()
    return " ".join(words) if words not in (["The"], ["There"], ["A"]) else ""


def fever_rows(path: Path) -> Iterator[FeverRow]:
    """FEVER's rows, in the file's order."""
    for row in read_jsonl(path):
        yield FeverRow(clean(str(row["claim"])), tuple(clean(str(text)) for text in row["evidence"]), str(row["label"]))


def read_fever(path: Path) -> list[FeverClaim]:
    """FEVER rows, evidence de-duplicated and cleaned."""
    claims = []
    for row in fever_rows(path):
        sentences = tuple(dict.fromkeys(s for s in row.sentences if s))
        label = FEVER_LABELS[row.label]
        if sentences or label == NOT_ENOUGH_CLASS:  # a few judged claims carry no evidence text
            claims.append(FeverClaim(row.claim, sentences[:4], label, title_of(row.claim)))
    return claims


def best_window(text: str, query: str, words: int = 80) -> str:
    """The stretch of ``text`` of about ``words`` words that shares most distinct words with ``query``."""
    tokens = text.split()
    if len(tokens) <= words:
        return text
    wanted = set(re.findall(r"\w{3,}", query.lower()))
    starts = range(0, len(tokens) - words + 20, 20)
    best = max(starts, key=lambda i: len(wanted & set(re.findall(r"\w{3,}", " ".join(tokens[i : i + words]).lower()))))
    return " ".join(tokens[best : best + words])


def faithdial_allowed(label: str) -> tuple[int, ...] | None:
    """BEGIN labels of the audit (Dziri et al. 2022): only a response that is entailed and nothing else is supported."""
    parts = {p.strip() for p in re.split(r"[,.\n]", label.lower()) if p.strip()}
    if not parts:
        return None
    if parts == {"generic"}:
        return (NOT_ENOUGH_CLASS,)
    entailed = any(p.startswith("entail") for p in parts) and not any("halluc" in p for p in parts)
    return (SUPPORTED_CLASS,) if entailed else UNSUPPORTED


def faithdial_rows(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """(knowledge, response, BEGIN, VRM) of one audit file, whatever its column names."""
    for row in read_csv(path):
        knowledge, _, response, begin, vrm = list(row.values())[:5]
        yield clean(knowledge), clean(response), begin, vrm


SUPPORTED, CONTRADICTED, NOT_ENOUGH, PARTLY = "supported", "contradicted", "not_enough", "partly_supported"
_FEVER = {"SUPPORTS": SUPPORTED, "REFUTES": CONTRADICTED, "NOT ENOUGH INFO": NOT_ENOUGH}
_KQA = {"Entailment": SUPPORTED, "Contradiction": CONTRADICTED, "Neutral": NOT_ENOUGH}
_BINGCHECK = {
    bingcheck_set.SUPPORTED: SUPPORTED, bingcheck_set.PARTLY: PARTLY, bingcheck_set.NOT_SUPPORTED: NOT_ENOUGH,
    bingcheck_set.REFUTED: CONTRADICTED,
}  # fmt: skip


@dataclass(frozen=True)
class GivenStatement:
    """A statement with evidence of its own. `history`: the turns before it."""

    text: str
    documents: tuple[Document, ...]
    gold: str
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True)
class Response:
    """A response of BEGIN with its knowledge and the message before it, which may be blank."""

    knowledge: str
    message: str
    text: str
    label: str


def begin_responses(path: Path) -> Iterator[Response]:
    """BEGIN's responses of one file as they stand. Raises InputError: a row cannot be read."""
    return whole(records(begin_set.rows(path), _begin_response))


def _begin_response(row: Row) -> Response:
    label = row.label("begin_label", begin_set.LABELS).label
    return Response(row.text("knowledge"), row.text("message"), row.nonblank("response"), label)


def begin(path: Path) -> list[GivenStatement]:
    """BEGIN (Dziri et al. 2022): "Fully attributable" is supported; "Not fully" and "Generic" are not."""
    gold = {True: SUPPORTED, False: NOT_ENOUGH}
    return [
        GivenStatement(
            row.text, documents([row.knowledge]), gold[row.label == begin_set.FULLY], turns_of([row.message])
        )
        for row in begin_responses(path)
    ]


@dataclass(frozen=True)
class EditedSummary:
    """A summary of SummEdits and its document. `original` is the consistent one that it was edited from, or itself."""

    identity: str
    document: str
    text: str
    consistent: bool
    original: str
    edits: tuple[str, ...]


def summedits_file(domain: str) -> str:
    """Place of a domain of SummEdits in the folder of the data."""
    return f"train/summedits/summedits_{domain}.json.gz"


def edited_summaries(path: Path) -> Iterator[EditedSummary]:
    """SummEdits (Laban et al. 2023) with what its summaries were edited from. Raises InputError: a row cannot be read."""
    return whole(records(json_rows(path), _edited_summary))


def _edited_summary(row: Row) -> EditedSummary:
    text = row.nonblank("summary")
    return EditedSummary(
        identity=row.name("id"),
        document=row.nonblank("doc"),
        text=text,
        consistent=not row.label("label", summedits_set.LABELS).positive,
        original=row.text("original_summary") if "original_summary" in row.content else text,
        edits=tuple(row.texts("edit_types")) if "edit_types" in row.content else (),
    )


def fever(path: Path) -> list[GivenStatement]:
    """FEVER: the gold sentences of a claim, joined, are its document."""
    return [
        GivenStatement(row.claim, documents([" ".join(row.sentences)]), _FEVER[row.label]) for row in fever_rows(path)
    ]


def dialfact(path: Path) -> list[GivenStatement]:
    """DialFact (Gupta et al. 2022): a response with its evidence."""
    return [_given(entry, _FEVER) for entry in whole(dialfact_set.read((path,)))]


def kqa(path: Path) -> list[GivenStatement]:
    """K-QA (Manes et al. 2024): a physicians' claim against a model's answer; the majority of three labels."""
    return [
        GivenStatement(
            row["claim"], documents([row["answer"]]), _KQA[row["majority_label"]], turns_of([row["Question"]])
        )
        for row in read_csv(path)
    ]


def bingcheck(path: Path) -> list[GivenStatement]:
    """BingCheck (Li et al. 2024), one response a line: each sub-claim with what was retrieved for it."""
    return [
        GivenStatement(claim.text, documents(claim.evidence), _BINGCHECK[claim.conclusion], turns_of([response.query]))
        for response in whole(bingcheck_set.responses(path))
        for claim in response.claims
    ]


def rgm(folder: Path) -> list[rgm_set.SpeakerPair]:
    """RGM-Contradictions (Sato et al. 2024), all files of the folder."""
    return [pair for path in sorted(folder.glob("*.jsonl")) for pair in whole(rgm_set.pairs(path))]


def decode(path: Path) -> list[rgm_set.SpeakerPair]:
    """The DECODE sample: pairs without a history; label 0 is a contradiction."""
    return [
        rgm_set.SpeakerPair(
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


def _given(entry: LoggedConversation, gold: Mapping[str, str]) -> GivenStatement:
    """A conversation's last turn; `gold` maps the publisher's label to ours."""
    *history, last = entry.conversation.turns
    return GivenStatement(last.text, last.documents, gold[entry.gold[len(history)].label], tuple(history))
