"""Completions scored term by term: hand values, rows that cannot be scored, groups, and files that are refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("openai")

from tests.raising import raises
from vista_guard.errors import ConfigError, InputError, JudgeError
from vista_guard.judges.model import ModelOptions, OpenAIChat
from vista_guard.testing import Fault, ScriptedChatServer
from vista_lab.decompose.judges import checklist_judge
from vista_lab.decompose.rewards import CHECK_WEIGHTS, GATE
from vista_lab.decompose.training.completions import (
    CompletionRow,
    ScoredRow,
    Scoring,
    as_lines,
    check_terms,
    read_rows,
    score,
)

TWO = '<think>Two.</think><output>["The hall seats 90.", "It opened in 1925."]</output>'
NONE = "<think>An opinion.</think><output>No verifiable claim</output>"


class Known:
    """P(supported) by claim, whatever the evidence; down where it knows no claim."""

    name = "known"

    def __init__(self, known: dict[str, float]) -> None:
        self.known = known

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        if odd := [claim for _, claim in pairs if claim not in self.known]:
            raise JudgeError(f"the verifier is down; it was asked about {odd[0]!r}")
        return np.array([[p := self.known[claim], 0.0, 1 - p] for _, claim in pairs], np.float32)


VERIFIER = Known({"The hall seats 90.": 0.9, "It opened in 1925.": 0.4})


def row(completion: str = TWO, **changed: Any) -> CompletionRow:
    given = {"sentence": "It seats 90.", "completion": completion, "label": 1, "evidence": "The hall.", **changed}
    return CompletionRow.model_validate(given)


def checklist(*answers: str) -> str:
    """Two claims: the first with these answers, the second perfect."""
    each = [dict(zip(CHECK_WEIGHTS, own, strict=True)) for own in (answers, ("Yes",) * 4)]
    entries = [
        {"id": number, "checks": {GATE: "Yes", **own}, "rationales": dict.fromkeys((GATE, *own), "So.")}
        for number, own in enumerate(each, 1)
    ]
    return json.dumps({"claims": entries})


async def scored_by(script: Any, rows: Sequence[CompletionRow], **server: Any) -> tuple[list[ScoredRow], int]:
    """Rows with all three terms, and how many calls they took."""
    with ScriptedChatServer(script, **server) as served:
        model = OpenAIChat("m", base_url=served.base_url, options=ModelOptions(max_retries=0))
        judge = checklist_judge(model)
        try:
            return await score(rows, Scoring(verifier=VERIFIER, judge=judge)), served.calls
        finally:
            await judge.aclose()


async def test_the_sum_of_three_terms_by_hand() -> None:
    (found,), _ = await scored_by(checklist("Yes", "NA", "No", "Yes"), [row()])
    assert [found.format, found.dense, found.checklist] == pytest.approx([1.0, 0.84, 0.8044], abs=5e-5)
    assert found.total == pytest.approx(2.6444, abs=5e-5)
    assert found.probabilities == pytest.approx([0.9, 0.4])
    assert found.checks is not None
    assert found.checks[0]["references_explicit"] == "No"


@pytest.mark.parametrize(("label", "dense", "sparse"), [("SUPPORTED", 0.84, 0.0), ("NOT SUPPORTED", 0.64, 1.0)])
async def test_dense_and_sparse_stand_side_by_side(label: str, dense: float, sparse: float) -> None:
    how = Scoring(check_terms(["verifier"]), VERIFIER, threshold=0.5)
    (found,) = await score([row(label=label)], how)
    assert [found.dense, found.sparse, found.total] == pytest.approx([dense, sparse, dense])
    (found,) = await score([row(label=label)], Scoring(check_terms(["verifier"]), VERIFIER, None, 0.5, "sparse"))
    assert found.verifier == found.total == sparse


async def test_a_judge_that_is_down_is_unscored_and_never_0() -> None:
    (found,), _ = await scored_by(checklist(*["Yes"] * 4), [row(group="a")], faults=lambda request: Fault.http(503))
    assert [found.format, found.verifier] == pytest.approx([1.0, 0.84])
    assert found.checklist is found.total is found.advantage is None
    assert list(found.unscored) == ["checklist"]
    told = json.loads(as_lines([found]))
    assert not {"checklist", "total"} & told.keys()
    assert "503" in told["unscored"]["checklist"]


async def test_a_verifier_that_is_down_is_unscored_too() -> None:
    down = row('<think>x</think><output>["The moon is new."]</output>')
    first, second = await score([down, row()], Scoring(check_terms(["format", "verifier"]), VERIFIER))
    assert (first.format, first.verifier, first.total) == (1.0, None, None)
    assert "down" in first.unscored["verifier"]
    assert second.total == pytest.approx(1.84)


async def test_a_judges_answer_that_stays_unreadable_is_0_and_says_so() -> None:
    (found,), calls = await scored_by("Both are fine.", [row()])
    assert [found.checklist, found.total] == pytest.approx([0.0, 1.84])
    assert not found.unscored
    assert found.malformed is not None
    assert calls == 2


async def test_without_claims_nothing_is_asked() -> None:
    (found,), calls = await scored_by(checklist(*["Yes"] * 4), [row(NONE)])
    assert (found.format, found.verifier, found.checklist, found.total, calls) == (0.5, 0.0, 0.0, 0.5, 0)
    (counted,) = await score([row(NONE)], Scoring(check_terms(["format"]), stop_counts=True))
    assert counted.format == 1.0


async def test_advantages_within_groups() -> None:
    odd = row('<think>x</think><output>["The moon is new."]</output>', group="b")
    rows = [row(group="a"), row(NONE, group="a"), row(), odd, row(group="b"), row(group="alone")]
    found = await score(rows, Scoring(check_terms(["format", "verifier"]), VERIFIER))
    assert [one.advantage for one in found] == [pytest.approx(0.67), pytest.approx(-0.67), None, None, None, None]


async def test_a_long_piece_of_evidence_is_read_in_passages() -> None:
    class Reading(Known):
        seen = 0

        def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
            self.seen = max(self.seen, *(len(evidence) for evidence, _ in pairs))
            return np.array([[0.9 if "90 seats" in text else 0.2, 0, 0] for text, _ in pairs], np.float32)

    verifier = Reading({})
    long = "The mill is old. " * 200 + "The hall has 90 seats."
    one = row('<think>x</think><output>["The hall seats 90."]</output>', evidence=["It rained.", long])
    (found,) = await score([one], Scoring(check_terms(["verifier"]), verifier))
    assert found.probabilities == pytest.approx([0.9])
    assert verifier.seen <= 700


def test_a_table_of_rows_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("sentence,completion,label,evidence\nIt is old.,x,ns,The hall.\n", encoding="utf-8")
    (read,) = read_rows(path, check_terms(["verifier"]))
    assert (read.label, read.evidence) == (False, ("The hall.",))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"completion": "x", "label": 1, "evidence": "y"}', "row 1 lacks sentence"),
        ('{"sentence": "x", "completion": 3.5, "label": 1, "evidence": ["y", 2, null]}', "row 1 has evidence.2 None"),
        ('{"sentence": "x", "completion": "x", "label": "perhaps", "evidence": "y"}', "row 1 has label 'perhaps'"),
        ('{"sentence": "x", "completion": "x", "label": 0.7, "evidence": "y"}', "row 1 has label 0.7"),
        ('{"sentence": "x", "completion": "x", "label": NaN, "evidence": "y"}', "row 1 has label nan"),
        ('{"sentence": "x", "completion": "x", "evidence": "y"}', "row 1 lacks label"),
        ('{"sentence": "x", "completion": "x", "label": 1, "evidence": [" "]}', "row 1 has evidence"),
        ('{"sentence": "x", "completion": "x", "label": 1, "evidence": "y"}\n{"sente', "line 2"),
        ('{"sentence": "x", "completion": "x", "label": 1, "evidence": "y"}\n{"completion": "x"}', "row 2 lacks"),
        ('[[{"role": "user"}], ["x"]]', "row 2 is no mapping; expected one with sentence"),
    ],
)
def test_wrong_rows_are_named_by_file_row_and_value(tmp_path: Path, text: str, named: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(text + "\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_rows(path, check_terms(["format", "verifier"]))
    assert str(path) in str(caught.value)
    assert named in str(caught.value)


def test_a_wrong_value_is_shown_in_part_where_it_is_long(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"sentence": "x", "completion": "x", "label": "y" * 9999, "evidence": "y"}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with raises(InputError, "1") as caught:
        read_rows(path, check_terms(["format", "verifier"]))
    assert len(str(caught.value)) < 500 + len(str(path))


def test_a_format_needs_neither_label_nor_evidence(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"sentence": "x", "completion": "y"}\n', encoding="utf-8")
    assert len(read_rows(path, check_terms(["format"]))) == 1


@pytest.mark.parametrize(
    "wish", [{"threshold": 0.0}, {"threshold": 1.0}, {"threshold": float("nan")}, {"reward": "sparse"}]
)
def test_wishes_that_make_no_sense(wish: dict[str, Any]) -> None:
    with raises(ConfigError, "threshold"):
        Scoring(**wish)


@pytest.mark.parametrize(("term", "needs"), [("verifier", "a verifier"), ("checklist", "a judge")])
async def test_a_term_without_what_scores_it_is_refused(term: str, needs: str) -> None:
    with raises(ConfigError, term, "needs", needs):
        await score([row()], Scoring(check_terms(["format", term])))


def test_unknown_terms() -> None:
    with raises(ConfigError, "charm"):
        check_terms(["format", "charm"])
    assert check_terms(["verifier", "format"]) == ("format", "verifier")
