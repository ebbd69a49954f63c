"""Questions that people answered with yes, no or "can't tell", turned into claims by rule."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from lemminflect import getInflection  # type: ignore[import-untyped]

from training.pairs import KindPair
from training.sources.parts import Part, ended, json_rows, mended, stretch
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS
from vista_lab.oasis.rewriters.text import Token, is_verb, tokens

CONDAQA = {
    "train": tuple(f"train/condaqa/conda_fewshot_test_{i}.json.gz" for i in range(1, 6)),
    "dev": ("train/condaqa/condaqa_dev.json.gz",),
}
SHARC = {
    "train": "train/or-sharc/open_retrieval_sharc_test.json.gz",
    "dev": "train/or-sharc/open_retrieval_sharc_dev.json.gz",
}
SNIPPETS = "train/or-sharc/id2snippet.json.gz"
BOOLQ = {"train": "train/boolq/eraser_test.jsonl.gz", "dev": "train/boolq/eraser_val.jsonl.gz"}
STRATEGY = {"train": "train/strategyqa/train.json.gz", "dev": "train/strategyqa/dev.json.gz"}
PUBMED = "train/pubmedqa/ori_pqal.json.gz"
FILES = (*CONDAQA["train"], SHARC["train"], SNIPPETS, BOOLQ["train"], STRATEGY["train"], PUBMED)
_VERDICTS = {
    "YES": SUPPORTED_CLASS, "TRUE": SUPPORTED_CLASS, "NO": CONTRADICTED_CLASS, "FALSE": CONTRADICTED_CLASS,
    "DON'T KNOW": NOT_ENOUGH_CLASS, "MAYBE": NOT_ENOUGH_CLASS,
}  # fmt: skip
_BE = "is|are|was|were|am"
_MODAL = "would|could|can|will|should|might|may|must|has|have|had"
_SHORT = {
    "i", "it", "there", "you", "we", "they", "he", "she", "one", "someone", "somebody", "anyone", "everyone", "people",
    "this", "that", "these", "those",
}  # fmt: skip
_RELATIVE = ("who", "that", "which", "whose", "where", "when")
_HELPERS = rf"(?:{_BE}|{_MODAL}|do|does|did)"
_LEAD = re.compile(rf"^(?P<lead>.+?), (?P<core>{_HELPERS} .+)$", re.DOTALL)
_TENSES = {"do": "VBP", "does": "VBZ", "did": "VBD"}


def declared(question: str) -> str | None:
    """The question as a statement: subject and auxiliary change places; None where the rule can't tell them apart."""
    text = question.strip().rstrip("?").strip()
    lead = _LEAD.match(text)
    core = lead["core"] if lead else text
    if "?" in text or not re.match(rf"{_HELPERS} ", core, re.IGNORECASE):
        return None
    told = _told(core)
    return ended(f"{lead['lead']}, {told}" if lead else told) if told else None


def _told(core: str) -> str | None:
    found = tokens(core)
    aux = found[0].lower
    end = _predicate(found, aux)
    if end is None:
        return None
    who, rest = core[found[1].start : found[end].start].strip(), core[found[end].start :]
    who = who.lower() if who.lower() in _SHORT else who
    if aux not in _TENSES:
        return f"{who} {aux} {rest}"
    forms = getInflection(found[end].lower, tag=_TENSES[aux]) if found[end].tag == "VB" else ()
    return f"{who} {forms[0]} {core[found[end].end :].strip()}" if forms else f"{who} {aux} {rest}"


def _predicate(found: Sequence[Token], aux: str) -> int | None:
    """Where the subject ends: behind a pronoun, else at the verb, else where a noun is followed by no more of its phrase."""
    if len(found) < 3 or found[1].lower in _SHORT:
        return 2 if len(found) > 2 else None
    places = range(2, len(found))
    if aux not in _BE.split("|"):
        return next(
            (i for i in places if _is_main_verb(found, i, "VBN" if aux in ("has", "have", "had") else "VB")), None
        )
    place = next(
        (i for i in places if found[i - 1].tag[:2] in ("NN", "CD", "PR") and found[i].tag[:2] not in ("NN", "PO")), None
    )
    if place is None or found[place].lower in ("of", *_RELATIVE) or found[place].tag == "CC":
        return None
    later = {token.tag for token in found[place + 1 :]}
    return None if found[place].tag == "IN" and later & {"JJ", "VBN", "VBG", "VBD"} else place


def _is_main_verb(found: Sequence[Token], place: int, tag: str) -> bool:
    """A verb of the form that the auxiliary asks for; one that the tagger takes for a noun is told by the article behind it."""
    word, behind = found[place], found[place + 1].tag if place + 1 < len(found) else ""
    taken_for_noun = tag == "VB" and word.tag == "NN" and behind in ("DT", "PRP$") and is_verb(word.text)
    return (word.tag == tag or taken_for_noun) and found[place - 1].lower not in ("to", *_RELATIVE)


def to_user(text: str) -> str:
    """A user's first person as an assistant says it back."""
    for old, new in ((r"\bI am\b", "you are"), (r"\bam I\b", "are you"), (r"\bI'm\b", "you're"), (r"\bI've\b", "you've"),
                     (r"\bI was\b", "you were"), (r"\bI\b", "you"), (r"\b[Mm]y\b", "your"), (r"\bme\b", "you"),
                     (r"\bmine\b", "yours"), (r"\bmyself\b", "yourself")):  # fmt: skip
        text = re.sub(old, new, text)
    return text[:1].upper() + text[1:]


def as_claim(question: str, verdict: int, rng: Random) -> tuple[str, int]:
    """The question as a statement; where it can't be turned, with an answer behind it, which may be the wrong one."""
    told = declared(question)
    if told:
        return told, verdict
    yes = rng.random() < 0.5
    turned = {SUPPORTED_CLASS: CONTRADICTED_CLASS, CONTRADICTED_CLASS: SUPPORTED_CLASS}.get(verdict, verdict)
    return f"{ended(question.rstrip('?') + '?')} {'Yes' if yes else 'No'}.", verdict if yes else turned


@dataclass(frozen=True)
class Asked:
    """A question about a text, the label of the answer yes, and the minimal pair it belongs to."""

    premise: str
    question: str
    verdict: int
    source: str
    twin: str = ""
    seed: str = ""
    """Of the draws that are made for this question; the question where it is empty."""

    @property
    def rng(self) -> Random:
        return Random(self.seed or self.question)


def asked_condaqa(data: Path, part: Part) -> Iterator[Asked]:
    """CondaQA (Ravichander 2022): the same question about a passage with a negation and three edits of it."""
    for name in CONDAQA[part]:
        for row in json_rows(data / name):
            if row["label"] in _VERDICTS:
                question, twin = mended(row["sentence2"]), f"condaqa-{row['PassageID']}-{row['QuestionID']}"
                premise = stretch(mended(row["sentence1"]), f"{row['original sentence']} {question}", 130)
                yield Asked(premise, question, _VERDICTS[row["label"]], "condaqa", twin, twin)


def asked_sharc(data: Path, part: Part) -> Iterator[Asked]:
    """OR-ShARC (Gao 2021): a rule, the user's case and what was asked back decide the question, or do not yet."""
    snippets = json_rows(data / SNIPPETS)[0]
    for row in json_rows(data / SHARC[part]):
        verdict = _VERDICTS.get(row["answer"].upper(), NOT_ENOUGH_CLASS)
        known = [f"{one['follow_up_question']} {one['follow_up_answer']}." for one in row["history"]]
        case = [f"User: {row['scenario']}"] if row["scenario"] else []
        premise = "\n".join([stretch(snippets[row["gold_snippet_id"]], row["question"], 110), *case, *known])
        yield Asked(premise, row["question"], verdict, "sharc", row["tree_id"], row["utterance_id"])


def asked_boolq(data: Path, part: Part) -> Iterator[Asked]:
    """BoolQ (Clark 2019): what people typed into a search engine, against a page."""
    for row in json_rows(data / BOOLQ[part]):
        premise = stretch(mended(row["passage"].lstrip(". ").replace("Section::::", "")), row["question"], 140)
        yield Asked(premise, row["question"], _VERDICTS[row["answer"].upper()], "boolq")


def asked_strategy(data: Path, part: Part) -> Iterator[Asked]:
    """StrategyQA (Geva 2021): facts that decide a question by a step that nobody tells."""
    for row in json_rows(data / STRATEGY[part]):
        verdict = SUPPORTED_CLASS if row["answer"] else CONTRADICTED_CLASS
        yield Asked(" ".join(map(ended, row["facts"])), row["question"], verdict, "strategy", "", row["qid"])


def asked_pubmed(data: Path, part: Part) -> Iterator[Asked]:
    """PubMedQA (Jin 2019): a paper's question against its conclusion, now and then with some of the results."""
    if part == "train":
        for number, row in json_rows(data / PUBMED)[0].items():
            results = stretch(row["CONTEXTS"][-1], row["QUESTION"], 70) if Random(f"{number}+").random() < 0.5 else ""
            premise = f"{results} {row['LONG_ANSWER']}".strip()
            yield Asked(
                premise, mended(row["QUESTION"]), _VERDICTS[row["final_decision"].upper()], "pubmed", "", number
            )


def stated(asked: Asked) -> KindPair:
    """The question as a claim."""
    claim, label = as_claim(asked.question, asked.verdict, asked.rng)
    return KindPair(asked.premise, claim, (label,), asked.source, asked.source, asked.twin)


def condaqa(data: Path, part: Part) -> Iterator[KindPair]:
    """The same claim against a passage with a negation and three edits of it."""
    return map(stated, asked_condaqa(data, part))


def sharc(data: Path, part: Part) -> Iterator[KindPair]:
    """Claims about the user's case that a rule decides, or does not yet."""
    for pair in map(stated, asked_sharc(data, part)):
        yield replace(pair, hypothesis=to_user(pair.hypothesis), twin=f"sharc-{pair.twin}-{pair.hypothesis}")


def boolq(data: Path, part: Part) -> Iterator[KindPair]:
    """Questions typed into a search engine, as claims."""
    return map(stated, asked_boolq(data, part))


def strategy(data: Path, part: Part) -> Iterator[KindPair]:
    """Claims that facts decide by a step that nobody tells."""
    return map(stated, asked_strategy(data, part))


def pubmed(data: Path, part: Part) -> Iterator[KindPair]:
    """Papers' questions as claims."""
    return map(stated, asked_pubmed(data, part))
