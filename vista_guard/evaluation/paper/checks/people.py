"""What people said: Tables 1, 6 and 7."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from vista_guard.evaluation.metrics.claim_sets import SetAgreement
from vista_guard.evaluation.metrics.detection import Detection
from vista_guard.evaluation.metrics.intervals import Share
from vista_guard.evaluation.paper.checks.check import Check, count, figure
from vista_guard.evaluation.paper.printed import table


def label_counts() -> Iterator[Check]:
    """Table 1: counts and their percentages."""
    printed = table("table01")
    yield count(1, "sum of the counts", printed["total"], sum(printed["counts"].values()))
    for label, n in printed["counts"].items():
        yield figure(1, f"percent of {label}", printed["percents"][label], 100 * Share(n, printed["total"]).value)


def claim_sets() -> Iterator[Check]:
    """Table 6: F1 follows from Jaccard where both are pooled over turns, and only then."""
    printed = table("table06")
    for pair, (jaccard, f1) in printed["pairs"].items():
        yield figure(6, f"F1 of {pair}", f1, pooled(float(jaccard)).f1 or 0)
    for name, place in (("Jaccard", 0), ("F1", 1)):
        mean = fmean(float(values[place]) for values in printed["pairs"].values())
        yield figure(6, f"mean {name}", printed["mean"][place], mean)


def pooled(jaccard: float) -> SetAgreement:
    """Two sets of a thousand claims with this Jaccard similarity."""
    return SetAgreement(1000, 1000, 2000 * jaccard / (1 + jaccard))


def turn_labels() -> Iterator[Check]:
    """Table 7, section 5 and App. H: what the consensus says of turns, and what the data sets had said."""
    printed = table("table07")
    found = original_against_consensus()
    diverged = Share(found.fp + found.fn, found.turns)
    yield count(7, "sum of the categories", printed["turns"], found.turns)
    yield figure(7, "percent of turns that diverge", printed["diverged_percent"], 100 * diverged.value)
    yield count(7, "turns newly unverifiable", printed["newly_unverifiable"], found.fp)
    share = 100 * Share(found.fp, diverged.hits).value
    yield figure(7, "percent of them newly unverifiable", printed["newly_unverifiable_percent"], share)
    yield count(7, "turns newly verified", printed["reclassified_verified"], found.fn)
    yield count(7, "turns that people call unverifiable", table("table03")["unverifiable"], found.tp + found.fp)


def original_against_consensus() -> Detection:
    """Table 7 as a detection: the data sets' own labels as gold, the consensus as what was found."""
    kinds = {(one["original"], one["consensus"]): 0 for one in table("table07")["categories"]}
    for one in table("table07")["categories"]:
        kinds[one["original"], one["consensus"]] += one["count"]
    return Detection.of(kind for kind, n in kinds.items() for _ in range(n))
