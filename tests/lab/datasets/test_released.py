"""The publishers' files, where a folder has them: every row is read. Of test files nothing but numbers is looked at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vista_lab.datasets.registry import DataFolder, count_entries, find, open_dataset

FOUND = {
    "bingcheck": (378, 378, 181, 0),
    "begin-dev-cmu": (416, 416, 278, 79),
    "begin-dev-tc": (383, 383, 307, 2),
    "begin-dev-wow": (430, 430, 250, 0),
    "begin-test-wow": (3607, 3607, 2209, 6),
    "coconot-contrast-train": (1030, 1030, 515, 0),
    "coconot-pref": (1030, 1030, 515, 0),
    "coconot-pref-500": (500, 500, 250, 0),
    "dialfact-testsmall": (300, 300, 201, 0),
    "knowmt": (801, 0, 0, 0),
    "factscore-chatgpt-a1-test": (33, 33, 33, 0),
    "factscore-chatgpt-a1-test-disjoint": (16, 16, 16, 0),
    "factscore-chatgpt-a1-train": (95, 95, 94, 0),
    "factscore-chatgpt-a1-validation": (29, 29, 29, 0),
    "factscore-chatgpt-a2-test": (33, 33, 33, 0),
    "factscore-chatgpt-a2-test-disjoint": (16, 16, 16, 0),
    "factscore-chatgpt-a2-train": (95, 95, 94, 0),
    "factscore-chatgpt-a2-validation": (29, 29, 29, 0),
    "factscore-perplexity-a1-test": (33, 33, 28, 0),
    "factscore-perplexity-a1-test-disjoint": (17, 17, 16, 0),
    "factscore-perplexity-a1-train": (92, 92, 78, 0),
    "factscore-perplexity-a1-validation": (33, 33, 27, 0),
    "factscore-perplexity-a2-test": (33, 33, 28, 0),
    "factscore-perplexity-a2-test-disjoint": (17, 17, 16, 0),
    "factscore-perplexity-a2-train": (92, 92, 78, 0),
    "factscore-perplexity-a2-validation": (33, 33, 27, 0),
    "fade": (500, 500, 419, 0),
    "felm-wk": (184, 184, 85, 0),
    "mtragun-dev": (103, 103, 0, 0),
    "mtragun-train": (182, 182, 0, 0),
    "rgm": (600, 600, 300, 0),
    "rgm-500": (500, 500, 250, 0),
    "summedits-ectsum": (668, 668, 426, 0),
    "summedits-podcast": (500, 500, 337, 0),
    "vista-human-dev": (70, 113, 71, 0),
}
"""Conversations, turns with gold, those that are looked for, those that are left open."""


@pytest.mark.skipif("VISTA_GUARD_DATA" not in os.environ, reason="VISTA_GUARD_DATA names no folder of shared data")
@pytest.mark.parametrize("name", FOUND)
def test_every_row_is_read(name: str) -> None:
    folder = DataFolder(Path(os.environ["VISTA_GUARD_DATA"]))
    lacking = folder.missing(find(name))
    if lacking:
        pytest.skip(f"VISTA_GUARD_DATA has no {', '.join(lacking)}")
    counts = count_entries(open_dataset(find(name), folder).entries())
    found = (counts.conversations, counts.turns, counts.positive, counts.open)
    assert (found, dict(counts.skipped)) == (FOUND[name], {})
