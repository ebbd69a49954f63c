"""Test sets of reading: natural language inference, facts beside pages, paraphrase.

None shares a source with the training data, apart from FM2 and DeFacto, of which other parts are in it.

Statements, each with the text that decides it, from the publishers' files (gzipped). Most of these licences allow evaluation
only. The files are opened by ``python -m training.evaluate --split test --final``, and nothing is chosen on them.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from training.suites.loaders import (
    CONTRADICTED,
    NLI_LABELS,
    NOT_ENOUGH,
    SUPPORTED,
    GivenStatement,
    read_jsonl,
    read_tsv,
)
from training.suites.product import Bench, TaskAnswers, judge_given
from training.suites.protocols import THREE, UNSUPPORTED, LoadGiven
from vista_guard.types import Conversation, Document, Role, Turn
from vista_lab.datasets.files import answer, documents

_NLI = {
    **{word: THREE[label] for word, label in NLI_LABELS.items()},
    "e": SUPPORTED,
    "c": CONTRADICTED,
    "n": NOT_ENOUGH,
}
_FM2 = {"SUPPORTS": SUPPORTED, "REFUTES": CONTRADICTED}
_FACTSCORE = {"entailment": SUPPORTED, "contradiction": NOT_ENOUGH}
"""FActScore's "not supported" says that the page lacks the fact, or denies it."""


def nli(rows: Iterable[Mapping[str, Any]]) -> list[GivenStatement]:
    """Rows of `premise`, `hypothesis` and `label`, spelled as a word or its first letter."""
    return [_pair(row["premise"], row["hypothesis"], _NLI[row["label"]]) for row in rows]


def anli(round_: int) -> LoadGiven:
    """A round of ANLI (Nie et al. 2020): hypotheses that people wrote until a model of that round was wrong."""
    return lambda path: nli(row for row in read_jsonl(path) if row["tag"] == f"r{round_}_test")


def control(path: Path) -> list[GivenStatement]:
    """ConTRoL (Liu et al. 2021): examination passages of several hundred words."""
    return nli(read_jsonl(path))


def glue_diagnostic(path: Path) -> list[GivenStatement]:
    """GLUE's diagnostic set (Wang et al. 2018): sentences by linguistic phenomenon."""
    header, *rows = read_tsv(path)
    return nli(dict(zip(map(str.lower, header), row, strict=True)) for row in rows)


def nan_nli(path: Path) -> list[GivenStatement]:
    """NaN-NLI (Truong et al. 2022): sub-clausal negation."""
    return nli(csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode("utf-8-sig"))))


def gqnli(path: Path) -> list[GivenStatement]:
    """GQNLI (Cui et al. 2022): generalised quantifiers."""
    with zipfile.ZipFile(path) as archive:
        return nli(map(json.loads, archive.read("gqnli-1.0/gqnli.test.jsonl").decode("utf-8").splitlines()))


def fm2(path: Path) -> list[GivenStatement]:
    """Fool Me Twice (Eisenschlos et al. 2021): claims written to fool other players, with their gold sentences."""
    return [
        GivenStatement(
            row["text"],
            (
                Document(
                    id="e1", title=row["wikipedia_page"], text=" ".join(one["text"] for one in row["gold_evidence"])
                ),
            ),
            _FM2[row["label"]],
        )
        for row in read_jsonl(path)
        if row["gold_evidence"]
    ]


def defacto(path: Path) -> list[GivenStatement]:
    """DeFacto (Liu et al. 2023): systems' summaries of articles, and people's corrections of the wrong ones."""
    return list(_defacto(read_jsonl(path)))


def _defacto(rows: Iterable[Mapping[str, Any]]) -> Iterator[GivenStatement]:
    for row in rows:
        wrong, corrected = str(row["has_error"]) == "True", (row["feedback"] or {}).get("summary") or ""
        yield _pair(row["article"], row["candidate"], NOT_ENOUGH if wrong else SUPPORTED)
        if wrong and corrected.strip() and corrected != row["candidate"]:
            yield _pair(row["article"], corrected, SUPPORTED)


def factscore(folder: Path) -> list[GivenStatement]:
    """FActScore (Min et al. 2023): facts of three models' biographies beside the Wikipedia page (about 2,000 words)."""
    return [
        _pair(row["page"].replace("</s>", "\n").replace("<s>", ""), fact, _FACTSCORE[label])
        for path in sorted(folder.glob("*.jsonl.gz"))
        for row in read_jsonl(path)
        for fact, label in row["facts"]
    ]


def paraphrases(bench: Bench, path: Path) -> Iterator[TaskAnswers]:
    """APT (Nighojkar and Licato 2021): pairs of few shared words; those that imply each other are to be VERIFIED both ways."""
    pairs = bench.some([(one, other, int(label)) for one, other, label in read_tsv(path)[1:]])
    rows = [_pair(*texts, SUPPORTED) for one, other, _ in pairs for texts in ((one, other), (other, one))]
    judged = bench.each(rows, judge_given, "apt, both directions")
    ways = list(zip(judged[::2], judged[1::2], strict=True))
    yield TaskAnswers(
        task="mutual implication, both directions given as claims",
        gold=[SUPPORTED if label else UNSUPPORTED for *_, label in pairs],
        found=[SUPPORTED if all(claim.supported for claim in both) else UNSUPPORTED for both in ways],
        policy="supported of judge.json, both ways",
        positive=SUPPORTED,
        scores=[min(claim.measured.supported for claim in both) for both in ways],
    )


def inscit(path: Path) -> Iterator[Conversation]:
    """INSCIT (Wu et al. 2023): people's direct answers after their questions, with the passages that they were written from."""
    for conversation in json.loads(gzip.decompress(path.read_bytes())).values():
        for turn in conversation["turns"]:
            for label in turn["labels"]:
                if label["responseType"] == "directAnswer" and label["evidence"]:
                    question = Turn(role=Role.USER, text=turn["context"][-1])
                    passages = documents([piece["passage_text"] for piece in label["evidence"]])
                    yield Conversation(turns=(question, answer(label["response"], passages)))


def _pair(premise: str, claim: str, gold: str) -> GivenStatement:
    return GivenStatement(claim, documents([premise]), gold)
