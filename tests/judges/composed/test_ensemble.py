"""The ensemble: votes, ties, quorum."""

from __future__ import annotations

import asyncio

import pytest

from tests.judges.answering import HALL, Answering, AnsweringTurns, check, claim
from vista_guard.errors import ConfigError, JudgeError, RecordingError
from vista_guard.guard import Guard
from vista_guard.judges.composed.ensemble import EnsembleJudge
from vista_guard.protocols import TurnJudge
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder, assistant, conversation, user
from vista_guard.types import Check, Finding, JudgeInfo, Label, Unchecked

V, C, L, A, S = (
    Label.VERIFIED,
    Label.CONTRADICTED,
    Label.LACKING_EVIDENCE,
    Label.ABSTENTION,
    Label.OUT_OF_SCOPE,
)
RED = claim("It is red.")
NAMES = "abcdef"


def judges(*labels: Label | None) -> list[Answering]:
    """A judge a label; None answers nothing."""
    return [
        Answering({RED.text: (label, 0.6)} if label else {}, info=JudgeInfo(name=name, version="1"))
        for name, label in zip(NAMES, labels, strict=False)
    ]


async def outcome(ensemble: EnsembleJudge) -> tuple[Label, float, str | None] | Unchecked:
    """Label, confidence and judges, through both stages."""
    [answer] = await ensemble.verify([RED], HALL)
    if isinstance(answer, Unchecked) or answer.supported:
        return answer if isinstance(answer, Unchecked) else (V, answer.confidence, answer.judged_by)
    [found] = await ensemble.categorize([answer], HALL)
    return found if isinstance(found, Unchecked) else (found.label, found.confidence, found.judged_by)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ((V, V, C), (V, 2 / 3, "a, b")),
        ((V, C, C), (C, 2 / 3, "b, c")),
        ((V, V, V), (V, 1.0, "a, b, c")),
        ((V, S), (S, 0.5, "b")),
        ((V, V, S, L), (L, 0.25, "d")),
        ((S, S, C), (S, 2 / 3, "a, b")),
        ((S, A), (A, 0.5, "b")),
        ((A, L), (L, 0.5, "b")),
        ((L, C), (C, 0.5, "b")),
        ((S, C, L, A), (C, 0.25, "b")),
        ((V, None), (V, 0.5, "a")),
        ((V, V, None), (V, 2 / 3, "a, b")),
        ((None, L, L, None), (L, 0.5, "b, c")),
    ],
)
async def test_votes(labels: tuple[Label | None, ...], expected: tuple[Label, float, str]) -> None:
    assert await outcome(EnsembleJudge(judges(*labels))) == expected


async def test_fewer_than_half_is_no_quorum() -> None:
    assert await outcome(EnsembleJudge(judges(V, None, None))) == Unchecked(
        claim=RED, error="only 1 of 3 judges answered; b: no answer; c: no answer"
    )


async def test_a_judge_that_fails_as_a_whole_only_loses_its_vote() -> None:
    for error in (JudgeError("it is down"), ValueError("a bug")):
        several = judges(V, V, V)
        several[2].labels = {RED.text: error}
        assert await outcome(EnsembleJudge(several)) == (V, 2 / 3, "a, b")


async def test_a_recording_that_misses_is_no_vote_lost() -> None:
    several = judges(V, V, V)
    several[2].labels = {RED.text: RecordingError("not recorded")}
    with pytest.raises(RecordingError):
        await EnsembleJudge(several).verify([RED], HALL)


async def test_only_those_who_do_not_support_a_claim_are_asked_why() -> None:
    several = judges(V, L, L)
    supported = claim("It opened.", "c2")
    for number, judge in enumerate(several):
        judge.labels = {**judge.labels, supported.text: (V if number < 2 else C, 0.9)}
    await EnsembleJudge(several).verify([RED, supported], HALL)
    assert [judge.categorized for judge in several] == [[], [["It is red."]], [["It is red."]]]


async def test_a_verified_category_counts_for_nothing() -> None:
    class Mistaken(Answering):
        def _finding(self, of: object) -> Finding | Unchecked:
            return Finding(claim=RED, label=V, confidence=1.0, reason="")

    several = [Mistaken({RED.text: (L, 0.9)}, info=JudgeInfo(name=name, version="1")) for name in "ab"]
    [answer] = await EnsembleJudge(several).verify([RED], HALL)
    wrong = "categorised an unsupported claim as VERIFIED"
    assert answer == Unchecked(claim=RED, error=f"only 0 of 2 judges answered; a: a {wrong}; b: b {wrong}")


async def test_evidence_is_of_those_who_agree_each_quote_once() -> None:
    [answer] = await EnsembleJudge(judges(V, V, L)).verify([RED], HALL)
    assert answer == check(RED, True, 2 / 3, by="a, b")


async def test_judges_are_asked_at_the_same_time() -> None:
    here = asyncio.Barrier(3)

    class Meeting(Answering):
        async def _spend(self) -> None:
            async with asyncio.timeout(30):
                await here.wait()

    several = [Meeting({RED.text: (L, 0.6)}, info=JudgeInfo(name=name, version="1")) for name in "abc"]
    assert await outcome(EnsembleJudge(several)) == (L, 1.0, "a, b, c")


async def test_whole_turns_are_judged_by_all_when_the_first_judges_turns() -> None:
    labels = {"It opened.": (V, 0.9), "It is red.": (L, 0.9)}
    one = AnsweringTurns(labels, info=JudgeInfo(name="a", version="1"))
    two = Answering(labels, info=JudgeInfo(name="b", version="1"))
    ensemble = EnsembleJudge([one, two])
    assert isinstance(ensemble, TurnJudge)
    answers = await ensemble.judge_turn(assistant("It opened. It is red."), [], HALL)
    assert [(item.claim.id, item.supported, item.judged_by) for item in answers or [] if isinstance(item, Check)] == [
        ("t0.c1", True, "a, b"),
        ("t0.c2", False, "a, b"),
    ]
    assert (one.verified, two.verified, two.decomposed) == ([["It opened.", "It is red."]],) * 2 + ([],)
    assert await EnsembleJudge([two, one]).judge_turn(assistant("It opened."), [], HALL) is None


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ((V, V, V), (V, 1.0, "a 1 #1, a 1 #2, a 1 #3")),
        ((V, C, C), (C, 2 / 3, "a 1 #2, a 1 #3")),
        ((V, None), (V, 0.5, "a 1 #1")),
    ],
)
async def test_a_judge_that_is_asked_several_times_has_as_many_votes(
    labels: tuple[Label | None, ...], expected: tuple[Label, float, str]
) -> None:
    several = judges(*labels)
    for judge in several:
        judge.info = JudgeInfo(name="a", version="1")
    assert await outcome(EnsembleJudge(several)) == expected


async def test_names_budgets_and_closing_are_passed_through() -> None:
    several = judges(V, V)
    several[1].info = JudgeInfo(name="a", version="2")
    several[1].why_exhausted = "the budget is spent"
    ensemble = EnsembleJudge(several)
    assert ensemble.info == JudgeInfo(name="ensemble:a,a", version="a 1; a 2")
    assert ensemble.why_exhausted == "the budget is spent"
    assert await outcome(ensemble) == (V, 1.0, "a 1, a 2")
    await ensemble.aclose()
    assert [judge.closed for judge in several] == [1, 1]
    with pytest.raises(ConfigError):
        EnsembleJudge(several[:1])


def test_a_guarded_turn_is_judged_by_all() -> None:
    text = "The hall opened in 1925. It is lovely."
    script = {text: [Verdict("The hall opened in 1925."), Verdict("It is lovely.", S)]}
    other = Answering(
        {"The hall opened in 1925.": (V, 0.9), "It is lovely.": (L, 0.9)}, info=JudgeInfo(name="other", version="1")
    )
    guard = Guard(EnsembleJudge([ScriptedJudge(script), other]), "monitor", knowledge=MemoryKnowledge(WordEmbedder()))
    report = guard.check(conversation(user("When?"), assistant(text, "The hall opened in 1925.")))
    guard.close()
    assert [(one.label, one.confidence, one.judged_by) for one in report.findings] == [
        (V, 1.0, "scripted, other"),
        (L, 0.5, "other"),
    ]
