"""Plain facts are not opinions, and opinions are: the shipped judge on sentences written to test it.

Nothing was trained on them, and no template can make one (`tests/training/test_plain_texts.py`). `later_*` was written after
the templates; pictures ("the airport is a maze") are what the judge misses there.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from vista_guard.guard import Guard
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Action, Check, Claim, Conversation, Document, EvidenceSet, Finding, Label, Role, Turn

PROBE = Path(__file__).parent / "probe"
LIGHTHOUSE = (
    "The lighthouse of Skerry Vane was built in 1888. Its tower is 31 metres high and has 148 steps. "
    "The last keeper, Marta Eide, left in 1974, when the lamp was automated."
)


@pytest.fixture(scope="module")
def judge() -> EmbeddedJudge:
    return EmbeddedJudge.load(OnnxEmbedder())


def sentences(*names: str) -> list[str]:
    return [text for name in names for text in (PROBE / f"{name}.txt").read_text(encoding="utf-8").splitlines()]


async def out_of_scope(judge: EmbeddedJudge, texts: list[str]) -> set[str]:
    """Those that the judge takes for opinions, experiences, advice or remarks when nothing confirms them."""
    checks = [
        Check(claim=Claim(id=f"c{number}", text=text), supported=False, confidence=1.0)
        for number, text in enumerate(texts)
    ]
    found = await judge.categorize(checks, EvidenceSet())
    return {one.claim.text for one in found if isinstance(one, Finding) and one.label is Label.OUT_OF_SCOPE}


@pytest.mark.parametrize(("names", "least"), [(("plain_facts", "reported_facts"), 240), (("later_facts",), 200)])
async def test_at_most_two_of_a_hundred_plain_facts_are_out_of_scope(
    judge: EmbeddedJudge, names: tuple[str, ...], least: int
) -> None:
    facts = sentences(*names)
    passed = await out_of_scope(judge, facts)
    assert len(facts) >= least
    assert len(passed) <= 0.02 * len(facts), sorted(passed)


@pytest.mark.parametrize(
    ("names", "least", "share"),
    [(("opinions", "reported_opinions"), 160, 0.95), (("later_opinions",), 120, 0.8)],
)
async def test_most_opinions_are_out_of_scope(
    judge: EmbeddedJudge, names: tuple[str, ...], least: int, share: float
) -> None:
    opinions = sentences(*names)
    missed = set(opinions) - await out_of_scope(judge, opinions)
    assert len(opinions) >= least
    assert len(missed) <= (1.0 - share) * len(opinions), sorted(missed)


@pytest.mark.parametrize(
    ("note", "answer"),
    [
        (LIGHTHOUSE, "The tower has 212 steps."),
        (LIGHTHOUSE, "There are 212 steps in the tower."),
        (LIGHTHOUSE, "The lighthouse has 12 steps."),
        (
            "The harbour ferry runs every day. The first one leaves at 7:00, the last one at 21:30.",
            "It starts at 5:00.",
        ),
        ("The harbour ferry runs every day. The last one leaves at 21:30.", "The last one leaves at 23:15."),
        ("The shop opens from Monday to Friday.", "The shop opens on Sundays."),
        ("The course has six lessons and costs 80 euros.", "The course has eight lessons."),
        ("Rooms are ready at 16:00.", "Check-in starts at 15:00."),
    ],
)
def test_a_false_figure_does_not_pass_as_an_opinion(note: str, answer: str) -> None:
    guard = Guard.from_settings(store="memory", policy="strict")
    turn = Turn(role=Role.ASSISTANT, text=answer, documents=(Document(id="note", title="Notes", text=note),))
    report = guard.check(Conversation(turns=(Turn(role=Role.USER, text="What should I know?"), turn)))
    labels = {outcome.label if isinstance(outcome, Finding) else None for outcome in report.outcomes}
    assert labels <= {Label.LACKING_EVIDENCE, Label.CONTRADICTED}
    assert report.decision.action in (Action.BLOCK, Action.REPAIR)


def test_a_figure_in_the_place_of_another_contradicts_and_blocks() -> None:
    guard = Guard.from_settings(store="memory")
    document = Document(id="note", title="Notes", text=LIGHTHOUSE)
    turn = Turn(role=Role.ASSISTANT, text="The tower has 212 steps.", documents=(document,))
    report = guard.check(Conversation(turns=(Turn(role=Role.USER, text="What should I know?"), turn)))
    assert [one.label for one in report.findings] == [Label.CONTRADICTED]
    assert report.decision.action is Action.BLOCK


@pytest.mark.parametrize(
    ("answer", "missing"),
    [
        ("The lamp burnt 212 litres of oil a night.", "'212'"),
        ("The lighthouse was lit by code K-77/b.", "'K-77/b'"),
        ("The tower is white and blue.", None),
    ],
)
def test_a_figure_that_stands_nowhere_is_named_and_flags_the_turn(answer: str, missing: str | None) -> None:
    guard = Guard.from_settings(store="memory")
    turn = Turn(role=Role.ASSISTANT, text=answer, documents=(Document(id="note", title="Notes", text=LIGHTHOUSE),))
    report = guard.check(Conversation(turns=(Turn(role=Role.USER, text="What should I know?"), turn)))
    assert [one.label for one in report.findings] == [Label.LACKING_EVIDENCE]
    named = f"{missing} does not appear in the documents or earlier turns."
    assert (report.findings[0].reason == named) == (missing is not None)
    assert missing is None or report.decision.action is Action.FLAG
