"""Tables of the quality of decompositions: measures without a model, and desiderata by a judge or people (DAD, App. A).

Layout only: the figures come from `runs`, `metrics` and `people`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from vista_lab.decompose.decompositions import DecomposedRun, MeasuredRun
from vista_lab.decompose.measures import DESIDERATA, OF_SENTENCES, SUPPORTED, Marks, atomicity
from vista_lab.metrics.intervals import share_interval, share_text
from vista_lab.tables.writers import NOTHING, Sheet, decimals, headings, row

Held = Sequence[tuple[str, bool]]
"""Response and value of each claim, sentence or fact."""


def share(held: Held) -> str:
    """A share with its interval over responses and its n: `97.5 % (93.1–99.2), n 120`; a dash for nothing."""
    interval = share_interval([group for group, _ in held], [true for _, true in held])
    if interval is None:
        return NOTHING
    return f"{share_text(sum(true for _, true in held) / len(held), interval)}, n {len(held):,}"


def measures(runs: Sequence[MeasuredRun], notes: Sequence[str] = ()) -> Sheet:
    """Claims a sentence, atomicity and the three measures without a model, one row per run."""
    rows = [row(run.run.name, run.run.judge, *_counts(run), *map(share, _shares(run).values())) for run in runs]
    same = "Repeated: a cosine above 0.9 with an earlier claim, or the same words."
    drawn = "Intervals of 95 % draw whole responses."
    remarks = (f"Entailed: P(supported) of at least 0.5. {same}", drawn, *notes)
    counts = ("sentences", "without claims", "claims", "claims a sentence", "log2 atomicity")
    heads = headings(("run", "judge"), *counts, *_SHARES)
    return Sheet("measures", "Claims against their sentences", heads, tuple(rows), remarks)


_SHARES = ("entailed by the sentence", "entailed in context", "repeated", "facts covered")


def _shares(run: MeasuredRun) -> Mapping[str, Held]:
    by_sentence: list[tuple[str, bool]] = []
    in_context: list[tuple[str, bool]] = []
    repeated: list[tuple[str, bool]] = []
    for sentence, measured in zip(run.run.sentences, run.sentences, strict=True):
        by_sentence += [(sentence.made.group, p >= SUPPORTED) for p in measured.by_sentence]
        in_context += [(sentence.made.group, p >= SUPPORTED) for p in measured.in_context]
        repeated += [(sentence.made.group, is_repeat) for is_repeat in measured.repeats]
    facts = [(f"{turn[0]}#{turn[1]}", is_covered) for turn, covered in run.covered.items() for is_covered in covered]
    return dict(zip(_SHARES, (by_sentence, in_context, repeated, facts), strict=True))


def _counts(run: MeasuredRun) -> Iterator[str]:
    claims = [len(sentence.made.claims) for sentence in run.run.sentences]
    atoms = atomicity(facts for sentence in run.sentences for facts in sentence.facts)
    yield f"{len(claims):,}"
    yield f"{claims.count(0):,}"
    yield f"{sum(claims):,}"
    yield f"{sum(claims) / len(claims):.2f}"
    yield decimals(atoms, 2)


def desiderata(
    runs: Sequence[DecomposedRun], marks: Mapping[str, Mapping[str, Marks]], notes: Sequence[str] = ()
) -> Sheet:
    """The five desiderata, one row per run and marker.

    `marks` are by marker (`judge`, `people`), then by the sentence's id; `notes` stand below the table.
    """
    held = ((run, who, _by_desideratum(run, by_sentence)) for run in runs for who, by_sentence in marks.items())
    rows = [row(run.name, who, *map(share, own.values())) for run, who, own in held]
    remarks = ("Coverage and uniqueness are of sentences, the others of claims.", *notes)
    heads = headings(("run", "marked by"), *DESIDERATA)
    return Sheet("desiderata", "Five desiderata", heads, tuple(rows), remarks)


def _by_desideratum(run: DecomposedRun, marks: Mapping[str, Marks]) -> Mapping[str, Held]:
    bits: dict[str, list[tuple[str, bool]]] = {name: [] for name in DESIDERATA}
    for sentence in run.sentences:
        if (sentence_marks := marks.get(sentence.id)) is None:
            continue
        for mark in sentence_marks.claims:
            for name, bit in mark.items():
                bits[name].append((sentence.made.group, bool(bit)))
        for name in OF_SENTENCES:
            if sentence.made.claims or name == "coverage":  # without claims none repeats another
                bits[name].append((sentence.made.group, bool(sentence_marks.sentence[name])))
    return bits
