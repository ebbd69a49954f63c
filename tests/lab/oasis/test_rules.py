"""Pairs made by rule: what edits change and what they leave alone, what paraphrases keep, and how documents are cut."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("textblob")
pytest.importorskip("lemminflect")
pytest.importorskip("num2words")

from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.types import Document
from vista_lab.oasis.alterations import alterations
from vista_lab.oasis.embedded import EmbeddedGenerator, plain_claims
from vista_lab.oasis.gates import certain, changed_words
from vista_lab.oasis.paraphrases import paraphrase
from vista_lab.oasis.passages import Cut, draw, overlap, sentences_of, shard_of, windows
from vista_lab.oasis.records import GeneratedPair, NoPair, Passage
from vista_lab.oasis.rewriters.values import numeric_values
from vista_lab.runs.made import Grade


def edited(claim: str, passage: str = "", others: tuple[str, ...] = (), edits: str = "paper") -> dict[str, str]:
    """Falsified claims by kind; the last of each."""
    return {one.kind: one.text for one in alterations(claim, passage or claim, others, edits)}


@pytest.mark.parametrize(
    ("kind", "claim", "falsified"),
    [
        ("verb", "The new law raises the fee.", "The new law lowers the fee."),
        ("word", "The archive lies below the chapel.", "The archive lies above the chapel."),
        ("kind", "The council meets in spring.", "The council meets in summer."),
        ("phrase", "The ferry stopped because of the storm.", "The ferry stopped despite the storm."),
        ("role", "The landlord pays the tenant for repairs.", "The tenant pays the landlord for repairs."),
        ("direction", "The Ludo drains into the Marn.", "The Marn drains into the Ludo."),
        ("comparison", "The tower is taller than the chapel.", "The chapel is taller than the tower."),
    ],
)
def test_each_kind_of_edit(kind: str, claim: str, falsified: str) -> None:
    found = {(one.kind, one.text) for one in alterations(claim, claim, [])}
    assert (kind, falsified) in found


def test_if_becomes_unless() -> None:
    claim = "Visitors can get a refund if they cancel in time."
    told = {
        "Visitors can get a refund unless they cancel in time.",
        "Unless they cancel in time, visitors can get a refund.",
    }
    assert edited(claim)["condition"] in told


def test_a_parallel_claim_lends_its_predicate() -> None:
    claims = ("The yellow badge is used for visitors.", "The purple badge is used for repairs.")
    assert edited(claims[0], " ".join(claims), claims[1:]) == {"parallel": "The yellow badge is used for repairs."}


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
    assert edited(claim) == {}


def test_a_word_that_the_passage_uses_too_is_not_put_in() -> None:
    assert edited("The gate is open.", "The gate is open. The door is closed.") == {}


@pytest.mark.parametrize("seed", range(5))
def test_paper_edits_leave_numbers_names_and_verbs_alone(seed: int) -> None:
    passage = "Nora Lind opened the mill before 1931 because of the flood. The mill is larger than the barn and has 12 wheels."
    for claim in ("Nora Lind opened the mill before 1931 because of the flood.", "The mill is larger than the barn."):
        for one in alterations(claim, passage, [], "paper", seed):
            assert [value.text for value in numeric_values(one.text)] == [value.text for value in numeric_values(claim)]
            assert "not" not in one.text
            assert ("Nora Lind" in one.text) == ("Nora Lind" in claim)
    kinds = {one.kind for one in alterations("The mill has 12 wheels.", passage, [], "all", seed)}
    assert "value" in kinds


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
    text = "The guide lends umbrellas to visitors. The council closed the upper garden because of the storm. Dogs may enter."
    passage = Passage(document="a.md", first=0, sentences=3, text=text)
    made = asyncio.run(EmbeddedGenerator().generate(passage)).pair
    assert isinstance(made, GeneratedPair)
    assert not [one for one in certain(passage, made, {}) if one.grade is Grade.FAILED]
    assert made == EmbeddedGenerator().make(passage)
    assert made != EmbeddedGenerator(seed=4).make(passage)


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
