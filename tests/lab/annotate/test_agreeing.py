"""From filled sheets to figures: agreement, consensus, what is to be discussed, and the paper's tables of it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.lab.annotate.work import CONTRADICTED, EMBEDDER, LACKING, SCOPE, Change, V, fill, study
from tests.raising import raises
from training.papers.checks import agrees
from vista_guard.errors import InputError
from vista_guard.stores.reports import Database, ReportReader
from vista_guard.stores.reviewed import ConsensusClaim, Op
from vista_guard.types import Label
from vista_lab.annotate.agreement import FormResults, by_annotator
from vista_lab.annotate.batches import Batches
from vista_lab.annotate.claims import SettledTurn
from vista_lab.annotate.consensus import Category, transitions
from vista_lab.annotate.database import import_sheets, take
from vista_lab.annotate.forms import Answers
from vista_lab.annotate.results import ClaimResults, of_study
from vista_lab.annotate.sheets import FilledSheet, content, read_sheets
from vista_lab.annotate.study import StudyData
from vista_lab.logs.formats import LoggedConversation, TurnGold, read_log
from vista_lab.metrics.agreement import Method, agreement
from vista_lab.papers import table

TOWER, FERRY = ("c002.t1", "t1.c1"), ("c003.t1", "t1.c1")

SHEETS: dict[str, Change] = {
    "ada": {
        ("c001.t1", "t1.c2"): {"label": "out of scope"},
        ("c001.t1", "new 1"): {"new_text": "A pier is there.", "label": "verifiable"},
        ("c001.t3", "t3.c1"): {"label": "lacking evidence"},
        TOWER: {"label": "contradicted"},
        FERRY: {"label": "abstention"},
    },
    "ben": {
        ("c001.t1", "t1.c2"): {"label": "out of scope"},
        ("c001.t3", "t3.c1"): {"label": "lacking evidence", "handling": "edit", "new_text": "The pier is 310 m long."},
        TOWER: {"label": "contradicted"},
        FERRY: {"label": "out of scope"},
    },
    "cleo": {
        ("c001.t1", "t1.c2"): {"label": "", "handling": "delete"},
        ("c001.t3", "t3.c1"): {"label": "lacking evidence", "handling": "edit", "new_text": "The pier is 310 m long."},
        TOWER: {"label": "lacking evidence"},
        FERRY: {"label": "lacking evidence"},
    },
}
"""What three people make of the study. All that is not here is verifiable to them."""


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory) -> StudyData:
    folder = tmp_path_factory.mktemp("study")
    made = study(folder)
    for name, changes in SHEETS.items():
        fill(folder / f"{name}.tsv", changes)
    return replace(made, conversations={**made.conversations})


@pytest.fixture(scope="module")
def sheets(material: StudyData, tmp_path_factory: pytest.TempPathFactory) -> list[FilledSheet]:
    folder = tmp_path_factory.mktemp("filled")
    study(folder)
    paths = [fill(folder / f"{name}.tsv", changes) for name, changes in SHEETS.items()]
    return read_sheets(paths, material.study.form, material.items)


@pytest.fixture(scope="module")
def found(sheets: list[FilledSheet], material: StudyData) -> ClaimResults:
    """Results of the sheets, with claims matched by their text."""
    form, about = material.study.form, [material.study.about]
    return of_study(FormResults(form, material.items, by_annotator(sheets), about, {}), material, None)


def test_pairs_are_pooled_over_turns(found: ClaimResults) -> None:
    pairs = found.sets.pairs
    # ada has 7 claims, ben 6, cleo 5. By text: ada's unedited claim on the pier is none of theirs, nor is the one that she adds.
    assert [(pair.annotators, pair.first, pair.second, pair.shared) for pair in pairs] == [
        (("ada", "ben"), 7, 6, 5),
        (("ada", "cleo"), 7, 5, 4),
        (("ben", "cleo"), 6, 5, 5),
    ]
    jaccards = [5 / 8, 4 / 8, 5 / 6]
    assert [pair.jaccard.value for pair in pairs] == pytest.approx(jaccards)
    assert [pair.f1.value for pair in pairs] == pytest.approx([2 * one / (1 + one) for one in jaccards])


def test_alike_texts_match_above_the_cosine(found: ClaimResults) -> None:
    # "=The" and "The" are two words to this embedder: six of seven are shared, a cosine of 6/7.
    assert replace(found, embedder=EMBEDDER).sets.pairs[0].shared == 5
    answers = {who: {name: _thrice(one) for name, one in own.items()} for who, own in found.answers.items()}
    parts = [replace(part, texts={"text": _words(part.texts["text"])}) for item in found.items for part in item.parts]
    by_text = {(item.id, part.id): parts.pop(0) for item in found.items for part in item.parts}
    items = [replace(item, parts=tuple(by_text[item.id, part.id] for part in item.parts)) for item in found.items]
    assert replace(found, items=items, answers=answers, embedder=EMBEDDER).sets.pairs[0].shared == 6


def _thrice(given: Answers) -> Answers:
    """With the words of its edits three times: the odd one weighs less."""
    parts = {
        name: {mark: _words(str(value)) if mark == "new_text" else value for mark, value in own.items()}
        for name, own in given.parts.items()
    }
    return replace(given, parts=parts)


def _words(said: str) -> str:
    return f"{said} {said[1:]} {said[1:]}" if "310" in said else said


def test_labels_by_alpha_and_kappas(found: ClaimResults) -> None:
    assert found.sets.units == 6
    assert found.kappas.shared == 4
    # Four claims that all have: V V V, C C L, A S L, V V V. Observed 7 of 12 pairs; shares 6, 2, 2, 1, 1 of 12.
    chance = (36 + 4 + 4 + 1 + 1) / 144
    assert found.kappas.fleiss == pytest.approx((7 / 12 - chance) / (1 - chance))
    if find_spec("sklearn") is not None:
        assert found.kappas.pairs["ada", "ben"].cohen == pytest.approx((4 / 5 - 7 / 25) / (1 - 7 / 25))


def test_intervals_are_over_conversations(found: ClaimResults) -> None:
    by = list(found.claims.values())
    one_talk = agreement(by, conversations=["a"] * len(by))
    assert one_talk.alpha.low is None
    each = agreement(by, conversations=[str(place) for place in range(len(by))])
    assert each == agreement(by)


def test_most_decide_and_the_rest_is_discussed(found: ClaimResults, tmp_path: Path) -> None:
    state = {one.id: (one.method, [(claim.text, claim.label, claim.op) for claim in one.claims]) for one in found.turns}
    # Two of three keep what one deletes; what one alone adds is not of the consensus.
    assert state["c001.t1"] == (
        Method.MAJORITY,
        [("The assistant loves it.", SCOPE, Op.CONFIRM), ("The pier opened in 1911.", V, Op.CONFIRM)],
    )
    # An edit is a version of the judge's claim, not another one.
    assert state["c001.t3"] == (Method.MAJORITY, [("The pier is 310 m long.", LACKING, Op.EDIT)])
    assert state["c002.t1"] == (Method.MAJORITY, [("The tower has a lift.", CONTRADICTED, Op.CONFIRM)])
    assert state["c003.t1"] == (None, [])
    queue = found.queue()
    assert queue is not None
    sheet = content(queue, ".tsv")
    (row,) = csv.DictReader(io.StringIO(sheet.decode("utf-8-sig"), newline=""), delimiter="\t")
    text = "The assistant does not know when it goes."
    assert row["versions"] == f"ada: {text} [abstention]\nben: {text} [out of scope]\ncleo: {text} [lacking evidence]"
    assert (row["id"], row["answer"], row["label"]) == ("c003.t1", text, "")
    path = tmp_path / "discuss.tsv"
    path.write_bytes(sheet)
    assert found.with_answers(path).discussed == {}
    for answer, label, said in (
        (text, "Abstention", ConsensusClaim(text=text, label=Label.ABSTENTION, source_claim_id="t1.c1")),
        ("It goes.", "verified", ConsensusClaim(text="It goes.", label=V, op=Op.EDIT, source_claim_id="t1.c1")),
        ("no claim", "", None),
    ):
        rows = [{**row, "answer": answer, "label": label}]
        discussed = found.with_answers(_queue(path, rows))
        assert [*discussed.discussed] == [("c003.t1", row["item"], "")]
        (again,) = [one for one in discussed.turns if one.id == "c003.t1"]
        assert (again.method, again.claims) == (Method.DISCUSSION, () if said is None else (said,))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"label": "maybe"}, "row 2, column label is 'maybe': the labels are"),
        ({"answer": "", "label": "verified"}, "column answer is '': give the claim's words, or 'no claim'"),
        ({"answer": "no claim", "label": "verified"}, "column label is 'verified': the answer is 'no claim'"),
        ({"item": "12345678", "label": "verified"}, "column item is '12345678': the sheets have no such open claim"),
    ],
)
def test_wrong_answers_are_named(found: ClaimResults, tmp_path: Path, changed: dict[str, str], said: str) -> None:
    (one,) = found.settled
    row = {"id": "c003.t1", "item": one.case.part, "answer": "x", "label": "", **changed}
    with pytest.raises(InputError) as caught:
        found.with_answers(_queue(tmp_path / "discuss.tsv", [row]))
    assert said in str(caught.value)


def _queue(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), delimiter="\t")
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_the_consensus_is_a_log_with_labels_and_gold(found: ClaimResults, material: StudyData, tmp_path: Path) -> None:
    files = found.files()
    path = tmp_path / "consensus.json"
    path.write_text(files["consensus.json"], encoding="utf-8")
    entries = [one for one in read_log(path) if isinstance(one, LoggedConversation)]
    assert [one.conversation.id for one in entries] == ["pier", "tower", "mill"]
    pier = entries[0]
    assert [turn.text for turn in pier.conversation.turns] == [
        turn.text for turn in material.conversations["pier"].turns
    ]
    assert sorted(pier.labels.values()) == sorted([V, SCOPE, LACKING])
    assert pier.gold == {1: TurnGold("faithful", False), 3: TurnGold("hallucinated", True)}
    lines = [json.loads(line) for line in files["labels.jsonl"].splitlines()]
    assert {"conversation_id": "tower", "turn_index": 1, "fine": False} in lines
    assert {"conversation_id": "tower", "turn_index": 1, "claim_id": "t1.c1", "fine": False} in lines
    assert sum("claim_id" not in line for line in lines) == 4


def test_table_7_on_the_papers_own_counts() -> None:
    """Section 5's reading: 30, 137, 34, 18, 6 and 2 turns, from labels of claims alone."""
    kinds = [
        (30, False, [V], False), (137, True, [V, SCOPE], False), (34, False, [SCOPE, LACKING], False),
        (18, False, [V, SCOPE, Label.ABSTENTION], False), (6, True, [V, V], False), (2, True, [V], True),
    ]  # fmt: skip
    rows = list(_rows(kinds))
    found = transitions([row for row, _ in rows], {row[0] for row, disfluent in rows if disfluent})
    assert [(str(name), count) for name, count in found.counts.items()] == [
        (one["name"], one["count"]) for one in table("table07")["categories"]
    ]
    assert agrees(table("table07")["diverged_percent"], 100 * found.divergence.value)
    assert agrees(table("table07")["newly_unverifiable_percent"], 100 * found.newly_unverifiable.value)
    turns = found.detection
    assert (turns.turns, turns.tp + turns.fp, turns.tp + turns.fn) == (227, 189, 145)


def _rows(
    kinds: list[tuple[int, bool, list[Label], bool]],
) -> Iterator[tuple[tuple[str, str, bool, list[Label]], bool]]:
    for number, (count, positive, labels, disfluent) in enumerate(kinds):
        for place in range(count):
            yield (f"{number}.{place}", "word", positive, labels), disfluent


def test_tables_hold_the_consensus_and_say_how_it_was_drawn(found: ClaimResults) -> None:
    first, sixth, seventh, diverging = found.sheets()
    assert [[cell.text for cell in row][:3] for row in first.rows] == [
        ["VERIFIED", "2", "40.0"], ["LACKING_EVIDENCE", "1", "20.0"], ["OUT_OF_SCOPE", "1", "20.0"], ["ABSTENTION", "0", "0.0"],
        ["CONTRADICTED", "1", "20.0"], ["total", "5", "100.0"],
    ]  # fmt: skip
    assert [row[0].text for row in sixth.rows] == ["ada – ben", "ada – cleo", "ben – cleo", "mean", "paper: mean"]
    assert [row[1].text for row in seventh.rows] == ["0", "1", "1", "1", "1", "0", "4"]
    assert [row[0].text for row in diverging.rows] == ["c001.t1", "c002.t1", "c004.t1"]
    for sheet in (first, sixth, seventh):
        assert "4 of 4 conversations of harbour, by seed 0." in sheet.notes
        assert "1 of 5 turns have no consensus yet, and are in no table of it." in sheet.notes
    assert found.as_json()["transitions"][str(Category.CONTEXT)] == 1
    assert Decimal(str(found.as_json()["jaccard"])).quantize(Decimal("0.001")) == Decimal("0.653")


def test_sheets_go_into_the_dashboards_database_and_come_out(
    found: ClaimResults, sheets: list[FilledSheet], material: StudyData, tmp_path: Path
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'study.sqlite'}")
    done = import_sheets(database, "pilot", sheets, material)
    assert (done.turns, done.reports) == (5, 5)
    kept = ReportReader(database).get(material.reports["c001.t3"].id)
    assert kept is not None
    assert kept.texts is not None
    assert (kept.texts.user_text, [one.title for one in kept.texts.documents]) == ("Question 2?", ["Guide"])
    with raises(InputError, "pilot"):
        import_sheets(database, "pilot", sheets, material)
    assert import_sheets(database, "again", sheets, material).reports == 0
    batches = Batches(database)
    pilot = next(one for one in batches.all() if one.name == "pilot")
    taken = take(database, pilot, material, None)
    assert (taken.claims, taken.sets) == (found.claims, found.sets)
    assert [item.texts["turn"] for item in taken.items] == [item.texts["turn"] for item in found.items]
    open_task = next(one for one in batches.complete("pilot") if one.report_id == material.reports["c003.t1"].id)
    answer = ConsensusClaim(text="It is unknown.", label=Label.ABSTENTION)
    batches.settle(open_task.id, [answer], who="ada")
    every = {one.id: one for one in take(database, pilot, material, None).turns}
    # What leaves nothing to discuss was settled when it came in.
    assert {name: one.claims for name, one in every.items() if name != "c003.t1"} == {
        one.id: one.claims for one in found.settled_turns
    }
    assert every["c003.t1"] == SettledTurn("c003.t1", (answer,), Method.DISCUSSION)
    assert {one.id for one in take(database, pilot, None, None).items} == {
        report.id for report in material.reports.values()
    }
    database.close()


def test_nothing_of_an_import_stays_where_something_is_wrong(
    sheets: list[FilledSheet], material: StudyData, tmp_path: Path
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'study.sqlite'}")
    wrong = [*sheets, replace(sheets[0], annotator="\x07")]
    with pytest.raises(InputError):
        import_sheets(database, "pilot", wrong, material)
    assert Batches(database).all() == ()
    assert ReportReader(database).many([report.id for report in material.reports.values()]) == {}
    with pytest.raises(InputError):
        import_sheets(database, "pilot", sheets, replace(material, reports={}))
    database.close()
