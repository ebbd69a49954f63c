"""Noise in the turn before the last: what is known, what is wrong, who says so, and what the assistant is shown."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("openai")

from typer.testing import CliRunner

from tests.lab.dialogues.runs import HARBOUR, TOWER, BySentence, Literal, Scripted, hold
from vista_guard.cli import app
from vista_guard.errors import InputError
from vista_guard.testing import ReceivedRequest, ScriptedChatServer
from vista_lab.dialogues.judging import judge_dialogues
from vista_lab.dialogues.noise import apply_reviews, mastered_items, noisy_histories, read_wrong, wrong_answers
from vista_lab.dialogues.questions import QuestionSet
from vista_lab.dialogues.scored import read_cohorts
from vista_lab.dialogues.tokens import token_counter

ONE, TWO, THREE = HARBOUR.questions
FERRY = replace(TOWER, id="ferry", domains=("travel",), answer="It sails at nine.", facts=("It sails at nine.",))
WRONG = {
    "harbour": "It cost two million. The city paid half.",
    "tower": "It is 40 metres high.",
    "ferry": "not: It sails at nine.",
}


def test_items_that_a_model_answers_well_and_without_error_are_known(tmp_path: Path) -> None:
    said = {THREE: "It cost nine million. The city paid half.", TOWER.single: "not: It is 40 metres high."}
    hold(tmp_path, Scripted(lambda messages: said[messages[-1].content]), "single")
    asyncio.run(judge_dialogues(tmp_path, [HARBOUR, TOWER], BySentence(), Literal()))
    (cohort,) = read_cohorts(tmp_path, QuestionSet("own", "0" * 64, (HARBOUR, TOWER)), token_counter("words"))
    assert mastered_items(cohort) == {"harbour"}


async def test_an_error_counts_once_judge_or_people_say_so() -> None:
    errors = await wrong_answers([HARBOUR, TOWER, FERRY], Literal(), WRONG)
    assert [(one.id, one.claim, one.confirmed) for one in errors] == [
        ("harbour", "It cost two million.", False),
        ("ferry", "not: It sails at nine.", True),
    ]  # the tower's is no error at all
    people = apply_reviews(errors, {"harbour": True})
    assert [(one.confirmed, one.by) for one in people] == [(True, "people"), (True, "literal")]


async def test_errors_are_made_by_rule_and_leave_the_rest_as_it_is() -> None:
    pytest.importorskip("lemminflect")
    (error,) = await wrong_answers(
        [replace(HARBOUR, answer="It cost 9 million in 1866. The city paid half.")], Literal()
    )
    assert error.answer.endswith("The city paid half.")
    assert error.claim in error.answer
    assert error.claim not in error.premise


def test_only_the_turn_before_the_last_is_replaced() -> None:
    own = {
        "harbour": [(ONE, "In 1866."), (TWO, "The city."), (THREE, "Nine million.")],
        "ferry": [(FERRY.questions[0], "Yes.")],
    }
    errors = asyncio.run(wrong_answers([HARBOUR, TOWER, FERRY], Literal(), WRONG))
    errors = apply_reviews(errors, {"harbour": True})
    found = noisy_histories([HARBOUR, TOWER, FERRY], frozenset({"harbour", "tower"}), own, errors)
    first = (ONE, "In 1866.")
    assert found == {
        "irrelevant": {"harbour": (first, (FERRY.single, "It sails at nine."))},
        "irrelevant-error": {"harbour": (first, (FERRY.single, "not: It sails at nine."))},
        "relevant-error": {"harbour": (first, (TWO, "It cost two million. The city paid half."))},
    }


def test_wrong_answers_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "wrong.jsonl"
    path.write_text('{"id": "a", "answer": "No."}\n{"id": "b"}\n', "utf-8")
    with pytest.raises(InputError, match="line 2"):
        read_wrong(path)


RIGHT = {"harbour": "It cost 9 million.", "ferry": "It sails at 9 on Sundays."}
ITEMS = [
    {"id": "harbour", "questions": ["Is it old?", "What did it cost?"], "domain": ["history"]},
    {"id": "ferry", "questions": ["Is there a ferry?", "When does it sail?"], "domain": ["travel"]},
]


def test_the_command_shows_noise_and_writes_down_who_confirmed_it(tmp_path: Path) -> None:
    rows = [{**item, "answer": RIGHT[str(item["id"])], "facts": [RIGHT[str(item["id"])]]} for item in ITEMS]
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    (tmp_path / "wrong.jsonl").write_text(
        '{"id": "harbour", "answer": "It cost 7 million."}\n{"id": "ferry", "answer": "It sails at 5 on Sundays."}\n',
        "utf-8",
    )

    def script(request: ReceivedRequest) -> str:
        asked = request.body["messages"][-1]["content"]
        return {"What did it cost?": RIGHT["harbour"], "When does it sail?": RIGHT["ferry"]}.get(asked, "Yes.")

    def run(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["knowmt", *arguments])
        return result.exit_code, result.output

    with ScriptedChatServer(script) as server:
        model = ["--model", f"openai:m@{server.base_url}"]
        noise = [*model, "--setting", "multi+noise=relevant-error", "--errors", str(tmp_path / "wrong.jsonl")]
        base, noisy = str(tmp_path / "base"), str(tmp_path / "noisy")
        assert run("run", str(path), *noise, "--out", noisy)[0] == 2
        assert run("run", str(path), *model, "--out", base)[0] == 0
        code, said = run("run", str(path), *noise, "--baseline", base, "--out", noisy)
        assert (code, "nothing in" in said) == (2, True)  # not judged yet
        assert run("judge", base, "--decomposer", "sentence")[0] == 0
        server.reset()
        code, said = run("run", str(path), *noise, "--baseline", base, "--out", noisy)
        assert code == 0, said
        assert "2 items are known, 2 of 2 errors are confirmed; 2 items have both" in said
        sent = sorted([one["content"] for one in request.body["messages"]] for request in server.requests)
        assert sent == [
            ["Is it old?", "It cost 7 million.", "What did it cost?"],
            ["Is there a ferry?", "It sails at 5 on Sundays.", "When does it sail?"],
        ]
        assert run("run", str(path), *noise, "--baseline", base, "--out", noisy)[0] == 0
        assert len(server.requests) == 2
        people, other = tmp_path / "consensus.jsonl", tmp_path / "other.jsonl"
        people.write_text('{"id": "harbour", "marks": {"label": "neutral"}}\n', "utf-8")
        other.write_text('{"id": "harbour", "answer": "It cost 5 million."}\n', "utf-8")
        for changed in (["--reviewed", str(people)], ["--errors", str(other)]):  # never the old noise in silence
            code, said = run("run", str(path), *noise, *changed, "--baseline", base, "--out", noisy)
            assert (code, "--out" in said) == (2, True)
        assert len(server.requests) == 2
    written = [json.loads(line) for line in (Path(noisy) / "noise.jsonl").read_text("utf-8").splitlines()]
    assert [(one["claim"], one["confirmed"], one["by"]) for one in written] == [
        ("It cost 7 million.", True, "verifier:shipped"),
        ("It sails at 5 on Sundays.", True, "verifier:shipped"),
    ]
