"""What documents speak of is held against them, whatever the claim sounds like."""

from __future__ import annotations

import pytest

from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.judges.embedded.opposites import is_mentioned, may_be_settled
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Check, Claim, EvidenceSet, Finding, Label, Passage, Recommendations, SourceKind

LEAFLET = Passage(
    source=SourceKind.DOCUMENT,
    source_id="leaflet",
    text="Adults take one tablet with water every eight hours, and never more than three tablets a day.",
)


async def label(claim: str, *documents: Passage, recommendations: Recommendations = "out_of_scope") -> Label:
    """The label of a claim that was not verified."""
    judge = EmbeddedJudge.load(OnnxEmbedder(), recommendations=recommendations)
    check = Check(claim=Claim(id="c1", text=claim), supported=False, confidence=1.0)
    (finding,) = await judge.categorize([check], EvidenceSet(documents=documents))
    assert isinstance(finding, Finding)
    return finding.label


@pytest.mark.parametrize(
    "claim",
    [
        "You should take ten tablets a day with water.",
        "Take the tablets without water.",
        "Adults may take more than three tablets a day.",
    ],
)
async def test_advice_and_permissions_that_a_document_speaks_of_are_no_opinions(claim: str) -> None:
    assert await label(claim, LEAFLET) is Label.LACKING_EVIDENCE


async def test_advice_that_no_document_speaks_of_is_out_of_scope() -> None:
    assert await label("You should visit the old harbour at dusk.", LEAFLET) is Label.OUT_OF_SCOPE


async def test_a_taste_is_one_whatever_documents_speak_of() -> None:
    assert await label("The assistant loves to take tablets with water every day.", LEAFLET) is Label.OUT_OF_SCOPE


async def test_recommendations_can_be_said_to_lack_evidence() -> None:
    asked = "You should visit the old harbour at dusk."
    assert await label(asked, LEAFLET, recommendations="lacking_evidence") is Label.LACKING_EVIDENCE
    assert await label("Sunsets are the best thing on earth.", recommendations="lacking_evidence") is Label.OUT_OF_SCOPE


@pytest.mark.parametrize(
    "claim",
    [
        "The leaflet does not say how long the tablets keep.",
        "There is no mention of children in the document.",
        "The policy never specifies who pays.",
    ],
)
async def test_that_a_text_is_silent_is_an_abstention(claim: str) -> None:
    assert await label(claim, LEAFLET) is Label.ABSTENTION


async def test_what_a_policy_does_not_cover_is_a_fact() -> None:
    assert await label("The policy does not cover floods.") is Label.LACKING_EVIDENCE


def test_most_content_words_must_stand_in_one_passage() -> None:
    assert is_mentioned("Take one tablet with water.", [LEAFLET])
    assert not is_mentioned("Take one spoon of syrup with milk.", [LEAFLET])


def test_values_and_speakers_are_nothing_to_settle() -> None:
    assert not may_be_settled("It is a great tablet.")
    assert not may_be_settled("The assistant studied pharmacy.")
    assert not may_be_settled("Did the user take one tablet with water.")
    assert may_be_settled("Keep it below 25 degrees.")
