"""Runs read sentence by sentence: where claims belong, what sentences two runs share, and what is measured of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.lab.policies.turns import stored
from tests.lab.runs.runs import manifest
from tests.raising import raises
from vista_guard.errors import InputError
from vista_guard.testing import WordEmbedder
from vista_guard.types import Action, Claim, Finding, Label, Span, TurnReport, Unchecked
from vista_lab.decompose.decompositions import (
    DecomposedRun,
    KnownTurn,
    known_turns,
    measure_run,
    read_decompositions,
    rule_facts,
    shared_sentences,
)
from vista_lab.decompose.desiderata import items_of
from vista_lab.logs.formats import read_log
from vista_lab.runs.folder import MANIFEST, REPORTS

TEXT = "The mill opened in 1911. It has sails. What a view!"
FIRST, SECOND, THIRD = (Span(start=0, end=24), Span(start=25, end=38), Span(start=39, end=51))


def claim(text: str, span: Span | None) -> Finding:
    found = Claim(id=f"t1.{text}", text=text, span=span)
    return Finding(claim=found, label=Label.VERIFIED, confidence=1.0, reason="so it says")


def report(*outcomes: Finding | Unchecked, **more: Any) -> TurnReport:
    return stored(*outcomes, **{"response": TEXT, **more})


def read(
    folder: Path, *reports: TurnReport, log: dict[tuple[str, int], KnownTurn] | None = None, name: str = "run"
) -> DecomposedRun:
    place = folder / name
    place.mkdir()
    (place / MANIFEST).write_text(manifest().model_dump_json(), encoding="utf-8")
    (place / REPORTS).write_text("".join(f"{one.model_dump_json()}\n" for one in reports), encoding="utf-8")
    return read_decompositions(place, name, log or {})


def claims_of(run: DecomposedRun) -> list[tuple[str, ...]]:
    return [one.made.claims for one in run.sentences]


class Words:
    """P(supported) is the share of a claim's words that the evidence has."""

    name = "words"

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        shares = [np.mean([word in text.split() for word in said.split()]) for text, said in pairs]
        return np.array([[share, 0, 1 - share] for share in shares], np.float32)


def test_a_claim_belongs_to_the_sentence_of_its_span_and_every_sentence_is_there(tmp_path: Path) -> None:
    opened, sails = claim("The mill opened in 1911.", FIRST), claim("The mill has sails.", SECOND)
    known = {("visit", 1): KnownTurn("What is there to see?", ("The mill is old.",))}
    run = read(tmp_path, report(sails, opened), log=known)
    assert [one.made.sentence for one in run.sentences] == ["The mill opened in 1911.", "It has sails.", "What a view!"]
    assert claims_of(run) == [("The mill opened in 1911.",), ("The mill has sails.",), ()]
    assert {one.made.question for one in run.sentences} == {"What is there to see?"}
    assert run.sentences[0].made.context == TEXT
    assert run.facts == {("visit", 1): ("The mill is old.",)}
    assert run.unplaced == 0


def test_a_claim_without_a_place_goes_to_the_sentence_with_its_words_and_is_counted(tmp_path: Path) -> None:
    lost = Unchecked(claim=Claim(id="t1.c1", text="It has red sails."), error="no answer")
    run = read(tmp_path, report(lost, claim("The mill opened.", None)))
    assert claims_of(run) == [("The mill opened.",), ("It has red sails.",), ()]
    assert (run.unplaced, run.unchecked) == (2, 1)


def test_spans_are_of_the_draft_and_what_was_withheld_has_none(tmp_path: Path) -> None:
    run = read(tmp_path, report(claim("The mill opened in 1911.", FIRST), action=Action.BLOCK))
    assert run.unplaced == 1


def test_only_sentences_that_all_runs_have_are_compared(tmp_path: Path) -> None:
    more = report(claim("The lamp shines.", None), number=2, response="The lamp shines.")
    one = read(tmp_path, report(claim("The mill opened in 1911.", FIRST)), more, name="one")
    two = read(tmp_path, report(claim("The mill opened.", FIRST)), name="two")
    assert [len(run.sentences) for run in shared_sentences([one, two])] == [3, 3]
    three = read(tmp_path, more, name="three")
    with raises(InputError, "three"):
        shared_sentences([two, three])


def test_what_two_methods_made_alike_is_marked_once(tmp_path: Path) -> None:
    alike = claim("The mill has sails.", SECOND)
    one = read(tmp_path, report(claim("The mill opened in 1911.", FIRST), alike), name="one")
    two = read(tmp_path, report(claim("The mill opened.", FIRST), alike), name="two")
    items = items_of([one, two])
    assert [item.made.sentence for item in items] == ["The mill opened in 1911."] * 2 + ["It has sails."]
    assert {item.id for item in items} == {item.id for item in items_of([two, one])}


def test_a_run_without_sentences_is_refused(tmp_path: Path) -> None:
    with raises(InputError, "reports.jsonl"):
        read(tmp_path, report(response=""))


def test_questions_and_peoples_claims_come_from_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(
        '[[{"role": "user", "utterance": "Is it old?", "conversation_id": "a"}, {"role": "assistant", "utterance": "It is.",'
        ' "human_claims": [{"claim_text": "The mill is old.", "human_judgement": "verifiable"}]}]]',
        encoding="utf-8",
    )
    assert known_turns(read_log(path)) == {("a", 1): KnownTurn("Is it old?", ("The mill is old.",))}


def test_measures_of_a_run(tmp_path: Path) -> None:
    again = claim("The mill opened in 1911.", SECOND)
    found = [claim("The mill opened in 1911.", FIRST), claim("The mill opened in 1911!", FIRST), again]
    facts = {("visit", 1): KnownTurn("", ("The mill opened in 1911.", "A lake lies there."))}
    measured = measure_run(read(tmp_path, report(*found), log=facts), Words(), WordEmbedder())
    first, second, third = measured.sentences
    assert first.by_sentence == pytest.approx((1.0, 0.8))
    assert first.repeats == (False, True)
    assert second.by_sentence == pytest.approx((0.0,))
    assert second.in_context == pytest.approx((1.0,))
    assert third.by_sentence == third.facts == ()
    assert measured.covered == {("visit", 1): (True, False)}


def test_facts_by_rule() -> None:
    assert rule_facts("Ada Vale was born on 3 May 1901 in Oslo.") == (
        "Ada Vale was born on 3 May 1901.",
        "Ada Vale was born in Oslo.",
    )
