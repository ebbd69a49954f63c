"""Summaries and answers that people wrote, judged or corrected, beside the stretch of the long text that they tell."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from training.pairs import KindPair
from training.rewriting.windows import best_sentences
from training.sources.parts import Part, ended, json_rows, matched, mended, tenth
from training.sources.summedits import aligned, tidy
from vista_lab.datasets.pairs import NOT_ENOUGH_CLASS, SUPPORTED_CLASS, UNSUPPORTED
from vista_lab.oasis.rewriters.carrier import sentences

REALSUMM = "train/realsumm-scu/scu_votes.jsonl.gz"
DEFACTO = {"train": "train/defacto/train.jsonl.gz", "dev": "train/defacto/val.jsonl.gz"}
BUMP = ("train/bump/task1_dataset.json.gz", "train/bump/task2_dataset.json.gz")
LEGAL = "train/legal-plain/all_v1.json.gz"
QMSUM = {"train": ("train/qmsum/train.jsonl.gz", "train/qmsum/test.jsonl.gz"), "dev": ("train/qmsum/val.jsonl.gz",)}
CLAPNQ = "train/clapnq/clapnq_dev_answerable.jsonl.gz"
FILES = (REALSUMM, DEFACTO["train"], *BUMP, LEGAL, *QMSUM["train"], CLAPNQ)


def realsumm(data: Path, part: Part) -> Iterator[KindPair]:
    """Facts of a reference summary that systems' summaries say or don't, where all voters agree; twins share the fact."""
    facts: dict[tuple[str, str], tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for row in json_rows(data / REALSUMM):
        votes = set(row["votes"])
        if len(votes) == 1 and tenth(row["doc"], part) and "/" not in row["scu"]:
            said = facts[row["doc"], row["scu"]][0 if votes == {"p"} else 1]
            if row["summary"] not in said:
                said.append(row["summary"])
    rng = Random(3)
    for number, ((_, fact), (saying, silent)) in enumerate(facts.items()):
        for place, (good, bad) in enumerate(matched(saying, silent, rng)):
            twin = f"realsumm-{number}-{place}"
            for premises, label in ((good, SUPPORTED_CLASS), (bad, NOT_ENOUGH_CLASS)):
                for premise in premises:
                    yield KindPair(mended(premise), ended(mended(fact)), (label,), "realsumm", "realsumm", twin)


def defacto(data: Path, part: Part) -> Iterator[KindPair]:
    """A system's summary and people's correction of it, against the stretch of the article that they point at."""
    for row in json_rows(data / DEFACTO[part]):
        feedback, candidate = row["feedback"], mended(row["candidate"])
        feedback = ast.literal_eval(feedback) if isinstance(feedback, str) else feedback
        wrong, corrected = str(row["has_error"]) == "True", mended(feedback.get("summary") or "")
        query = f"{feedback.get('evidence') or ''} {candidate} {corrected}"
        premise = best_sentences(sentences(mended(row["article"])), query, 180).text
        twin = f"defacto-{row['doc_id']}"
        yield KindPair(premise, candidate, UNSUPPORTED if wrong else (SUPPORTED_CLASS,), "defacto", "defacto", twin)
        if wrong and len(corrected.split()) > 4 and corrected != candidate:
            yield KindPair(premise, corrected, (SUPPORTED_CLASS,), "defacto", "defacto", twin)


def bump(data: Path, part: Part) -> Iterator[KindPair]:
    """BUMP (Ma 2023): people's unfaithful edits of summaries, where one sentence was edited."""
    if part == "dev":
        return
    for name in BUMP:
        for row in json_rows(data / name):
            article, twin = sentences(mended(row["article"])), f"{Path(name).stem[:5]}-{row['id']}"
            original, edited = sentences(mended(row["reference_summary"])), sentences(mended(row["edited_summary"]))
            changed = [(new, old) for new, old in aligned(edited, original) if new != old]
            if len(changed) == 1:
                premise = best_sentences(article, changed[0][1], 170).text
                yield KindPair(premise, changed[0][1], (SUPPORTED_CLASS,), "bump", "bump", twin)
                yield KindPair(premise, changed[0][0], UNSUPPORTED, "bump", "bump", twin)


def legal(data: Path, part: Part) -> Iterator[KindPair]:
    """Terms of service and what they say in plain English (Manor and Li 2019); another clause does not say it."""
    if part == "dev":
        return
    rows = [row for row in json_rows(data / LEGAL)[0].values() if len(row["reference_summary"].split()) > 4]
    for row, other in zip(rows, [*rows[1:], rows[0]], strict=True):
        claim, twin = ended(row["reference_summary"]), f"legal-{row['uid']}"
        yield KindPair(stretched(row["original_text"], claim), claim, (SUPPORTED_CLASS,), "legal", "legal", twin)
        yield KindPair(stretched(other["original_text"], claim), claim, (NOT_ENOUGH_CLASS,), "legal", "legal", twin)


def stretched(text: str, query: str) -> str:
    """The stretch of a text that tells the query."""
    return best_sentences(sentences(mended(text)), query, 150).text


def qmsum(data: Path, part: Part) -> Iterator[KindPair]:
    """QMSum (Zhong 2021): answers about meetings, sentence by sentence beside what was said; not beside other turns."""
    for name in QMSUM[part]:
        rows = json_rows(data / name)
        for number, (row, other) in enumerate(zip(rows, [*rows[1:], rows[0]], strict=True)):
            for place, claim in enumerate(sentences(tidy(row["answer"]))):
                twin = f"qmsum-{Path(name).stem}-{number}-{place}"
                yield from told_and_not(transcript(row), transcript(other), claim, "qmsum", twin)


def transcript(row: dict[str, list[str]]) -> list[str]:
    """The turns without the transcriber's remarks."""
    return [tidy(mended(re.sub(r"\{\w+\}", " ", turn))) for turn in row["turns"]]


def clapnq(data: Path, part: Part) -> Iterator[KindPair]:
    """ClapNQ (Rosenthal 2024): long answers beside the passage, and beside the passage without what they tell."""
    if part == "train":
        for row in json_rows(data / CLAPNQ):
            passage = [mended(s) for s in row["passages"][0]["sentences"]]
            for place, claim in enumerate(sentences(mended(row["output"][0]["answer"]))):
                best = best_sentences(passage, claim, 1).best
                rest = [s for s in passage if s not in best]
                yield from told_and_not(passage, rest, claim, "clapnq", f"clapnq-{row['id']}-{place}")


def told_and_not(own: Sequence[str], other: Sequence[str], claim: str, source: str, twin: str) -> Iterator[KindPair]:
    """The claim against the stretch that tells it, and against the nearest stretch of a text that does not."""
    if len(claim.split()) < 5 or not own or not other:
        return
    near, far = best_sentences(own, claim, 150), best_sentences(other, claim, 150)
    if near.share > 0.4:
        yield KindPair(near.text, claim, (SUPPORTED_CLASS,), source, source, twin)
        if far.share < 0.35:
            yield KindPair(far.text, claim, (NOT_ENOUGH_CLASS,), source, source, twin)
