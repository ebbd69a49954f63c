"""The cascade: who judges what, and what a report says of it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.judges.answering import HALL, Answering, AnsweringTurns, check, claim, finding, quote
from tests.raising import raises
from vista_guard.errors import ConfigError, JudgeError
from vista_guard.guard import Guard
from vista_guard.judges.composed.cascade import CascadeJudge, trust
from vista_guard.judges.contract import due_in, measure, seconds_left
from vista_guard.policy.label_policy import build_policy
from vista_guard.protocols import TurnJudge
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.stores.reports.rows import failures_of
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder, assistant, conversation, user
from vista_guard.types import (
    Check,
    Claim,
    EvidenceSet,
    Finding,
    JudgeInfo,
    Label,
    SourceKind,
    TurnReport,
    Unchecked,
    Usage,
)

OPENED, RED, OLD = claim("It opened.", "c1"), claim("It is red.", "c2"), claim("It is old.", "c3")
FIRST = {
    "It opened.": (Label.VERIFIED, 0.9),
    "It is red.": (Label.LACKING_EVIDENCE, 0.6),
    "It is old.": (Label.VERIFIED, 0.55),
}
SECOND = {
    "It opened.": (Label.CONTRADICTED, 0.9),
    "It is red.": (Label.VERIFIED, 0.95),
    "It is old.": (Label.CONTRADICTED, 0.8),
}


def confidence(of: Check) -> float:
    """The judge's own confidence in its label."""
    return of.finding.confidence if of.finding else of.confidence


def first() -> Answering:
    return Answering(FIRST, info=JudgeInfo(name="small", version="1"))


def second() -> Answering:
    return Answering(SECOND, info=JudgeInfo(name="large", version="2"))


async def test_only_unsure_claims_go_on_and_the_report_says_who_judged() -> None:
    cheap, dear = first(), second()
    judge = CascadeJudge(cheap, dear, threshold=0.7, trust=confidence)
    assert isinstance(judge, TurnJudge)
    with measure() as meter:
        answers = await judge.verify([OPENED, RED, OLD], HALL)
    found = finding(OLD, Label.CONTRADICTED, 0.8, by="large")
    assert answers == [
        check(OPENED, True, by="small"),
        check(RED, True, 0.95, by="large"),
        check(OLD, False, 0.8, by="large").model_copy(update={"finding": found}),
    ]
    assert await judge.categorize([one for one in answers if isinstance(one, Check) and one.finding], HALL) == [found]
    assert (cheap.verified, cheap.categorized) == ([["It opened.", "It is red.", "It is old."]], [["It is red."]])
    assert (dear.verified, dear.categorized) == ([["It is red.", "It is old."]], [["It is old."]])
    assert meter.usage == Usage(calls=4, input_tokens=40)


@pytest.mark.parametrize(("threshold", "passed_on"), [(0.0, []), (0.6, [["It is old."]])])
async def test_a_claim_exactly_as_sure_as_the_threshold_stays(threshold: float, passed_on: list[list[str]]) -> None:
    dear = second()
    await CascadeJudge(first(), dear, threshold=threshold, trust=confidence).verify([OPENED, RED, OLD], HALL)
    assert dear.verified == passed_on


@pytest.mark.parametrize("how", ["unchecked", "raised"])
async def test_what_the_second_judge_cannot_judge_is_unchecked_with_a_warning(how: str) -> None:
    down = JudgeError("the endpoint is down")
    labels = {} if how == "unchecked" else {"It is red.": down, "It is old.": down}
    dear = Answering(labels, info=JudgeInfo(name="large", version="2"))
    error = "no answer" if how == "unchecked" else "the endpoint is down"
    with measure() as meter:
        answers = await CascadeJudge(first(), dear, threshold=0.7, trust=confidence).verify([OPENED, RED, OLD], HALL)
    assert answers == [
        check(OPENED, True, by="small"),
        Unchecked(claim=RED, error=error),
        Unchecked(claim=OLD, error=error),
    ]
    assert meter.warnings == (
        f"large could not judge 2 of 2 claims passed on to it, which are unchecked unless small found a contradiction: {error}",
    )


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("sure", [0.6, 0.95])
def test_a_contradiction_stands_where_the_second_judge_fails_and_fail_closed_withholds_it(
    closed: bool, sure: float
) -> None:
    text = "It opened in 1850."
    first_judge = ScriptedJudge({text: [Verdict(text, Label.CONTRADICTED, sure)]})
    down = Answering({text: JudgeError("the endpoint is down")}, info=JudgeInfo(name="large", version="2"))
    policy = build_policy("balanced", {"on_unchecked": "BLOCK" if closed else "FLAG"})
    judge = CascadeJudge(first_judge, down, threshold=1.0, trust=lambda _: 0.0)
    with Guard(judge, policy, knowledge=MemoryKnowledge(WordEmbedder())) as guard:
        report = guard.check(conversation(user("When?"), assistant(text, "It opened in 1925.")))
    (found,) = report.findings
    assert (found.label, found.confidence, found.unconfirmed, found.judged_by) == (
        Label.CONTRADICTED,
        sure,
        True,
        "scripted",
    )
    assert [failure.kind for failure in failures_of(report)] == ["judge"]
    assert "the endpoint is down" in report.warnings[0]
    assert "unconfirmed" in report.decision.reason
    assert report.decision.action == ("BLOCK" if closed or sure > 0.8 else "FLAG")
    assert TurnReport.model_validate_json(report.model_dump_json()) == report


def test_a_contradiction_that_is_kept_by_choice_is_no_failure() -> None:
    text = "It opened in 1850."
    first_judge = ScriptedJudge({text: [Verdict(text, Label.CONTRADICTED, 0.6)]})
    down = Answering({}, info=JudgeInfo(name="large", version="2"))
    judge = CascadeJudge(first_judge, down, threshold=1.0, trust=lambda _: 0.0, on_second_failure="keep_first")
    with Guard(judge, build_policy("balanced", {"on_unchecked": "BLOCK"})) as guard:
        report = guard.check(conversation(user("When?"), assistant(text, "It opened in 1925.")))
    assert (report.findings[0].unconfirmed, report.decision.action) == (False, "FLAG")


async def test_a_second_judge_that_never_answers_costs_only_what_it_was_asked() -> None:
    left: list[float | None] = []

    class Silent(Answering):
        async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
            try:
                return await super().verify(claims, evidence)
            finally:
                left.append(seconds_left())

    dear = Silent(SECOND, info=JudgeInfo(name="large", version="2"), wait=60.0)
    with due_in(0.2):
        answers = await CascadeJudge(first(), dear, threshold=0.7, trust=confidence).verify([OPENED, RED, OLD], HALL)
    assert answers[0] == check(OPENED, True, by="small")
    assert [(one.kind, one.claim) for one in answers[1:] if isinstance(one, Unchecked)] == [
        ("unchecked", RED),
        ("unchecked", OLD),
    ]
    assert left == [0.0]


async def test_the_first_judgement_is_kept_when_that_is_asked_for_and_the_report_warns() -> None:
    dear = Answering({"It is old.": (Label.CONTRADICTED, 0.8)}, info=JudgeInfo(name="large", version="2"))
    dear.why_exhausted = "the budget is spent"
    judge = CascadeJudge(first(), dear, threshold=0.7, trust=confidence, on_second_failure="keep_first")
    with measure() as meter:
        answers = await judge.verify([RED, OLD], HALL)
    kept = finding(RED, Label.LACKING_EVIDENCE, 0.6, by="small")
    assert answers[0] == check(RED, False, 0.6, by="small").model_copy(update={"finding": kept})
    assert isinstance(answers[1], Check)
    assert answers[1].judged_by == "large"
    assert meter.warnings == (
        "large could not judge 1 of 2 claims passed on to it, which keep what the first judge found: no answer",
    )
    assert judge.why_exhausted is None
    assert CascadeJudge(first(), dear).why_exhausted == "the budget is spent"


async def test_what_the_first_judge_cannot_judge_goes_on() -> None:
    cheap = Answering({"It opened.": RuntimeError("broken weights")}, info=JudgeInfo(name="small", version="1"))
    answers = await CascadeJudge(cheap, second(), threshold=0.7, trust=confidence).verify([OPENED], HALL)
    assert [(one.supported, one.judged_by) for one in answers if isinstance(one, Check)] == [(False, "large")]


async def test_claims_come_from_whom_they_are_wanted_of() -> None:
    turn = assistant("It opened. It is red.")
    for wanted, asked in (("first", (1, 0)), ("second", (0, 1))):
        cheap, dear = first(), second()
        judge = CascadeJudge(cheap, dear, decompose=wanted)  # type: ignore[arg-type]
        assert [one.text for one in await judge.decompose(turn, [])] == ["It opened.", "It is red."]
        assert (len(cheap.decomposed), len(dear.decomposed)) == asked
        await judge.aclose()
        assert (cheap.closed, dear.closed) == (1, 1)


async def test_a_first_judge_of_whole_turns_passes_on_too() -> None:
    turns = AnsweringTurns(FIRST, info=JudgeInfo(name="small", version="1"))
    judge = CascadeJudge(turns, second(), threshold=0.7, trust=confidence)
    answers = await judge.judge_turn(assistant("It opened. It is red."), [], HALL)
    assert [(one.claim.id, one.judged_by) for one in answers or [] if isinstance(one, Check)] == [
        ("t0.c1", "small"),
        ("t0.c2", "large"),
    ]
    assert await CascadeJudge(first(), second()).judge_turn(assistant("It opened."), [], HALL) is None


def test_it_is_named_by_all_that_shapes_its_judgement() -> None:
    assert CascadeJudge(first(), second(), threshold=0.5).info == JudgeInfo(
        name="cascade:small,large", version="small 1; large 2; threshold 0.5; claims of first"
    )
    with raises(ConfigError, "threshold", "1.5"):
        CascadeJudge(first(), second(), threshold=1.5)


def test_a_guarded_turn_is_judged_by_both() -> None:
    text = "The hall opened in 1925. It is lovely."
    script = {text: [Verdict("The hall opened in 1925."), Verdict("It is lovely.", Label.LACKING_EVIDENCE, 0.5)]}
    dear = Answering({"It is lovely.": (Label.OUT_OF_SCOPE, 0.9)}, info=JudgeInfo(name="large", version="2"))
    judge = CascadeJudge(ScriptedJudge(script), dear, threshold=0.7, trust=confidence)
    guard = Guard(judge, "strict", knowledge=MemoryKnowledge(WordEmbedder()))
    report = guard.check(conversation(user("When?"), assistant(text, "The hall opened in 1925.")))
    guard.close()
    assert [(one.label, one.judged_by) for one in report.findings] == [
        (Label.VERIFIED, "scripted"),
        (Label.OUT_OF_SCOPE, "large"),
    ]
    assert report.usage == Usage(calls=2, input_tokens=20)


def judged(text: str, label: Label, confidence: float, shown: str = "", known: bool = False) -> Check:
    evidence = quote(shown).model_copy(update={"source": SourceKind.KNOWLEDGE}) if known else quote(shown)
    if label is Label.VERIFIED:
        return Check(claim=claim(text), supported=True, confidence=confidence, evidence=(evidence,))
    found = Finding(claim=claim(text), label=label, confidence=confidence, reason="")
    return Check(claim=claim(text), supported=False, confidence=confidence, finding=found)


@pytest.mark.parametrize("label", list(Label))
def test_trust_is_a_probability_that_never_falls_as_the_judge_is_surer(label: Label) -> None:
    steps = [trust(judged("The hall opened.", label, step / 100, "The hall opened.")) for step in range(101)]
    assert steps == sorted(steps)
    assert 0.0 < steps[0] <= steps[-1] < 1.0


def test_trust_doubts_what_experience_says_is_doubtful() -> None:
    quoted = judged("The hall opened in 1925.", Label.VERIFIED, 0.8, "It says the hall opened in 1925.")
    not_quoted = judged("The hall opened in 1925.", Label.VERIFIED, 0.8, "A museum by the sea.")
    known = judged("The hall opened in 1925.", Label.VERIFIED, 0.8, "It says the hall opened in 1925.", known=True)
    lacking = judged("The hall is red.", Label.LACKING_EVIDENCE, 0.8)
    speaker = judged("The assistant has a red hall.", Label.LACKING_EVIDENCE, 0.8)
    assert trust(not_quoted) < trust(quoted)
    assert trust(known) < trust(quoted)
    assert trust(speaker) < trust(lacking)
