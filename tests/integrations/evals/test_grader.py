"""Cases and their verdicts: what is judged, what is said of it, and that no case knows of another."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import AIMessage, HumanMessage

from tests.integrations.evals.grading import (
    ASKED,
    BROKEN,
    FALSE,
    HALL,
    HELLO,
    MIXED,
    TRUE,
    assert_apart,
    knowledge_of,
    scripted,
)
from tests.raising import raises
from vista_guard import ConfigError, Document, InputError, Label, to_conversation
from vista_guard.integrations.evals.grader import (
    Case,
    Grader,
    NotGrounded,
    NotJudged,
    Verdict,
    grader_of,
    shared_grader,
)


def graded(answer: str, documents: Any = HALL, **options: Any) -> Verdict:
    return scripted().grade(Case.of_answer(ASKED, answer, documents=documents), **options)


def test_a_verdict_has_score_claims_quotes_and_reason() -> None:
    verdict = graded(MIXED)
    assert (verdict.score, verdict.passed) == (0.5, False)
    assert [(claim.turn, claim.text, claim.label, claim.safe) for claim in verdict.claims] == [
        (1, "The hall opened in 1925.", Label.VERIFIED, True),
        (1, "The hall has a glass roof.", Label.LACKING_EVIDENCE, False),
    ]
    assert [quote.text for quote in verdict.claims[0].quotes] == [HALL]
    assert verdict.reason.startswith("VISTA score 0.50: 1 of 2 judged claims safe; turn 1: FLAG, ")
    assert verdict.details().splitlines()[1:] == [
        "  turn 1  LACKING_EVIDENCE 0.90  The hall has a glass roof.",
        "      scripted as LACKING_EVIDENCE",
        "  turn 1  VERIFIED 1.00  The hall opened in 1925.",
        "judge scripted 1, policy balanced",
    ]
    assert verdict.metadata()["claims"][1]["label"] == "LACKING_EVIDENCE"
    assert (verdict.holds(), verdict.holds(0.5), verdict.holds(0.51)) == (False, True, False)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (HELLO, "not judged: no claim was found in what the assistant said"),
        (BROKEN, "not judged: the claim could not be judged: the model timed out"),
    ],
)
def test_nothing_judged_is_neither_nought_nor_one(answer: str, reason: str) -> None:
    verdict = graded(answer)
    assert (verdict.score, verdict.passed, verdict.holds(0.0), verdict.judged) == (None, None, None, False)
    assert verdict.reason == reason


def test_what_could_not_be_judged_is_told_and_not_averaged_in() -> None:
    talk = [{"role": "assistant", "content": said, "documents": [HALL]} for said in (TRUE, BROKEN)]
    verdict = scripted().grade(Case.of_transcript(talk))
    assert (verdict.score, verdict.unjudged_claims, verdict.passed) == (1.0, 1, False)
    assert "1 could not be judged; turn 1: FLAG" in verdict.reason


def test_a_policy_for_one_case_shares_judge_and_knowledge() -> None:
    grader = scripted("monitor")
    case = Case.of_answer(ASKED, FALSE, documents=HALL)
    said = [grader.grade(case, policy=policy).reports[0].decision.action for policy in (None, "strict", "strict")]
    assert said == ["FLAG", "BLOCK", "BLOCK"]
    assert_apart(grader, 3)


def test_every_turn_is_judged_and_may_lean_on_earlier_ones() -> None:
    talk = [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": TRUE, "documents": [HALL]},
        {"role": "user", "content": "Sure?"},
        {"role": "assistant", "content": TRUE},
    ]
    verdict = scripted().grade(Case.of_transcript(talk))
    assert [(claim.turn, claim.label) for claim in verdict.claims] == [(1, Label.VERIFIED), (3, Label.VERIFIED)]
    assert [quote.source for quote in verdict.claims[1].quotes] == ["knowledge"]
    last = scripted().grade(Case.of_transcript(talk, turns="last"))
    assert [claim.turn for claim in last.claims] == [3]


async def test_cases_know_nothing_of_each_other() -> None:
    grader = scripted()
    first = await grader.agrade(Case.of_answer(ASKED, TRUE, documents=HALL))
    second = await grader.agrade(Case.of_answer(ASKED, TRUE))
    many = await asyncio.gather(*(grader.agrade(Case.of_answer(ASKED, TRUE, documents=HALL)) for _ in range(8)))
    assert [first.score, second.score, *(one.score for one in many)] == [1.0, 0.0, *[1.0] * 8]
    assert_apart(grader, 10)


def test_a_case_that_fails_is_forgotten_too() -> None:
    grader = scripted()
    with pytest.raises(InputError):
        grader.grade(Case.of_answer(ASKED, "x" * 50_000))
    assert len(knowledge_of(grader).forgotten) == 1


def test_assertions_fail_with_claims_labels_and_quotes() -> None:
    grader = scripted()
    assert grader.assert_grounded(TRUE, documents=HALL, conversation=ASKED).score == 1.0
    with pytest.raises(NotGrounded) as wrong:
        grader.assert_grounded(FALSE, documents=HALL)
    assert str(wrong.value).splitlines()[1:3] == [
        "  turn 0  CONTRADICTED 1.00  The hall opened in 1850.",
        f'      "{HALL}" (document script, 1.00)',
    ]
    with pytest.raises(NotJudged):
        grader.assert_grounded(HELLO, documents=HALL)
    assert grader.assert_grounded(MIXED, documents=HALL, min_score=0.5).score == 0.5
    with pytest.raises(AssertionError):
        grader.assert_grounded(MIXED, documents=HALL, policy="strict")


async def test_assertions_can_be_awaited() -> None:
    grader = scripted()
    assert (await grader.aassert_grounded(TRUE, documents=[HALL])).passed
    with pytest.raises(NotGrounded):
        await grader.aassert_grounded(FALSE, documents=[HALL])


ANSWERS: dict[str, tuple[object, object]] = {
    "texts": (ASKED, TRUE),
    "alone": (None, TRUE),
    "chat JSON": ([{"role": "user", "content": ASKED}], {"role": "assistant", "content": TRUE}),
    "LangChain": ([HumanMessage(ASKED)], AIMessage(TRUE)),
    "new messages": ([HumanMessage(ASKED)], [AIMessage(TRUE)]),
    "conversation": (to_conversation([{"role": "user", "content": ASKED}]), TRUE),
    "data set": ({"question": ASKED}, {"answer": TRUE}),
}


@pytest.mark.parametrize(("asked", "answer"), ANSWERS.values(), ids=ANSWERS)
def test_answers_are_read_in_many_forms(asked: object, answer: object) -> None:
    case = Case.of_run(asked, answer, documents=HALL)
    assert [turn.text for turn in case.conversation.turns] == ([TRUE] if asked is None else [ASKED, TRUE])
    assert [document.text for document in case.conversation.turns[-1].documents] == [HALL]
    assert case.turns == "last"


DOCUMENTS: dict[str, Any] = {
    "text": HALL,
    "document": Document(id="d", text=HALL),
    "mapping": {"text": HALL},
    "LangChain": LangChainDocument(HALL),
    "list": [HALL],
    "twice": [HALL, HALL],
}


@pytest.mark.parametrize("documents", DOCUMENTS.values(), ids=DOCUMENTS)
def test_documents_are_read_in_many_forms(documents: Any) -> None:
    found = Case.of_answer(None, TRUE, documents=documents).conversation.turns[-1].documents
    assert [document.text for document in found] == [HALL]


def test_documents_come_with_the_run() -> None:
    for inputs, outputs in (
        ({"question": ASKED, "documents": [HALL]}, {"answer": TRUE}),
        ({"question": ASKED}, {"answer": TRUE, "context": HALL}),
        (
            {"documents": [HALL]},
            {"messages": [{"role": "user", "content": ASKED}, {"role": "assistant", "content": TRUE}]},
        ),
    ):
        documents = Case.of_run(inputs, outputs).conversation.turns[-1].documents
        assert [document.text for document in documents] == [HALL]


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (lambda: Case.of_answer(None, TRUE, documents=5), ("documents", "int")),  # type: ignore[arg-type]
        (lambda: Case.of_answer(None, TRUE, documents=[5]), ("5",)),  # type: ignore[list-item]
        (lambda: Case.of_answer(None, 5), ("int",)),
        (lambda: Case.of_answer(None, []), ()),
        (lambda: Case.of_transcript([{"role": "user", "content": ASKED}]), ("conversation",)),
    ],
)  # fmt: skip
def test_what_cannot_be_read_says_so(build: Any, said: tuple[str, ...]) -> None:
    with raises(InputError, *said):
        build()


def test_choices_that_make_no_sense_say_so() -> None:
    for least in (80, "0.5", -0.1):
        with pytest.raises(ConfigError):
            scripted().assert_grounded(TRUE, documents=HALL, min_score=least)  # type: ignore[arg-type]
    with raises(ConfigError, "first"):
        Case.of_transcript([{"role": "assistant", "content": TRUE}], turns="first")  # type: ignore[arg-type]


def test_settings_of_the_product_keep_nothing_of_tests(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, request: pytest.FixtureRequest
) -> None:
    (tmp_path / "vista-guard.toml").write_text(
        'policy = "strict"\nreports = "sqlite"\n[otel]\ncontent = "span_only"\nscores = ["phoenix:http://127.0.0.1:9"]\n'
    )
    monkeypatch.chdir(tmp_path)
    grader = Grader.from_settings()
    request.addfinalizer(grader.close)
    parts = grader.guard.parts
    assert (parts.policy.name, parts.sinks, parts.telemetry.content) == ("strict", (), "span_only")
    assert type(parts.knowledge).__name__ == "MemoryKnowledge"


def test_a_grader_and_names_of_one_are_too_much() -> None:
    with raises(ConfigError, "judge", "policy"):
        grader_of(scripted(), None, "strict")
    with raises(ConfigError, "policy", "stern"):
        grader_of(None, None, "stern")
    assert grader_of(None, None, "strict") is shared_grader(None, "strict")


def test_threads_that_ask_at_once_share_a_grader() -> None:
    with ThreadPoolExecutor(8) as pool:
        graders = list(pool.map(lambda _: shared_grader("embedded", "monitor"), range(8)))
    assert len(set(map(id, graders))) == 1
