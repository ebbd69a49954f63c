"""Training rows of a generated set, and checks that refuse unfit ones (LLM-OASIS, section 5).

Three kinds: passages with their claims for an extractor, claims with passages for a retriever, and the same with a label for a
verifier. Each knows the window of the document that it was made of, since windows of one document overlap.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Generic, Literal, TypeVar, get_args

from vista_guard.errors import InputError
from vista_guard.settings.model import LabelName

Part = Literal["extractor", "retriever", "verifier"]
Stage = Literal["sft", "grpo"]
"""Of a decomposer's training."""
LABELS: tuple[LabelName, ...] = get_args(LabelName)
"""In the order of a verifier's columns."""


@dataclass(frozen=True)
class PassageWindow:
    """The window of a document that a row was made of: its sentences from `first`, `end` left out."""

    document: str
    first: int
    end: int

    def overlaps(self, other: PassageWindow) -> bool:
        """True if both windows have a sentence in common."""
        return self.document == other.document and self.first < other.end and other.first < self.end

    def __str__(self) -> str:
        return f"{self.document}#{self.first}+{self.end - self.first}"


@dataclass(frozen=True)
class ExtractorRow:
    """A text and its claims in order, t and C."""

    source: PassageWindow
    text: str
    claims: tuple[str, ...]


@dataclass(frozen=True)
class RetrieverRow:
    """A claim and a passage that supports or contradicts it."""

    source: PassageWindow
    claim: str
    passage: str
    original: bool = True
    """True for the document's own passage, false for a text that was generated of it. Recall is over the former alone."""


@dataclass(frozen=True)
class VerifierRow:
    """A claim, a passage and how the passage judges the claim."""

    source: PassageWindow
    claim: str
    passage: str
    label: LabelName
    twin: str = ""
    """Rows with the same one differ by the edit alone, in their label too."""


Row = TypeVar("Row", ExtractorRow, RetrieverRow, VerifierRow)


@dataclass(frozen=True)
class Split(Generic[Row]):
    """Rows to train on, and rows to choose and measure by, of other passages."""

    train: Sequence[Row]
    held_out: Sequence[Row]

    def __post_init__(self) -> None:
        for name, rows in (("training", self.train), ("held-out", self.held_out)):
            if not rows:
                raise InputError(f"the set has no {name} rows; generate more passages, or hold out another share")
        self._refuse_leak()

    def _refuse_leak(self) -> None:
        """Windows of one document overlap, and copies of a document have other names: neither may lie on both sides."""
        windows = defaultdict[str, list[PassageWindow]](list)
        texts: dict[str, PassageWindow] = {}
        for row in self.train:
            windows[row.source.document].append(row.source)
            texts.setdefault(_text(row), row.source)
        for row in self.held_out:
            clash = next((one for one in windows.get(row.source.document, ()) if one.overlaps(row.source)), None)
            clash = clash or texts.get(_text(row))
            if clash is not None:
                raise InputError(
                    f"passage {row.source} is held out and shares its text with {clash}, which is trained on: figures would be "
                    "too good. Split by document, and remove documents that are copies"
                )

    @property
    def sha256(self) -> str:
        """Hash of all rows in order, which identifies a trained model's data."""
        digest = sha256()
        for row in (*self.train, *self.held_out):
            digest.update(repr(row).encode("utf-8", "surrogatepass") + b"\n")
        return digest.hexdigest()


def _text(row: ExtractorRow | RetrieverRow | VerifierRow) -> str:
    return " ".join((row.text if isinstance(row, ExtractorRow) else row.passage).casefold().split())


def label_counts(rows: Iterable[VerifierRow]) -> Mapping[LabelName, int]:
    """Rows per label, including labels without any."""
    counts = Counter(row.label for row in rows)
    return {label: counts[label] for label in LABELS}


def refuse_few(counts: Mapping[LabelName, int], least: int) -> None:
    """Checks that each label has at least `least` rows. Raises InputError: one has fewer."""
    few = [f"{count} {label}" for label, count in counts.items() if count < least]
    if few:
        lacking = f"the set has {' and '.join(few)} rows to train on; the recipe wants {least} of each label"
        raise InputError(f"{lacking}. Generate more passages, or lower least_per_label in a recipe of your own")


def disjoint_batches(rows: Sequence[RetrieverRow], size: int, rng: random.Random) -> Iterator[list[RetrieverRow]]:
    """Batches of an epoch in which no two rows come from one passage, or from passages that overlap.

    The other rows of a batch are each row's negatives: one of the same passage would be a false one. In each round every
    passage gives one of its rows; a round's last batch may be smaller, and one of a single row is left out.
    """
    queues = [rng.sample(group, len(group)) for group in _groups(rows)]
    while queues:
        rng.shuffle(queues)
        chosen = [queue.pop() for queue in queues]
        queues = [queue for queue in queues if queue]
        for start in range(0, len(chosen), size):
            batch = chosen[start : start + size]
            if len(batch) > 1:
                yield batch


def _groups(rows: Iterable[RetrieverRow]) -> list[list[RetrieverRow]]:
    """Rows whose windows overlap, directly or through others, and rows with the same passage or claim by another name."""
    from scipy.cluster.hierarchy import DisjointSet  # type: ignore[import-not-found,import-untyped,unused-ignore]

    texts = [(row, (_text(row), row.claim.casefold())) for row in rows]
    joined = DisjointSet(node for row, own in texts for node in (row.source, *own))
    last: dict[str, PassageWindow] = {}
    for source in sorted(
        {row.source for row, _ in texts}, key=lambda window: (window.document, window.first, window.end)
    ):
        before = last.get(source.document)
        if before is not None and before.overlaps(source):
            joined.merge(source, before)
        if before is None or source.end > before.end:
            last[source.document] = source
    for row, own in texts:
        for text in own:
            joined.merge(row.source, text)
    groups = defaultdict[Hashable, list[RetrieverRow]](list)
    for row, _ in texts:
        groups[joined[row.source]].append(row)
    return list(groups.values())
