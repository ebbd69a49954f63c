"""Pairs made by rule: what edits change and what they leave alone, what paraphrases keep, and how documents are cut."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("textblob")
pytest.importorskip("lemminflect")
pytest.importorskip("num2words")

from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.types import Document
from vista_lab.oasis.alterations import alterations
from vista_lab.oasis.embedded import EmbeddedGenerator, plain_claims
from vista_lab.oasis.frames import Donors
from vista_lab.oasis.gates import certain, changed_words
from vista_lab.oasis.paraphrases import link_sentences, paraphrase
from vista_lab.oasis.passages import Cut, draw, overlap, sentences_of, shard_of, windows
from vista_lab.oasis.records import GeneratedPair, NoPair, Passage
from vista_lab.oasis.rewriters.values import numeric_values
from vista_lab.runs.made import Grade

CORPUS = (
    "The letters are stored in flat drawers.",
    "The council meets in winter.",
    "The harbour master closes the ramp before breakfast.",
    "The keeper mended the engines.",
    "A rusty gate protects the yard.",
    "The cellar is lower than the street.",
    "The archive lies above the chapel.",
    "The clerk opens the ramp.",
    "The mill closes because the roads are flooded.",
)
"""Claims of other documents."""


def edited(claim: str, passage: str = "", corpus: tuple[str, ...] = CORPUS, edits: str = "paper") -> set[str]:
    """The falsified versions of a claim of document a."""
    text = passage or claim
    donors = Donors([*((f"d{number}", told) for number, told in enumerate(corpus)), ("a", claim)], EMBEDDER)
    return {one.text for one in alterations(claim, passage_of(text), donors, edits)}


def passage_of(text: str) -> Passage:
    return Passage(document="a", first=0, sentences=2, text=text)


EMBEDDER = OnnxEmbedder()


@pytest.mark.parametrize(
    ("claim", "falsified"),
    [
        ("The maps are stored in wooden boxes.", "The maps are stored in flat drawers."),  # what follows a preposition
        ("The choir meets in autumn.", "The choir meets in winter."),
        ("The owner mended the boats.", "The keeper mended the boats."),  # a subject
        ("The owner mended the boats.", "The owner mended the engines."),  # an object
        ("A wooden gate protects the garden.", "A rusty gate protects the garden."),  # an attribute
        (
            "The garden closes because the path is muddy.",
            "The garden closes because the roads are flooded.",
        ),  # a clause
        ("The hall lies below the tower.", "The hall lies above the tower."),  # a word whose opposite the corpus has
        ("The smith closes the ramp.", "The smith opens the ramp."),  # a verb whose opposite takes this object
        (
            "The tower is taller than the chapel.",
            "The chapel is taller than the tower.",
        ),  # two things that are compared
    ],
)
def test_substitutes_come_from_other_documents_in_the_same_role_and_frame(claim: str, falsified: str) -> None:
    assert falsified in edited(claim)


@pytest.mark.parametrize(
    "claim",
    [
        "Steam keeps the crust soft.",  # nobody says that anything discards a crust
        "The rules need the consent of the owner.",
        "Whale oil was sold by the barrel.",
        "The rain fell.",
        "The board meets within a day.",  # a day is not outside
    ],
)
def test_what_the_corpus_has_no_substitute_for_is_left_alone(claim: str) -> None:
    assert edited(claim) == set()


def test_the_same_document_lends_no_other_name_of_the_same_thing() -> None:
    claims = [("a", "The hull is painted in spring."), ("a", "The ferry is painted white.")]
    assert not alterations(claims[1][1], passage_of(claims[1][1]), Donors(claims, EMBEDDER))


def test_what_a_claim_of_the_corpus_may_make_true_is_dropped() -> None:
    claim, true = "The choir meets in autumn.", "The choir meets in winter."
    assert true in edited(claim)
    assert true not in edited(claim, corpus=(*CORPUS, true))
    assert true not in edited(claim, f"{claim} In winter the choir meets too.")


@pytest.mark.parametrize(
    "claim",
    [
        "The hall is not open.",  # a denial turns it round
        "Prices may increase.",  # both may be true
        "Some shops are open.",  # so may these
        "The shop sells tools such as open spanners.",  # an example
        "The bridge is 14 miles long.",  # a measure
    ],
)
def test_what_may_stay_true_is_left_alone(claim: str) -> None:
    assert edited(claim) == set()


@pytest.mark.parametrize("seed", range(5))
def test_paper_edits_leave_numbers_names_and_verbs_alone(seed: int) -> None:
    claim = "Nora Lind opened the mill before the flood in 1931."
    claims = [("a", claim), ("b", "Ada Holm opened the store after the war in 1945."), ("c", "The mill has 12 wheels.")]
    donors = Donors(claims, EMBEDDER)
    for one in alterations(claim, passage_of(claim), donors, "paper", seed):
        assert [value.text for value in numeric_values(one.text)] == [value.text for value in numeric_values(claim)]
        assert "not" not in one.text
        assert "Nora Lind" in one.text
    assert "value" in {one.kind for one in alterations(claims[2][1], passage_of(claims[2][1]), donors, "all", seed)}


def test_a_claim_and_its_falsified_version_are_paraphrased_alike() -> None:
    claim, falsified = "In 1931, the company closed numerous mills.", "In 1931, the company opened numerous mills."
    keep = frozenset({"closed", "opened"})
    for seed in map(str, range(20)):
        one, other = (paraphrase(text, seed, keep) for text in (claim, falsified))
        assert changed_words(one, other) == (["closed"], ["opened"])


def test_paraphrases_keep_values_and_differ_in_words() -> None:
    claim = "In March 1925, the company purchased several vessels with 12 cannons."
    told = {paraphrase(claim, str(seed)) for seed in range(30)}
    assert claim not in told
    assert all("1925" in one and ("12" in one or "twelve" in one or "dozen" in one) for one in told)


def test_a_paraphrase_leaves_words_that_it_cannot_place() -> None:
    for claim in ("Neighbours can object within a month.", "Three hundred whales came."):
        assert {paraphrase(claim, str(seed)) for seed in range(9)} == {claim}


def test_a_linking_word_takes_the_capital_of_a_word_and_not_of_a_name() -> None:
    told = {
        link_sentences(["Ice is cold.", word], str(seed))[1]
        for word in ("Water is wet.", "Tarn is old.")
        for seed in range(9)
    }
    assert {one.split(", ")[-1] for one in told} == {"Water is wet.", "water is wet.", "Tarn is old."}


def test_what_follows_know_if_is_no_condition() -> None:
    for seed in map(str, range(20)):
        assert "want to know if" in paraphrase("Scientists want to know if the lake holds salt.", seed)


def test_claims_stand_for_themselves() -> None:
    text = (
        "The north hall, which is old, opened in 1850. It has ten doors. See the map. Because it rained. "
        "Follow the signs to the gate. The guide lends umbrellas to visitors."
    )
    assert plain_claims(text) == [
        "The north hall is old.",
        "The north hall opened in 1850.",
        "The north hall has ten doors.",
        "The guide lends umbrellas to visitors.",
    ]


def test_a_pair_made_by_rule_passes_the_certain_gates() -> None:
    text = "The guide lends umbrellas to visitors. The tower is taller than the chapel. The maps are stored in wooden boxes."
    passage = Passage(document="a.md", first=0, sentences=3, text=text)
    found = set()
    for seed in (0, 0, 1, 2, 3):
        maker = EmbeddedGenerator(seed=seed)
        maker.learn([passage, *(Passage(document=claim, first=0, sentences=1, text=claim) for claim in CORPUS)])
        made = asyncio.run(maker.generate(passage)).pair
        assert isinstance(made, GeneratedPair)
        assert not [one for one in certain(passage, made, {}) if one.grade is Grade.FAILED]
        found.add(made)
    assert 2 <= len(found) <= 4


def test_a_passage_that_gives_no_pair_says_why() -> None:
    passage = Passage(document="a.md", first=0, sentences=2, text="It rained. See the map.")
    found = EmbeddedGenerator().make(passage)
    assert isinstance(found, NoPair)
    assert "no claim" in found.reason
    with raises(ConfigError, "some"):
        EmbeddedGenerator("some")


def document(count: int) -> Document:
    """A document of so many sentences under a heading."""
    return Document(
        id="a/b.md", text="Opening hours\n" + " ".join(f"Door {number} is open." for number in range(count))
    )


def test_windows_are_consecutive_sentences_without_headings() -> None:
    found = list(windows(document(7), Cut()))
    assert [one.id for one in found] == ["a/b.md#0+5", "a/b.md#1+5", "a/b.md#2+5"]
    assert found[1].text == "Door 1 is open. Door 2 is open. Door 3 is open. Door 4 is open. Door 5 is open."
    assert sentences_of("Opening hours\nThe hall is open.") == ["The hall is open."]


def test_a_short_document_is_one_passage_and_a_sentence_is_none() -> None:
    assert [one.id for one in windows(document(3), Cut())] == ["a/b.md#0+3"]
    assert list(windows(document(1), Cut())) == []


def test_drawn_windows_do_not_overlap_and_depend_on_seed_and_name_alone() -> None:
    found = list(windows(document(40), Cut()))
    for seed in range(10):
        cut = Cut(per_document=4, seed=seed)
        drawn = draw(found, cut)
        assert len(drawn) == 4
        assert not any(overlap(one, other) for one in drawn for other in drawn if one != other)
        assert drawn == draw(found, cut)


def test_every_document_is_in_one_shard() -> None:
    names = [f"doc{number}" for number in range(200)]
    parts = [{name for name in names if shard_of(name, 4) == part} for part in (1, 2, 3, 4)]
    assert sum(map(len, parts)) == 200
    assert min(map(len, parts)) > 20
