"""Dialogues are held: what each setting asks, what counts as an answer, resuming, and the guard before the assistant."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.lab.dialogues.runs import HARBOUR, TOWER, Scripted, hold
from vista_guard.errors import BudgetError, ConfigError, JudgeError
from vista_guard.judges.model import Message
from vista_lab.dialogues.asking import REPORTS, AssistantReply, Dialogues, FunctionAssistant, ask, without_thoughts
from vista_lab.dialogues.questions import QuestionSet
from vista_lab.dialogues.records import ANSWERS, CUT_OFF, AnswerLine, read_answers, read_dialogue_manifest
from vista_lab.dialogues.settings import PAPER, read_setting


def echo(messages: Sequence[Message]) -> str:
    return f"A{len(messages)}"


def contents(asked: list[list[Message]]) -> list[list[str]]:
    return [[one.content for one in messages] for messages in asked]


def test_a_dialogue_is_held_with_the_assistants_own_answers(tmp_path: Path) -> None:
    assistant = Scripted(echo)
    held = hold(tmp_path, assistant, "multi", items=[HARBOUR])
    one, two, three = HARBOUR.questions
    assert contents(assistant.asked) == [[one], [one, "A1", two], [one, "A1", two, "A3", three]]
    assert (held.whole, held.dialogues, held.answered, held.complete) == (1, 1, 3, True)
    assert [line.is_last for line in read_answers(tmp_path)] == [False, False, True]


def test_alone_and_in_one_message(tmp_path: Path) -> None:
    assistant = Scripted(echo)
    hold(tmp_path, assistant, "single", "multi+concat", items=[TOWER], system={"scripted": "Be brief."})
    assert contents(assistant.asked) == [
        ["Be brief.", "How high is it?"],
        ["Be brief.", "Is the tower open?"],
        [
            "Be brief.",
            "A conversation so far:\n\nUser: Is the tower open?\n\nAssistant: A2\n\nThe user now asks:\nHow high is it?",
        ],
    ]


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("both", "both"),
        ("multi+rag", "rag"),
        ("single+concat", "no history"),
        ("multi+guard=", "guard"),
        ("multi+rag=never", "never"),
        ("multi+budget=few", "budget"),
        ("multi+budget=2+budget=3", "twice"),
        ("single+rag=rounds", "no turns before"),
        ("multi+mitigate=select+concat", "leave concat"),
        ("multi+swap=a+drift", "only the last"),
        ("multi+guard=strict@first", "first"),
        ("multi+drift=yes", "drift takes no"),
        ("multi+louder", "louder"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(name: str, part: str) -> None:
    with pytest.raises(ConfigError, match=part):
        read_setting(name)


def test_setting_names_are_read_back() -> None:
    others = (
        "multi+swap=runs/a:openai:m",
        "multi+static=log.jsonl",
        "multi+budget=60+rag=all",
        "multi+guard=strict@final",
        "multi+rag=last@code",
    )
    for name in (*PAPER, *others, "multi+concat+guard=balanced"):
        assert read_setting(name).name == name


@pytest.mark.parametrize("failure", ["refused by the model or its filter", "empty", "cut off at the token limit"])
def test_after_a_turn_without_an_answer_no_later_turn_is_asked(tmp_path: Path, failure: str) -> None:
    broken = Scripted(lambda messages: AssistantReply("", failure=failure) if len(messages) == 3 else "Yes.")
    held = hold(tmp_path, broken, "multi", items=[HARBOUR])
    assert (held.whole, held.answered, dict(held.reasons)) == (0, 1, {failure: 1})
    mended = Scripted(lambda messages: "Yes.")
    held = hold(tmp_path, mended, "multi", items=[HARBOUR])
    assert [len(messages) for messages in mended.asked] == [3, 5]  # the first turn is not asked again
    assert held.complete
    assert not held.reasons
    assert [(line.turn, line.attempt, line.failure) for line in read_answers(tmp_path)] == [
        (0, 0, None), (1, 0, failure), (1, 1, None), (2, 0, None)
    ]  # fmt: skip


def test_an_answer_that_is_cut_is_dropped_or_counts_as_it_is(tmp_path: Path) -> None:
    def script(messages: Sequence[Message]) -> AssistantReply:
        thought = "<think>First the height, then" if messages[-1].content == TOWER.single else "Yes, from"
        return AssistantReply(thought, "length")

    held = hold(tmp_path / "drop", Scripted(script), "multi", items=[TOWER])
    assert (held.whole, dict(held.reasons)) == (0, {CUT_OFF: 1})  # the second turn is not asked
    dialogues = Dialogues(
        QuestionSet("own", "0" * 64, (TOWER,)),
        Path("own.jsonl"),
        [Scripted(script)],
        [read_setting("multi")],
        cut="count",
    )
    held = asyncio.run(ask(dialogues, tmp_path / "count"))
    assert held.complete
    lines = list(read_answers(tmp_path / "count"))
    assert [(line.answer, line.cut) for line in lines] == [("Yes, from", True), ("<think>First the height, then", True)]
    assert read_dialogue_manifest(tmp_path / "drop").cut == "drop"
    with pytest.raises(ConfigError, match="cut"):
        asyncio.run(ask(dialogues, tmp_path / "drop"))


def test_a_mitigation_whose_summary_is_cut(tmp_path: Path) -> None:
    def script(messages: Sequence[Message]) -> AssistantReply:
        return AssistantReply("The tower is", "length") if "Sum up" in messages[0].content else AssistantReply("Yes.")

    held = hold(tmp_path / "drop", Scripted(script), "multi+mitigate=summarize", items=[TOWER])
    assert dict(held.reasons) == {CUT_OFF: 1}
    run = Dialogues(
        QuestionSet("own", "0" * 64, (TOWER,)), Path("own.jsonl"), [Scripted(script)],
        [read_setting("multi+mitigate=summarize")], cut="count",
    )  # fmt: skip
    assert asyncio.run(ask(run, tmp_path / "count")).complete


def test_a_dead_endpoint_stops_the_run_and_the_same_command_goes_on(tmp_path: Path) -> None:
    items = [HARBOUR, TOWER] + [TOWER.__class__(f"t{n}", ("Open?",), "Open?") for n in range(20)]
    held = hold(tmp_path, Scripted(lambda _: JudgeError("no route")), "single", items=items)
    assert held.work.stopped.startswith("8 dialogues in a row got no answer: no answer: no route")
    assert dict(held.reasons) == {"no answer": 8}
    assert hold(tmp_path, Scripted(lambda _: "Yes."), "single", items=items).complete


def test_a_spent_budget_ends_the_run_and_nothing_is_paid_twice(tmp_path: Path) -> None:
    def one_answer(messages: Sequence[Message]) -> str | BudgetError:
        return "Yes." if len(messages) == 1 else BudgetError("the budget is spent")

    held = hold(tmp_path, Scripted(one_answer), "multi", items=[HARBOUR])
    assert "spent" in held.work.stopped
    again = Scripted(lambda _: "Yes.")
    hold(tmp_path, again, "multi", items=[HARBOUR])
    assert len(again.asked) == 2


def test_a_line_that_was_being_written_is_asked_again(tmp_path: Path) -> None:
    hold(tmp_path, Scripted(echo), "multi", items=[HARBOUR])
    whole = (tmp_path / ANSWERS).read_bytes()
    (tmp_path / ANSWERS).write_bytes(whole[:-20])
    again = Scripted(echo)
    assert hold(tmp_path, again, "multi", items=[HARBOUR]).complete
    assert len(again.asked) == 1


def test_another_run_in_the_folder_is_refused(tmp_path: Path) -> None:
    hold(tmp_path, Scripted(echo), "multi")
    with pytest.raises(ConfigError, match="settings"):
        hold(tmp_path, Scripted(echo), "single")


def test_thoughts_are_kept_apart(tmp_path: Path) -> None:
    hold(tmp_path, Scripted(lambda _: "<think>Forty?</think>\nIt is 40 metres high."), "single", items=[TOWER])
    (line,) = read_answers(tmp_path)
    assert line.answer == "It is 40 metres high."
    assert line.thoughts == "<think>Forty?</think>"
    assert without_thoughts("<think>never closed") == ("<think>never closed", "")


def wrong_about_the_cost(messages: Sequence[Message]) -> str:
    return "It cost two million." if messages[-1].content == "What did it cost?" else "The harbour was dug in 1866."


def test_what_the_guard_delivers_becomes_history_and_is_scored(tmp_path: Path) -> None:
    assistant = Scripted(wrong_about_the_cost)
    hold(tmp_path, assistant, "multi+guard=balanced", items=[HARBOUR])
    *_, last = read_answers(tmp_path)
    assert last.action == "BLOCK"
    assert last.withheld == "It cost two million."
    assert last.answer is not None
    assert "two million" not in last.answer
    assert last.said == ""  # all of it is the guard's message
    reports = (tmp_path / REPORTS).read_text("utf-8").splitlines()
    assert len(reports) == 3
    assert '"BLOCK"' in reports[-1]


def test_a_withheld_answer_is_not_in_the_history(tmp_path: Path) -> None:
    swapped = HARBOUR.__class__(
        "h", ("What did it cost?", "And when was it dug?"), "And when was it dug?", documents=HARBOUR.documents
    )
    assistant = Scripted(wrong_about_the_cost)
    hold(tmp_path, assistant, "multi+guard=balanced", items=[swapped])
    assert all("two million" not in one.content for one in assistant.asked[-1])


def test_a_guard_without_evidence_only_watches(tmp_path: Path) -> None:
    bare = TOWER.__class__("bare", ("How high is it?",), "How high is it?")
    with pytest.raises(ConfigError, match="item bare has no documents"):
        hold(tmp_path, Scripted(echo), "multi+guard=strict", items=[bare])
    hold(tmp_path, Scripted(lambda _: "It is 40 metres high."), "multi+guard=monitor", items=[bare])
    (line,) = read_answers(tmp_path)
    assert (line.answer, line.withheld) == ("It is 40 metres high.", None)


def test_an_assistant_that_fails_behind_the_guard_is_a_failure(tmp_path: Path) -> None:
    held = hold(tmp_path, Scripted(lambda _: AssistantReply("", failure="empty")), "single+guard=strict", items=[TOWER])
    assert dict(held.reasons) == {"empty": 1}


def shout(messages: list[dict[str, str]]) -> str:
    return messages[-1]["content"].upper()


async def whisper(messages: list[dict[str, str]]) -> str:
    return messages[-1]["content"].lower()


@pytest.mark.parametrize(("function", "said"), [("shout", "HIGH?"), ("whisper", "high?")])
async def test_a_function_of_the_users_is_an_assistant(function: str, said: str) -> None:
    assistant = FunctionAssistant(f"agent:{__name__}:{function}")
    assert (await assistant.answer([Message("user", "High?")])).text == said


def test_a_function_that_is_not_there_is_named() -> None:
    with pytest.raises(ConfigError, match="agent:MODULE:NAME"):
        FunctionAssistant(f"agent:{__name__}:nothing")


def test_lines_say_which_answer_they_are_about(tmp_path: Path) -> None:
    hold(tmp_path, Scripted(echo), "single", items=[TOWER])
    (line,) = read_answers(tmp_path)
    assert isinstance(line, AnswerLine)
    assert line.name == ("scripted", "single", "tower", 0)
