"""The turn's risk while it is streamed: sentence by sentence, with what was said before; and the same at its end."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.stream.test_gates import ASKED, FREE, GOOD, LACKING, NOTES, SentenceJudge, Upstream, cut, guard_of
from vista_guard import Action, Guard, TurnReport
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.policy.risk import Level, RiskGroup, RiskTable
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.testing import assistant, conversation, user
from vista_guard.types import JudgeInfo

# One alarm of 0.9 among n claims has a risk of 0.729 / (n + 1) turned into a probability: 0.50 of three, 0.66 of one.
RISK = TurnRisk(intercept=-2.0, mean=11.0, source="by hand", flag=0.45, block=0.75)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("risk") / "risk.json"
    RiskTable(
        judge=JudgeInfo(name="sentences", version="1"),
        level=Level.TURN,
        created=date(2026, 11, 21),
        groups=(RiskGroup(source="x", n=9, alarms={}),),
        turn_risk=RISK,
    ).save(path)
    return path


def streamed(guard: Guard, text: str) -> tuple[str, TurnReport]:
    async def read() -> tuple[str, TurnReport]:
        *said, report = [
            piece async for piece in guard.gated(ASKED, Upstream(*cut(text))(), gate="sentence", documents=[NOTES])
        ]
        assert isinstance(report, TurnReport)
        return "".join(map(str, said)), report

    return asyncio.run(read())


def whole(guard: Guard, text: str) -> TurnReport:
    return guard.check(conversation(user("Tell me about the hall."), assistant(text, NOTES)))


def guard_by(table: Path) -> Guard:
    return guard_of(SentenceJudge(), "balanced", risk_table=table)


def test_one_weak_alarm_among_many_claims_flags_nothing(table: Path) -> None:
    said, report = streamed(guard_by(table), f"{GOOD} {FREE} {GOOD} {FREE} {LACKING}")
    assert (report.decision.action, said) == (Action.ALLOW, report.response)
    assert report.decision.reason.startswith("1 of 5 claims is not supported; risk ")


def test_a_sentence_is_withheld_when_the_turn_so_far_asks_for_it(table: Path) -> None:
    said, report = streamed(guard_by(table), f"{GOOD} {LACKING} {LACKING} {LACKING} {FREE}")
    assert said == f"{GOOD} {LACKING}\n\n{MESSAGE}"
    assert (report.decision.action, report.risk) == (Action.BLOCK, RISK(report.outcomes, evidence_missing=False))


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sentences=st.lists(st.sampled_from([GOOD, FREE, LACKING]), min_size=1, max_size=6))
def test_a_turn_that_was_streamed_to_its_end_has_the_risk_of_the_whole_turn(
    sentences: Sequence[str], table: Path
) -> None:
    text = " ".join(sentences)
    _, report = streamed(guard_by(table), text)
    expected = whole(guard_by(table), text)
    if report.decision.action is not Action.BLOCK:
        assert (report.risk, report.decision) == (expected.risk, expected.decision)
