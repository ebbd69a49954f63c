"""A judge against people: labelled pairs are read, pairs of a run are drawn, and the figures are those of Table 6."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("openai")
from scipy.stats import kruskal  # type: ignore[import-untyped]
from sklearn.metrics import precision_recall_fscore_support  # type: ignore[import-untyped]
from typer.testing import CliRunner

from tests.lab.dialogues.runs import HARBOUR, TOWER, BySentence, Literal, Scripted, hold
from tests.raising import raises
from vista_guard.cli import app
from vista_guard.errors import InputError
from vista_guard.testing import ScriptedChatServer
from vista_lab.dialogues.asking import Dialogues, ask
from vista_lab.dialogues.judging import PairVerdict, judge_dialogues
from vista_lab.dialogues.questions import read_questions
from vista_lab.dialogues.settings import read_setting
from vista_lab.dialogues.validating import (
    LABELS,
    LabelledPair,
    answers_of,
    model_tests,
    pairs_of,
    read_consensus,
    read_labelled,
    validate,
    validate_decomposer,
)

VERDICTS = {"e": PairVerdict(True, False), "n": PairVerdict(False, False), "c": PairVerdict(False, True),
            "?": PairVerdict(None, None), "b": PairVerdict(True, True)}  # fmt: skip


class Said:
    """A judge that says of a claim what its first letter stands for."""

    name = "said"

    async def judge(self, premise: str, claims: Sequence[str]) -> list[PairVerdict]:  # of the protocol
        return [VERDICTS[claim[0]] for claim in claims]

    async def aclose(self) -> None:
        """Nothing is open."""


def pairs(*rows: tuple[str, str]) -> list[LabelledPair]:
    names = {label[0]: label for label in LABELS}
    return [
        LabelledPair(str(number), f"premise {number % 3}", claim, tuple(names[one] for one in labels))
        for number, (claim, labels) in enumerate(rows)
    ]


def test_figures_are_weighted_by_label_and_people_agree_among_themselves() -> None:
    rows = [("e", "eee"), ("e", "een"), ("n", "nnn"), ("n", "eee"), ("c", "ccn"), ("e", "nnc"), ("?", "ccc"), ("b", "nnn"),
            ("e", "enc")]  # fmt: skip
    found = asyncio.run(validate(pairs(*rows), Said()))
    gold = ["e", "e", "n", "e", "c", "n", "c", "n"]
    said = ["e", "e", "n", "n", "c", "e", "", ""]
    expected = precision_recall_fscore_support(gold, said, labels=["e", "n", "c"], average="weighted", zero_division=0)
    assert (found.precision, found.recall, found.f1) == pytest.approx(expected[:3])
    assert found.recall == pytest.approx(found.accuracy) == pytest.approx(4 / 8)
    assert (found.pairs, found.unjudged) == (8, 2)
    assert len(found.cohen) == len(found.against_majority) == 3
    assert found.fleiss is not None


def test_a_file_without_labels_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    for content, why in [
        ("premise,claim\na,b\n", "label_0"),
        ("premise,claim,label_0\na,,e\n", "claim"),
        ("premise,claim,label_0\na,b,maybe\n", "label_0 is 'maybe'"),
        ("premise,claim,label_0,label_1\na,b,e,e\na,b,e,\n", "different numbers"),
        ("premise,claim,label_0\n", "no pairs"),
    ]:
        path.write_text(content, "utf-8")
        with pytest.raises(InputError, match=why):
            read_labelled(path)


def judged(folder: Path) -> None:
    hold(folder, Scripted(lambda messages: "It is 40 metres high. It is red."), "single", "multi")
    asyncio.run(judge_dialogues(folder, [HARBOUR, TOWER], BySentence(), Literal()))


def test_pairs_of_a_run_are_blind_and_the_same_each_time(tmp_path: Path) -> None:
    judged(tmp_path)
    drawn = pairs_of(tmp_path, [HARBOUR, TOWER], answers=2)
    assert drawn == pairs_of(tmp_path, [HARBOUR, TOWER], answers=2)
    assert {key for one in drawn for key in one} == {"id", "premise", "claim", "model"}
    assert len(pairs_of(tmp_path, [HARBOUR, TOWER], answers=100)) == 2 * (2 + 2) + 2 * (1 + 2)
    said = tmp_path / "consensus.jsonl"
    rows = [{"id": one["id"], "marks": {"label": "neutral"}, "parts": {}, "open": []} for one in drawn]
    rows[0]["open"] = ["label"]
    said.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert len(read_consensus(said, drawn)) == len(drawn) - 1
    with raises(InputError, "none"):
        read_consensus(said, [{"id": "other", "premise": "a", "claim": "b"}])


def test_models_are_compared_by_ranks() -> None:
    found = model_tests({"a": [1.0, 1.0, 1.0, 0.0], "b": [0.0, 0.0, 0.0, 1.0], "c": [1.0, 0.0, 1.0, 0.0]})
    assert found is not None
    assert found.h == pytest.approx(kruskal([1, 1, 1, 0], [0, 0, 0, 1], [1, 0, 1, 0]).statistic)
    assert [pair[:2] for pair in found.pairs] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found.pairs[0][3] > found.pairs[1][3] > 0
    assert model_tests({"a": [1.0]}) is None
    assert model_tests({"a": [1.0], "b": [1.0]}) is None


def test_a_decomposer_is_held_against_peoples_counts(tmp_path: Path) -> None:
    judged(tmp_path)
    rows = answers_of(tmp_path, answers=100)
    assert {row["count"] for row in rows} == {"2"}
    said = tmp_path / "consensus.jsonl"
    marks = [{"count": 2, "omitted": 0}, {"count": 4, "omitted": 2}, {"count": 2, "omitted": 0}]
    said.write_text(
        "".join(json.dumps({"id": row["id"], "marks": own}) + "\n" for row, own in zip(rows, marks, strict=False)),
        "utf-8",
    )
    found = validate_decomposer(said, rows)
    assert (found.answers, found.omitted) == (3, 2 / 8)
    assert found.smape == pytest.approx((0 + 2 * 2 / 6 + 0) / 3)
    said.write_text('{"id": "x", "marks": {"count": 1, "omitted": 0}}\n', "utf-8")
    with raises(InputError, "none"):
        validate_decomposer(said, rows)


def test_dialogues_are_rated_on_three_rubrics(tmp_path: Path) -> None:
    hold(tmp_path, Scripted(lambda messages: "Yes."), "multi")
    replies = ['{"logical coherence": 5, "goal clarity": 4, "transition naturalness": 4}', "Fine.",
               '{"logical coherence": 3, "goal clarity": 3, "transition naturalness": 4}']  # fmt: skip
    with ScriptedChatServer(lambda _: replies.pop(0)) as server:
        model = f"openai:m@{server.base_url}"
        command = ["knowmt", "validate", str(tmp_path), "--naturalness", "--judge", model]
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
        assert "logical coherence 4.00, goal clarity 3.50, transition naturalness 4.00; mean 3.83" in result.stdout
        assert "(CF): 50.0 %" in result.stdout
        assert len(server.requests) == 3
        assert CliRunner().invoke(app, [*command, "--out", "x"]).exit_code == 2


def test_items_for_people_name_neither_model_nor_count(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    path.write_text(
        json.dumps(
            [
                {"id": one.id, "questions": one.questions, "answer": one.answer, "facts": one.facts}
                for one in (HARBOUR, TOWER)
            ]
        ),
        "utf-8",
    )
    run = Dialogues(read_questions(path), path, [Scripted(lambda _: "It is red.")], [read_setting("multi")])
    asyncio.run(ask(run, tmp_path / "run"))
    asyncio.run(judge_dialogues(tmp_path / "run", [HARBOUR, TOWER], BySentence(), Literal()))
    result = CliRunner().invoke(app, ["knowmt", "validate", str(tmp_path / "run"), "--out", str(tmp_path / "items")])
    assert result.exit_code == 0, result.output
    for name, form in (("pairs.jsonl", "knowmt_pairs"), ("answers.jsonl", "knowmt_statements")):
        assert "scripted" not in (tmp_path / "items" / name).read_text("utf-8")
        sheets = ["annotations", "export", str(tmp_path / "items" / name), "--form", form, "--annotators", "ada,ben"]
        result = CliRunner().invoke(app, [*sheets, "--out", str(tmp_path / form)])
        assert result.exit_code == 0, result.output


def test_the_command_writes_pairs_and_refuses_half_a_question(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["knowmt", "validate", str(tmp_path)])
    assert result.exit_code == 2
    assert "--out" in result.stderr
    file = tmp_path / "pairs.csv"
    file.write_text("premise,claim,label_0,label_1\nIt opens at six.,It opens at six.,e,e\n", "utf-8")
    result = CliRunner().invoke(app, ["knowmt", "validate", str(file)])
    assert result.exit_code == 0, result.stderr
    assert "shipped: accuracy 100.0 %" in result.stdout


def test_three_physicians_of_k_qa() -> None:
    folder = os.environ.get("VISTA_GUARD_DATA", "")
    path = Path(folder) / "kqa" / "NLI_medical_annotator.csv"
    if not folder or not path.exists():
        pytest.skip("VISTA_GUARD_DATA names no data folder with kqa")
    read = read_labelled(path)
    claims = [LabelledPair(one.id, one.premise, "n", one.labels) for one in read]
    found = asyncio.run(validate(claims, Said()))
    assert found.pairs == 399
    assert found.fleiss == pytest.approx(0.719, abs=0.0005)
    assert sorted(one or 0 for one in found.cohen) == pytest.approx([0.670, 0.732, 0.761], abs=0.0005)
    assert sorted(one or 0 for one in found.against_majority) == pytest.approx([0.814, 0.847, 0.915], abs=0.0005)
