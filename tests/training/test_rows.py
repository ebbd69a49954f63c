"""Rows of a generated set: what leaks, what is too few, and which rows may be each other's negatives."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path

import pytest

from tests.raising import raises
from vista_guard import ConfigError, InputError
from vista_lab.training.recipes import LibraryRecipe, ShippedRecipe, read_recipe
from vista_lab.training.rows import (
    ExtractorRow,
    PassageWindow,
    RetrieverRow,
    Split,
    VerifierRow,
    disjoint_batches,
    label_counts,
    refuse_few,
)


def row(document: str, first: int, claim: str, passage: str | None = None) -> RetrieverRow:
    source = PassageWindow(document, first, first + 5)
    return RetrieverRow(source, claim, passage or f"Text of {source}.")


def rows(documents: int, claims: int) -> list[RetrieverRow]:
    return [row(f"d{d}.md", 0, f"Claim {c} of document {d}.") for d in range(documents) for c in range(claims)]


def test_rows_of_one_passage_never_share_a_batch_and_none_is_lost() -> None:
    given = rows(7, 5)
    batches = list(disjoint_batches(given, 3, random.Random(1)))
    assert all(len({one.source for one in batch}) == len(batch) for batch in batches)
    assert sum(map(len, batches)) >= len(given) - 5  # a round of seven may leave one row alone


def test_overlapping_windows_copies_and_equal_claims_never_share_a_batch() -> None:
    given = [
        row("a.md", 0, "One."),
        row("a.md", 4, "Two."),
        row("a.md", 8, "Three."),  # overlaps the second, and through it belongs to the first
        row("b.md", 0, "Four.", "Text of a.md#0+5."),
        row("c.md", 0, "two."),
        *rows(4, 2),
    ]
    kin = {id(one) for one in given[:5]}
    for seed in range(20):
        for batch in disjoint_batches(given, 4, random.Random(seed)):
            assert sum(id(one) in kin for one in batch) <= 1


def test_windows_that_do_not_overlap_are_each_others_negatives() -> None:
    (batch,) = disjoint_batches([row("a.md", 0, "One."), row("a.md", 5, "Two.")], 4, random.Random(0))
    assert len(batch) == 2


def test_rows_of_a_single_passage_make_no_batch() -> None:
    assert not list(disjoint_batches(rows(1, 9), 4, random.Random(0)))


def test_each_epoch_brings_other_neighbours() -> None:
    given = rows(12, 2)
    first, second = (
        {
            frozenset((id(a), id(b)))
            for batch in disjoint_batches(given, 4, random.Random(seed))
            for a, b in combinations(batch, 2)
        }
        for seed in (1, 2)
    )
    assert first != second


@pytest.mark.parametrize(
    "held",
    [row("a.md", 3, "Other."), row("b.md", 0, "Other.", "text  of a.md#0+5.")],
    ids=["overlaps", "a copy by another name"],
)
def test_a_split_that_leaks_is_refused(held: RetrieverRow) -> None:
    with raises(InputError, "a.md", "0", "5"):
        Split([row("a.md", 0, "One.")], [held])


def test_a_split_by_passage_is_taken_where_windows_do_not_overlap() -> None:
    assert Split([row("a.md", 0, "One.")], [row("a.md", 5, "Two.")]).held_out


@pytest.mark.parametrize("empty", [0, 1])
def test_an_empty_side_is_refused(empty: int) -> None:
    sides = [rows(1, 1), [row("z.md", 0, "Z.")]]
    sides[empty] = []
    with pytest.raises(InputError):
        Split(sides[0], sides[1])


def test_the_data_hash_knows_every_character_and_the_side() -> None:
    one, other = rows(2, 1)
    changed = RetrieverRow(one.source, one.claim, one.passage + "!")
    hashes = {Split([one], [other]).sha256, Split([other], [one]).sha256, Split([changed], [other]).sha256}
    assert len(hashes) == 3
    assert Split([one], [other]).sha256 == Split([rows(2, 1)[0]], [rows(2, 1)[1]]).sha256


def test_too_few_rows_of_a_label_are_told_by_label() -> None:
    source = PassageWindow("a.md", 0, 5)
    given = [VerifierRow(source, "A.", "T.", "supported")] * 3 + [VerifierRow(source, "B.", "T.", "contradicted")]
    assert label_counts(given) == {"supported": 3, "contradicted": 1, "not_enough": 0}
    refuse_few({"supported": 3, "contradicted": 3, "not_enough": 3}, 3)
    with raises(InputError, "1", "contradicted", "0", "not_enough", "3"):
        refuse_few(label_counts(given), 3)


def test_extractor_rows_leak_by_their_text() -> None:
    with pytest.raises(InputError):
        Split(
            [ExtractorRow(PassageWindow("a.md", 0, 5), "Text.", ("A.",))],
            [ExtractorRow(PassageWindow("b.md", 0, 5), "text.", ("B.",))],
        )


def test_the_papers_recipes_have_its_figures() -> None:
    parts = {part: read_recipe("paper", part) for part in ("extractor", "retriever", "verifier")}
    assert all(isinstance(one, LibraryRecipe) for one in parts.values())
    extractor, retriever, verifier = parts.values()
    assert isinstance(extractor, LibraryRecipe)
    assert isinstance(retriever, LibraryRecipe)
    assert isinstance(verifier, LibraryRecipe)
    assert (extractor.base, extractor.steps, extractor.optimizer) == ("hf:google-t5/t5-base", 1_000_000, "adafactor")
    assert extractor.learning_rate == 1e-5
    assert (retriever.batch, retriever.steps, retriever.learning_rate) == (20, 300_000, 1e-6)
    assert (retriever.optimizer, retriever.warmup) == ("adamw_torch", 0.2)
    assert (verifier.base, verifier.steps, verifier.optimizer) == (
        "hf:microsoft/deberta-v3-large",
        1_000_000,
        "adafactor",
    )


def test_the_small_recipe_has_no_extractor_and_says_who_has_one() -> None:
    with raises(ConfigError, "extractor", "paper"):
        read_recipe("small", "extractor")
    assert isinstance(read_recipe("small", "verifier"), ShippedRecipe)


def test_another_base_takes_the_recipes_place() -> None:
    assert (
        read_recipe("paper", "retriever", "hf:google-bert/bert-base-uncased").base == "hf:google-bert/bert-base-uncased"
    )


def test_a_recipe_of_ones_own(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        '[verifier]\nbase = "shipped"\nlearning_rate = 1e-5\nmax_minutes = 1\nmax_tokens = 256\nkeep = 0.3\n'
    )
    mine = read_recipe(str(file), "verifier")
    assert (mine.name, mine.learning_rate) == ("mine", 1e-5)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[verifier", ("TOML",)),
        ('[verifier]\nbase = "shipped"\nkeep = 2\nmax_tokens = 9\nmax_minutes = 1\nlearning_rate = 1', ("keep",)),
        ('[verifier]\nbase = "x"\nstep = 3', ("learning_rate",)),
    ],
)
def test_a_wrong_recipe_is_told_by_file_and_field(tmp_path: Path, text: str, told: tuple[str, ...]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(text)
    with raises(ConfigError, *told):
        read_recipe(str(file), "verifier")


def test_an_unknown_recipe_names_those_that_there_are() -> None:
    with raises(ConfigError, "papr", "paper", "small"):
        read_recipe("papr", "verifier")
