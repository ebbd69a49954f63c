"""FEVER train (Thorne et al. 2018): claims beside gold sentences, and claims of one sentence that differ by a fact."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

from training.pairs import Carrier, KindPair
from training.suites.loaders import FeverClaim, read_fever
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, SUPPORTED_CLASS
from vista_lab.oasis.rewriters.carrier import content_words

FILES = ("train/fever/train.jsonl.gz",)
_ODD = re.compile(r"[\[\]ː|]|\(\s*[;,]|^is |^are |^was ")


def claims(data: Path) -> list[FeverClaim]:
    """All training claims that have gold sentences."""
    return [c for c in read_fever(data / FILES[0]) if c.evidence]


def carriers(rows: Sequence[FeverClaim], rng: Random) -> Iterator[Carrier]:
    """Supported claims with one or two gold sentences, and sentences of the same page around them."""
    pages: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        pages[row.title].extend(s for s in row.evidence[:1] if s not in pages[row.title])
    for row in rows:
        usable = row.label == SUPPORTED_CLASS and len(row.evidence) <= 2 and not any(map(_ODD.search, row.evidence))
        if usable and 5 <= len(row.claim.split()) <= 25:
            near = neighbours(row, pages[row.title] if row.title else [])
            picked = rng.sample(near, min(len(near), 4))
            cut = rng.randint(0, len(picked))
            yield Carrier(
                row.claim, row.evidence, "fever", title_of_page(row.title), tuple(picked[:cut]), tuple(picked[cut:])
            )


def title_of_page(title: str) -> str:
    """The claim's opening as a heading; nothing where the claim opens with an adverbial, and no genitive."""
    return (
        ""
        if re.match(r"(?:In|On|At|During|After|By|For|There|One|Both|As|From|Since|According)\b", title)
        else re.sub(r"['’]s?$", "", title)
    )


def neighbours(row: FeverClaim, page: Sequence[str]) -> list[str]:
    """Sentences of the page that say little of what the claim says."""
    wanted = content_words(row.claim) - content_words(row.title)
    free = (s for s in page if s not in row.evidence and not _ODD.search(s))
    return [s for s in free if len(wanted & content_words(s)) <= 0.25 * max(1, len(wanted))]


def minimal_pairs(rows: Sequence[FeverClaim], rng: Random) -> Iterator[KindPair]:
    """A supported and a refuted claim that people wrote from the same sentences, alike but for a word or two."""
    groups: dict[tuple[str, ...], tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for row in rows:
        if row.label in (SUPPORTED_CLASS, CONTRADICTED_CLASS):
            groups[row.evidence][row.label].append(row.claim)
    for number, (evidence, (true, false)) in enumerate(groups.items()):
        for claim in rng.sample(false, min(len(false), 4)):
            best = max(true, key=lambda c: likeness(c, claim), default="")
            if best and likeness(best, claim) > 0.55:
                premise, twin = " ".join(evidence), f"fever{number}"
                yield KindPair(premise, best, (SUPPORTED_CLASS,), "fever", "fever_minimal", twin)
                yield KindPair(premise, claim, (CONTRADICTED_CLASS,), "fever", "fever_minimal", twin)


def likeness(a: str, b: str) -> float:
    """Jaccard likeness of two claims' words."""
    one, two = set(a.lower().split()), set(b.lower().split())
    return len(one & two) / len(one | two)
