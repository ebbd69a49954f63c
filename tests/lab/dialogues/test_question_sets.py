"""Question sets are made: facts, sequences by the paper's forms, what is refused, resuming, and what people say of them."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

pytest.importorskip("openai")

from typer.testing import CliRunner

from vista_guard.cli import app
from vista_guard.errors import ConfigError, InputError
from vista_guard.judges.model import OpenAIChat
from vista_guard.testing import Answer, ReceivedRequest, ScriptedChatServer
from vista_guard.testing.script import Script
from vista_guard.types import Role, Turn
from vista_lab.annotate.forms import load_form
from vista_lab.dialogues.question_sets import (
    LENGTHS,
    QUESTIONS,
    Built,
    QuestionSetMaker,
    ScuDecomposer,
    build,
    drawn_turns,
    read_reviews,
)
from vista_lab.dialogues.questions import QuestionItem, read_questions
from vista_lab.runs.made import RECORDS

QUESTION = "What does a late drill cost?"
ANSWER = "A drill that is late costs 2 euros a day. After a week it costs 14 euros."
FACTS = ["A late drill costs 2 euros a day.", "A drill that is a week late costs 14 euros."]


class Leaks:
    """A verifier that finds entailed what stands there, word for word."""

    name = "leaks"

    def probabilities(self, pairs: list[tuple[str, str]]) -> list[list[float]]:
        return [[0.9, 0.0, 0.1] if claim in premise else [0.1, 0.1, 0.8] for premise, claim in pairs]


def script(last: str = QUESTION, drift: str = "[]", first: str = "Do you lend tools?", shared: str = "[]") -> Script:
    """Answers each of the four prompts; `first` begins every sequence."""

    def answer(request: ReceivedRequest) -> str:
        messages = request.body["messages"]
        asked = str(messages[-1]["content"])
        if "Say both" in asked:
            count = asked[asked.rindex("<questions>") : asked.rindex("</questions>")].count(". ") - 1
            return f'{{"shared": [{", ".join([shared] * count)}], "drift": {drift}}}'
        if "List the facts" in asked:
            return json.dumps({"facts": FACTS})
        if "new questions. Answer" in asked:
            more = int(asked[asked.rindex("<more>") + 6 :].split()[0])
            return json.dumps({"questions": [f"What is lent in town {n}?" for n in range(more)]})
        turns = int(asked[asked.rindex("<turns>") + 7 :].split()[0])
        middle = ["Is a drill among them?"] if turns == 3 else []
        return "Here you are: " + json.dumps({"pattern": 1, "questions": [first, *middle, last]})

    return answer


def item(name: str, **more: object) -> QuestionItem:
    return QuestionItem(name, (QUESTION,), QUESTION, answer=ANSWER, **more)  # type: ignore[arg-type]


def of_length(turns: int) -> QuestionItem:
    return item(next(f"q{n}" for n in range(1000) if drawn_turns(f"q{n}", 0) == turns))


def make(
    folder: Path, items: list[QuestionItem], server: ScriptedChatServer, reviews: Mapping[str, bool] | None = None
) -> Built:
    source = folder / "source.jsonl"
    source.write_text("\n".join(one.id for one in items), "utf-8")
    maker = QuestionSetMaker(OpenAIChat("m", base_url=server.base_url), Leaks())  # type: ignore[arg-type]

    async def work() -> Built:
        try:
            return await build(items, source, folder / "set", maker, at_once=1, reviews=reviews)
        finally:
            await maker.model.aclose()

    return asyncio.run(work())


@pytest.fixture
def server() -> Iterator[ScriptedChatServer]:
    with ScriptedChatServer(script()) as running:
        yield running


def rows(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "set" / QUESTIONS).read_text("utf-8").splitlines()]


@pytest.mark.parametrize("turns", sorted(LENGTHS))
def test_a_dialogue_of_the_drawn_length_ends_in_the_question_itself(tmp_path: Path, turns: int) -> None:
    with ScriptedChatServer(script(last="what does a late drill cost")) as server:
        made = make(tmp_path, [of_length(turns)], server)
    assert (made.complete, made.written, made.reviewed) == (True, 1, 0)
    (row,) = rows(tmp_path)
    assert len(row["questions"]) == turns  # type: ignore[arg-type]
    assert row["questions"][-1] == QUESTION  # type: ignore[index]  # word for word, as it was given
    assert row["facts"] == FACTS
    assert row["review"] == "unreviewed"
    assert read_questions(tmp_path / "set" / QUESTIONS).items[0].facts == tuple(FACTS)


def test_lengths_are_drawn_by_the_papers_shares() -> None:
    drawn = Counter(drawn_turns(f"item {n}", seed=3) for n in range(8010))
    for turns, count in LENGTHS.items():
        assert drawn[turns] == pytest.approx(10 * count, rel=0.12)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (script(last="What does a late hammer cost?"), "no answer that can be used"),
        (script(first=QUESTION.upper()), "repeated-turn"),
        (script(first=f"Is it true? {FACTS[1]}"), "leaked-fact"),
        (script(shared="[1]"), "overlap"),
        (script(drift="[1]"), "drift"),
        ("I would rather not.", "no answer that can be used"),
    ],
)
def test_what_breaks_a_principle_is_refused_with_the_reason(tmp_path: Path, reply: Script, why: str) -> None:
    with ScriptedChatServer(reply) as server:
        made = make(tmp_path, [of_length(2)], server)
    assert (made.written, dict(made.reasons)) == (0, {why: 1})
    assert made.complete  # it has a record, and is not asked about again
    assert rows(tmp_path) == []


def test_facts_that_are_given_are_kept(tmp_path: Path, server: ScriptedChatServer) -> None:
    make(tmp_path, [item(of_length(2).id, facts=("Of people's own.",))], server)
    assert rows(tmp_path)[0]["facts"] == ["Of people's own."]
    assert len(server.requests) == 2  # sequence and review


def test_a_set_is_resumed_and_nothing_is_asked_twice(tmp_path: Path, server: ScriptedChatServer) -> None:
    first, second = of_length(2), of_length(3)
    assert make(tmp_path, [first, second], server).written == 2
    whole = (tmp_path / "set" / RECORDS).read_bytes()
    (tmp_path / "set" / RECORDS).write_bytes(whole[:-30])
    asked = len(server.requests)
    again = make(tmp_path, [first, second], server)
    assert (again.resumed, len(server.requests) - asked) == (1, 3)
    assert len(rows(tmp_path)) == 2
    with pytest.raises(ConfigError):
        make(tmp_path, [first], server)


def test_what_people_refuse_is_left_out_and_what_they_accept_is_reviewed(
    tmp_path: Path, server: ScriptedChatServer
) -> None:
    items = [item(f"q{n}") for n in range(4)]
    make(tmp_path, items, server)
    facts = [
        {"id": f"q{n}", "marks": {"complete": "1"}, "parts": {"1": {"grounded": "1", "single": "1"}}, "open": []}
        for n in range(4)
    ]
    facts[1]["parts"] = {"1": {"grounded": "0", "single": "1"}}
    facts[2]["open"] = ["complete"]
    sequences = [
        {"id": f"q{n}", "marks": {"context": "1", "intent": "1", "no_leak": "1"}, "parts": {}, "open": []}
        for n in range(4)
    ]
    for name, said in (("facts", facts), ("sequences", sequences)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in said), "utf-8")
    reviews = read_reviews([tmp_path / "facts.jsonl", tmp_path / "sequences.jsonl"])
    assert reviews == {"q0": True, "q1": False, "q3": True}
    made = make(tmp_path, items, server, reviews)
    assert (made.written, made.reviewed) == (3, 2)
    assert {row["id"]: row["review"] for row in rows(tmp_path)} == {
        "q0": "reviewed",
        "q2": "unreviewed",
        "q3": "reviewed",
    }
    (tmp_path / "other.jsonl").write_text('{"id": "q0", "marks": {"label": "neutral"}}\n', "utf-8")
    with pytest.raises(InputError):
        read_reviews([tmp_path / "other.jsonl"])


@pytest.mark.parametrize("name", ["knowmt_facts", "knowmt_sequences", "knowmt_pairs"])
def test_the_forms_are_read(name: str) -> None:
    assert load_form(name).name == name


def test_the_items_of_a_set_become_sheets(tmp_path: Path, server: ScriptedChatServer) -> None:
    make(tmp_path, [of_length(2)], server)
    for name, form in (("facts", "knowmt_facts"), ("sequences", "knowmt_sequences")):
        result = CliRunner().invoke(
            app,
            ["annotations", "export", str(tmp_path / "set" / f"{name}.jsonl"), "--form", form, "--annotators", "ada,ben",
             "--sheets", "tsv", "--out", str(tmp_path / name)],
        )  # fmt: skip
        assert result.exit_code == 0, result.stderr
        assert "drill" in next((tmp_path / name).glob("ada*")).read_text("utf-8")


def test_the_command_says_what_it_made(tmp_path: Path) -> None:
    source = tmp_path / "own.jsonl"
    source.write_text(json.dumps({"id": "a", "questions": [QUESTION], "answer": ANSWER}) + "\n", "utf-8")
    with ScriptedChatServer(script()) as server:
        command = [
            "knowmt",
            "build",
            str(source),
            "--model",
            f"openai:m@{server.base_url}",
            "--out",
            str(tmp_path / "set"),
        ]
        result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.stderr
    assert "1 of 1 questions are in" in result.stdout
    assert "0 of them reviewed" in result.stdout
    source.write_text('{"id": "a", "questions": ["Open?"]}\n', "utf-8")
    result = CliRunner().invoke(app, [*command[:-1], str(tmp_path / "other")])
    assert result.exit_code == 2
    assert "has no answer to take facts from" in result.stderr


async def test_statements_are_listed_as_facts_are_and_a_list_that_is_cut_off_is_asked_for_again() -> None:
    replies: list[str | Answer] = [Answer('{"facts": ["It is op', finish="length"), '{"facts": ["It is open.", "It is free."]}',
                                   "[\nIt is open,\nIt is free,\n]"]  # fmt: skip
    talk = (Turn(role=Role.USER, text="Is it open?"),)
    with ScriptedChatServer(lambda _: replies.pop(0)) as server:
        decomposer = ScuDecomposer(OpenAIChat("m", base_url=server.base_url))
        answer = Turn(role=Role.ASSISTANT, text="It is open and free.")
        assert [one.text for one in await decomposer.decompose(answer, talk)] == ["It is open.", "It is free."]
        assert len(server.requests) == 2
        assert "Is it open?" in str(server.requests[0].body["messages"])
        assert [one.text for one in await decomposer.decompose(answer, talk)] == ["It is open", "It is free"]
        await decomposer.aclose()
