"""Material of a source of real text: labelled pairs, and true claims beside the sentences that decide them."""

from __future__ import annotations

from dataclasses import dataclass

from vista_lab.datasets.pairs import NOT_ENOUGH_CLASS, SUPPORTED_CLASS

NOT_CONTRADICTED = (SUPPORTED_CLASS, NOT_ENOUGH_CLASS)


@dataclass(frozen=True)
class Pair:
    """One training example; ``allowed`` holds the label ids that would be right."""

    premise: str
    hypothesis: str
    allowed: tuple[int, ...]
    source: str


@dataclass(frozen=True)
class KindPair(Pair):
    """A pair that knows what was done to it (``kind``) and which pairs differ from it by one edit (``twin``)."""

    kind: str
    twin: str


@dataclass(frozen=True)
class Carrier:
    """A claim that people wrote from ``evidence``, and the sentences that stand around it on the same page."""

    claim: str
    evidence: tuple[str, ...]
    source: str
    title: str = ""
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The deciding sentences in one string."""
        return " ".join(self.evidence)
