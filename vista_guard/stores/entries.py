"""What the twins of a store have in common: how entries look, and how the nearest are chosen."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256

from vista_guard.protocols import Embedder
from vista_guard.types import Claim, EarnedClaim, Passage, Persona, SourceKind


def digest(identifier: str) -> str:
    """A name of fixed size for an id of any length and any characters (32 hex digits)."""
    return sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def storable(text: str) -> str:
    """`text` with lone surrogates, which no database or tokenizer takes, replaced by "?". Offsets stay."""
    return text.encode("utf-8", "replace").decode("utf-8")


def persona_passages(persona: Persona) -> tuple[Passage, ...]:
    """One passage for each fact, in order."""
    return tuple(
        Passage(
            source=SourceKind.PERSONA,
            source_id=f"{persona.key}:{number}",
            text=storable(fact),
            title=storable(persona.name),
        )
        for number, fact in enumerate(persona.facts)
    )


def claim_passages(turn_key: str, claims: Sequence[Claim]) -> tuple[Passage, ...]:
    """One passage for each claim, in order, named `turn key:claim id`."""
    return tuple(
        Passage(
            source=SourceKind.KNOWLEDGE,
            source_id=f"{turn_key}:{name}",
            text=storable(claim.text),
            label=claim.label if isinstance(claim, EarnedClaim) else None,
        )
        for name, claim in zip(_unique(claims), claims, strict=True)
    )


def nearest(embedder: Embedder, query: str, passages: Sequence[Passage], limit: int) -> tuple[Passage, ...]:
    """At most `limit` of `passages`, in the order given: all when they fit, else those nearest in meaning to `query`."""
    if len(passages) <= limit or limit <= 0:
        return tuple(passages) if limit > 0 else ()
    import numpy as np

    vectors = embedder.embed([query, *(passage.text for passage in passages)])
    best = np.argsort(-(vectors[1:] @ vectors[0]), kind="stable")[:limit]
    return tuple(passages[index] for index in sorted(best.tolist()))


def _unique(claims: Sequence[Claim]) -> Iterator[str]:
    """The claims' ids. Imported claims may repeat one; the second then gets `#2`."""
    seen: Counter[str] = Counter()
    for claim in claims:
        name = storable(claim.id)
        seen[name] += 1
        yield name if seen[name] == 1 else f"{name}#{seen[name]}"
