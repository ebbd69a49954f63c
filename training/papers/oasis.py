"""The figures that LLM-OASIS (Scirè et al., "Truth or Mirage?") prints, and the checks on them that need no model.

`vista_lab/papers/tables/oasis.toml` has the figures, and the reasons for those that contradict others.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import partial

from training.papers.checks import Check, Verdict, count, figure, verdict, whole_number
from vista_lab.metrics.detection import Detection
from vista_lab.metrics.intervals import Share
from vista_lab.papers import part, table

TEXT = 0
"""Stands for the table's number of a figure that only the text prints."""

printed = partial(part, "oasis")


def check_all() -> Verdict:
    """Recomputes all figures of the paper that need no model.

    Examples:
        >>> len(check_all().wrong)
        0
    """
    checks = (sizes, training_sizes, people, gains, claim_verification)
    return verdict((check for part in checks for check in part()), table("oasis")["known"])


def sizes() -> Iterator[Check]:
    """Section 2, Table 2 and what was released."""
    generated, released = printed("table02"), printed("released")
    texts = generated["factual_texts"] + generated["unfactual_texts"]
    yield count(TEXT, "passages in natural language", printed("text")["passages"], texts)
    yield count(TEXT, "claims", printed("text")["claims"], generated["claims"])
    yield figure(2, "claims per passage", generated["claims_per_passage"], generated["claims"] / generated["passages"])
    yield count(2, "passages that were released", generated["passages"], sum(released["extraction"]))
    yield count(2, "falsified claims that were released", generated["unfactual_claims"], sum(released["falsification"]))
    share = Share(released["extraction"][0], sum(released["extraction"]))
    yield figure(TEXT, "released split, percent for training", Decimal(printed("text")["split"][0]), 100 * share.value)


def training_sizes() -> Iterator[Check]:
    """Sections 5 and 6.1: row counts that the formulas give for Table 2's claims and passages."""
    text, generated = printed("text"), printed("table02")
    sizes = generated["claims"], generated["passages"]
    pairs, triplets = retriever_pairs(*sizes), verifier_triplets(*sizes)
    yield figure(TEXT, "training pairs of the retriever, in millions", text["retriever_pairs_millions"], pairs / 1e6)
    yield figure(TEXT, "triplets of the verifier, in millions", text["verifier_triplets_millions"], triplets / 1e6)
    parts = text["verifier_train_millions"] + text["verifier_validation_millions"]
    yield figure(TEXT, "triplets of both parts, in millions", text["verifier_triplets_millions"], float(parts))
    train = generated["passages"] * text["split"][0] / 100_000
    yield figure(TEXT, "extractor's rows for training, in thousands", Decimal(text["extractor_thousands"][0]), train)


def retriever_pairs(claims: int, passages: int) -> int:
    """⟨c_j, ·⟩ and ⟨c̄_i, ·⟩ with each of t, F and U (§5.2)."""
    return 3 * (claims + passages)


def verifier_triplets(claims: int, passages: int) -> int:
    """⟨c_j, t⟩, ⟨c_j, F⟩ and a neutral for each claim; ⟨c̄, t⟩, ⟨c̄, F⟩, ⟨c̄, U⟩ and ⟨c_i, U⟩ for each passage (§5.3)."""
    return 3 * claims + 4 * passages


def people() -> Iterator[Check]:
    """Section 4.1 and Table 3."""
    drawn, marked = printed("people"), printed("table03")
    per_annotator = drawn["sample"] // drawn["annotators"] + drawn["shared"]
    yield count(TEXT, "instances of an annotator", drawn["each"], per_annotator)
    accuracies = [accuracy for accuracy, _ in marked["rows"].values()]
    fitting = [n for n in marked["sizes"] if all(whole_number(accuracy, n) is not None for accuracy in accuracies)]
    matches = ", ".join(map(str, fitting)) or "none"
    what = "one number of instances that gives all four accuracies"
    yield Check(3, what, "one of " + ", ".join(map(str, marked["sizes"])), matches, bool(fitting))


def gains() -> Iterator[Check]:
    """Table 4 and Table 8 against the text."""
    text, rows = printed("text"), printed("table04")["rows"]
    _, without, with_evidence = rows["GPT-4o"]
    yield figure(TEXT, "GPT-4o without evidence, percent", Decimal(text["gpt_4o_without"]), float(without))
    yield figure(TEXT, "GPT-4o with evidence, percent", Decimal(text["gpt_4o_with"]), float(with_evidence))
    gain, claimed = float(with_evidence - without), text["gpt_4o_gain"]
    yield Check(TEXT, "GPT-4o's gain from evidence, points", f"{claimed}", f"{gain:.2f}", gain == claimed)
    recall = {name: float(value) for name, value in printed("table08")["rows"].items()}
    untuned = recall["E5-base (without fine-tuning)"]
    yield figure(8, "recall of E5-base without fine-tuning", text["recall_without"], untuned)
    yield figure(8, "recall of E5-base", text["recall_with"], recall["E5-base"])


def claim_verification() -> Iterator[Check]:
    """Table 5: balanced accuracies as whole numbers of the released claims, half of which are false."""
    claims = printed("released")["task_2"]
    for model, (_, accuracy) in printed("table05")["rows"].items():
        right = round(accuracy * claims / 100)
        computed = 100 * (claim_detection(right, claims).balanced_accuracy or 0)
        check = figure(5, model, accuracy, computed)
        yield Check(5, model, check.printed, f"{check.found} ({right:,} of {claims:,})", check.holds)


def claim_detection(right: int, claims: int) -> Detection:
    """So many right of so many claims, half of which are false; which of them are right makes no difference."""
    half = claims // 2
    tp = min(right, half)
    return Detection(tp=tp, fp=half - (right - tp), fn=half - tp, tn=right - tp)
