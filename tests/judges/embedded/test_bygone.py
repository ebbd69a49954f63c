"""What held once verifies nothing about now."""

from __future__ import annotations

import pytest

from vista_guard.judges.embedded.opposites import bygone


@pytest.mark.parametrize(
    ("claim", "evidence", "words"),
    [
        ("The fee is 10 euros.", "Until 2023 the fee was 10 euros.", "Until 2023"),
        (
            "The fee is 10 euros.",
            "Until the end of 2023 the fee was 10 euros. It is 15 euros now.",
            "Until the end of 2023",
        ),
        ("The shop sells tickets.", "The shop no longer sells tickets.", "no longer"),
        ("The shop sells tickets.", "In summer it used to sell tickets of the shop.", "it used to"),
        ("Sund is the capital.", "Formerly, Sund was the capital.", "Formerly"),
    ],
)
def test_the_words_that_end_it_are_named(claim: str, evidence: str, words: str) -> None:
    assert (bygone(claim, evidence) or "").strip() == words


@pytest.mark.parametrize(
    ("claim", "evidence"),
    [
        ("The fee was 10 euros until 2023.", "Until 2023 the fee was 10 euros."),
        ("The fee is 15 euros.", "Until 2023 the fee was 10 euros. Since 2024 the fee is 15 euros."),
        ("The shop no longer sells tickets.", "The shop no longer sells tickets."),
        ("The knife cuts bread.", "The knife is used to cut bread."),
        ("A sandbox starts machines.", "A sandbox is a network where copies are kept or used to start machines."),
        ("The permit is valid for visits.", "The permit for visits is valid until 2030."),
        ("The library has a garden.", "The library, previously a mill, has a garden."),
        ("The hall opened in 1925.", "The hall opened in 1925, and was a mill until 1900."),
    ],
)
def test_what_still_holds_does(claim: str, evidence: str) -> None:
    assert bygone(claim, evidence) is None
