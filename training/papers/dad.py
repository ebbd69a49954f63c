"""The figures that DAD (Magomere et al., "Distill and Align Decomposition") prints, and the checks on them that need no model.

`vista_lab/papers/tables/dad.toml` has the figures, and the reasons for those that contradict others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import partial

from training.papers.checks import Check, Verdict, agrees, count, figure, verdict
from vista_lab.decompose.tables import BALANCED, CLAIMS, F1, RESPONSES, printed_rows
from vista_lab.metrics.detection import Detection
from vista_lab.papers import part, table

TEXT = 0
"""Stands for the table's number of a figure that only the text prints."""
OURS, DYDECOMP, SMALL = "DAD, Llama-3.1-8B", "DyDecomp, Llama-3-70B", "Prompt, Llama-3.1-8B"

printed = partial(part, "dad")


def check_all() -> Verdict:
    """Recomputes all figures of the paper that need no model.

    Examples:
        >>> len(check_all().wrong)
        0
    """
    first = (whole_counts, overall, duplicates, gains, recalls, best)
    checks = (*first, second_verifier, ablation, sizes, agreement, examples)
    return verdict((check for part in checks for check in part()), table("dad")["known"])


def whole_counts() -> Iterator[Check]:
    """Table 1: balanced accuracy and F1 of a row that follow from one pair of whole counts of both classes."""
    for place, (setting, about) in enumerate(printed("settings").items()):
        for name, row in printed_rows().items():
            fits = [met for size in about["sizes"] for met in fitting(row[place], size, setting in RESPONSES)]
            sizes = " or ".join(f"{supported}/{unsupported}" for supported, unsupported in about["sizes"])
            counts = ", ".join(f"{met.tn} of {met.tn + met.fp} and {met.tp} of {met.tp + met.fn}" for met in fits)
            pair = f"{row[place][BALANCED]} and {row[place][F1]}"
            yield Check(1, f"{setting}, {name}, counts", pair, counts or f"none of {sizes}", bool(fits))


def fitting(cell: Sequence[Decimal], size: Sequence[int], response: bool) -> list[Detection]:
    """All counts of both classes that round to a printed balanced accuracy and F1, in percent. NOT SUPPORTED is positive.

    `size` are the units that are SUPPORTED, and that are not. Of a `response` F1 is that of SUPPORTED, else the mean of both.
    """
    supported, unsupported = size
    balanced = _as_rounded(cell[BALANCED], response)
    fits = []
    for tn in range(supported + 1):
        near = round(unsupported * (2 * float(balanced) / 100 - tn / supported))
        for tp in range(max(near - 1, 0), min(near + 1, unsupported) + 1):
            met = Detection(tp=tp, fp=supported - tn, fn=unsupported - tp, tn=tn)
            f1 = met.other.f1 if response else met.macro_f1
            if agrees(balanced, 100 * (met.balanced_accuracy or 0)) and agrees(cell[F1], 100 * (f1 or 0)):
                fits.append(met)
    return fits


def _as_rounded(value: Decimal, response: bool) -> Decimal:
    """Balanced accuracies of sentences were rounded to one digit, all but a few, and printed with a 0 behind it."""
    return value.quantize(Decimal("0.1")) if not response and str(value).endswith("0") else value


def overall() -> Iterator[Check]:
    """Table 1: the mean of the six settings."""
    for name, (*settings, mean) in printed_rows().items():
        for place, what in ((BALANCED, "balanced accuracy"), (F1, "F1"), (CLAIMS, "subclaims")):
            computed = sum(float(cell[place]) for cell in settings) / len(settings)
            yield figure(1, f"overall, {name}, {what}", mean[place], computed)


def duplicates() -> Iterator[Check]:
    """Table 1: figures of different things that agree to the last digit."""
    places = list(printed("settings"))
    felm, bingchat, chatgpt = (places.index(one) for one in (*RESPONSES, "ChatGPT A-1"))
    for name, row in printed_rows().items():
        one, other = row[felm][BALANCED], row[bingchat][BALANCED]
        yield Check(1, f"{name}, FELM and BINGCHAT differ", f"{one}", f"{other}", one != other)
        one, other = row[chatgpt][BALANCED], row[chatgpt][F1]
        yield Check(1, f"{name}, balanced accuracy and F1 on ChatGPT A-1 differ", f"{one}", f"{other}", one != other)


def gains() -> Iterator[Check]:
    """Sections 1 and 5: differences of Table 1's figures, in points."""
    text, scores = printed("text"), printed_rows()
    at = {name: place for place, name in enumerate(printed("settings"))}
    for what, key, other, place, metric in (
        ("DyDecomp, F1", "gain_over_dydecomp_f1", DYDECOMP, -1, F1),
        ("DyDecomp, balanced accuracy", "gain_over_dydecomp", DYDECOMP, -1, BALANCED),
        ("FActScore, F1", "gain_over_factscore", "FActScore, Llama-3.1-8B", -1, F1),
        ("VeriScore, F1", "gain_over_veriscore", "VeriScore, Llama-3.1-8B", -1, F1),
        ("VeriScore on BINGCHAT, F1", "gain_over_veriscore_bingchat", "VeriScore, Llama-3.1-8B", at["BINGCHAT"], F1),
        ("its prompt, F1", "gain_over_prompt", SMALL, -1, F1),
        ("its prompt on ChatGPT A-2, F1", "gain_over_prompt_chatgpt_a2", SMALL, at["ChatGPT A-2"], F1),
        ("its prompt on PerplexityAI A-1, F1", "gain_over_prompt_perplexity_a1", SMALL, at["PerplexityAI A-1"], F1),
    ):
        yield _gain(f"gain over {what}", text[key], scores[OURS][place][metric], scores[other][place][metric])
    large, larger = (scores[f"Prompt, Llama-{size}"][-1][F1] for size in ("3.3-70B", "3.1-405B"))
    yield _gain("gain of 405B over 70B, F1", text["gain_70b_to_405b"], larger, large)


def _gain(what: str, claimed: Decimal, first: Decimal, second: Decimal) -> Check:
    return Check(TEXT, what, f"{claimed:+}", f"{first - second:+}", claimed == first - second)


def recalls() -> Iterator[Check]:
    """Section 5: both recalls on BINGCHAT, whose mean Table 1 prints."""
    text, place = printed("text"), list(printed("settings")).index("BINGCHAT")
    for name, key in ((DYDECOMP, "recalls_dydecomp"), (OURS, "recalls_dad")):
        yield figure(
            1, f"BINGCHAT, {name}, mean of recalls", printed_rows()[name][place][BALANCED], float(sum(text[key])) / 2
        )
    gain, claimed = text["recalls_dad"][1] - text["recalls_dydecomp"][1], text["recall_gain"]
    yield Check(TEXT, "gain in recall of NOT SUPPORTED", f"{claimed}", f"{gain}", gain == claimed)


def best() -> Iterator[Check]:
    """Section 5: the settings in which DAD, VeriScore or a prompt is said to be best."""
    for setting, metric, name, wanted in (
        ("PerplexityAI A-1", BALANCED, "balanced accuracy", ("DAD",)),
        ("PerplexityAI A-1", F1, "F1", ("DAD",)),
        ("PerplexityAI A-2", BALANCED, "balanced accuracy", ("DAD",)),
        ("ChatGPT A-2", BALANCED, "balanced accuracy", ("DAD",)),
        ("ChatGPT A-2", F1, "F1", ("DAD",)),
        ("FELM", F1, "F1", ("VeriScore", "Prompt")),
        ("BINGCHAT", F1, "F1", ("VeriScore", "Prompt")),
    ):
        place = list(printed("settings")).index(setting)
        scores = {row: cells[place][metric] for row, cells in printed_rows().items()}
        top = max(scores, key=lambda row: scores[row])
        yield Check(1, f"{setting}, best {name}", " or ".join(wanted), top, top.split(",")[0] in wanted)


def second_verifier() -> Iterator[Check]:
    """Table 2: its caption says that DAD is better consistently."""
    cells = [cell for row in printed("table02")["rows"].values() for cell in row]
    won = sum(first > second for first, second in cells)
    yield count(2, "settings and metrics in which DAD is better", len(cells), won)


def ablation() -> Iterator[Check]:
    """Table 3: its first and last row are rows of Table 1."""
    trained = printed("table03")
    for name, same in (("Prompt only", SMALL), ("SFT + RL, dense + checklist", OURS)):
        for setting, (f1, claims) in zip(trained["settings"], trained["rows"][name], strict=True):
            cell = printed_rows()[same][list(printed("settings")).index(setting)]
            expected = f"{cell[F1]}, {cell[CLAIMS]}"
            yield Check(3, f"{name}, {setting}", f"{f1}, {claims}", expected, (f1, claims) == (cell[F1], cell[CLAIMS]))


def sizes() -> Iterator[Check]:
    """Table 4 and section 4.1, by the class sizes that the figures fit."""
    for setting, (*_, size, _) in printed("table04")["rows"].items():
        yield count(4, f"size, {setting}", size, sum(printed("settings")[setting]["sizes"][0]))
    released, responses = printed("released"), printed("table04")["rows"]["BINGCHAT"][2]
    yield count(4, "responses of BINGCHAT that are released", responses, released["bingcheck"])
    yield figure(TEXT, "units to train on, in thousands", printed("text")["rl_thousands"], released["train"] / 1000)


def agreement() -> Iterator[Check]:
    """Table 5: with two answers, three annotators agree in (sum of the pairwise agreements − 100) / 2 percent."""
    for name, row in printed("table05")["rows"].items():
        computed = three_way(row["pairwise"])
        # Each of three rounded figures may be half a digit off, and the printed one too.
        holds = abs(computed - row["three_way"]) <= 3 * Decimal("0.05") / 2 + Decimal("0.05")
        yield Check(5, f"three-way, {name}", f"{row['three_way']}", f"{computed}", holds)


def three_way(pairwise: Sequence[Decimal]) -> Decimal:
    """Percentage of cases on which all three annotators agree, from the three pairs' percentages, of a binary judgement.

    Examples:
        >>> three_way([Decimal(90), Decimal(80), Decimal(80)])
        Decimal('75')
    """
    return (sum(pairwise, Decimal()) - 100) / 2


def examples() -> Iterator[Check]:
    """Table 6: averages over subclaims are whole numbers of them."""
    for name, (claims, *_, verifiability, coherence, clarity) in printed("table06")["rows"].items():
        for what, value in (("verifiability", verifiability), ("coherence", coherence), ("clarity", clarity)):
            yield figure(6, f"{name}, {what}", Decimal(value), round(float(value) * claims) / claims)
