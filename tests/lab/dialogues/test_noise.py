"""Noise in the turn before the last: what is known, what is wrong, who says so, and what the assistant is shown."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("openai")

from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.lab.dialogues.runs import HARBOUR, TOWER, BySentence, Literal, Scripted, hold
from vista_guard.cli import app
from vista_guard.errors import InputError
from vista_guard.testing import ReceivedRequest, ScriptedChatServer
from vista_lab.dialogues.judging import judge_dialogues
from vista_lab.dialogues.noise import (
    OwnTurns,
    apply_reviews,
    mastered_items,
    noisy_histories,
    own_turns,
    read_wrong,
    wrong_answers,
)
from vista_lab.dialogues.questions import QuestionItem, QuestionSet
from vista_lab.dialogues.scored import read_cohorts
from vista_lab.dialogues.settings import NOISES
from vista_lab.dialogues.tokens import token_counter

ONE, TWO, THREE = HARBOUR.questions
FERRY = replace(
    TOWER, id="ferry", questions=("Who runs it?", "When does it sail?"), single="When does it sail?", domains=("travel",),
    answer="It sails at nine.", facts=("It sails at nine.",),
)  # fmt: skip
OWN = {
    "harbour": [(ONE, "In 1866."), (TWO, "The city paid. So did merchants."), (THREE, "Nine million.")],
    "tower": [(TOWER.questions[0], "It is open. It is 40 metres high."), (TOWER.single, "40 metres.")],
    "ferry": [(FERRY.questions[0], "Anna runs it."), (FERRY.single, "At nine.")],
}
WRONG = {
    ("", "harbour"): "not: The city paid. So did merchants.",
    ("m", "ferry"): "Otto runs it.",
    ("another", "ferry"): "Of another model.",
}
ALL = frozenset(OWN)


def test_items_that_a_model_answers_well_and_without_error_are_known(tmp_path: Path) -> None:
    said = {THREE: "It cost nine million. The city paid half.", TOWER.single: "not: It is 40 metres high."}
    hold(tmp_path, Scripted(lambda messages: said[messages[-1].content]), "single")
    asyncio.run(judge_dialogues(tmp_path, [HARBOUR, TOWER], BySentence(), Literal()))
    (cohort,) = read_cohorts(tmp_path, QuestionSet("own", "0" * 64, (HARBOUR, TOWER)), token_counter("words"))
    assert mastered_items(cohort) == {"harbour"}


def turns(known: frozenset[str] = ALL) -> OwnTurns:
    return own_turns("m", [HARBOUR, TOWER, FERRY], known, OWN)


def test_items_whose_history_tells_a_fact_have_no_noise() -> None:
    found = turns()
    assert found.telling == ("tower",)
    assert found.previous == {"harbour": "The city paid. So did merchants.", "ferry": "Anna runs it."}
    asked_before = replace(FERRY, questions=("When does it sail?", "When does it sail?"))
    assert own_turns("m", [asked_before], ALL, OWN).telling == ("ferry",)
    assert list(turns(frozenset({"ferry"})).previous) == ["ferry"]  # the others are not known
    assert own_turns("m", [HARBOUR], ALL, {"harbour": OWN["harbour"][:1]}).previous == {}  # a turn has no answer


async def test_an_error_counts_once_judge_or_people_say_so() -> None:
    errors = await wrong_answers(turns(), Literal(), WRONG)
    assert [(one.item, one.premise, one.claim, one.confirmed) for one in errors] == [
        ("harbour", "The city paid. So did merchants.", "not: The city paid.", True),
        ("ferry", "Anna runs it.", "Otto runs it.", False),
    ]
    people = apply_reviews(errors, {"ferry m": True})
    assert [(one.confirmed, one.by) for one in people] == [(True, "literal"), (True, "people")]


async def test_errors_are_made_by_rule_in_the_models_own_words() -> None:
    pytest.importorskip("lemminflect")
    said = "The city and 12 merchants paid for it. That was usual."
    own = own_turns("m", [HARBOUR], ALL, {"harbour": [OWN["harbour"][0], (TWO, said)]})
    (error,) = await wrong_answers(own, Literal())
    assert error.answer.endswith("That was usual.")
    assert error.claim in error.answer
    assert error.claim not in said
    assert error.premise == said


def test_only_the_turn_before_the_last_is_replaced_by_words_of_the_models_own() -> None:
    errors = apply_reviews(asyncio.run(wrong_answers(turns(), Literal(), WRONG)), {"ferry m": True})
    found = noisy_histories(turns(), errors)
    first, elsewhere = (ONE, "In 1866."), FERRY.questions[0]
    assert {kind: own["harbour"] for kind, own in found.items()} == {
        "irrelevant": (first, (elsewhere, "Anna runs it.")),
        "irrelevant-error": (first, (elsewhere, "Otto runs it.")),
        "relevant-error": (first, (TWO, "not: The city paid. So did merchants.")),
    }
    assert noisy_histories(turns(), errors[:1]) == {kind: {} for kind in NOISES}  # there is no unrelated turn
    told = [error.model_copy(update={"answer": "It cost nine million, said  Otto."}) for error in errors[1:]]
    assert "harbour" not in noisy_histories(turns(), [errors[0], *told])["irrelevant"]  # nor one that tells no fact


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_history_with_noise_tells_a_fact(data: st.DataObject) -> None:
    """For any answer of a model and any finding of people: no fact word for word, and nothing but the previous turn differs."""
    facts = [f"Fact {number} is so." for number in range(6)]
    texts = st.lists(
        st.sampled_from([*facts, "fact 2  IS so, too.", "Filler.", "More filler."]), min_size=1, max_size=2
    )
    items, history, given_ = [], {}, {}
    for number in range(4):
        name = f"i{number}"
        items.append(QuestionItem(name, ("A?", f"B{number}?", f"C{number}?"), f"C{number}?", facts=(facts[number],)))
        history[name] = [(question, " ".join(data.draw(texts))) for question in items[-1].questions]
        given_["", name] = " ".join(data.draw(texts))
    own = own_turns("m", items, frozenset(history), history)
    errors = asyncio.run(wrong_answers(own, Literal(), given_))
    errors = apply_reviews(errors, {error.id: True for error in errors})
    for by_item in noisy_histories(own, errors).values():
        for name, turns_ in by_item.items():
            (item,) = [one for one in items if one.id == name]
            assert not any(
                fact.casefold() in " ".join(said.casefold().split()) for fact in item.facts for _, said in turns_
            )
            assert list(turns_[:-1]) == history[name][:1]


def test_wrong_answers_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "wrong.jsonl"
    path.write_text('{"id": "a", "answer": "No."}\n{"id": "b"}\n', "utf-8")
    with pytest.raises(InputError, match="line 2"):
        read_wrong(path)


SAID = {
    "What did it cost?": "It cost 9 million.",
    "When does it sail?": "It sails at 9 on Sundays.",
    "Who paid for it?": "The city paid 5 million.",
    "Who runs it?": "The town runs the ferry since 1994.",
}
ITEMS = [
    {"id": "harbour", "questions": ["Who paid for it?", "What did it cost?"], "domain": ["history"]},
    {"id": "ferry", "questions": ["Who runs it?", "When does it sail?"], "domain": ["travel"]},
]
OTHERWISE = {"harbour": "The city paid 7 million.", "ferry": "The town runs the ferry since 1971."}


def test_the_command_shows_noise_and_writes_down_who_confirmed_it(tmp_path: Path) -> None:
    rows = [{**item, "answer": SAID[item["questions"][1]], "facts": [SAID[item["questions"][1]]]} for item in ITEMS]
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    lines = [{"id": name, "answer": answer} for name, answer in OTHERWISE.items()]
    (tmp_path / "wrong.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")

    def script(request: ReceivedRequest) -> str:
        return SAID[request.body["messages"][-1]["content"]]

    def run(*arguments: str) -> tuple[int, str]:
        result = CliRunner().invoke(app, ["knowmt", *arguments])
        return result.exit_code, result.output

    with ScriptedChatServer(script) as server:
        model = ["--model", f"openai:m@{server.base_url}"]
        kinds = [part for kind in NOISES for part in ("--setting", f"multi+noise={kind}")]
        noise = [*model, *kinds, "--errors", str(tmp_path / "wrong.jsonl")]
        base, noisy = str(tmp_path / "base"), str(tmp_path / "noisy")
        assert run("run", str(path), *noise, "--out", noisy)[0] == 2
        assert run("run", str(path), *model, "--out", base)[0] == 0
        code, said = run("run", str(path), *noise, "--baseline", base, "--out", noisy)
        assert (code, "nothing in" in said) == (2, True)  # not judged yet
        assert run("judge", base, "--decomposer", "sentence")[0] == 0
        server.reset()
        code, said = run("run", str(path), *noise, "--baseline", base, "--out", noisy)
        assert code == 0, said
        assert "2 items are known, 0 of them" in said
        assert "2 of 2 errors are confirmed; 2 items have noise" in said
        sent = sorted([one["content"] for one in request.body["messages"]] for request in server.requests)
        assert sent == sorted(
            [
                ["Who runs it?", "The town runs the ferry since 1994.", "What did it cost?"],
                ["Who runs it?", "The town runs the ferry since 1971.", "What did it cost?"],
                ["Who paid for it?", "The city paid 7 million.", "What did it cost?"],
                ["Who paid for it?", "The city paid 5 million.", "When does it sail?"],
                ["Who paid for it?", "The city paid 7 million.", "When does it sail?"],
                ["Who runs it?", "The town runs the ferry since 1971.", "When does it sail?"],
            ]
        )
        assert run("run", str(path), *noise, "--baseline", base, "--out", noisy)[0] == 0
        assert len(server.requests) == 6
        stored = json.loads((Path(noisy) / "noise.jsonl").read_text("utf-8").splitlines()[0])
        people, other = tmp_path / "consensus.jsonl", tmp_path / "other.jsonl"
        people.write_text(json.dumps({"id": stored["id"], "marks": {"label": "neutral"}}) + "\n", "utf-8")
        other.write_text('{"id": "harbour", "answer": "The city paid 3 million."}\n', "utf-8")
        for changed in (["--reviewed", str(people)], ["--errors", str(other)]):  # never the old noise in silence
            code, said = run("run", str(path), *noise, *changed, "--baseline", base, "--out", noisy)
            assert (code, "--out" in said) == (2, True)
        assert len(server.requests) == 6
    written = [json.loads(line) for line in (Path(noisy) / "noise.jsonl").read_text("utf-8").splitlines()]
    assert [(one["item"], one["claim"], one["confirmed"], one["by"]) for one in written] == [
        ("harbour", "The city paid 7 million.", True, "verifier:shipped"),
        ("ferry", "The town runs the ferry since 1971.", True, "verifier:shipped"),
    ]
    assert read_wrong(Path(noisy) / "noise.jsonl") == {
        (written[0]["model"], name): answer for name, answer in OTHERWISE.items()
    }
