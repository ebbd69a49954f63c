"""Exemplars of a teacher: sampling, what is kept and why not, the split, budgets, and resuming."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("openai")

from vista_guard.errors import ConfigError, InputError
from vista_guard.judges.model import ModelOptions, OpenAIChat
from vista_guard.settings.model import BudgetOptions, Price, Spend
from vista_guard.testing import Fault, ReceivedRequest, ScriptedChatServer
from vista_lab.decompose.training.exemplars import (
    EmbeddedTeacher,
    LabelledLog,
    ModelTeacher,
    SentenceInput,
    StepsPrompt,
    Teaching,
    TeachingCounts,
    balanced,
    read_exemplar,
    read_exemplars,
    sentences_of,
    teach,
    validation_of,
)
from vista_lab.runs.plan import of_log

SENTENCE = "She kept the light from 1911 to 1938 and wrote one book."
ASKED = SentenceInput(
    id="a#1.1",
    conversation="a",
    question="Tell me about Runa Holt.",
    context=f"Runa Holt grew up on Varnsey. {SENTENCE}",
    sentence=SENTENCE,
)
GOOD = (
    '<think>Two.</think>\n<output>["Runa Holt kept the light from 1911 to 1938.", "Runa Holt wrote one book."]</output>'
)


def log(folder: Path, talks: int = 20, name: str = "talks.jsonl", first: int = 0) -> LabelledLog:
    """Conversations of two sentences each."""
    lines = [
        {
            "id": f"c{number}",
            "messages": [
                {"role": "user", "content": f"Tell me about tower {number}."},
                {
                    "role": "assistant",
                    "content": f"The tower has {number + 30} steps. It was built in {1900 + number}.",
                },
            ],
        }
        for number in range(first, first + talks)
    ]
    path = folder / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return LabelledLog(of_log(path), name, "")


def taught(request: ReceivedRequest) -> str:
    """The sentence as its only claim."""
    (sentence,) = re.findall(r"<sentence>\n(.*?)\n</sentence>", request.user)
    return f"<think>One fact.</think>\n<output>{json.dumps([sentence])}</output>"


def by_model(server: ScriptedChatServer, *, at_once: int = 4, **options: Any) -> Teaching:
    asked = ModelOptions.model_validate({"max_retries": 0, **options})
    prompt = StepsPrompt(asked)
    teacher = ModelTeacher(OpenAIChat("m", base_url=server.base_url, options=asked), prompt)
    return Teaching(teacher, prompt, at_once=at_once)


async def run(logs: list[LabelledLog], out: Path, how: Teaching) -> TeachingCounts:
    try:
        return await teach(logs, out, how)
    finally:
        await how.teacher.aclose()


# What is asked, and how much of it


def test_a_sentence_comes_with_question_and_context(tmp_path: Path) -> None:
    first, second, *_ = sentences_of(log(tmp_path), Counter())
    assert (first.question, first.sentence) == ("Tell me about tower 0.", "The tower has 30 steps.")
    assert second.context == "The tower has 30 steps. It was built in 1900."
    assert first.conversation == second.conversation == "talks.jsonl/c0"


def test_what_is_never_asked_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "odd.jsonl"
    code = "Run this:\n\n```\nmake all\n```"
    german = (
        "Der Turm ist sehr hoch und wurde im vorigen Jahrhundert von zwei Brüdern gebaut, wie man sich hier erzählt."
    )
    talks = [[{"role": "assistant", "content": text}] for text in (code, german, "The tower is high.")]
    path.write_text("".join(json.dumps({"messages": talk}) + "\n" for talk in talks) + "{\n", encoding="utf-8")
    skipped: Counter[str] = Counter()
    found = list(sentences_of(LabelledLog(of_log(path), "odd", ""), skipped))
    assert "The tower is high." in [one.sentence for one in found]
    assert set(skipped) == {"cannot be read", "the turn is not English", "code, or too long for a sentence"}


def test_a_sample_is_balanced_by_source_model_and_length() -> None:
    def some(source: str, model: str, words: int, count: int) -> list[SentenceInput]:
        return [
            ASKED.model_copy(
                update={
                    "id": f"{source}{model}{words}{number}",
                    "sentence": f"{source} {model} {number} " + "word " * words,
                    "source": source,
                    "model": model,
                }
            )
            for number in range(count)
        ]

    there = [*some("x", "a", 5, 200), *some("x", "b", 5, 40), *some("y", "a", 5, 40), *some("y", "a", 16, 3)]
    drawn = balanced(there, 43, seed=1)
    assert Counter(one.stratum for one in drawn) in (
        {("x", "a", 0): n, ("x", "b", 0): m, ("y", "a", 0): 40 - n - m, ("y", "a", 1): 3}
        for n in (13, 14)
        for m in (13, 14)
    )
    assert drawn == balanced(there, 43, seed=1) != balanced(there, 43, seed=2)
    assert len(balanced([*there, *there], None, seed=1)) == len(there)


# What is kept


@pytest.mark.parametrize(
    ("completion", "reason"),
    [
        (GOOD, ""),
        ("<think>A wish.</think><output>No verifiable claim</output>", ""),
        ('["Runa Holt wrote one book."]', "lacks <think> or <output>"),
        (f"Here: {GOOD}", "says something beside"),
        ("<think>x</think><output>She wrote.</output>", "neither a list"),
        ("<think>x</think><output>[]</output>", "empty"),
        (GOOD.replace('"Runa Holt wrote one book."', '""'), "blank"),
        (GOOD.replace("wrote one book", "kept the light from 1911 to 1938"), "twice"),
        (GOOD.replace("one book", "one book about Zanzibar"), "do not appear"),
        (GOOD.replace(" from 1911 to 1938", ""), "leave out"),
        ("I will not do that.", "lacks <think> or <output>"),
        ("", "lacks <think> or <output>"),
    ],
)
def test_what_is_not_to_be_learned_has_a_reason(completion: str, reason: str) -> None:
    exemplar = read_exemplar(ASKED, completion)
    assert exemplar.completion == completion
    assert (reason in exemplar.reason) if reason else exemplar.kept


async def test_each_part_has_whole_conversations(tmp_path: Path) -> None:
    with ScriptedChatServer(taught) as server:
        found = await run([log(tmp_path)], tmp_path / "out", by_model(server))
    assert (found.total, found.kept, found.parts) == (40, 40, {"train": 36, "validation": 4})
    rows = {part: (tmp_path / "out" / f"{part}.jsonl").read_text("utf-8").splitlines() for part in found.parts}
    talks = {part: {json.loads(line)["id"].partition("#")[0] for line in own} for part, own in rows.items()}
    assert talks["train"].isdisjoint(talks["validation"])
    row = json.loads(rows["train"][0])
    assert [said["role"] for said in row["messages"]] == ["system", "user", "assistant"]
    assert [said["content"] for said in row["messages"][:2]] in [
        [text for _, text in request.messages] for request in server.requests
    ]


def test_small_sets_have_a_validation_part_too() -> None:
    assert [len(validation_of(map(str, range(n)))) for n in (0, 1, 2, 14, 16, 100)] == [0, 0, 1, 1, 2, 10]


async def test_rules_teach_without_a_model(tmp_path: Path) -> None:
    found = await run([log(tmp_path, 3)], tmp_path / "out", Teaching(EmbeddedTeacher(), StepsPrompt()))
    assert (found.total, found.kept, found.complete) == (6, 6, True)
    claims = {one.asked.id: one.claims for one in read_exemplars(tmp_path / "out")}
    assert claims["talks.jsonl/c1#1.1"] == ("The tower was built in 1901.",)


# Resuming


async def test_no_sentence_is_asked_about_twice(tmp_path: Path) -> None:
    out, logs = tmp_path / "out", [log(tmp_path)]
    with ScriptedChatServer(taught, faults={5: Fault.http(503), 9: Fault.http(503)}) as server:
        first = await run(logs, out, by_model(server))
        assert (first.kept, first.unasked, first.complete, server.calls) == (38, 2, False, 40)
        second = await run(logs, out, by_model(server))
        assert (second.kept, second.resumed, second.complete, server.calls) == (40, 38, True, 42)
    assert len({one.asked.id for one in read_exemplars(out)}) == 40


async def test_rejected_answers_stay_and_count_again(tmp_path: Path) -> None:
    out, logs = tmp_path / "out", [log(tmp_path, 2)]
    with ScriptedChatServer("I will not.") as server:
        for _ in range(2):
            found = await run(logs, out, by_model(server))
            assert (found.kept, dict(found.reasons)) == (0, {"lacks <think> or <output>": 4})
        assert server.calls == 4
    assert {one.completion for one in read_exemplars(out)} == {"I will not."}


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (lambda folder: (log(folder), {"shots": "zero"}), "prompt steps"),
        (lambda folder: (log(folder), {"temperature": 0.7}), "judge"),
        (lambda folder: (log(folder, 3), {}), "sha256"),
    ],
    ids=["prompt", "parameters", "log"],
)
async def test_exemplars_made_in_another_way_are_refused(
    tmp_path: Path, change: Callable[[Path], tuple[LabelledLog, dict[str, Any]]], named: str
) -> None:
    out = tmp_path / "out"
    with ScriptedChatServer(taught) as server:
        await run([log(tmp_path, 2)], out, by_model(server))
        before = (out / "records.jsonl").read_bytes()
        other, options = change(tmp_path)
        with pytest.raises(ConfigError, match=named):
            await run([other], out, by_model(server, **options))
    assert (out / "records.jsonl").read_bytes() == before


async def test_a_spent_budget_stops_and_loses_nothing(tmp_path: Path) -> None:
    out, logs = tmp_path / "out", [log(tmp_path)]
    prices = {"m": Price(input=1000.0, output=1000.0)}
    with ScriptedChatServer(taught) as server:
        poor = by_model(server, at_once=1, prices=prices, budget=BudgetOptions(run=Spend(cost=5)))
        first = await run(logs, out, poor)
        assert "budget" in first.stopped
        assert 0 < first.kept < 40
        assert first.kept == server.calls == sum(first.parts.values())
        assert (await run(logs, out, by_model(server, prices=prices))).complete
        assert server.calls == 40


async def test_a_teacher_that_is_down_stops_the_run(tmp_path: Path) -> None:
    with ScriptedChatServer(taught, faults=lambda request: Fault.http(503)) as server:
        found = await run([log(tmp_path)], tmp_path / "out", by_model(server, at_once=1))
    assert "in a row" in found.stopped
    assert found.kept == 0


async def test_a_log_without_sentences_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text('{"messages": [{"role": "user", "content": "Hello?"}]}\n', encoding="utf-8")
    with pytest.raises(InputError, match=re.escape("empty")):
        await teach(
            [LabelledLog(of_log(path), "empty", "")], tmp_path / "out", Teaching(EmbeddedTeacher(), StepsPrompt())
        )
