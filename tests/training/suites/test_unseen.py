"""Small files of our own in the publishers' formats of the sets that share no source with the training data."""

from __future__ import annotations

import gzip
import json
import sys
import zipfile
from pathlib import Path

import pytest

from training.suites import faithful, unseen
from training.suites.loaders import CONTRADICTED, NOT_ENOUGH, SUPPORTED, GivenStatement
from training.suites.product import Bench, Product
from vista_guard.types import Document

KILN = "The kiln cools for two days."


def packed(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))
    return path


def packed_rows(path: Path, *rows: object) -> Path:
    return packed(path, "".join(json.dumps(row) + "\n" for row in rows))


def statement(text: str, gold: str, premise: str = KILN, title: str | None = None) -> GivenStatement:
    return GivenStatement(text, (Document(id="e1", text=premise, title=title),), gold)


def test_inference_in_every_spelling(tmp_path: Path) -> None:
    rows = [
        {"premise": KILN, "hypothesis": "It cools.", "label": "entailment", "tag": "r1_test"},
        {"premise": KILN, "hypothesis": "It never cools.", "label": "contradiction", "tag": "r2_test"},
    ]
    anli = packed_rows(tmp_path / "anli.jsonl.gz", *rows)
    assert unseen.anli(1)(anli) == [statement("It cools.", SUPPORTED)]
    assert unseen.anli(2)(anli) == [statement("It never cools.", CONTRADICTED)]
    control = packed_rows(tmp_path / "control.jsonl.gz", {"premise": KILN, "hypothesis": "It is red.", "label": "n"})
    assert unseen.control(control) == [statement("It is red.", NOT_ENOUGH)]
    glue = packed(tmp_path / "glue.tsv.gz", f"Logic\tPremise\tHypothesis\tLabel\n\t{KILN}\tIt cools.\tentailment\n")
    assert unseen.glue_diagnostic(glue) == [statement("It cools.", SUPPORTED)]
    nan = packed(tmp_path / "nan.csv.gz", f'premise,hypothesis,label,P-Verbal\n{KILN},"No, it cools.",neutral,1\n')
    assert unseen.nan_nli(nan) == [statement("No, it cools.", NOT_ENOUGH)]
    with zipfile.ZipFile(tmp_path / "gqnli.zip", "w") as archive:
        archive.writestr("gqnli-1.0/gqnli.test.jsonl", json.dumps({**rows[1], "label": "c"}) + "\n")
    assert unseen.gqnli(tmp_path / "gqnli.zip") == [statement("It never cools.", CONTRADICTED)]


def test_facts_beside_pages(tmp_path: Path) -> None:
    fooling = {"text": "It is cold on the third day.", "label": "SUPPORTS", "wikipedia_page": "Kiln"}
    rows = [{**fooling, "gold_evidence": [{"text": KILN}]}, {**fooling, "gold_evidence": []}]
    file = packed_rows(tmp_path / "fm2.jsonl.gz", *rows)
    assert unseen.fm2(file) == [statement("It is cold on the third day.", SUPPORTED, title="Kiln")]
    summaries = [
        {"article": KILN, "candidate": "It cools.", "has_error": False, "feedback": {"summary": "x"}},
        {"article": KILN, "candidate": "It burns.", "has_error": True, "feedback": {"summary": "It cools."}},
        {"article": KILN, "candidate": "It melts.", "has_error": True, "feedback": None},
    ]
    assert unseen.defacto(packed_rows(tmp_path / "defacto.jsonl.gz", *summaries)) == [
        statement("It cools.", SUPPORTED),
        statement("It burns.", NOT_ENOUGH),
        statement("It cools.", SUPPORTED),
        statement("It melts.", NOT_ENOUGH),
    ]
    page = {
        "page": f"<s>{KILN}</s><s>Then it is emptied.</s>",
        "facts": [["It cools.", "entailment"], ["x", "contradiction"]],
    }
    packed_rows(tmp_path / "biographies/chatgpt.jsonl.gz", page)
    text = f"{KILN}\nThen it is emptied.\n"
    assert unseen.factscore(tmp_path / "biographies") == [
        statement("It cools.", SUPPORTED, text),
        statement("x", NOT_ENOUGH, text),
    ]


def test_paraphrases_are_judged_both_ways(tmp_path: Path) -> None:
    file = packed(
        tmp_path / "apt.gz", f"text_a\ttext_b\tlabels\n{KILN}\t{KILN}\t1\nAda keeps two red boats.\t{KILN}\t0\n"
    )
    (answers,) = unseen.paraphrases(Bench(Product(), tmp_path), file)
    assert answers.gold == answers.found == ["supported", "unsupported"]
    assert answers.scores[0] > answers.scores[1]


def test_answers_of_people_are_final(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    passages = [{"passage_text": KILN}]
    labels = [
        {"responseType": "directAnswer", "response": KILN, "evidence": passages},
        {"responseType": "directAnswer", "response": "Nobody knows.", "evidence": []},
        {"responseType": "clarification", "response": "Which kiln?", "evidence": passages},
    ]
    turns = [{"context": ["Hello!", "Hi.", "When is it cold?"], "labels": labels}]
    packed(tmp_path / faithful.INSCIT, json.dumps({"one": {"turns": turns}}))
    ((question, answer),) = (conversation.turns for conversation in unseen.inscit(tmp_path / faithful.INSCIT))
    assert (question.text, answer.text, [one.text for one in answer.documents]) == ("When is it cold?", KILN, [KILN])

    command = ["faithful", "--data", str(tmp_path), "--part", "inscit"]
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit):
        faithful.main()
    assert "add --final" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", [*command, "--final", "--policy", "balanced"])
    faithful.main()
    assert "| faithful answers | 1 | balanced | 0.0 % (0.0–79.3) |" in capsys.readouterr().out
