"""Answers that people gave or judged: students beside reference answers (SemEval-2013 task 7), agents beside reviews."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

from training.pairs import KindPair
from training.sources import dstc9
from training.sources.parts import Part, ended, json_rows, matched, mended, stretch
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS, UNSUPPORTED
from vista_lab.oasis.rewriters.carrier import stems

STUDENTS = "train/student-answers/semeval-3way.zip"
SAF = {"train": "train/saf-en/training.jsonl.gz", "dev": "train/saf-en/unseen_questions.jsonl.gz"}
REVIEWS = "train/dstc11/knowledge.json.gz"
REVIEW_TURNS = {"train": "train/dstc11/val_labels.json.gz", "dev": "train/dstc11/test_labels.json.gz"}
FILES = (STUDENTS, SAF["train"], REVIEWS, REVIEW_TURNS["train"])
_LABELS = {"correct": SUPPORTED_CLASS, "contradictory": CONTRADICTED_CLASS, "incorrect": NOT_ENOUGH_CLASS}


@dataclass(frozen=True)
class Exercise:
    """A question, its reference answers, and what students said with how it was marked."""

    name: str
    question: str
    references: tuple[str, ...]
    answers: tuple[tuple[str, str], ...]


def exercises(data: Path, part: Part) -> Iterator[Exercise]:
    """All exercises; those of unseen domains are for development."""
    with zipfile.ZipFile(data / STUDENTS) as archive:
        for name in sorted(archive.namelist()):
            if "/3way/" in name and name.endswith(".xml") and ("unseen-domains" in name) == (part == "dev"):
                root = ElementTree.fromstring(archive.read(name))
                yield Exercise(
                    name,
                    mended(root.findtext("questionText") or ""),
                    tuple(mended(one.text or "") for one in root.iter("referenceAnswer")),
                    tuple((mended(one.text or ""), one.get("accuracy", "")) for one in root.iter("studentAnswer")),
                )


def students(data: Path, part: Part) -> Iterator[KindPair]:
    """The reference follows from a correct answer; twins share it. A contradiction holds the other way round too."""
    rng = Random(11)
    for exercise in exercises(data, part):
        marked = [(text, _LABELS[mark]) for text, mark in exercise.answers if len(text.split()) > 2 and mark in _LABELS]
        good = [one for one in marked if one[1] == SUPPORTED_CLASS]
        bad = [one for one in marked if one[1] != SUPPORTED_CLASS]
        for place, (right, wrong) in enumerate(matched(good, bad, rng, rounds=40)):
            reference = ended(rng.choice(exercise.references))
            twin = f"students-{exercise.name}-{place}"
            for text, label in (*right, *wrong):
                yield KindPair(asked(exercise.question, text, rng), reference, (label,), "students", "students", twin)
            for text, label in wrong:
                if label == CONTRADICTED_CLASS:
                    premise = asked(exercise.question, reference, rng)
                    yield KindPair(premise, ended(text), (label,), "students", "students_back", twin)


def asked(question: str, answer: str, rng: Random) -> str:
    """The answer, mostly under its question."""
    return f"{question}\n{answer}" if question and rng.random() < 0.7 else ended(answer)


def graded(data: Path, part: Part) -> Iterator[KindPair]:
    """Short-answer feedback (Filighera 2022): a student's short answer against the reference; only a correct one follows."""
    for row in json_rows(data / SAF[part]):
        answer, reference = mended(row["answer"]), mended(" ".join(row["reference"]))
        if 4 < len(answer.split()) <= 45 and "\n" not in answer and row["verification"] in ("Correct", "Incorrect"):
            label = (SUPPORTED_CLASS,) if row["verification"] == "Correct" else UNSUPPORTED
            premise = f"{mended(row['question'])}\n{stretch(reference, answer, 120)}"
            yield KindPair(
                premise, ended(answer), label, "graded", "graded", f"graded-{row['question']}-{len(answer) // 40}"
            )


def reviews(data: Path, part: Part) -> Iterator[KindPair]:
    """DSTC11 track 5 (Zhao 2023): what an agent told from reviews and FAQs; other reviews of the place don't say it."""
    rng = Random(21)
    places = dstc9.load(data / REVIEWS)
    turns = [row for row in dstc9.load(data / REVIEW_TURNS[part]) if row["target"]]  # type: ignore[attr-defined]
    for number, row in enumerate(turns[: len(turns) // 10] if part == "dev" else turns):
        told = dstc9.statement(row["response"])
        used = [spoken(places, ref) for ref in row["knowledge"]]
        place = places[row["knowledge"][0]["domain"]][str(row["knowledge"][0]["entity_id"])]  # type: ignore[index]
        others = [s for s in sayings(place) if s not in used and not stems(s) & (stems(told) - stems(place["name"]))]
        if told and others:
            mixed = rng.sample(
                [*used, *rng.sample(others, min(2, len(others)))], min(len(used) + 2, len(used) + len(others))
            )
            apart = rng.sample(others, min(len(mixed), len(others)))
            twin = f"reviews-{number}"
            for texts, label in ((mixed, SUPPORTED_CLASS), (apart, NOT_ENOUGH_CLASS)):
                premise = "\n".join([place["name"].title(), *texts])
                yield KindPair(stretch(premise, told, 180), told, (label,), "reviews", "reviews", twin)


def review_sentences(data: Path) -> list[str]:
    """Every sentence of every review, of five to 24 words, in order."""
    places: Any = dstc9.load(data / REVIEWS)
    said = {sentence.strip() for domain in places.values() for place in domain.values() for sentence in _reviews(place)}
    return sorted(sentence for sentence in said if 5 <= len(sentence.split()) < 25)


def _reviews(place: Mapping[str, Any]) -> list[str]:
    return [s for review in place.get("reviews", {}).values() for s in review["sentences"].values()]


def sayings(place: Mapping[str, Any]) -> list[str]:
    """Every sentence of a place's reviews, and its FAQ."""
    return [*_reviews(place), *(f"{faq['question']} {faq['answer']}" for faq in place.get("faqs", {}).values())]


def spoken(places: Any, ref: Mapping[str, Any]) -> str:
    """The review's sentence, or the FAQ's question and answer, that a reference names."""
    place = places[ref["domain"]][str(ref["entity_id"])]
    if ref["doc_type"] == "review":
        return str(place["reviews"][str(ref["doc_id"])]["sentences"][str(ref["sent_id"])])
    faq = place["faqs"][str(ref["doc_id"])]
    return f"{faq['question']} {faq['answer']}"
