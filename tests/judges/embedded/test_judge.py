"""The shipped judge through its front door: the real models, plain cases."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tests.raising import raises
from vista_guard.errors import ConfigError, JudgeError
from vista_guard.judges import contract
from vista_guard.judges.contract import CONTRADICTED, SUPPORTED
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.judges.embedded.models import Calibration
from vista_guard.protocols import Judge
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import (
    Check,
    Claim,
    Evidence,
    EvidenceSet,
    Finding,
    JudgeInfo,
    Label,
    Passage,
    Role,
    SourceKind,
    Span,
    Turn,
    Unchecked,
)

HALL = "The tide hall is by the harbour. It opened in 1925. Entry is free for children under six."


@pytest.fixture(scope="module")
def judge() -> EmbeddedJudge:
    return EmbeddedJudge.load(OnnxEmbedder())


def claim(text: str) -> Claim:
    return Claim(id="t1.c1", text=text)


def document(text: str, *, title: str | None = "The tide hall", start: int = 0) -> EvidenceSet:
    span = Span(start=start, end=start + len(text))
    return EvidenceSet(
        documents=(Passage(source=SourceKind.DOCUMENT, source_id="hall", title=title, text=text, span=span),)
    )


def known(*texts: str, source: SourceKind = SourceKind.KNOWLEDGE) -> EvidenceSet:
    return EvidenceSet(
        knowledge=tuple(Passage(source=source, source_id=f"k{n}", text=text) for n, text in enumerate(texts))
    )


async def check_of(judge: EmbeddedJudge, text: str, evidence: EvidenceSet) -> Check:
    (check,) = await judge.verify([claim(text)], evidence)
    assert isinstance(check, Check)
    return check


async def label_of(judge: EmbeddedJudge, text: str, evidence: EvidenceSet) -> Label:
    check = await check_of(judge, text, evidence)
    if check.supported:
        return Label.VERIFIED
    (finding,) = await judge.categorize([check], evidence)
    assert isinstance(finding, Finding)
    return finding.label


def test_is_a_judge(judge: EmbeddedJudge) -> None:
    front: Judge = judge
    assert front.info == JudgeInfo(name="embedded-quick", version=Calibration.load().version)


async def test_support_is_quoted_with_its_place(judge: EmbeddedJudge) -> None:
    check = await check_of(judge, "The tide hall opened in 1925.", document(HALL, start=100))
    assert check == Check(
        claim=claim("The tide hall opened in 1925."),
        supported=True,
        confidence=check.confidence,
        evidence=(
            Evidence(
                source=SourceKind.DOCUMENT,
                source_id="hall",
                title="The tide hall",
                quote="It opened in 1925.",
                span=Span(start=133, end=151),
                score=check.evidence[0].score,
            ),
        ),
        support=check.confidence,
    )
    assert Calibration.load().supported <= check.evidence[0].score <= check.confidence


async def test_a_hard_wrapped_document_is_read_by_sentence(judge: EmbeddedJudge) -> None:
    text = "The tide hall was opened to the public by\nthe mayor in 1925. Entry is free.\n\nDogs stay out."
    check = await check_of(
        judge, "The tide hall was opened to the public by the mayor in 1925.", document(text, title=None)
    )
    assert [evidence.quote for evidence in check.evidence] == [
        "The tide hall was opened to the public by\nthe mayor in 1925."
    ]


async def test_another_year_is_no_support(judge: EmbeddedJudge) -> None:
    assert not (await check_of(judge, "The tide hall opened in 1987.", document(HALL))).supported


async def test_an_unrelated_document_neither_supports_nor_contradicts(judge: EmbeddedJudge) -> None:
    evidence = document("Basil needs warmth, light and a pot that drains well.", title="Basil")
    assert await label_of(judge, "The ferry to the island takes two hours.", evidence) is Label.LACKING_EVIDENCE


async def test_nothing_to_hold_against_is_no_support(judge: EmbeddedJudge) -> None:
    check = await check_of(judge, "The ferry takes two hours.", EvidenceSet())
    assert check == Check(claim=claim("The ferry takes two hours."), supported=False, confidence=1.0, support=0.0)
    (finding,) = await judge.categorize([check], EvidenceSet())
    assert isinstance(finding, Finding)
    assert finding == Finding(
        claim=check.claim,
        label=Label.LACKING_EVIDENCE,
        confidence=finding.confidence,
        reason="No quote was found that decides it.",
    )


@pytest.mark.parametrize("source", [SourceKind.KNOWLEDGE, SourceKind.PERSONA])
async def test_a_known_claim_said_again_is_supported(judge: EmbeddedJudge, source: SourceKind) -> None:
    evidence = known("The ferry is red.", "the assistant's boat is called Mjölnir", source=source)
    check = await check_of(judge, "The assistant's boat is called Mjölnir!", evidence)
    assert check == Check(
        claim=check.claim,
        supported=True,
        confidence=1.0,
        evidence=(Evidence(source=source, source_id="k1", quote="the assistant's boat is called Mjölnir", score=1.0),),
        support=1.0,
    )


class _Sides:
    """A verifier that is sure: what says "shut" contradicts, anything else supports."""

    name = "sides"

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        rows = np.full((len(pairs), 3), 0.01, np.float32)
        for row, (premise, _) in zip(rows, pairs, strict=True):
            row[CONTRADICTED if "shut" in premise else SUPPORTED] = 0.98
        return rows


async def test_a_disputed_claim_has_support_and_is_not_supported() -> None:
    """Its confidence is of the dispute, so one less it says nothing of the support."""
    judge = EmbeddedJudge.load(OnnxEmbedder(), verifier=_Sides())
    sides = ("Visitors can come to the tide hall on Mondays.", "On Mondays the tide hall is shut to visitors.")
    passages = tuple(
        Passage(source=SourceKind.DOCUMENT, source_id=f"d{number}", text=text) for number, text in enumerate(sides)
    )
    check = await check_of(judge, "The tide hall is open to visitors on Mondays.", EvidenceSet(documents=passages))
    assert not check.supported
    assert (check.confidence, check.support) == pytest.approx((0.98, 0.98))
    (finding,) = await contract.categorize(judge, [check], EvidenceSet(documents=passages))
    assert isinstance(finding, Finding)
    assert (finding.label, finding.support) == (Label.LACKING_EVIDENCE, check.support)
    assert finding.reason.startswith("The sources disagree")


async def test_a_denial_is_supported_as_far_as_what_it_denies_is_refuted(judge: EmbeddedJudge) -> None:
    check = await check_of(judge, "It is not true that the tide hall opened in 1925.", document(HALL))
    assert not check.supported
    assert (check.support or 0) < 0.5


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("The assistant can't help with that.", Label.ABSTENTION),
        ("The assistant does not know how many boats there are.", Label.ABSTENTION),
        ("The assistant loves old boats.", Label.OUT_OF_SCOPE),
        ("The assistant recommends a walk along the pier.", Label.OUT_OF_SCOPE),
    ],
)
async def test_what_no_document_can_prove(judge: EmbeddedJudge, text: str, label: Label) -> None:
    assert await label_of(judge, text, document(HALL)) is label


@pytest.mark.parametrize(
    "sentence",
    [
        "Booking K100037 boards at platform 3.",
        "Parcel QX-7719-B left depot 14 at noon.",
        "Ticket AB12NO is valid until 21:40.",
    ],
)
async def test_a_documents_own_sentence_is_supported(judge: EmbeddedJudge, sentence: str) -> None:
    text = f"These are the details of your trip. {sentence} Keep them at hand."
    check = await check_of(judge, sentence, document(text, title="Trip"))
    assert (check.supported, check.confidence) == (True, 1.0)
    assert sentence in check.evidence[0].quote
    denied = await check_of(
        judge, sentence, document(f"It is not true that {sentence[0].lower()}{sentence[1:]}", title="Trip")
    )
    assert denied.confidence < 1.0 or not denied.supported


async def test_what_the_assistant_said_before_is_no_evidence(judge: EmbeddedJudge) -> None:
    history = (
        Turn(role=Role.ASSISTANT, text="The ferry takes two hours."),
        Turn(role=Role.USER, text="The ferry takes two hours."),
    )
    assert not (await check_of(judge, "The ferry takes two hours.", EvidenceSet(history=history))).supported


def opinions(*texts: str) -> EvidenceSet:
    passages = (passage.model_copy(update={"label": Label.OUT_OF_SCOPE}) for passage in known(*texts).knowledge)
    return EvidenceSet(knowledge=tuple(passages))


async def test_an_opinion_that_is_said_again_stays_one(judge: EmbeddedJudge) -> None:
    tour = "The assistant would recommend the night tour with the lantern."
    check = await check_of(judge, tour, opinions(tour))
    assert not check.supported
    assert check.finding is not None
    assert (check.finding.label, [quote.quote for quote in check.finding.evidence]) == (Label.OUT_OF_SCOPE, [tour])
    persona = known(tour, source=SourceKind.PERSONA)
    assert (await check_of(judge, tour, persona)).supported
    assert not (await check_of(judge, "The museum offers a night tour with a lantern.", opinions(tour))).supported


@pytest.mark.parametrize(
    ("opinion", "said", "label"),
    [
        ("You should not bring your dog.", "You can bring your dog.", Label.LACKING_EVIDENCE),
        ("The assistant loves dogs.", "The assistant hates dogs.", Label.CONTRADICTED),
    ],
)
async def test_an_opinion_contradicts_only_its_speaker(
    judge: EmbeddedJudge, opinion: str, said: str, label: Label
) -> None:
    assert await label_of(judge, said, opinions(opinion)) is label


@pytest.mark.parametrize(
    "said",
    [
        "The user lives in Lyon.",
        "The user has two children.",
        "The user's dog is called Rex.",
        "The user ordered a lamp on Monday.",
        "The user never eats meat.",
        "The user would like a table for two.",
    ],
)
async def test_a_user_is_believed_about_the_users_own_life(judge: EmbeddedJudge, said: str) -> None:
    history = (Turn(role=Role.USER, text=said.replace("The user's", "My").replace("The user", "I")),)
    assert (await check_of(judge, said, EvidenceSet(history=history))).supported


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ("I read that the user portal is open at night.", "The user portal is open at night."),
        ("The user guides are open at night.", "The user guides are open at night."),
        ("I'm entitled to a 40 euro refund.", "The user is entitled to a 40 euro refund."),
        ("I will be refunded on Monday.", "The user will be refunded on Monday."),
        ("I get a 40 euro refund.", "The user gets a 40 euro refund."),
        ("Your support promised me a refund of 40 euros.", "Our support promised the user a refund of 40 euros."),
    ],
)
async def test_a_user_is_not_believed_about_the_service(judge: EmbeddedJudge, user: str, said: str) -> None:
    history = (Turn(role=Role.USER, text=user),)
    assert not (await check_of(judge, said, EvidenceSet(history=history))).supported


async def test_order_is_kept_and_claims_do_not_see_each_other(judge: EmbeddedJudge) -> None:
    texts = (
        "The tide hall opened in 1925.",
        "Entry costs ten euros.",
        "The assistant loves boats.",
        "Entry is free for children.",
    )
    claims = [Claim(id=f"t1.c{n}", text=text) for n, text in enumerate(texts)]
    together = await judge.verify(claims, document(HALL))
    alone = [answer for one in claims for answer in await judge.verify([one], document(HALL))]
    assert [answer.claim for answer in together] == claims
    for first, second in zip(together, alone, strict=True):
        assert isinstance(first, Check)
        assert isinstance(second, Check)
        assert first.supported is second.supported
        assert first.confidence == pytest.approx(second.confidence, abs=0.1)  # int8 activations scale with the batch


async def test_nothing_in_nothing_out(judge: EmbeddedJudge) -> None:
    assert list(await judge.verify([], document(HALL))) == []
    assert list(await judge.categorize([], document(HALL))) == []


@pytest.mark.parametrize("text", ["", " ", "\ud83d broken", "x" * 2_000, "😀", "今日は"])
async def test_odd_claims_and_passages_are_judged(judge: EmbeddedJudge, text: str) -> None:
    answers = [
        *await judge.verify([claim(text)], document(HALL)),
        *await judge.verify([claim("It is old.")], document(text)),
    ]
    assert not any(isinstance(answer, Unchecked) for answer in answers)
    assert len(await judge.categorize([answer for answer in answers if isinstance(answer, Check)], EvidenceSet())) == 2


async def test_a_claim_that_the_verifier_would_read_the_beginning_of_is_unchecked(judge: EmbeddedJudge) -> None:
    said = f"The hall opened in 1925 {'and so it went on ' * 150}"
    (turn,) = await judge.decompose(Turn(role=Role.ASSISTANT, text=said), ())
    assert turn.text == said.strip()
    (answer,) = await judge.verify([turn], document(f"{HALL} {said}"))
    assert isinstance(answer, Unchecked)
    assert answer.error == "it has 2,723 characters without an end; a claim of more than 2,000 is not judged"


async def test_a_passage_of_any_length_is_read(judge: EmbeddedJudge) -> None:
    (answer,) = await judge.verify([claim("It is old.")], document("x" * 50_000))
    assert not isinstance(answer, Unchecked)


async def test_another_language_is_refused_by_name(judge: EmbeddedJudge) -> None:
    turn = Turn(role=Role.ASSISTANT, text="Das Museum wurde 1925 eröffnet und ist jeden Tag geöffnet.")
    with pytest.raises(JudgeError):
        await judge.decompose(turn, ())


async def test_judges_at_once_from_many_tasks(judge: EmbeddedJudge) -> None:
    answers = await asyncio.gather(
        *(check_of(judge, "The tide hall opened in 1925.", document(HALL)) for _ in range(8))
    )
    assert {answer.supported for answer in answers} == {True}


def test_missing_and_damaged_weights_are_named(tmp_path: Path) -> None:
    with raises(ConfigError, "judge.json"):
        EmbeddedJudge.load(OnnxEmbedder(), tmp_path)
    (tmp_path / "judge.json").write_text('{"version": "1"}')
    with raises(ConfigError, "judge.json", "thresholds"):
        EmbeddedJudge.load(OnnxEmbedder(), tmp_path)


def test_probabilities_are_scaled_by_the_temperature() -> None:
    shipped = Calibration.load()
    logits = np.array([[3.0, 0.0, 0.0]], np.float32) * shipped.temperature
    assert shipped.probabilities(logits)[0] == pytest.approx([0.9094, 0.0453, 0.0453], abs=1e-3)


async def test_what_stands_in_the_sentence_before_is_read_with_it(judge: EmbeddedJudge) -> None:
    """ "It" is the hall only beside its neighbour, and the passage with the sentence is not the nearest of many."""
    pages = [f"The tide hall has a room number {number} with a view of the sea. Guests like it." for number in range(6)]
    pages.append("The ballroom was added by Mira Holt. It is lit by forty gas lamps. They burn on Sundays only.")
    passages = tuple(
        Passage(source=SourceKind.DOCUMENT, source_id=f"d{number}", text=text) for number, text in enumerate(pages)
    )
    check = await check_of(judge, "The ballroom is lit by forty gas lamps.", EvidenceSet(documents=passages))
    assert check.supported
    assert "gas lamps" in check.evidence[0].quote


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("The tide hall is open on Mondays.", "The tide hall is open daily from nine. It is closed on Mondays."),
        ("The syrup is taken before meals.", "The syrup is red. The syrup is taken after meals."),
        ("The fee is 10 euros.", "Until 2023 the fee was 10 euros. Since 2024 it is 15 euros."),
        ("The shop sells tickets.", "The shop is by the gate. The shop no longer sells tickets."),
    ],
)
async def test_nearly_the_same_words_do_not_verify(judge: EmbeddedJudge, said: str, text: str) -> None:
    assert not (await check_of(judge, said, document(text, title=None))).supported


FORMS = ("4 October 2023", "October 4th, 2023", "2023-10-04", "Oct 4, 2023", "the 4th of October 2023", "04.10.2023")


@pytest.mark.parametrize("known_form", FORMS)
@pytest.mark.parametrize("said_form", FORMS)
async def test_a_date_is_the_same_in_any_form(judge: EmbeddedJudge, said_form: str, known_form: str) -> None:
    evidence = document(f"The swing bridge was closed for repairs on {known_form}.")
    check = await check_of(judge, f"The swing bridge was closed on {said_form}.", evidence)
    assert check.supported
    other = (
        said_form.replace("-04", "-05")
        .replace("04.", "05.")
        .replace("4 O", "5 O")
        .replace("4th", "5th")
        .replace("4,", "5,")
    )
    check = await check_of(judge, f"The swing bridge was closed on {other}.", evidence)
    assert not check.supported
