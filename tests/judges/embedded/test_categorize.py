"""What is a fact, an opinion, an abstention: whole answers through the shipped judge, held against nothing."""

from __future__ import annotations

import pytest

from vista_guard import Guard
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Check, Claim, Evidence, EvidenceSet, Finding, Label, Role, SourceKind, Turn


@pytest.fixture(scope="module")
def judge() -> EmbeddedJudge:
    return EmbeddedJudge.load(OnnxEmbedder())


async def labels(judge: EmbeddedJudge, answer: str) -> list[Label]:
    """The labels of an answer's own claims."""
    claims = await judge.decompose(Turn(role=Role.ASSISTANT, text=answer), ())
    checks = [Check(claim=claim, supported=False, confidence=1.0) for claim in claims]
    found = await judge.categorize(checks, EvidenceSet())
    return [finding.label for finding in found if isinstance(finding, Finding)]


@pytest.mark.parametrize(
    "answer",
    [
        "I can't look at the photograph you mention.",
        "As an AI, I don't have a favourite teacher.",
        "I won't explain how to pick a neighbour's lock.",
        "There is no way to know what she had for breakfast on that day.",
        "It's not possible to predict who will win the cup in 2031.",
        "Without that I can't give you the opening hours.",
        "I can't give the exact number of visitors.",
        "My knowledge ends in 2023, so I can't tell you about last night's match.",
        "I must decline to write jokes about that group.",
        "I have never heard of that river.",
        "I have no information on the birthplace of that musician.",
        "I cannot offer medical advice.",
        "I'm afraid I can't help with that.",
        "We don't have information about that.",
        "We cannot confirm this.",
        "We are unable to answer medical questions.",
        "We don't know when it reopens.",
        "We're not aware of any delays.",
        "We can't give you any details about other guests.",
        "We've never heard of that river.",
    ],
)
async def test_what_is_declined_or_not_known_abstains(judge: EmbeddedJudge, answer: str) -> None:
    assert {*await labels(judge, answer)} == {Label.ABSTENTION}


@pytest.mark.parametrize(
    "answer",
    [
        "I can't recommend the lentil soup enough.",
        "You can't go wrong with a simple black dress.",
        "I don't think it's too late to plant tomatoes.",
        "Consult a doctor if the fever lasts more than three days.",
        "If you are unsure about a lock, ask a locksmith.",
        "I love this song!",
        "I saw the film in Leeds with my brother.",
        "My absolute favourite is the second one.",
    ],
)
async def test_advice_and_taste_are_out_of_scope(judge: EmbeddedJudge, answer: str) -> None:
    assert await labels(judge, answer) == [Label.OUT_OF_SCOPE]


@pytest.mark.parametrize(
    "answer",
    [
        "The lake is not known for big fish.",
        "The bridge cannot be crossed by lorries of more than ten tonnes.",
        "Historians do not agree on when the wall was built.",
        "She was unable to attend the ceremony.",
        "He did not win the election.",
        "The company does not disclose its sales.",
        'The guard at the door said "I don\'t know the way" to everyone.',
        "It won't cost you a penny.",
        "Refunds are not possible.",
        "There are no family rooms available.",
        "We cannot offer refunds for opened items.",
        "We can't give a discount to students.",
        "We do not have any record of the order.",
        "On Sundays we are not able to provide breakfast.",
    ],
)
async def test_a_negative_fact_is_a_fact(judge: EmbeddedJudge, answer: str) -> None:
    assert await labels(judge, answer) == [Label.LACKING_EVIDENCE]


@pytest.mark.parametrize(
    ("source", "label"), [(SourceKind.DOCUMENT, Label.OUT_OF_SCOPE), (SourceKind.PERSONA, Label.CONTRADICTED)]
)
async def test_a_document_speaks_against_nobodys_tastes(judge: EmbeddedJudge, source: SourceKind, label: Label) -> None:
    claim = Claim(id="t1.c1", text="The assistant hates old boats.")
    against = Evidence(source=source, source_id="s", quote="Old boats are loved by the assistant.", score=0.95)
    check = Check(claim=claim, supported=False, confidence=0.9, counter_evidence=(against,))
    (finding,) = await judge.categorize([check], EvidenceSet())
    assert isinstance(finding, Finding)
    assert (finding.label, finding.evidence) == (label, () if label is Label.OUT_OF_SCOPE else (against,))


@pytest.mark.parametrize(
    "mark",
    [
        "[not mentioned in the provided context]",
        "(not stated in the documents)",
        "[no source found]",
        "(not in the text).",
    ],
)
@pytest.mark.parametrize(
    ("said", "label"),
    [
        ("The library has a roof garden", Label.ABSTENTION),
        ("The library opens at ten", Label.CONTRADICTED),
        ("The library opens at nine", Label.VERIFIED),
    ],
)
def test_what_says_of_itself_that_no_source_has_it_abstains_unless_a_source_decides(
    said: str, label: Label, mark: str, judge: EmbeddedJudge
) -> None:
    guard = Guard(judge, "strict")
    report = guard.check_answer(f"{said} {mark}", documents=["The library opens at nine on weekdays."])
    assert [finding.label for finding in report.findings] == [label]
    assert mark.rstrip(".") in report.findings[0].claim.text


@pytest.mark.parametrize(
    ("answer", "document"),
    [
        ("We open at 9.", "We open at 8 on weekdays."),
        ("Sure, cards are fine!", "Cards are not accepted."),
        ("Sandals are okay.", "Sandals are not permitted in the workshop."),
        ("We start at 6:30.", "We start at 7 in the barn."),
        ("Dogs are fine.", "Dogs may not enter the hall."),
        ("Behind the house, we have a garage.", "There is no garage."),
        ("We've got thirty.", "There are twelve boats."),
        ("You can take as many as you like.", "Two maps per visitor."),
        ("We cannot offer refunds for opened items.", "We refund opened items in full."),
        ("We are unable to ship to Norway.", "We ship to Norway."),
        ("We have no access for wheelchairs.", "The entrance is accessible by wheelchair."),
        ("We won't open on public holidays.", "We are open on public holidays."),
        ("We do not provide parking.", "Parking is provided free of charge."),
        ("We have no information desk.", "We have an information desk in the hall."),
        ("We do not sell certain wines.", "We sell all wines."),
        ("I'm afraid we cannot accept returns.", "We accept returns within 30 days."),
    ],
)
async def test_what_a_document_speaks_of_is_no_opinion(judge: EmbeddedJudge, answer: str, document: str) -> None:
    report = await Guard(judge, "monitor").acheck_answer(answer, documents=[document])
    assert {finding.label for finding in report.findings} <= {Label.CONTRADICTED, Label.LACKING_EVIDENCE}
