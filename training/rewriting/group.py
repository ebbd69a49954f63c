"""Groups of twins: right and wrong claims beside one premise."""

from __future__ import annotations

from dataclasses import dataclass

from vista_lab.datasets.pairs import CONTRADICTED_CLASS, SUPPORTED_CLASS

FALSE = (CONTRADICTED_CLASS,)


TRUE = (SUPPORTED_CLASS,)


@dataclass(frozen=True)
class Pairing:
    """One pairing inside a group; ``evidence`` holds the deciding sentences, perhaps edited."""

    evidence: tuple[str, ...]
    claim: str
    allowed: tuple[int, ...]


def four(
    evidence: tuple[str, ...], edited: tuple[str, ...], claim: str, twin: str, false: tuple[int, ...] = FALSE
) -> tuple[Pairing, ...]:
    """The four pairings of a claim and its opposite, which hold under the evidence and its edited twin."""
    return (
        Pairing(evidence, claim, TRUE),
        Pairing(evidence, twin, false),
        Pairing(edited, claim, false),
        Pairing(edited, twin, TRUE),
    )


@dataclass(frozen=True)
class Quad:
    """A claim and its false twin, the evidence and its edited twin, under which truth and falsehood change places."""

    kind: str
    evidence: tuple[str, ...]
    edited: tuple[str, ...]
    claim: str
    twin: str
    false: tuple[int, ...] = FALSE
    values: tuple[str, str] = ("", "")  # what the claim says, and what its twin says instead

    def items(self) -> tuple[Pairing, ...]:
        """The four pairings; two of them are true."""
        return four(self.evidence, self.edited, self.claim, self.twin, self.false)


@dataclass(frozen=True)
class Group:
    """Pairings of one kind that differ from each other by one edit."""

    kind: str
    items: tuple[Pairing, ...]
